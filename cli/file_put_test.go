package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// waitedFor has a put wait for a file of which the archive shows the entry, and delete it then. It returns whether the
// local file is left, and how many failures there are.
func waitedFor(t *testing.T, entry wire.File) (left bool, failures int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), entry.Name)
	if err := os.WriteFile(path, []byte("some bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(entry); err != nil {
			t.Error(err)
		}
	}))
	defer archive.Close()
	c, err := client.New(archive.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	p := &putting{filePutCmd: filePutCmd{Delete: true, Wait: time.Minute}, a: &app{ctx: t.Context(), stderr: t.Output()},
		client: c, want: 1, keeps: map[string]bool{"north": true},
		files: []wire.File{{Name: entry.Name}}, local: []original{{path, before}}}
	if err := p.wait(t.Context()); err != nil {
		t.Error(err)
	}
	p.deleteLocal()
	_, err = os.Stat(path)
	return err == nil, len(p.failures)
}

// A file that somebody removes from the archive, or declares lost, while a put waits for it is not there, however many
// copies its entry lists: the original stays, and the put fails.
func TestAPutKeepsTheOriginalOfAFileThatIsGone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	entry := wire.File{Name: "one.txt", Size: 10, Copies: []wire.Copy{{Replica: "north", State: wire.UploadCompleted,
		FileList: wire.FileListOK, Checksum: wire.ChecksumOK, Verified: now}}}
	removed, lost := entry, entry
	removed.Removed, lost.Lost = now, now
	for what, try := range map[string]struct {
		entry    wire.File
		left     bool
		failures int
	}{"verified": {entry, false, 0}, "removed": {removed, true, 1}, "lost": {lost, true, 1}} {
		if left, failures := waitedFor(t, try.entry); left != try.left || failures != try.failures {
			t.Errorf("%s: the original is left: %v, %d failures", what, left, failures)
		}
	}
}
