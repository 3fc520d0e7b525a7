package harvest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Patch has new values for settings, by name.
type Patch map[string]json.RawMessage

// set gives one setting a value.
func (s *Settings) set(name string, value json.RawMessage) error {
	data, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return invalid(name, string(value), "JSON")
	}
	fresh := *s
	if d, known := named(name); known { // a list replaces, it is not written over the list that others share
		if field := d.field(&fresh); field.Kind() == reflect.Slice {
			field.SetZero()
		}
	}
	if err := fresh.UnmarshalJSON(data); err != nil {
		return err
	}
	*s = fresh
	return nil
}

// Lay gives settings values, by name. What results is to be checked with Validate.
func (s *Settings) Lay(patch Patch) error {
	for name, value := range patch {
		if err := s.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// ParsePatch reads settings as a command line gives them, each as "name=value". A value is JSON, or else text:
// durations, words and lone expressions need no quotes.
func ParsePatch(given []string) (Patch, error) {
	patch := make(Patch, len(given))
	kinds := map[string]string{}
	for _, r := range Reference() {
		kinds[r.Name] = r.Type
	}
	for _, g := range given {
		name, value, ok := strings.Cut(g, "=")
		if !ok {
			return nil, invalid("set", strconv.Quote(g), "a setting and its value, as max_hops=3")
		}
		name = strings.TrimSpace(name)
		kind := kinds[name]
		if kind == "text" || kind == "duration" || !json.Valid([]byte(value)) {
			if !strings.HasPrefix(value, `"`) {
				quoted, err := json.Marshal(value)
				if err != nil {
					return nil, invalid(name, strconv.Quote(value), "text")
				}
				value = string(quoted)
			}
			if strings.HasPrefix(kind, "list of text") {
				value = "[" + value + "]"
			}
		}
		patch[name] = json.RawMessage(value)
	}
	return patch, nil
}

// Change returns the settings with some of them changed while a crawl runs. A setting that cannot be changed then is
// refused, in a sheet as well; sheets that set such a one stay as they are.
func (s Settings) Change(patch Patch) (Settings, error) {
	before := s.Sheets
	for name, value := range patch {
		if d, known := named(name); known && !d.Live {
			return s, invalid(name, "a new value", "none while the crawl runs")
		}
		if err := s.set(name, value); err != nil {
			return s, err
		}
	}
	if err := s.Validate(); err != nil {
		return s, err
	}
	if _, ok := patch["sheets"]; ok {
		if name, differs := fixedDiffers(before, s.Sheets); differs {
			return s, invalid("sheets: "+name, "another value of a setting that cannot change while the crawl runs",
				"sheets with the same values, in the same order, for such settings")
		}
	}
	return s, nil
}

// fixedDiffers reports whether sheets differ in settings that cannot change live, and the name of the first such
// setting.
func fixedDiffers(before, after []Sheet) (name string, differs bool) {
	old, now := fixedParts(before), fixedParts(after)
	for i := range max(len(old), len(now)) {
		switch {
		case i >= len(now):
			return old[i].Name, true
		case i >= len(old) || !reflect.DeepEqual(old[i], now[i]):
			return now[i].Name, true
		}
	}
	return "", false
}

// fixedParts are the sheets that set something that cannot change live, with only those settings.
func fixedParts(sheets []Sheet) (fixed []Sheet) {
	for _, sheet := range sheets {
		part := map[string]json.RawMessage{}
		for name, value := range sheet.Settings {
			var plain bytes.Buffer
			if d, _ := named(name); !d.Live && json.Compact(&plain, value) == nil {
				part[name] = plain.Bytes()
			}
		}
		if sheet.Settings = part; len(part) > 0 {
			fixed = append(fixed, sheet)
		}
	}
	return fixed
}
