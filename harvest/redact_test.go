package harvest

import (
	"encoding/json"
	"reflect"
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
	s.Headers = []string{"Accept-Language: da", "Authorization: Bearer hunter2", "X-Api-Key: hunter2"}
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
	for _, kept := range []string{"anna", "example.net/login?next=", "10.0.0.1:3128", "Accept-Language: da", "Accept: */*", `"user":"[redacted]"`, `"min_delay":"1s"`, "direct"} {
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
