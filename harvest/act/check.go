package act

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/harvest"
)

// Check reports whether an act can be given to a crawl. The error names the field, the value that was given and what is
// allowed; it wraps harvest.ErrInvalid. Check looks at the tags minLength, minItems, minProperties, minimum, maximum,
// enum, pattern and format (regex), which the description of the API is made of too, and then calls the act's own
// method check, if it has one.
func Check(a Act) error {
	if a == nil {
		a = unknown{}
	}
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		if err := checkField(a.Kind(), f, v.Field(i)); err != nil {
			return err
		}
	}
	if own, ok := a.(interface{ check() error }); ok {
		return own.check()
	}
	return nil
}

// refused tells what is wrong with a field of an act.
func refused(kind Kind, field, given, allowed string) error {
	if field != string(kind) {
		field = string(kind) + ": " + field
	}
	return fmt.Errorf("%w: %s: given %s, allowed: %s", harvest.ErrInvalid, field, given, allowed)
}

// checkField checks what a field's tag says of its value.
func checkField(kind Kind, f reflect.StructField, v reflect.Value) error {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	wrong := func(given, allowed string) error { return refused(kind, name, given, allowed) }
	switch v.Kind() {
	case reflect.String:
		return checkText(f.Tag, v.String(), wrong)
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 && (f.Tag.Get("minItems") != "" || f.Tag.Get("minProperties") != "") {
			return wrong("nothing", f.Tag.Get("doc"))
		}
	case reflect.Int:
		low, high := number(f.Tag, "minimum", 0), number(f.Tag, "maximum", harvest.MaxListed)
		if n := v.Int(); n < low || n > high {
			return wrong(strconv.FormatInt(n, 10), fmt.Sprintf("%d to %d", low, high))
		}
	case reflect.Int64: // a length of time
		if v.Int() < 0 {
			return wrong(fmt.Sprint(v.Interface()), f.Tag.Get("doc"))
		}
	}
	return nil
}

// checkText checks a text. No text is as good as none given.
func checkText(tag reflect.StructTag, text string, wrong func(given, allowed string) error) error {
	if text == "" {
		if tag.Get("minLength") != "" {
			return wrong("nothing", tag.Get("doc"))
		}
		return nil
	}
	if words := tag.Get("enum"); words != "" && !slices.Contains(strings.Split(words, ","), text) {
		return wrong(strconv.Quote(text), strings.ReplaceAll(words, ",", ", "))
	}
	if tag.Get("format") == "regex" {
		if _, err := regexp.Compile(text); err != nil {
			return wrong(strconv.Quote(text), "a regular expression ("+err.Error()+")")
		}
	}
	if pattern := tag.Get("pattern"); pattern != "" {
		if fits, err := regexp.MatchString(pattern, text); err != nil || !fits {
			return wrong(strconv.Quote(text), tag.Get("doc"))
		}
	}
	return nil
}

// number reads a bound from a tag.
func number(tag reflect.StructTag, name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(tag.Get(name), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}
