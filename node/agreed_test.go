//go:build slow

package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast/catalog"
	"holdfast/node/membership"
)

// TestANodeThatLostItsStateOrKeyDoesNotTakePart takes away what a member needs to remember, one after the other, and
// lets it come back by the front door in the end.
func TestANodeThatLostItsStateOrKeyDoesNotTakePart(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")
	nodes := startNodes(t, cfgs)
	cfg := cfgs[1]
	cfg.Name, cfg.Data, cfg.Listen.Peer = "south-2", t.TempDir(), fmt.Sprintf("127.0.0.1:%d", freeUDP(t, 1)[0])
	member := nodes[0]
	if err := joinBy(t, member, cfg); err != nil {
		t.Fatal(err)
	}
	south := start(t, cfg)
	south.halt(t)
	for _, lost := range []struct {
		path string
		want error
	}{{"raft", membership.ErrStateLost}, {"catalog", membership.ErrStateLost}, {"raft/boot", membership.ErrStateLost}, {"raft/wal-meta.db", membership.ErrStateLost}, {"identity/node.key", membership.ErrNoKey}} {
		path := filepath.Join(cfg.Data, lost.path)
		if err := os.Rename(path, path+"-away"); err != nil {
			t.Fatal(err)
		}
		if _, err := New(cfg, slogOf(t)); !errors.Is(err, lost.want) {
			t.Errorf("without %s: %v", lost.path, err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made again", lost.path)
		}
		if err := os.Rename(path+"-away", path); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(cfg.Data, "raft")), os.RemoveAll(filepath.Join(cfg.Data, "catalog"))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "remove it", func() error {
		refusal, err := nodes[0].decideAs(t.Context(), catalog.RemoveMember, catalog.MemberRemoval{ID: south.id, Lost: true})
		if err == nil && refusal != nil && refusal.Code != catalog.NotFound {
			err = refusal
		}
		return err
	})
	eventually(t, "it joins again", func() error { return joinBy(t, member, cfg) })
	back := start(t, cfg)
	putWhole(t, back, "after.bin", []running{back})
}
