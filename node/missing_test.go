//go:build slow

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/node/config"
	"holdfast/node/lookup"
)

// TestAFileOfNobodyDoesNotKeepItsShardFromAnswering lays a file into the archive's folders that the catalog does not know,
// and takes the line of one away that it knows.
func TestAFileOfNobodyDoesNotKeepItsShardFromAnswering(t *testing.T) {
	t.Parallel()
	cfg, err := config.Single(t.TempDir(), config.Listen{Peer: "127.0.0.1:0", API: "127.0.0.1:0", Access: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(t.Context(), cfg, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	first := start(t, cfg)
	known := putWhole(t, first, "known.bin", []running{first})
	first.halt(t)
	stranger := catalog.FileName("stranger.bin")
	dir := filepath.Join(filepath.Dir(filepath.Dir(first.store.Path(known))), stranger.Shard().String())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, string(stranger)), []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := start(t, cfg)
	if !slices.Contains(n.store.Loose(), stranger) {
		t.Fatal("the stranger is not seen")
	}
	eventually(t, "the shard answers, and the status names the file", func() error {
		if problems := strings.Join(n.state.Status(t.Context()).Problems, "\n"); !strings.Contains(problems, string(stranger)) {
			return fmt.Errorf("problems: %q", problems)
		}
		if !n.indexer.Ready(stranger.Shard()) {
			return fmt.Errorf("shard %s lacks something", stranger.Shard())
		}
		return nil
	})
	var lacking [catalog.Shards]bool
	err = n.raft.View(func(v catalog.View) (err error) {
		lacking, err = lookup.Lacking(v, catalog.ReplicaName(cfg.Replica.Name), []catalog.FileName{known, stranger})
		return err
	})
	if err != nil || !lacking[known.Shard()] || lacking[stranger.Shard()] {
		t.Errorf("%s: %v, %s: %v, %v", known, lacking[known.Shard()], stranger, lacking[stranger.Shard()], err)
	}
}
