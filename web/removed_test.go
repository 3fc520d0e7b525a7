package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
)

// A file that waits for its deletion can be restored, and its page says until when; one whose copies go cannot.
func TestRestoreFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hidden := wire.File{Name: "f", SHA256: strings.Repeat("ab", 32), Removed: now(), Until: now().Add(48 * time.Hour)}
	going := hidden
	going.Until = time.Time{}
	for what, tt := range map[string]struct {
		file    wire.File
		offered bool
		fault   string
	}{
		"hidden":  {hidden, true, ""},
		"going":   {going, false, "the deletion of its copies has begun"},
		"present": {wire.File{Name: "f"}, false, "The file is not removed"},
	} {
		s.api.answers["/files/f"] = tt.file
		s.api.answers["POST /files/f/restore"] = wire.File{Name: "f", Complete: true}
		if _, body := s.get(t, "/_/en/files/f"); strings.Contains(body, `"/_/en/files/f/restore"`) != tt.offered ||
			strings.Contains(body, "26 November 2026, 08:30") != tt.offered || strings.Contains(body, `"/_/en/files/f/remove"`) != (what == "present") {
			t.Errorf("%s: %s", what, body)
		}
		resp, body := s.post(t, "/_/en/files/f/restore", formOf(what, "reason", "why", "sha256", tt.file.SHA256))
		did := s.api.changes()
		if tt.fault == "" && (resp.StatusCode != http.StatusSeeOther || len(did) != 1) || tt.fault != "" && (len(did) > 0 || !strings.Contains(body, tt.fault)) {
			t.Errorf("%s: %d, did %v: %s", what, resp.StatusCode, did, body)
		}
	}
}

// What a restored file lacks is told: it may be lost all the same, or have too few copies.
func TestRestoredIsNotWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for want, file := range map[string]wire.File{"declared lost": {Lost: now()}, "Not every replica has a good copy": {}, "The file is restored.</p>\n": {Complete: true}} {
		s.api.answers["POST /files/hidden.warc/restore"] = file
		resp, _ := s.post(t, "/_/en/files/hidden.warc/restore", formOf(want, "reason", "why"))
		if _, body := s.get(t, resp.Header.Get("Location")); !strings.Contains(body, "The file is restored") || !strings.Contains(body, want) {
			t.Errorf("%s: %s", want, body)
		}
	}
}

// The list is that of the files that can be restored, and it is not empty because it could not be read.
func TestRemovedFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.queries()
	_, body := s.get(t, "/_/en/removed?prefix=a&collection=tv")
	if asked := strings.Join(s.api.queries(), " "); !strings.Contains(asked, "/files?collection=tv&limit=100&prefix=a&state=hidden") ||
		!strings.Contains(body, "can be restored for 30 days") || !strings.Contains(body, `href="/_/en/removal-rule/edit"`) {
		t.Errorf("asked %s: %s", asked, body)
	}
	s.api.answers["/removal-rule"] = wire.RemovalRule{}
	if _, body := s.get(t, "/_/en/removed"); !strings.Contains(body, "cannot be restored: its copies are deleted at once") {
		t.Errorf("no grace: %s", body)
	}
	s.api.answers["/files?limit=100&state=hidden"] = refusal(503, wire.CodeUnavailable, "busy")
	if _, body := s.get(t, "/_/en/removed"); strings.Contains(body, "Nothing.") || !strings.Contains(body, "Not read: Removed files.") {
		t.Errorf("not read: %s", body)
	}
}
