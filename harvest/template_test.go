package harvest

import (
	"errors"
	"strings"
	"testing"
)

// TestTemplatesOfHarvests checks what a template of harvests may say.
func TestTemplatesOfHarvests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, template, want string }{ // want: in the refusal, empty for none
		{"good", `{"operator_contact":"a@example.org","max_hops":3}`, ""},
		{"whole job", `{"name":"j","settings":{"operator_contact":"a@example.org"}}`, ""},
		{"no contact", `{"max_hops":3}`, "operator_contact"},
		{"bytes of a domain", `{"operator_contact":"a@example.org","max_domain_bytes":7}`, "max_domain_bytes: given 7"},
		{"objects of a domain", `{"operator_contact":"a@example.org","max_domain_objects":7}`, "max_domain_objects"},
		{"the harvest's bytes", `{"operator_contact":"a@example.org","harvest_domain_bytes":7}`, "harvest_domain_bytes"},
		{"the harvest's objects", `{"operator_contact":"a@example.org","harvest_domain_objects":7}`, "harvest_domain_objects"},
		{"in a sheet", `{"operator_contact":"a@example.org","sheets":[{"name":"s","surt_prefixes":["http://(org,"],"settings":{"max_domain_bytes":0}}]}`,
			"sheets: s: max_domain_bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := ParseTemplate([]byte(tt.template))
			if err != nil {
				t.Fatal(err)
			}
			err = CheckTemplate(s)
			if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestTextOfATemplate has the settings that were given alone, with references for secrets, and shows none of these.
func TestTextOfATemplate(t *testing.T) {
	t.Parallel()
	given := []byte(`{"name":"j","seeds":[],"settings":{ "operator_contact":"a@example.org", "traps":[], "max_hops":20,
		"credentials":[{"domain":"example.org","kind":"basic","realm":"<r>","user":"u","password":"hunter2"}]}}`)
	s, err := ParseTemplate(given)
	if err != nil {
		t.Fatal(err)
	}
	open, _, err := Job{Name: "t", Settings: s}.Part()
	if err != nil {
		t.Fatal(err)
	}
	text, err := TemplateText(given, open.Settings)
	const credentials = `[{"domain":"example.org","kind":"basic","realm":"<r>","user":"u","password":`
	want := `{"credentials":` + credentials + `"[sealed credentials.0.password]"}],"max_hops":20,"operator_contact":"a@example.org","traps":[]}`
	if err != nil || text != want {
		t.Errorf("%s %v\nwant %s", text, err, want)
	}
	shown, err := ShownTemplate(text)
	if err != nil || shown != strings.Replace(want, "[sealed credentials.0.password]", Redaction, 1) {
		t.Errorf("%s %v", shown, err)
	}
	if _, err := ShownTemplate(`{"of_a_later_program":1}`); err == nil {
		t.Error("a setting that is not known is shown")
	}
}

// A configuration lays what is of its domain's harvest over a template, and nothing that is of the job as a whole.
func TestWhatAConfigurationLays(t *testing.T) {
	var patch Patch
	for _, r := range Reference() {
		patch = Patch{r.Name: r.Default}
		err := CheckLaid(patch)
		if r.Layable != (err == nil) || err != nil && !strings.Contains(err.Error(), r.Name) {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	for name, want := range map[string]bool{"max_hops": true, "robots": true, "extractors": true, "max_objects": true,
		"max_bytes": true, "max_document_bytes": true, "credentials": true, "first_cookies": true, "headers": true,
		"max_domain_objects": false, "harvest_domain_bytes": false, "workers": false, "operator_contact": false,
		"count_by": false, "allow_private": true, "nameserver": false, "sheets": false} {
		if d, known := named(name); !known || d.Layable != want {
			t.Errorf("%s: %t, want %t", name, d.Layable, want)
		}
	}
	if d, _ := named("max_hops"); d.Expert {
		t.Error("max_hops is for experts")
	}
	if err := CheckLaid(Patch{"max_hopps": nil}); err != nil {
		t.Errorf("an unknown name is for Lay to refuse: %v", err)
	}
}
