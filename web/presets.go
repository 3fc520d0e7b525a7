package web

import (
	"context"
	"encoding/json"
	"strings"

	"holdfast/harvest"
	"holdfast/harvest/domain"
	"holdfast/harvest/split"
)

// preset is a setting of domains or harvests, as it is now.
type preset struct {
	Of      string `json:"of"` // domain or harvest
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Unit    string `json:"unit,omitempty"`
	Help    string `json:"help"`
	Changed bool   `json:"changed"` // its value is not the default
}

// presetsOf returns the settings that are described, with their values in the API's answer.
func presetsOf(of string, described []harvest.Setting, answer any) ([]preset, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, err
	}
	var out []preset
	for _, s := range described {
		value, otherwise := settingText(s, values[s.Name]), settingText(s, s.Default)
		out = append(out, preset{Of: of, Name: s.Name, Value: value, Default: otherwise, Unit: s.Unit, Help: s.Help,
			Changed: value != otherwise})
	}
	return out, nil
}

func domainPresets(ctx context.Context, v *visit) ([]preset, error) {
	s, err := v.api.Domains().Settings(ctx)
	if err != nil {
		return nil, err
	}
	return presetsOf("domain", domain.Reference(), s.Settings)
}

func harvestPresets(ctx context.Context, v *visit) ([]preset, error) {
	s, err := v.api.Harvests().Settings(ctx)
	if err != nil {
		return nil, err
	}
	return presetsOf("harvest", split.Reference(), s.Settings)
}

func showPresets(ctx context.Context, v *visit) (any, error) {
	v.offer("presets", "domain", "edit")
	v.offer("presets", "harvest", "edit")
	var of [2][]preset
	for i, ask := range []func(context.Context, *visit) ([]preset, error){domainPresets, harvestPresets} {
		v.ask(ctx, "web.presets", soon, func(ctx context.Context) (err error) {
			of[i], err = ask(ctx, v)
			return err
		})
	}
	v.wait()
	return &listed[preset]{Asked: of[0] != nil && of[1] != nil, Items: append(of[0], of[1]...)}, nil
}

// askPresets is the form of such settings, as they are now.
func askPresets(read func(context.Context, *visit) ([]preset, error),
	described []harvest.Setting) func(context.Context, *visit) (*form, error) {
	return func(ctx context.Context, v *visit) (*form, error) {
		all, err := read(ctx, v)
		if err != nil {
			return nil, err
		}
		f := &form{Help: "web.presets-help", Send: "web.save"}
		for i, s := range described {
			one := field{Name: "s." + s.Name, Plain: s.Name, Text: s.Help, Wire: s.Name, Value: all[i].Value,
				Origin: &said{"web.default-is", []any{"value", orDash(all[i].Default)}}}
			switch {
			case s.Type == "boolean":
				one.Kind, one.Options = choose, []option{{"true", "web.yes"}, {"false", "web.no"}}
			case len(s.Allowed) > 0:
				one.Kind, one.Options = choose, optionsOf(s.Allowed)
			case isTexts(s):
				one.Kind, one.Most = code, 8000
			}
			f.add(one)
		}
		return f, nil
	}
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// changedPresets are the settings whose fields were changed, as the API takes them.
func changedPresets(f *form, described []harvest.Setting) (map[string]any, error) {
	out := map[string]any{}
	for _, s := range described {
		one := f.field("s." + s.Name)
		if one == nil || one.same() {
			continue
		}
		value, err := valueOf(s, one.Value)
		if err != nil {
			return nil, &formError{one.Name, "web.want-number", ""}
		}
		out[s.Name] = value
	}
	return out, nil
}

// valueOf reads the value of a setting as people type it. Nothing is null.
func valueOf(s harvest.Setting, typed string) (any, error) {
	text := strings.TrimSpace(typed)
	switch {
	case isTexts(s):
		return append([]string{}, linesIn(typed)...), nil
	case s.Type == "text" || s.Type == "duration":
		return text, nil
	case text == "":
		return nil, nil
	}
	var value json.RawMessage
	err := json.Unmarshal([]byte(text), &value)
	return value, err
}

func setDomainPresets(ctx context.Context, v *visit, f *form) (outcome, error) {
	changes, err := changedPresets(f, domain.Reference())
	if err == nil && len(changes) > 0 {
		_, err = v.api.Domains().SetSettings(ctx, changes)
	}
	return presetsSet(changes), err
}

func setHarvestPresets(ctx context.Context, v *visit, f *form) (outcome, error) {
	changes, err := changedPresets(f, split.Reference())
	if err == nil && len(changes) > 0 {
		_, err = v.api.Harvests().SetSettings(ctx, changes)
	}
	return presetsSet(changes), err
}

func presetsSet(changes map[string]any) outcome {
	return outcome{Next: "/presets", Notes: []said{{"web.did-presets", []any{"count", len(changes)}}}}
}
