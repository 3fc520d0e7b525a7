package harvest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// A job's secrets can be parted from it and put back; what is left holds none of them, and what is shown of it is the same.
func TestPartAndJoin(t *testing.T) {
	job := Job{Name: "j", Seeds: []string{"http://example.org/"}, Settings: secretSettings()}
	job.Settings.FirstCookies = "example.org\tFALSE\t/\tFALSE\t0\ts\thunter2"
	job.Settings.Sheets[0].Settings["credentials"] = json.RawMessage(`{"password": "hunter2"}`) // cannot be read: a secret as a whole
	open, _, err := job.Part()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(open); err != nil || strings.Contains(string(text), "hunter2") {
		t.Fatalf("%v, a secret is left in %s", err, text)
	}
	job.Settings.Sheets[0].Settings["credentials"] = json.RawMessage(`[{"domain":"a","kind":"basic","user":"u","password":"hunter2"}]`)
	open, secrets, err := job.Part()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(open)
	if err != nil || strings.Contains(string(text), "hunter2") {
		t.Fatalf("%v, a secret is left in %s", err, text)
	}
	if len(secrets) != 12 {
		t.Errorf("%d secrets: %v", len(secrets), secrets)
	}
	var stored Job
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	joined, err := stored.Join(secrets)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := mustJSON(t, job), mustJSON(t, joined); want != got {
		t.Errorf("joined:\n%s\nwant\n%s", got, want)
	}
	if want, got := mustJSON(t, job.Settings.Redacted()), mustJSON(t, stored.Settings.Redacted()); want != got {
		t.Errorf("shown:\n%s\nwant\n%s", got, want)
	}
	delete(secrets, "credentials.0.password")
	if _, err := stored.Join(secrets); !errors.Is(err, ErrNoSecret) || !strings.Contains(err.Error(), "credentials.0.password") {
		t.Errorf("without one: %v", err)
	}
	if again, none, err := open.Part(); err != nil || len(none) != 0 || !reflect.DeepEqual(again, open) {
		t.Errorf("parted again: %v, %v", none, err)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A job without secrets is the same when parted, and one that pretends to refer to a secret is refused.
func TestPartOfAJobWithoutSecrets(t *testing.T) {
	job := Job{Name: "j", Seeds: []string{"http://example.org/"}, Settings: DefaultSettings()}
	open, secrets, err := job.Part()
	if err != nil || len(secrets) != 0 || mustJSON(t, open) != mustJSON(t, job) {
		t.Errorf("%v, %v, %v", open, secrets, err)
	}
	job.Settings.Headers = []string{"Authorization: [sealed headers.0]"}
	if err := job.Settings.Validate(); !errors.Is(err, ErrInvalid) {
		t.Errorf("a reference given as a value: %v", err)
	}
}

// A login is one whatever its header is called, and a seed has none: seeds stand in clear in the log, in the catalog and in records.
func TestLoginsInOddPlaces(t *testing.T) {
	for _, header := range []string{"X-Authentication: hunter2", "X-Passwd: hunter2", "Proxy-Pass-Phrase: hunter2", "X-JWT: hunter2", "X-Login: hunter2", "X-Amz-Signature: hunter2",
		"X-Forward: Bearer hunter2", "X-Whom: basic hunter2", "X-PW: hunter2", "X_AUTH_USER: hunter2"} {
		job := Job{Name: "j", Settings: DefaultSettings()}
		job.Settings.Headers = []string{header}
		open, secrets, err := job.Part()
		if err != nil || len(secrets) != 1 || strings.Contains(mustJSON(t, open), "hunter2") {
			t.Errorf("%s: stored as %q (%v)", header, open.Settings.Headers, err)
			continue
		}
		if joined, err := open.Join(secrets); err != nil || joined.Settings.Headers[0] != header {
			t.Errorf("%s: sent as %q (%v)", header, joined.Settings.Headers, err)
		}
	}
	for _, header := range []string{"Accept: text/html", "X-Author: anna", "Accept-Language: basic", "X-Compass: north", "X-Bypass-Cache: 1"} {
		job := Job{Name: "j", Settings: DefaultSettings()}
		job.Settings.Headers = []string{header}
		if _, secrets, err := job.Part(); err != nil || len(secrets) != 0 {
			t.Errorf("%s: %v, %v", header, secrets, err)
		}
	}
	for _, seed := range []string{"http://anna:hunter2@example.org/", " https://anna:hunter2@example.org", "ftp://:hunter2@example.org/"} {
		err := CheckSeeds([]string{"http://example.org/", seed})
		if !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", seed, err)
		}
	}
	if err := CheckSeeds([]string{"http://example.org/@anna:x@y", "mailto:anna@example.org", "example.org", "http://anna@example.org/"}); err != nil {
		t.Error(err)
	}
}

// A refusal of settings does not tell the secrets in them: it stands in answers and logs.
func TestRefusalsTellNoSecret(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"proxy": func(s *Settings) {
			s.Proxies = []Route{{Hosts: []string{"*"}, Via: "https://anna:hunter2@10.0.0.1:3128"}}
		},
		"form": func(s *Settings) {
			s.Credentials = []Credential{{Domain: "a", Kind: "form", URL: "ftp://anna:hunter2@example.org/"}}
		},
		"header": func(s *Settings) { s.Headers = []string{"Authorization: hunter2\u00e9"} },
	} {
		s := DefaultSettings()
		change(&s)
		if err := s.Validate(); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Texts with secrets of their own are put together without one standing in for another.
func TestReferencesToTheSecretsOfSeveral(t *testing.T) {
	cookies := func(value string) Patch {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return Patch{"first_cookies": text, "max_hops": json.RawMessage(`3`),
			"credentials": json.RawMessage(`[{"domain":"a.org","kind":"basic","user":"u","password":"` + value + `"}]`)}
	}
	var parted [2]Settings
	var secrets [2]Secrets
	for i, value := range []string{"hunter2", "swordfish"} {
		var s Settings
		if err := s.Lay(cookies(value)); err != nil {
			t.Fatal(err)
		}
		open, found, err := Job{Settings: s}.Part()
		if err != nil || len(found) != 2 {
			t.Fatal(found, err)
		}
		parted[i], secrets[i] = open.Settings, found
	}
	template, err := parted[0].ReferTo("id1")
	if err != nil {
		t.Fatal(err)
	}
	patch, err := Patch{"credentials": json.RawMessage(mustJSON(t, parted[1].Credentials)),
		"max_hops": json.RawMessage(`3`)}.ReferTo("id2")
	if err != nil || string(patch["max_hops"]) != "3" || len(patch) != 2 {
		t.Fatal(patch, err)
	}
	if err := template.Lay(patch); err != nil {
		t.Fatal(err)
	}
	all := Secrets{}
	for i, id := range []string{"id1", "id2"} {
		for name, value := range secrets[i] {
			all[SecretOf(id, name)] = value
		}
	}
	job := Job{Settings: template}
	if names := job.Sealed(); !reflect.DeepEqual(names, []string{"credentials.0.password (a.org)", "first_cookies"}) {
		t.Errorf("the job shows as sealed %q", names)
	}
	joined, err := job.Join(all)
	if err != nil || joined.Settings.FirstCookies != "hunter2" || joined.Settings.Credentials[0].Password != "swordfish" {
		t.Errorf("%+v, %v", joined.Settings, err)
	}
	if same, err := parted[0].ReferTo(""); err != nil || same.FirstCookies != parted[0].FirstCookies {
		t.Errorf("%+v, %v", same, err)
	}
}
