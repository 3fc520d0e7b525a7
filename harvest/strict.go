package harvest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// DecodeStrict reads one JSON object into the struct that into points at. A key that the struct, or one within it, does
// not know is refused with the nearest one that it does; the error says what was read, and wraps ErrInvalid.
func DecodeStrict(data []byte, what string, into any) error { return decodeStrict(data, what, into) }

// decodeStrict reads one JSON object into the struct into points at. A key that the struct, or one within it, does not
// know is refused with the nearest one it does.
func decodeStrict(data []byte, what string, into any) error {
	return decodeKnown(data, what, into, jsonNames(reflect.TypeOf(into).Elem()))
}

// decodeKnown is decodeStrict where the struct itself has these keys.
func decodeKnown(data []byte, what string, into any, known map[string]reflect.Type) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, what, err)
	}
	if err := knownKeys(given, what, known); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return invalid(keys(wrong.Field), "a JSON "+wrong.Value, inWords(wrong.Type))
		}
		if errors.Is(err, ErrInvalid) {
			return err
		}
		return fmt.Errorf("%w: %s: %w", ErrInvalid, what, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %s: more than one JSON value", ErrInvalid, what)
	}
	return nil
}

// keys is the way to a field as JSON has it: without the groups of settings, which are Go names.
func keys(field string) string {
	parts := slices.DeleteFunc(strings.Split(field, "."),
		func(part string) bool { return part != "" && 'A' <= part[0] && part[0] <= 'Z' })
	return strings.Join(parts, ".")
}

// knownKeys refuses keys that a struct does not know.
func knownKeys(given map[string]json.RawMessage, what string, known map[string]reflect.Type) error {
	for key, value := range given {
		field, ok := known[key]
		if ok {
			if err := knownWithin(value, what+": "+key, field); err != nil {
				return err
			}
			continue
		}
		if near := Nearest(key, maps.Keys(known)); near != "" {
			return fmt.Errorf("%w: %s: unknown key %q, did you mean %q?", ErrInvalid, what, key, near)
		}
		return fmt.Errorf("%w: %s: unknown key %q", ErrInvalid, what, key)
	}
	return nil
}

// knownWithin applies knownKeys to the structs in a value, except those that read themselves. A value of another type
// is left for the decoder to refuse.
func knownWithin(value json.RawMessage, what string, t reflect.Type) error {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		var given map[string]json.RawMessage
		if err := json.Unmarshal(value, &given); err == nil {
			return knownKeys(given, what, jsonNames(t))
		}
	case reflect.Slice:
		var list []json.RawMessage
		if t.Elem().Kind() != reflect.Struct || json.Unmarshal(value, &list) != nil {
			return nil
		}
		for i, one := range list {
			if err := knownWithin(one, fmt.Sprintf("%s[%d]", what, i), t.Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}

// inWords says what JSON has to have for a type.
func inWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list, [" + inWords(t.Elem()) + ", …]"
	case reflect.Struct, reflect.Map:
		return "an object, {…}"
	case reflect.Pointer:
		return inWords(t.Elem())
	}
	return "a whole number"
}

// jsonNames are the keys that a struct has, with the types of their values.
func jsonNames(t reflect.Type) map[string]reflect.Type {
	names := make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			maps.Copy(names, jsonNames(field.Type))
		case name != "" && name != "-":
			names[name] = field.Type
		}
	}
	return names
}

// DidYouMean ends a message about an unknown key with the nearest known name, or is empty where none is close.
func DidYouMean(key string, known iter.Seq[string]) string {
	near := Nearest(key, known)
	if near == "" {
		return ""
	}
	return "; did you mean " + strconv.Quote(near) + "?"
}

// Nearest is the known name with the fewest edits to key, or "" where none is close; of equals the first in order. A
// key of more than 100 bytes is close to none.
func Nearest(key string, known iter.Seq[string]) string {
	if len(key) > 100 {
		return ""
	}
	best, least := "", max(2, len(key)/3)+1
	for name := range known {
		d := edits(strings.ToLower(key), name)
		if d < least || (d == least && best != "" && name < best) {
			best, least = name, d
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
