package node

import (
	"errors"
	"log/slog"
	"testing"

	"holdfast/catalog"
	"holdfast/node/config"
	"holdfast/node/membership"
)

// TestAnOldProgramDoesNotStart opens the folder of a cluster at this program's level as the program before it would.
func TestAnOldProgramDoesNotStart(t *testing.T) {
	t.Parallel()
	cfg, err := config.Single(t.TempDir(), config.Listen{Peer: "127.0.0.1:0", API: "127.0.0.1:0", Access: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	n, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := membership.CheckLevel(n.raft.View, catalog.Level-1, Version()); !errors.Is(err, membership.ErrOldProgram) {
		t.Errorf("a program of level %d starts: %v", catalog.Level-1, err)
	}
	if err := membership.CheckLevel(n.raft.View, catalog.Level, Version()); err != nil {
		t.Errorf("a program of level %d: %v", catalog.Level, err)
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
}
