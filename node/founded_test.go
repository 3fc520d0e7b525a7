package node

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"holdfast/node/config"
	"holdfast/node/membership"
)

func TestAFoundingThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	cfg, err := config.Single(t.TempDir(), config.Listen{Peer: "127.0.0.1:0", API: "127.0.0.1:0", Access: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg, log); !errors.Is(err, membership.ErrNotFounded) {
		t.Fatalf("a node of no cluster starts: %v", err)
	}
	founded, err := Init(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), cfg, log); !errors.Is(err, membership.ErrFounded) {
		t.Errorf("founded twice: %v", err)
	}
	lose := func() {
		if err := os.Remove(filepath.Join(cfg.IdentityDir(), "members.json")); err != nil { // as after a crash before it was written
			t.Fatal(err)
		}
	}
	lose()
	again, err := Init(t.Context(), cfg, log)
	if err != nil || again != founded {
		t.Errorf("the founding is repeated: %+v %v, want %+v", again, err, founded)
	}
	lose()
	n, err := New(cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	if k := n.roster.Known(); k.Cluster != founded || len(k.Members) != 1 || k.Members[0].ID != n.id {
		t.Errorf("the node knows %+v", k)
	}
	lose()
	if _, err := Init(t.Context(), cfg, log); !errors.Is(err, membership.ErrRunning) {
		t.Errorf("a running node's folder is founded: %v", err)
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
}
