package web

import (
	"cmp"
	"encoding/json"
	"strings"

	"holdfast/harvest"
)

// isTexts reports whether a setting is a list of texts, which is written one on a line.
func isTexts(s harvest.Setting) bool { return s.Type == "list of text" }

// settingText writes the value of a setting as people type it.
func settingText(s harvest.Setting, value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var list []string
	if isTexts(s) && json.Unmarshal(value, &list) == nil {
		return strings.Join(list, "\n")
	}
	return string(value)
}

// patchOf reads the value of a setting as people type it: lists of texts have one on a line; texts, durations and
// words need no quotes; all else is JSON.
func patchOf(name, typed string) (harvest.Patch, error) {
	for _, s := range harvest.Reference() {
		if s.Name == name && isTexts(s) && !strings.HasPrefix(strings.TrimSpace(typed), "[") {
			list := []string{}
			for one := range strings.Lines(strings.ReplaceAll(typed, "\r\n", "\n")) {
				if one = strings.TrimSpace(one); one != "" {
					list = append(list, one)
				}
			}
			text, err := json.Marshal(list)
			return harvest.Patch{name: text}, err
		}
	}
	return harvest.ParsePatch([]string{name + "=" + typed})
}

// settingFields are fields for the settings that a configuration may lay over its template, each with the value that
// holds if nothing is typed, and where that comes from.
func settingFields(f *form, laid harvest.Patch, template harvest.Settings, templateName string, given map[string]bool) {
	values := valuesOf(template)
	for _, s := range harvest.Reference() {
		if !s.Layable {
			continue
		}
		one := field{Name: "s." + s.Name, Plain: s.Name, Text: s.Help, Group: s.Group, Expert: s.Expert,
			Wire: "settings." + s.Name, Value: settingText(s, laid[s.Name])}
		holds := cmp.Or(settingText(s, values[s.Name]), "–")
		one.Origin = &said{"web.from-default", []any{"value", holds}}
		if given[s.Name] {
			one.Origin = &said{"web.from-template", []any{"value", holds, "template", templateName}}
		}
		switch {
		case s.Type == "boolean":
			one.Kind, one.Options = choose, []option{{"", "web.not-laid"}, {"true", "web.yes"}, {"false", "web.no"}}
		case len(s.Allowed) > 0 && s.Type == "text":
			one.Kind, one.Options = choose, []option{{"", "web.not-laid"}}
			for _, word := range s.Allowed {
				one.Options = append(one.Options, option{Value: word})
			}
		case isTexts(s):
			one.Kind, one.Most = code, 0
		case strings.HasPrefix(s.Type, "list of"):
			one.Kind = code
		default:
			one.Kind = line
		}
		f.add(one)
	}
}

// laidOf reads the settings that were typed.
func laidOf(f *form) (harvest.Patch, error) {
	patch := harvest.Patch{}
	for _, one := range f.Fields {
		name, is := strings.CutPrefix(one.Name, "s.")
		if !is || one.text() == "" {
			continue
		}
		more, err := patchOf(name, one.text())
		if err != nil {
			return nil, &formError{one.Name, "", err.Error()}
		}
		patch[name] = more[name]
	}
	return patch, nil
}

// relaid reports whether a setting was changed.
func relaid(f *form) bool {
	for _, one := range f.Fields {
		if strings.HasPrefix(one.Name, "s.") && !one.same() {
			return true
		}
	}
	return false
}
