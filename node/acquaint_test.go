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
	ports := freeUDP(t, 3)
	f, err := ParseConfig("cluster.toml", fmt.Sprintf(threeNodes, t.TempDir(), ports[0], ports[1], ports[2]))
	if err != nil {
		t.Fatal(err)
	}
	cfgs := map[string]Config{}
	for _, name := range f.NodeNames() {
		if cfgs[name], err = f.Node(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Init(t.Context(), cfgs["north-1"], slogOf(t)); err != nil {
		t.Fatal(err)
	}
	north := start(t, cfgs["north-1"])
	if err := joinBy(t, north, cfgs["south-1"]); err != nil {
		t.Fatal(err)
	}
	south := start(t, cfgs["south-1"])
	eventually(t, "south has a state", func() error {
		return south.raft.View(func(v catalog.View) error { _, err := v.Member(south.id); return err })
	})
	south.halt(t)
	away := t.TempDir()
	if err := os.CopyFS(away, os.DirFS(cfgs["south-1"].Data)); err != nil {
		t.Fatal(err)
	}
	south = start(t, cfgs["south-1"])
	if err := joinBy(t, north, cfgs["third-1"]); err != nil {
		t.Fatal(err)
	}
	third := start(t, cfgs["third-1"])
	eventually(t, "all vote", func() error {
		if v := north.raft.Status().Voters; len(v) < 3 {
			return fmt.Errorf("voters %v", v)
		}
		return nil
	})
	south.halt(t)
	for !third.raft.IsLeader() {
		north.halt(t)
		north = start(t, cfgs["north-1"])
		eventually(t, "there is a leader", func() error {
			if !north.raft.IsLeader() && !third.raft.IsLeader() {
				return errors.New("none")
			}
			return nil
		})
	}
	cfg := cfgs["south-1"]
	cfg.Data = away // as it stood before third joined
	south = start(t, cfg)
	eventually(t, "south hears the leader", func() error {
		return south.raft.View(func(v catalog.View) error { _, err := v.Member(third.id); return err })
	})
	putWhole(t, north, "after.bin", []running{north, south, third})
}
