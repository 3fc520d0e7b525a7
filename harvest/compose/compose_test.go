package compose_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/harvest/compose"
)

const text = `{"operator_contact":"web@example.org","max_time":"2h0m0s","headers":["X-Key: [sealed headers.0]"]}`

// TestHead lays settings over a template, with the limits of a run.
func TestHead(t *testing.T) {
	t.Parallel()
	template := compose.Template{Name: "default", Version: 3, Text: text, Sealed: "s1"}
	o, err := compose.ParseOverlay(`{"max_hops":3,"credentials":[{"domain":"a.org","kind":"basic","user":"u",`+
		`"password":"[sealed credentials.0.password]"}]}`, "s2")
	if err != nil || len(o.Logins) != 1 || len(o.Patch) != 1 {
		t.Fatalf("%+v, %v", o, err)
	}
	if got := o.Logins[0].Password; got != "[sealed s2:credentials.0.password]" {
		t.Errorf("the login refers to %q", got)
	}
	whole := compose.Whole{Level: 5, Bytes: harvest.AtMost(5), MaxTime: time.Hour, Traps: []string{".*calendar.*"}}
	head, err := compose.Head("harvest-1-2", template, o.Patch, whole)
	if err != nil {
		t.Fatal(err)
	}
	s := head.Settings
	if s.MaxHops != 3 || s.MaxTime != harvest.Duration(time.Hour) || s.OperatorContact != "web@example.org" ||
		len(s.Credentials) != 0 || head.Domains.Bytes != whole.Bytes || len(head.Domains.Traps) != 1 {
		t.Errorf("%+v", head)
	}
	if s.Headers[0] != "X-Key: [sealed s1:headers.0]" {
		t.Errorf("the header is %q", s.Headers[0])
	}
	some := harvest.Configuration{Domain: "a.org", Name: "deep", Seeds: []string{"http://www.a.org/"}, Logins: o.Logins}
	if err := compose.Check(head, []harvest.Configuration{some}); err != nil {
		t.Error(err)
	}
	whole.MaxTime = 3 * time.Hour
	if head, err = compose.Head("h", template, nil, whole); err != nil || head.Settings.MaxTime != harvest.Duration(2*time.Hour) {
		t.Errorf("the template's time is %v, %v", head.Settings.MaxTime, err)
	}
}

// TestMark is the same for the same settings in any order, and without logins.
func TestMark(t *testing.T) {
	t.Parallel()
	mark := func(text, sealed string) string {
		o, err := compose.ParseOverlay(text, sealed)
		if err != nil {
			t.Fatal(err)
		}
		m, err := o.Mark()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if mark("", "") != "" || mark("{}", "") != "" || mark(`{"credentials":[]}`, "") != "" {
		t.Error("nothing laid over a template has a mark")
	}
	one := mark(`{"max_hops": 3, "robots":"ignore"}`, "")
	if one == "" || one != mark(`{"robots":"ignore","max_hops":3,"credentials":[]}`, "x") {
		t.Error("the same settings have another mark")
	}
	if one == mark(`{"max_hops":4,"robots":"ignore"}`, "") {
		t.Error("other settings have the same mark")
	}
	const secret = `{"headers":["X-Key: [sealed headers.0]"]}`
	if mark(secret, "s1") == mark(secret, "s2") {
		t.Error("other secrets have the same mark")
	}
}

// TestBadTexts names what cannot be read.
func TestBadTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"{": "unexpected end", `{"max_hop":3}`: "max_hop",
		`{"max_hops":"x"}`: "max_hops"} {
		_, err := compose.Head("h", compose.Template{Name: "deep", Version: 2, Text: text}, nil, compose.Whole{Level: 5})
		if !errors.Is(err, harvest.ErrInvalid) && !strings.Contains(text, "{") || err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "deep@2") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := compose.ParseOverlay("[]", ""); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("an overlay that is no object: %v", err)
	}
	name, version, err := compose.ParseLabel(compose.Label("a", 12))
	if name != "a" || version != 12 || err != nil {
		t.Errorf("%s %d %v", name, version, err)
	}
	if _, _, err := compose.ParseLabel("default"); err == nil {
		t.Error("a label without a version")
	}
}

// A job of a harvest has no setting that programs of the cluster's level do not know.
func TestJobsKeepToTheLevel(t *testing.T) {
	text := `{"operator_contact":"https://example.org/"}`
	for level, inactive := range map[int]bool{3: false, 4: true} {
		job, err := compose.Head("h", compose.Template{Name: "plain", Version: 1, Text: text}, nil, compose.Whole{Level: level})
		if err != nil || (job.Settings.InactivityTimeout != 0) != inactive {
			t.Errorf("level %d: %v, %v", level, job.Settings.InactivityTimeout, err)
		}
	}
	laid := harvest.Patch{"inactivity_timeout": json.RawMessage(`"5m"`)}
	_, err := compose.Head("h", compose.Template{Name: "plain", Version: 1, Text: text}, laid, compose.Whole{Level: 3})
	if !errors.Is(err, harvest.ErrInvalid) || !strings.Contains(err.Error(), "inactivity_timeout") {
		t.Errorf("a later setting: %v", err)
	}
}
