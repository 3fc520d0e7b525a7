package node

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"holdfast/catalog"
)

// TestANodeThatWasAwayHearsALeaderItDoesNotKnow lets a node join while another is away, and lead when that one returns.
func TestANodeThatWasAwayHearsALeaderItDoesNotKnow(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, "")
	nodes := startNodes(t, cfgs[:2])
	north, south := nodes[0], nodes[1]
	eventually(t, "south has a state", func() error {
		return south.raft.View(func(v catalog.View) error { _, err := v.Member(south.id); return err })
	})
	south.halt(t)
	away := t.TempDir()
	if err := os.CopyFS(away, os.DirFS(cfgs[1].Data)); err != nil {
		t.Fatal(err)
	}
	south = start(t, cfgs[1])
	if err := joinBy(t, north, cfgs[2]); err != nil {
		t.Fatal(err)
	}
	third := start(t, cfgs[2])
	eventually(t, "all vote", func() error {
		if v := north.raft.Status().Voters; len(v) < 3 {
			return fmt.Errorf("voters %v", v)
		}
		return nil
	})
	south.halt(t)
	for !third.raft.IsLeader() {
		north.halt(t)
		north = start(t, cfgs[0])
		eventually(t, "there is a leader", func() error {
			if !north.raft.IsLeader() && !third.raft.IsLeader() {
				return errors.New("none")
			}
			return nil
		})
	}
	cfg := cfgs[1]
	cfg.Data = away // as it stood before third joined
	south = start(t, cfg)
	eventually(t, "south hears the leader", func() error {
		return south.raft.View(func(v catalog.View) error { _, err := v.Member(third.id); return err })
	})
	putWhole(t, north, "after.bin", []running{north, south, third})
}
