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
