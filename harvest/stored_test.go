package harvest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// A job that was stored before there was a setting goes on as it did; who asks now gets the default.
func TestStoredJobsKeepWhatTheyDid(t *testing.T) {
	const text = `{"name":"j","seeds":["http://example.org/"],"settings":{"max_hops":3}}`
	stored, err := ParseStoredJob([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := stored.Settings
	if s.CountBy != CountByURL || s.NoResponseTimeout != 0 || s.InactivityTimeout != 0 || s.MaxHops != 3 || s.MaxTransHops != 2 {
		t.Errorf("%+v", s.LimitSettings)
	}
	if err := stored.Validate(); err != nil && !errors.Is(err, ErrNoContact) {
		t.Error(err)
	}
	var now Job
	if err := json.Unmarshal([]byte(text), &now); err != nil {
		t.Fatal(err)
	}
	if s := now.Settings; s.CountBy != CountBySeed || s.NoResponseTimeout.Std() != 30*time.Minute {
		t.Errorf("%+v", s.LimitSettings)
	}
	never, err := ParseSettings([]byte(`{"no_response_timeout":"0s","count_by":"url"}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(Job{Settings: never})
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseStoredJob(out)
	if err != nil || again.Settings.NoResponseTimeout != 0 || again.Settings.CountBy != CountByURL ||
		again.Settings.InactivityTimeout != never.InactivityTimeout {
		t.Errorf("%+v, %v", again.Settings.LimitSettings, err)
	}
}

// What clusters below level 4 store has no key that their programs do not know, and they know no key that came later.
func TestSettingsOfOldLevels(t *testing.T) {
	s, err := DefaultSettings().AtLevel(3)
	if err != nil || s.CountBy != CountByURL || s.InactivityTimeout != 0 {
		t.Errorf("%+v, %v", s.LimitSettings, err)
	}
	for _, later := range []string{"no_response_timeout", "inactivity_timeout", "windows", "count_by"} {
		text, err := json.Marshal(Job{Settings: s})
		if err != nil || strings.Contains(string(text), later) {
			t.Errorf("%s, %v", text, err)
		}
		var old OldJob
		err = json.Unmarshal([]byte(`{"settings":{"`+later+`":null}}`), &old)
		if err == nil || !strings.Contains(err.Error(), `unknown key "`+later+`"`) {
			t.Errorf("%s: %v", later, err)
		}
	}
	given := DefaultSettings()
	given.Windows = []Window{{Days: []string{"mon"}}}
	if _, err := given.AtLevel(3); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "windows: ") {
		t.Errorf("windows at level 3: %v", err)
	}
	if at4, err := given.AtLevel(4); err != nil || len(at4.Windows) != 1 || at4.CountBy != CountBySeed {
		t.Errorf("windows at level 4: %v", err)
	}
	var old OldJob
	if err := json.Unmarshal([]byte(`{"name":"j","domains":{}}`), &old); err == nil {
		t.Error("a table of domains is read at level 3")
	}
}

// Secrets of a configuration's logins are parted from it under names that are the same in every part of the job.
func TestSecretsOfConfigurations(t *testing.T) {
	c := Configuration{Domain: "example.org", Name: "all", Logins: []Credential{{Domain: "example.org", Kind: "basic", User: "u", Password: "hunter2"}}}
	open, secrets, err := c.Part()
	if err != nil || len(secrets) != 1 || strings.Contains(open.Logins[0].Password, "hunter2") || c.Logins[0].Password != "hunter2" {
		t.Fatalf("%+v, %v, %v", open, secrets, err)
	}
	job := Job{Name: "j", Seeds: []string{"http://localhost/"}, Settings: DefaultSettings(),
		Domains: &Domains{Configurations: []Configuration{{Domain: "other.org", Name: "all"}, open}}}
	if got := job.Sealed(); len(got) != 1 {
		t.Errorf("sealed: %q", got)
	}
	if err := job.Validate(); err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("a job without its secrets is valid: %v", err)
	}
	joined, err := job.Join(secrets)
	if err != nil || joined.Domains.Configurations[1].Logins[0].Password != "hunter2" {
		t.Fatalf("%+v, %v", joined.Domains, err)
	}
	parted, again, err := joined.Part()
	if err != nil || len(again) != 1 || parted.Domains.Configurations[1].Logins[0].Password != open.Logins[0].Password {
		t.Errorf("%v, %v", again, err)
	}
	if text, err := json.Marshal(joined); err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("%s, %v", text, err)
	}
	if err := joined.Validate(); err != nil {
		t.Error(err)
	}
	for what, bad := range map[string]Domains{
		"twice":              {Configurations: []Configuration{{Domain: "a.org", Name: "x"}, {Domain: "a.org", Name: "x"}}},
		"a name and":         {Configurations: []Configuration{{Domain: "a.org"}}},
		"regular expression": {Traps: []string{"("}},
		"a.org/x: traps":     {Configurations: []Configuration{{Domain: "a.org", Name: "x", Traps: []string{"("}}}},
	} {
		job.Domains = &bad
		if err := job.Validate(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWindows(t *testing.T) {
	at := func(text string) time.Time {
		now, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	for _, tt := range []struct {
		windows []Window
		now     string // a Monday is 2026-11-23
		open    bool
	}{
		{nil, "2026-11-23 12:00", true},
		{[]Window{{}}, "2026-11-23 12:00", true},
		{[]Window{{From: "22:00", Until: "06:00"}}, "2026-11-23 12:00", false},
		{[]Window{{From: "22:00", Until: "06:00"}}, "2026-11-23 05:59", true},
		{[]Window{{From: "22:00", Until: "06:00", Days: []string{"sun"}}}, "2026-11-23 05:59", true},
		{[]Window{{From: "22:00", Until: "06:00", Days: []string{"mon"}}}, "2026-11-23 05:59", false},
		{[]Window{{From: "22:00", Until: "06:00"}, {Days: []string{"mon"}}}, "2026-11-23 12:00", true},
		{[]Window{{From: "13:00", Until: "14:00", Zone: "Europe/Copenhagen"}}, "2026-11-23 12:00", true},
	} {
		w, err := NewWindows(tt.windows)
		if err != nil || w.Open(at(tt.now)) != tt.open {
			t.Errorf("%+v at %s: %v", tt.windows, tt.now, err)
		}
	}
	s := DefaultSettings()
	for _, bad := range []Window{{Days: []string{"monday"}}, {From: "22:00"}, {From: "22:00", Until: "24:30"}, {Zone: "Mars"}} {
		s.Windows = []Window{bad}
		if err := s.Validate(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "windows[0]: ") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Templates, sheets and configurations name no setting that programs of the cluster's level do not know, not even with its
// default; a job that gives none is stored without.
func TestSettingsOfALaterLevelAreNotNamed(t *testing.T) {
	for text, fault := range map[string]string{
		`{"max_hops":3}`:                              "",
		`{"count_by":"seed"}`:                         "count_by: ",
		`{"no_response_timeout":"30m"}`:               "no_response_timeout: ",
		`{"name":"j","settings":{"count_by":"seed"}}`: "count_by: ",
		`{"name":"j","settings":{"max_hops":3}}`:      "",
	} {
		s, err := ParseTemplate([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		err = TemplateAt([]byte(text), s, 3)
		if (err == nil) != (fault == "") || err != nil && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), fault) ||
			!strings.Contains(err.Error(), "level 4")) {
			t.Errorf("%s: %v", text, err)
		}
		if err := TemplateAt([]byte(text), s, 4); err != nil {
			t.Errorf("%s at level 4: %v", text, err)
		}
	}
	if err := (Patch{"max_hops": json.RawMessage("3"), "windows": json.RawMessage("[]"), "none": nil}).KnownAt(3); err == nil ||
		!strings.Contains(err.Error(), "windows") {
		t.Errorf("a configuration: %v", err)
	}
	s := DefaultSettings()
	s.Sheets = []Sheet{{Name: "slow", Settings: Patch{"min_delay": json.RawMessage(`"3s"`)}}}
	if _, err := s.AtLevel(3); err != nil {
		t.Errorf("a sheet: %v", err)
	}
	s.Sheets[0].Settings["count_by"] = json.RawMessage(`"seed"`)
	if _, err := s.AtLevel(3); err == nil || !strings.Contains(err.Error(), "sheets: slow: ") || !strings.Contains(err.Error(), "count_by") {
		t.Errorf("a sheet with a later setting: %v", err)
	}
}
