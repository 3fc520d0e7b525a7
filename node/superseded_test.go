package node

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
	n := &Node{cfg: folder{config.Config{Data: t.TempDir()}}, disk: disk.New(), newer: make(chan uint64, 1)}
	if err := os.MkdirAll(filepath.Join(n.cfg.Data, "identity"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := n.cfg.checkSuperseded(); err != nil {
		t.Fatal(err)
	}
	n.onPeer(peer.Event{Kind: peer.EventRefused, Epoch: 7})
	for range 2 {
		n.onPeer(peer.Event{Kind: peer.EventNewerEpoch, Epoch: 3})
	}
	if err := n.yield(t.Context()); !errors.Is(err, ErrSuperseded) {
		t.Errorf("it goes on: %v", err)
	}
	if err := n.cfg.checkSuperseded(); !errors.Is(err, ErrSuperseded) {
		t.Errorf("it starts again: %v", err)
	}
}
