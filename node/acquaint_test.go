//go:build slow

package node

import (
	"errors"
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
	south.halt(t) // of two nodes one votes, the first: it decides without the other
	if err := joinBy(t, north, cfgs[2]); err != nil {
		t.Fatal(err)
	}
	third := start(t, cfgs[2])
	apart := true // a node that cannot be dialled does not vote
	decideSoon(t, north, catalog.UpdateMember, catalog.MemberChange{ID: north.id, OutOnly: &apart})
	eventually(t, "the new member leads", func() error {
		if !third.raft.IsLeader() || third.raft.Votes(north.id) {
			return errors.New("not yet")
		}
		return nil
	})
	south = start(t, cfgs[1]) // as it stood before the new member joined
	eventually(t, "south hears the leader", func() error {
		return south.raft.View(func(v catalog.View) error { _, err := v.Member(third.id); return err })
	})
	putWhole(t, north, "after.bin", []running{north, south, third})
}
