package web

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// nodeSettings are the settings of the node that answers, as the API tells them: without secrets.
type nodeSettings struct {
	Node string          `json:"node"`
	All  json.RawMessage `json:"settings"` // empty: not known
	rows []settingRow
}

// settingRow is one setting.
type settingRow struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Rows are the settings in the order of their names.
func (p *nodeSettings) Rows() []settingRow { return p.rows }

func (p *nodeSettings) lines() (items any, next string, read bool) { return p.rows, "", p.rows != nil }

func showNodeSettings(ctx context.Context, v *visit) (any, error) {
	p := &nodeSettings{All: json.RawMessage("null")}
	v.ask(ctx, "web.node-settings", soon, func(ctx context.Context) error {
		text, err := v.api.Config(ctx)
		if err != nil {
			return err
		}
		in := json.NewDecoder(bytes.NewReader(text))
		in.UseNumber()
		var all any
		if err := in.Decode(&all); err != nil {
			return err
		}
		p.All, p.rows = text, settingRows([]settingRow{}, "", all)
		return nil
	})
	if st := v.known(); st != nil {
		p.Node, v.about = st.Node.Name, st.Node.Name
	}
	return p, nil
}

// settingRows adds a line for each value within another one.
func settingRows(out []settingRow, name string, value any) []settingRow {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out = settingRows(out, strings.TrimPrefix(name+"."+key, "."), value[key])
		}
		return out
	case []any:
		words := make([]string, len(value))
		for i := range value {
			words[i] = plain(value[i])
		}
		return append(out, settingRow{name, strings.Join(words, ", ")})
	case nil:
		return append(out, settingRow{name, ""})
	}
	return append(out, settingRow{name, plain(value)})
}
