package domains

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/catalog/agree"
)

// Bounds of what is said of a domain.
const (
	maxOwner          = 200
	maxComments       = 4000
	maxValue          = 1000 // of an extended field
	maxFields         = 100  // of domains, and of harvests
	maxConfigurations = 1000 // of a domain
	maxLists          = 1000 // of a domain
	maxListsOf        = 50   // of a configuration
	maxSettings       = 128 << 10
	// MaxPartBytes bounds the parts of a list's text, MaxParts their number.
	MaxPartBytes = 128 << 10
	MaxParts     = 64
)

// Check refuses what cannot be the name of a domain, as far as its form goes.
func (n Name) Check() error {
	ok := n != "" && len(n) <= 253
	dots := 0
	for i := range len(n) {
		switch c := n[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '.' && i > 0 && i < len(n)-1 && n[i-1] != '.':
			dots++
		default:
			ok = false
		}
	}
	if !ok || dots == 0 {
		return agree.Refuse(agree.Invalid, "domain %q: want a name in small letters and ASCII, such as example.org",
			agree.Clip(string(n), 253))
	}
	return nil
}

func checkText(what, text string, most int) error {
	if len(text) > most || !utf8.ValidString(text) {
		return agree.Refuse(agree.Invalid, "%s of %d bytes: want at most %d, of UTF-8", what, len(text), most)
	}
	return nil
}

func checkSaid(owner, comments string) error {
	if err := checkText("owner", owner, maxOwner); err != nil {
		return err
	}
	return checkText("comments", comments, maxComments)
}

// checkLimit refuses a limit below 0.
func checkLimit(what string, limit *int64) error {
	if limit != nil && *limit < 0 {
		return agree.Refuse(agree.Invalid, "limit on %s %d: want 0 or more, or none for no limit", what, *limit)
	}
	return nil
}

func (k ListKind) check(name string) error {
	switch {
	case k == Traps && name != string(Traps):
		return agree.Refuse(agree.Invalid, "a domain has one list of traps, called %s", Traps)
	case k != Traps && k != Seeds:
		return agree.Refuse(agree.Invalid, "list of kind %q: want seeds or traps", agree.Clip(string(k), 40))
	}
	return agree.CheckName("list", name)
}

// CheckValue refuses what is no value of the field.
func (f *Field) CheckValue(value string) error {
	var want string
	switch f.Type {
	case NumberField:
		if n, err := strconv.ParseFloat(value, 64); err != nil || n != n || strings.ContainsAny(value, "xXpP_iInN") {
			want = "a number, such as 12 or 0.5"
		}
	case DateField:
		if at, err := time.Parse(time.DateOnly, value); err != nil || at.Format(time.DateOnly) != value {
			want = "a date, such as 2026-11-20"
		}
	case BooleanField:
		if value != "true" && value != "false" {
			want = "true or false"
		}
	}
	if value == "" || len(value) > maxValue || !utf8.ValidString(value) {
		want = "1 to 1000 bytes of UTF-8"
	}
	if want != "" {
		return agree.Refuse(agree.Invalid, "field %s: %q: want %s", f.Name, agree.Clip(value, 100), want)
	}
	return nil
}

// CheckFields refuses values that are not in the order of their names, are of no field, are not of its type, or lack
// one that is mandatory.
func CheckFields(s *agree.State, of FieldOf, values []FieldValue) error {
	all, err := NewView(s).Fields(of)
	if err != nil {
		return err
	}
	known := make(map[string]*Field, len(all))
	for i := range all {
		known[all[i].Name] = &all[i]
	}
	for i, v := range values {
		f := known[v.Name]
		if f == nil {
			return agree.Refuse(agree.NotFound, "there is no field %q of a %s", agree.Clip(v.Name, 64), of)
		}
		if i > 0 && values[i-1].Name >= v.Name {
			return agree.Refuse(agree.Invalid, "the values of fields: want one for each, in the order of their names")
		}
		if err := f.CheckValue(v.Value); err != nil {
			return err
		}
		delete(known, v.Name)
	}
	for i := range all {
		if f := &all[i]; f.Mandatory && known[f.Name] != nil {
			return agree.Refuse(agree.Invalid, "the field %s is mandatory", f.Name)
		}
	}
	return nil
}
