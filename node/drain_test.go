//go:build slow

package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/archive"
)

const secondNorth = `
[[node]]
name = "north-2"
replica = "north"
`

// drain asks for a node's drain, or for its end, and returns the refusal.
func drain(t *testing.T, by running, id catalog.NodeID, draining bool) error {
	t.Helper()
	var refusal error
	eventually(t, "drain", func() error {
		result, err := by.agreed.Propose(t.Context(), catalog.UpdateMember, catalog.MemberChange{ID: id, Draining: &draining}, catalog.Local(by.id))
		if errors.Is(err, api.ErrNoQuorum) {
			return err
		}
		if refusal = err; err == nil && result.Refusal != nil {
			refusal = result.Refusal
		}
		return nil
	})
	return refusal
}

// holding counts the shards of north by their holder, and those that are still to be given up.
func holding(t *testing.T, n running) (held map[catalog.NodeID]int, left int) {
	t.Helper()
	held = map[catalog.NodeID]int{}
	err := n.raft.View(func(v catalog.View) error {
		layout, err := v.Layout("north")
		if err != nil {
			return err
		}
		for _, p := range layout {
			held[p.Holder]++
			if p.Next != "" {
				left++
			}
		}
		members, err := v.Members()
		for _, m := range members {
			out, err := v.Left(m.ID)
			if err != nil {
				return err
			}
			left += len(out)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return held, left
}

// TestDrainingANodeWithThreeFiles drains a node that holds all shards of its replica and three files. Shards without files
// are no work: they do not take a decision each.
func TestDrainingANodeWithThreeFiles(t *testing.T) {
	t.Parallel()
	cfgs := threeConfigs(t, secondNorth)
	nodes := startNodes(t, cfgs)
	var first, second running
	for _, n := range nodes {
		switch n.cfg.Name {
		case "north-1":
			first = n
		case "north-2":
			second = n
		}
	}
	if err := drain(t, first, second.id, true); err != nil { // so that north-1 has all shards
		t.Fatal(err)
	}
	for i := range 3 {
		putWhole(t, first, catalog.FileName(fmt.Sprintf("file-%d.bin", i)), nodes)
	}
	settled := func(holder running) func() error {
		return func() error {
			if held, left := holding(t, first); held[holder.id] != catalog.Shards || left > 0 {
				return fmt.Errorf("%s holds %d shards, %d on the move", holder.cfg.Name, held[holder.id], left)
			}
			return nil
		}
	}
	eventually(t, "north-1 holds all", settled(first))
	if err := drain(t, first, second.id, false); err != nil {
		t.Fatal(err)
	}
	before, began := first.raft.Status().Applied, time.Now()
	if err := drain(t, first, first.id, true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "north-2 holds all", settled(second))
	entries := first.raft.Status().Applied - before
	t.Logf("drained in %v, %d entries of the log", time.Since(began).Round(time.Millisecond), entries)
	if entries > 200 {
		t.Errorf("the drain of 3 files took %d entries of the log", entries)
	}
}

// TestADrainThatCannotEndIsRefused: the only node of a replica has nobody to give its shards to.
func TestADrainThatCannotEndIsRefused(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, secondNorth))
	if err := drain(t, nodes[0], nodes[1].id, true); err == nil || !strings.Contains(err.Error(), "south") {
		t.Errorf("the only node of south is drained: %v", err)
	}
	var second running
	for _, n := range nodes {
		if n.cfg.Name == "north-2" {
			second = n
		}
	}
	if err := drain(t, nodes[0], second.id, true); err != nil {
		t.Fatal(err)
	}
	if err := drain(t, nodes[0], nodes[0].id, true); err == nil || !strings.Contains(err.Error(), "north") {
		t.Errorf("the last node of north that is not draining is drained: %v", err)
	}
	if err := drain(t, nodes[0], second.id, false); err != nil {
		t.Errorf("the end of a drain: %v", err)
	}
	why := func(alive bool) []string {
		var out []alert.Alert
		err := nodes[0].raft.View(func(v catalog.View) (err error) {
			out, err = archive.StuckDrain(v, nodes[0].id, func(catalog.NodeID) bool { return alive })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return alert.Texts(out)
	}
	if got := why(false); len(got) > 0 {
		t.Errorf("of a node that is not draining the status says %q", got)
	}
	if err := drain(t, nodes[0], nodes[0].id, true); err != nil {
		t.Errorf("a drain that can end: %v", err)
	}
	if held, _ := holding(t, nodes[0]); held[nodes[0].id] > 0 {
		if got := why(false); len(got) != 1 || !strings.Contains(got[0], "holdfast node undrain north-1") {
			t.Errorf("while nobody takes its shards, the status says %q", got)
		}
	}
	if got := why(true); len(got) > 0 {
		t.Errorf("while another takes its shards, the status says %q", got)
	}
}
