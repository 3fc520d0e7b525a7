package api

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
)

// TestRefusalsAreData sends what is wrong in many ways: each field has a place, a code and parameters.
func TestRefusalsAreData(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(localText)
	limit := int64(-1)
	hops := harvest.DefaultSettings()
	hops.MaxHops = -7
	for name, tt := range map[string]struct {
		err    error
		place  string
		code   wire.FieldCode
		params map[string]string
	}{
		"a limit": {func() error {
			_, err := c.Harvests().Create(t.Context(), wire.HarvestRequest{Name: "h", Kind: "snapshot", Collection: "web", Bytes: &limit})
			return err
		}(), "body.bytes", wire.FieldTooSmall, map[string]string{"min": "0"}},
		"a time": {func() error {
			_, err := c.Harvests().Create(t.Context(), wire.HarvestRequest{Name: "h", Kind: "snapshot", Collection: "web", MaxTime: harvest.Duration(1500 * time.Millisecond)})
			return err
		}(), "body.maxTime", wire.FieldNotAllowed, nil},
		"a setting": {func() error {
			_, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}, Settings: &wire.Settings{Settings: hops}})
			return err
		}(), "body.max_hops", wire.FieldNotAllowed, nil},
		"a word": {func() error {
			_, err := c.Harvests().Create(t.Context(), wire.HarvestRequest{Name: "h", Kind: "odd", Collection: "web"})
			return err
		}(), "body.kind", wire.FieldNotOneOf, map[string]string{"allowed": "selective, event, snapshot"}},
		"too long": {func() error {
			_, err := c.Channels().Set(t.Context(), "FOCUSED", wire.ChannelChange{Comment: string(make([]byte, 501))})
			return err
		}(), "body.comment", wire.FieldTooLong, map[string]string{"max": "500"}},
	} {
		var e *wire.Error
		if !errors.As(tt.err, &e) || e.Status != http.StatusUnprocessableEntity || len(e.Wrong) != 1 {
			t.Errorf("%s: %v %+v", name, tt.err, e)
			continue
		}
		f := e.Wrong[0]
		if f.Location != tt.place || f.Code != tt.code || tt.params != nil && !maps.Equal(f.Params, tt.params) || f.Message == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for body, want := range map[string]wire.ProblemField{
		`{"name":"a"}`:                           {Location: "body", Code: wire.FieldRequired, Params: map[string]string{"property": "kind"}},
		`{"name":"a","kind":"snapshot","odd":1}`: {Location: "body.odd", Code: wire.FieldUnknown},
		`{"name":7,"kind":"snapshot"}`:           {Location: "body.name", Code: wire.FieldType, Params: map[string]string{"want": "string"}},
	} {
		status, text := b.ask(b.request(c, http.MethodPost, "/harvests", body))
		var p wire.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != http.StatusUnprocessableEntity || len(p.Errors) == 0 {
			t.Fatalf("%s: %d %s %v", body, status, text, err)
		}
		if f := p.Errors[0]; f.Location != want.Location || f.Code != want.Code || !maps.Equal(f.Params, want.Params) {
			t.Errorf("%s: %+v", body, f)
		}
	}
}

// FuzzFieldsOfDetail reads any text as a refusal.
func FuzzFieldsOfDetail(f *testing.F) {
	for _, text := range []string{"", "maxTime: given 3, allowed: 4", "not valid: a.b[3].c: no\nx: y", "a: \xff", ": :"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, field := range fieldsOfDetail(text) {
			if field.Code == "" || field.Location == "body." || field.Message == "" {
				t.Errorf("%+v", field)
			}
		}
		codeOfMessage(text)
	})
}
