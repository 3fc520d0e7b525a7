package web

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/internal/words"
)

// A list is called brought in only when it is, and without reserve only if each of its lines was a domain.
func TestIngestState(t *testing.T) {
	t.Parallel()
	all, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	l := terms{all.Language("en")}
	for want, of := range map[string][]wire.Ingest{
		"good": {{State: wire.IngestDone, Made: 1}}, "look": {{State: wire.IngestDone, Bad: 1}, {State: wire.IngestStopped}},
		"work": {{State: wire.IngestRunning, Read: 9, Size: 9}}, "bad": {{State: wire.IngestFailed}}, "quiet": {{State: "of-the-future"}},
	} {
		for _, i := range of {
			if got := l.IngestState(i); got.Class != want {
				t.Errorf("%+v: %v, want %s", i, got, want)
			}
		}
	}
}

// A list may come as a file, and one that is too large is refused before anything is asked for.
func TestIngestOfALargeList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, body := s.post(t, "/_/en/new/ingest", formOf("K", "domains", strings.Repeat("a.example\n", maxLarge/10+1)))
	if resp.StatusCode != http.StatusRequestEntityTooLarge || len(s.api.changes()) > 0 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if _, body := s.get(t, "/new/ingest"); !strings.Contains(body, `type="file"`) {
		t.Errorf("no file: %s", body)
	}
}

// A list that runs is redrawn and can be stopped; one that has ended is not.
func TestIngestOffers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if _, body := s.get(t, "/_/en/ingests/i1"); !strings.Contains(body, `"/_/en/ingests/i1/stop"`) || !strings.Contains(body, "<script") {
		t.Errorf("%s", body)
	}
	s.api.answers["/domain-ingests/i1"] = wire.Ingest{ID: "i1", State: wire.IngestDone}
	if _, body := s.get(t, "/_/en/ingests/i1"); strings.Contains(body, "/stop") || strings.Contains(body, "<script") {
		t.Errorf("%s", body)
	}
}

// A new field does not change one of its name that is there.
func TestNewFieldIsNew(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, body := s.post(t, "/_/en/new/field", formOf("K", "name", "seen", "of", "domain", "type", "text"))
	if resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "a field of this name already") || len(s.api.changes()) > 0 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	for _, path := range []string{"/fields/domain/nothing/edit", "/fields/job/seen/edit", "/fields/job/seen/remove"} {
		if resp, _ := s.get(t, path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

// Fields of which only some could be read are not shown as all.
func TestFieldsWithAFault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/fields?of=harvest"] = refusal(http.StatusServiceUnavailable, wire.CodeUnavailable, "none")
	if _, body := s.get(t, "/_/en/fields"); !strings.Contains(body, `role="status"`) || strings.Contains(body, "<p>Nothing.") {
		t.Errorf("%s", body)
	}
	if resp, _ := s.get(t, "/fields?format=csv"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("CSV: %d", resp.StatusCode)
	}
}

// Only settings that were changed are sent, so that what another person changed meanwhile stays; without any nothing is.
func TestPresets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, _ := s.post(t, "/_/en/presets/domain/edit", formOf("K"))
	_, body := s.get(t, resp.Header.Get("Location"))
	if did := s.api.changes(); len(did) > 0 || !strings.Contains(body, "<bdi>0</bdi> settings were changed") {
		t.Errorf("did %v: %s", did, body)
	}
	for typed, want := range map[string]string{"s.default_bytes": "not a number", "s.default_objects": "{"} {
		resp, body := s.post(t, "/_/en/presets/domain/edit", formOf("L", typed, want))
		if did := s.api.changes(); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 || !strings.Contains(body, `<a href="#f-`+typed+`">`) || !strings.Contains(body, "whole number") {
			t.Errorf("%s: %d, did %v: %s", typed, resp.StatusCode, did, body)
		}
	}
	s.api.refuseAll(refusal(422, wire.CodeInvalid, "not valid: alias_expiry: given 1s, allowed: 1h to 876000h"))
	if _, body := s.post(t, "/_/en/presets/domain/edit", formOf("M", "s.alias_expiry", "1s")); !strings.Contains(body, `id="e-s.alias_expiry"`) {
		t.Errorf("%s", body)
	}
}
