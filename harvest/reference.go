package harvest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Level says where a setting may be given.
type Level string

// The levels.
const (
	OfJob Level = "job" // one value for the whole crawl
	OfURI Level = "uri" // may differ by URI, in a sheet
)

// Setting describes one setting: for the reference, for forms, and for checking what is given. It is read from the
// tag of its field: json the name, group (of the struct around it), level, live, lay and expert "yes", unit, is the
// default, min, max, allowed words, help. Defaults and limits are written as in JSON, but for texts without quotes,
// lists of words with spaces between, and durations as 5m; a setting without is has no value, and one without max
// may be as large as 2^60. since is the level of a cluster from which on jobs may have the setting, and before the
// value for which a job stands that was stored without it, if that is not the zero value.
type Setting struct {
	Name    string          `json:"name"`
	Group   string          `json:"group"`
	Type    string          `json:"type"`           // as JSON has it, or "duration"
	Unit    string          `json:"unit,omitempty"` // of a number
	Default json.RawMessage `json:"default"`
	Level   Level           `json:"level"`
	Live    bool            `json:"live"`              // may be changed while the crawl runs
	Layable bool            `json:"layable"`           // a configuration of a domain may lay it over a template's
	Expert  bool            `json:"expert"`            // most crawls do without; forms may hide it
	Min     int64           `json:"min,omitempty"`     // least number; of a duration in nanoseconds
	Max     int64           `json:"max,omitempty"`     // largest; 0: no limit
	Allowed []string        `json:"allowed,omitempty"` // words
	Help    string          `json:"help"`
}

// setting is a Setting and where it is found.
type setting struct {
	Setting
	index  []int         // of its field in Settings
	given  reflect.Value // its default; invalid where that is the zero value
	since  int           // the level that it came with; 0: it was always there
	before reflect.Value // what holds for a job that was stored without it
}

// described is every setting, in the order of Settings. It is never changed.
var described = describe(reflect.TypeFor[Settings]())

// describe reads the tags of a struct. What they say wrong is a fault of the package with the struct, which any of its
// tests finds.
func describe(t reflect.Type) (all []setting) {
	group := ""
	for _, f := range reflect.VisibleFields(t) {
		if name, there := f.Tag.Lookup("group"); there {
			group = name
		}
		if f.Anonymous {
			continue
		}
		one, err := describeField(f)
		if err != nil {
			panic(fmt.Sprintf("harvest: %s: %v", f.Name, err))
		}
		one.Group, one.index = group, f.Index
		all = append(all, one)
	}
	return all
}

func describeField(f reflect.StructField) (s setting, err error) {
	tag := f.Tag.Get
	s.Name, _, _ = strings.Cut(tag("json"), ",")
	s.Type, s.Unit, s.Help = typeName(f.Type), tag("unit"), tag("help")
	s.Level, s.Live = Level(tag("level")), tag("live") == "yes"
	s.Layable, s.Expert = tag("lay") == "yes", tag("expert") == "yes"
	if words := strings.Fields(tag("allowed")); len(words) > 0 {
		s.Allowed = words
	}
	if isNumber(f.Type) {
		if s.Min, err = limit(f.Type, tag("min"), 0); err != nil {
			return s, err
		}
		if s.Max, err = limit(f.Type, tag("max"), huge); err != nil {
			return s, err
		}
	}
	if text := tag("since"); text != "" {
		if s.since, err = strconv.Atoi(text); err != nil {
			return s, err
		}
		before := reflect.New(f.Type)
		if text := tag("before"); text != "" {
			if err := json.Unmarshal(asJSON(f.Type, text), before.Interface()); err != nil {
				return s, fmt.Errorf("before %s: %w", text, err)
			}
		}
		s.before = before.Elem()
	}
	value := reflect.New(f.Type)
	if text, there := f.Tag.Lookup("is"); there {
		if err := json.Unmarshal(asJSON(f.Type, text), value.Interface()); err != nil {
			return s, fmt.Errorf("is %s: %w", text, err)
		}
		s.given = value.Elem()
	}
	s.Default, err = json.Marshal(value.Elem().Interface())
	return s, err
}

// huge is the largest number that a setting may be.
const huge = int64(1) << 60

func isNumber(t reflect.Type) bool {
	return t.Kind() == reflect.Int || t.Kind() == reflect.Int64 || t.Kind() == reflect.Float64
}

// limit reads the least or largest number; of a duration in nanoseconds.
func limit(t reflect.Type, text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	if t == reflect.TypeFor[Duration]() {
		var d Duration
		err := json.Unmarshal(asJSON(t, text), &d)
		return int64(d), err
	}
	return strconv.ParseInt(text, 10, 64)
}

// asJSON is the JSON of a value as a tag has it.
func asJSON(t reflect.Type, text string) []byte {
	var value any = text
	switch {
	case t.Kind() == reflect.Slice:
		value = strings.Fields(text)
	case t.Kind() != reflect.String && t != reflect.TypeFor[Duration]():
		return []byte(text)
	}
	out, err := json.Marshal(value)
	if err != nil {
		return nil // texts and lists of them can be written
	}
	return out
}

// named returns the setting of that name.
func named(name string) (setting, bool) {
	for _, d := range described {
		if d.Name == name {
			return d, true
		}
	}
	return setting{}, false
}

// settingNames yields the names of all settings.
func settingNames(yield func(string) bool) {
	for _, d := range described {
		if !yield(d.Name) {
			return
		}
	}
}

// field is where settings have this one.
func (d *setting) field(s *Settings) reflect.Value {
	return reflect.ValueOf(s).Elem().FieldByIndex(d.index)
}

// Reference describes every setting, in the order of Settings.
func Reference() []Setting { return referenceOf(described) }

func referenceOf(all []setting) []Setting {
	out := make([]Setting, len(all))
	for i, d := range all {
		out[i] = d.Setting
		out[i].Default = append(json.RawMessage{}, d.Default...)
	}
	return out
}

func typeName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	switch {
	case t == reflect.TypeFor[Duration]():
		return "duration"
	case t.Kind() == reflect.Slice:
		return "list of " + typeName(t.Elem())
	case t.Kind() == reflect.Struct:
		return strings.ToLower(t.Name())
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Float64:
		return "number"
	}
	return "integer"
}
