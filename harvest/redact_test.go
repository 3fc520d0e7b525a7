package harvest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func secretSettings() Settings {
	s := DefaultSettings()
	s.Credentials = []Credential{
		{Domain: "example.org", Kind: "basic", User: "anna", Password: "hunter2"},
		{Domain: "example.net", Kind: "form", URL: "https://u:hunter2@example.net/login?next=%2F", Fields: map[string]string{"user": "hunter2", "pw": "hunter2"}},
	}
	s.Proxies = []Route{{Hosts: []string{"*"}, Via: "http://proxy:hunter2@10.0.0.1:3128"}, {Hosts: []string{"a"}, Via: "direct"}}
	s.Headers = []string{"Accept-Language: da", "Authorization: Bearer hunter2", "X-Api-Key: hunter2", "x_auth: hunter2", "Subscription-Key: hunter2", "X-Keywords: of an author"}
	s.Sheets = []Sheet{{Name: "night", Settings: map[string]json.RawMessage{
		"headers": json.RawMessage(`["Cookie: hunter2", "Accept: */*"]`), "min_delay": json.RawMessage(`"1s"`)}}}
	return s
}

func TestRedactedTellsNoSecret(t *testing.T) {
	s := secretSettings()
	data, err := json.Marshal(s.Redacted())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "hunter2") {
		t.Errorf("a secret is left in %s", data)
	}
	for _, kept := range []string{"anna", "example.net/login?next=", "10.0.0.1:3128", "Accept-Language: da", "X-Keywords: of an author", "Accept: */*", `"user":"[redacted]"`, `"min_delay":"1s"`, "direct"} {
		if !strings.Contains(string(data), kept) {
			t.Errorf("%s is gone from %s", kept, data)
		}
	}
	if !reflect.DeepEqual(s, secretSettings()) {
		t.Error("the settings themselves were changed")
	}
}

func TestRedactedWithoutSecretsIsTheSame(t *testing.T) {
	s := DefaultSettings()
	s.Headers = []string{"Accept-Language: da"}
	s.Proxies = []Route{{Hosts: []string{"*"}, Via: "socks5://proxy.example.org:1080"}}
	before, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(s.Redacted())
	if err != nil || string(before) != string(after) {
		t.Errorf("changed (%v) to\n%s", err, after)
	}
}

func TestRedactedSheetThatCannotBeRead(t *testing.T) {
	s := Settings{Sheets: []Sheet{{Name: "x", Settings: map[string]json.RawMessage{"headers": json.RawMessage(`{"hunter2":`)}}}}
	if got := string(s.Redacted().Sheets[0].Settings["headers"]); got != `"[redacted]"` {
		t.Errorf("got %s", got)
	}
}

// A template may be settings, or a whole job; one from which secrets were left out is refused, by name.
func TestTemplate(t *testing.T) {
	for _, text := range []string{`{"max_hops": 3}`, `{"name": "j", "seeds": ["http://h/"], "settings": {"max_hops": 3}}`, `{"id": 7, "state": "DONE", "stats": {}, "settings": {"max_hops": 3}}`} {
		if s, err := ParseTemplate([]byte(text)); err != nil || s.MaxHops != 3 || s.Workers != DefaultSettings().Workers {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`{"max_hop": 3}`, `{"settings": {"max_hop": 3}}`, `[]`, `{"settings": 3}`} {
		if _, err := ParseTemplate([]byte(text)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
	full := DefaultSettings()
	full.Headers = []string{"X-Api-Key: hunter2"}
	full.FirstCookies = "c.test\tFALSE\t/\tFALSE\t0\ts\thunter2"
	full.Credentials = []Credential{{Domain: "c.test", Kind: "basic", Realm: "r", User: "u", Password: "hunter2"}, {Domain: "f.test", Kind: "form", URL: "http://f.test/in", Fields: map[string]string{"pw": "hunter2"}}}
	full.Proxies = []Route{{Hosts: []string{"*.p.test"}, Via: "http://u:hunter2@proxy.test:3128"}}
	if err := full.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, keep := range map[string]func(s, redacted *Settings){
		"headers: X-Api-Key":         func(s, r *Settings) { s.Headers = r.Headers },
		"first_cookies":              func(s, r *Settings) { s.FirstCookies = r.FirstCookies },
		"credentials: c.test: passw": func(s, r *Settings) { s.Credentials[0] = r.Credentials[0] },
		"credentials: f.test: field": func(s, r *Settings) { s.Credentials[1] = r.Credentials[1] },
		"proxies: *.p.test":          func(s, r *Settings) { s.Proxies = r.Proxies },
		"sheets: night: headers": func(s, r *Settings) {
			s.Sheets = []Sheet{{Name: "night", Regex: "x", Settings: map[string]json.RawMessage{"headers": json.RawMessage(`["Cookie: [redacted]"]`)}}}
		},
	} {
		s, redacted := full, full.Redacted()
		s.Credentials = slices.Clone(full.Credentials)
		keep(&s, &redacted)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := ParseTemplate(text)
		if err == nil {
			err = parsed.Validate()
		}
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "[redacted]") || !strings.Contains(strings.ReplaceAll(err.Error(), "not valid: ", ""), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Messages say in words what JSON should be there.
func TestMessages(t *testing.T) {
	for text, want := range map[string]string{
		`{"max_hops": "three"}`: "max_hops: given a JSON string, allowed: a whole number", `{"traps": 3}`: "traps: given a JSON number, allowed: a list, [text, …]",
		`{"cookies": "yes"}`: "allowed: true or false", `{"delay_factor": []}`: "allowed: a number",
	} {
		if _, err := ParseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
