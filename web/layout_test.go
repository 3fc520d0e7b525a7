package web

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/internal/words"
)

// A disk is well only if it is in use and nothing is wrong with it, and may be taken out only when it is emptied.
func TestDiskState(t *testing.T) {
	t.Parallel()
	all, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	l := terms{all.Language("en")}
	for _, tt := range []struct {
		d           wire.DiskState
		class, text string
	}{
		{wire.DiskState{State: "in use"}, "good", "in use"}, {wire.DiskState{State: "in use", Why: "input/output error"}, "bad", "in use"},
		{wire.DiskState{State: "draining"}, "work", "being emptied"}, {wire.DiskState{State: "emptied"}, "quiet", "emptied"},
		{wire.DiskState{State: "not mounted"}, "bad", "not mounted"}, {wire.DiskState{State: "of the future"}, "look", "of the future"},
	} {
		if got := l.DiskState(tt.d); got.Class != tt.class || got.Text != tt.text {
			t.Errorf("%+v: %v", tt.d, got)
		}
	}
}

// A wish about disks is carried out only by the node whose disks the form was about, and says what lies on the disk.
func TestDisksOfAnotherNode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if _, body := s.get(t, "/_/en/disks/%2Fa/drain"); !strings.Contains(body, "<bdi>12</bdi> shards lie on <bdi>/a</bdi>, <bdi>4.0") || !strings.Contains(body, "room for <bdi>0") ||
		!strings.Contains(body, `name="node" value="north-1"`) {
		t.Errorf("%s", body)
	}
	for _, path := range []string{"/disks/%2Fa/drain", "/disks/%2Fb/undrain", "/disks/pause", "/disks/resume"} {
		resp, body := s.post(t, "/_/en"+path, formOf("K", "node", "south-1", "confirm", "/a"))
		if did := s.api.changes(); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 || !strings.Contains(body, "Another node got this form") {
			t.Errorf("%s: %d, did %v: %s", path, resp.StatusCode, did, body)
		}
	}
	if resp, _ := s.get(t, "/disks/%2Fnothing/drain"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("no such disk: %d", resp.StatusCode)
	}
	s.api.answers["/disks"] = wire.Disks{Paused: true}
	if _, body := s.get(t, "/_/en/disks"); !strings.Contains(body, `"/_/en/disks/resume"`) || strings.Contains(body, `"/_/en/disks/pause"`) {
		t.Errorf("%s", body)
	}
}

// A file is removed only after the archive has said what that does and the form has shown it: and just that.
func TestFileIsRemovedTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	asked := wire.Problem{Type: wire.ProblemType + "unconfirmed", Status: 428, Detail: "cannot be undone", Errors: []wire.ProblemField{
		{Message: "its bytes are deleted at 3 replicas"}, {Message: "confirms this", Location: wire.ConfirmField, Value: "c0ffee"}}}
	s.api.answers["POST /files/12-a.warc.gz/remove"] = asked
	typed := []string{"reason", "a court", "sha256", strings.Repeat("ab", 32), "confirm", "north-1"}
	resp, body := s.post(t, "/_/en/files/12-a.warc.gz/remove", formOf("K", typed...))
	if resp.StatusCode != 428 || !strings.Contains(body, "its bytes are deleted at 3 replicas") || !strings.Contains(body, "Press again") ||
		!strings.Contains(body, `name="shown" value="c0ffee"`) || !strings.Contains(body, "This was not done") {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if did := s.api.changes(); len(did) != 1 || strings.Contains(did[0], "c0ffee") {
		t.Errorf("the first time: %v", did)
	}
	s.post(t, "/files/12-a.warc.gz/remove", formOf("K", append(typed, "shown", "c0ffee")...))
	if did := s.api.changes(); len(did) != 1 || !strings.Contains(did[0], `"confirm":"c0ffee"`) {
		t.Errorf("the second time: %v", did)
	}
	if resp, _ := s.post(t, "/files/12-a.warc.gz/remove", formOf("L", "reason", "a court", "shown", "c0ffee", "confirm", "another")); resp.StatusCode != 422 || len(s.api.changes()) > 0 {
		t.Errorf("another name: %d", resp.StatusCode)
	}
}

// A file that is not lost cannot be found: the archive would say that it is done.
func TestFoundThoughNotLost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/files/f"] = wire.File{Name: "f"}
	s.api.answers["POST /files/f/found"] = nil
	resp, body := s.post(t, "/_/en/files/f/found", formOf("K", "reason", "why"))
	if did := s.api.changes(); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 || !strings.Contains(body, "not declared lost") {
		t.Errorf("%d, did %v: %s", resp.StatusCode, did, body)
	}
}

// A file that is lost can be found, one that is there be declared lost, and a tombstone neither.
func TestFileOffers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for what, tt := range map[string]struct {
		file       wire.File
		has, lacks []string
	}{
		"there": {wire.File{Name: "f"}, []string{"/files/f/lost", "/files/f/remove"}, []string{"/files/f/found"}},
		"lost":  {wire.File{Name: "f", Lost: now()}, []string{"/files/f/found", "/files/f/remove"}, []string{"/files/f/lost"}},
		"gone":  {wire.File{Name: "f", Removed: now()}, nil, []string{"/files/f/found", "/files/f/lost", "/files/f/remove", "/files/f/verify"}},
	} {
		s.api.answers["/files/f"] = tt.file
		_, body := s.get(t, "/files/f")
		for _, link := range tt.has {
			if !strings.Contains(body, `"`+link+`"`) {
				t.Errorf("%s: lacks %s", what, link)
			}
		}
		for _, link := range tt.lacks {
			if strings.Contains(body, `"`+link+`"`) {
				t.Errorf("%s: offers %s", what, link)
			}
		}
	}
}

// Copies count as good on the form only if nothing is wrong with them.
func TestGoodCopiesOnAForm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/files/f"] = wire.File{Name: "f", Copies: []wire.Copy{{State: wire.UploadCompleted, Checksum: wire.ChecksumOK, Verified: now()}, {State: wire.UploadCompleted, Checksum: wire.ChecksumCorrupt},
		{State: wire.UploadCompleted, FileList: wire.FileListMissing, Verified: now()}, {State: wire.UploadStarted}}}
	if _, body := s.get(t, "/_/en/files/f/lost"); !strings.Contains(body, "<bdi>1</bdi> copy of it is good") || !strings.Contains(body, "<bdi>4</bdi> replicas") {
		t.Errorf("%s", body)
	}
}

// A level is offered only if every member supports it, and the page tells the level that the cluster has after it.
func TestLevel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, body := s.get(t, "/_/en/level/raise")
	for level, want := range map[string]bool{"3": false, "4": true, "5": true, "6": false} {
		if strings.Contains(body, `<option value="`+level+`"`) != want {
			t.Errorf("level %s is offered: %v", level, !want)
		}
	}
	s.api.answers["PUT /cluster/level"] = wire.Level{Level: 4}
	resp, _ := s.post(t, "/_/en/level/raise", formOf("K", "level", "5", "confirm", "north-1"))
	if _, body := s.get(t, resp.Header.Get("Location")); !strings.Contains(body, "The cluster is at level <bdi>4</bdi>") {
		t.Errorf("%s", body)
	}
	s.api.answers["/cluster/level"] = wire.Level{Level: 5, Supported: 5, Newest: 6}
	if _, body := s.get(t, "/level"); strings.Contains(body, "/level/raise") {
		t.Errorf("a level is offered: %s", body)
	}
}
