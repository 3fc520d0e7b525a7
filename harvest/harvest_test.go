package harvest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDefaultsAreValidAndRoundTrip(t *testing.T) {
	s := DefaultSettings()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"min_delay":"3s"`) {
		t.Errorf("min_delay is not written as text: %s", data)
	}
	back, err := ParseSettings(data)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if string(again) != string(data) {
		t.Errorf("round trip: %s, want %s", again, data)
	}
}

func TestParseSettings(t *testing.T) {
	tests := []struct{ name, in, wantErr string }{
		{"empty", `{}`, ""},
		{"one", `{"min_delay":"250ms","scope":"domain"}`, ""},
		{"misspelt", `{"min_dealy":"1s"}`, `unknown key "min_dealy", did you mean "min_delay"?`},
		{"far off", `{"zzzzzzzzzzzzzz":1}`, `unknown key "zzzzzzzzzzzzzz"`},
		{"misspelt within", `{"sheets":[{"name":"a","settings":{}},{"name":"b","surt_prefix":["http://(org,"],"settings":{}}]}`, `sheets[1]: unknown key "surt_prefix", did you mean "surt_prefixes"?`},
		{"misspelt in a rule", `{"rules":[{"rule":"on_hosts","value":["h.test"]}]}`, `rules[0]: unknown key "value", did you mean "values"?`},
		{"all known within", `{"credentials":[{"domain":"h.test","kind":"form","url":"http://h.test/in","fields":{"any":"x"}}],"sheets":[{"name":"a","from":"22:00","until":"06:00","settings":{"max_hops":3}}],"rules":null}`, ""},
		{"wrong type within", `{"sheets":[3]}`, "sheets"},
		{"number as duration", `{"min_delay":3}`, "min_delay"},
		{"no unit", `{"min_delay":"3"}`, "with a unit"},
		{"wrong type", `{"workers":"many"}`, "workers"},
		{"not JSON", `{`, "settings"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseSettings([]byte(tt.in))
			if tt.wantErr == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.wantErr) {
				t.Fatalf("error %v, want ErrInvalid with %q", err, tt.wantErr)
			}
		})
	}
}

func TestValidateNamesTheField(t *testing.T) {
	tests := []struct {
		field  string
		change func(*Settings)
	}{
		{"scope", func(s *Settings) { s.Scope = "all" }},
		{"robots", func(s *Settings) { s.Robots = "maybe" }},
		{"surt_prefixes", func(s *Settings) { s.SURTPrefixes = []string{"http://(org,"} }},
		{"max_hops", func(s *Settings) { s.MaxHops = -1 }},
		{"workers", func(s *Settings) { s.Workers = 0 }},
		{"delay_factor", func(s *Settings) { s.DelayFactor = -2 }},
		{"min_delay", func(s *Settings) { s.MinDelay = Duration(time.Hour) }},
		{"warc_level", func(s *Settings) { s.WARCLevel = 12 }},
		{"user_agent", func(s *Settings) { s.UserAgent = "a\r\nX: y" }},
		{"operator_contact", func(s *Settings) { s.OperatorContact = "me" }},
		{"nameserver", func(s *Settings) { s.Nameserver = "localhost:53" }},
		{"queue_name", func(s *Settings) { s.QueueName = "a\x00b" }},
		{"queue_name", func(s *Settings) { s.QueueName = strings.Repeat("a", 251) }},
		{"ports", func(s *Settings) { s.Sheets = []Sheet{{Name: "a", Ports: []int{0}}} }},
		{"fetch_timeout", func(s *Settings) { s.FetchTimeout = 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.field, func(t *testing.T) {
			s := DefaultSettings()
			tt.change(&s)
			err := s.Validate()
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), ": "+tt.field+": given ") {
				t.Fatalf("error %v does not name %s", err, tt.field)
			}
		})
	}
}

func TestJobNeedsContactBeyondLoopback(t *testing.T) {
	tests := []struct {
		name, contact string
		seeds         []string
		ok            bool
	}{
		{"loopback address", "", []string{"http://127.0.0.71:8080/a"}, true},
		{"loopback v6", "", []string{"http://[::1]:80/"}, true},
		{"localhost", "", []string{"http://localhost/"}, true},
		{"name without contact", "", []string{"http://127.0.0.1/", "https://example.org/"}, false},
		{"bare name", "", []string{"example.org"}, false},
		{"disguised", "", []string{"http://127.0.0.1@example.org/"}, false},
		{"name with contact", "https://library.example/crawl", []string{"https://example.org/"}, true},
		{"mail", "crawl@library.example", []string{"https://example.org/"}, true},
		{"no seeds", "crawl@library.example", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := Job{Name: "j", Seeds: tt.seeds, Settings: DefaultSettings()}
			j.Settings.OperatorContact = tt.contact
			if err := j.Validate(); (err == nil) != tt.ok {
				t.Fatalf("Validate = %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestJobJSON(t *testing.T) {
	var j Job
	if err := json.Unmarshal([]byte(`{"name":"a","seeds":["http://localhost/"],"settings":{"workers":3}}`), &j); err != nil {
		t.Fatal(err)
	}
	if j.Settings.Workers != 3 || j.Settings.MaxHops != 20 {
		t.Errorf("settings %+v", j.Settings)
	}
	err := json.Unmarshal([]byte(`{"name":"a","seed":[]}`), &j)
	if err == nil || !strings.Contains(err.Error(), `did you mean "seeds"`) {
		t.Errorf("error %v", err)
	}
}

func TestDidYouMean(t *testing.T) {
	long := strings.Repeat("s", 101)
	known := slices.Values([]string{"workers", "max_hops", "min_delay", long})
	for key, want := range map[string]string{"Max_hop": `; did you mean "max_hops"?`, "zzz": "", long[:100] + "x": ""} {
		if got := DidYouMean(key, known); got != want {
			t.Errorf("%.20s: %q, want %q", key, got, want)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(`{"min_delay":"3s","workers":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSettings(data)
		if err == nil {
			_ = s.Validate()
			if _, err := json.Marshal(s); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestLoginsAreForHostsOrDomains refuses logins that no host would ever be sent.
func TestLoginsAreForHostsOrDomains(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string]bool{"example.org": true, "127.0.0.1": true, "::1": true, "fe80::1": true,
		"127.0.0.1:8080": false, "https://example.org": false, "example.org/in": false, "anna:hunter2@example.org": false, "a b": false} {
		s := DefaultSettings()
		s.OperatorContact, s.Credentials = "web@example.org", []Credential{{Domain: domain, Kind: "basic", User: "anna", Password: "hunter2"}}
		err := s.Validate()
		if (err == nil) != want || err != nil && (!errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v", domain, err)
		}
	}
}
