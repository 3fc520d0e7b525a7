package membership

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/disk"
	"holdfast/node/config"
	"holdfast/peer"
)

func TestALeftBehindNodeEndsAndStaysDown(t *testing.T) {
	t.Parallel()
	folder := Folder{Config: config.Config{Data: t.TempDir()}}
	m := Member{Folder: folder, Roster: &Roster{disk: disk.New()}, Refusals: NewRefusals()}
	if err := os.MkdirAll(filepath.Join(folder.Data, "identity"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := folder.CheckSuperseded(); err != nil {
		t.Fatal(err)
	}
	m.Refusals.Note(peer.Event{Kind: peer.EventRefused, Epoch: 7})
	for range 2 {
		m.Refusals.Note(peer.Event{Kind: peer.EventNewerEpoch, Epoch: 3})
	}
	if err := m.Yield(t.Context()); !errors.Is(err, ErrSuperseded) {
		t.Errorf("it goes on: %v", err)
	}
	if err := folder.CheckSuperseded(); !errors.Is(err, ErrSuperseded) {
		t.Errorf("it starts again: %v", err)
	}
}
