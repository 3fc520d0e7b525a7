//go:build slow

package node

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/node/membership"
	"holdfast/peer"
)

// TestARemovedNodeEnds removes a node that runs and one that was away: both say that they are no members, and end. The cluster goes on.
func TestARemovedNodeEnds(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, ""))
	first, away := nodes[0], nodes[2]
	eventually(t, "all vote", func() error {
		for _, n := range nodes {
			if !first.raft.Votes(n.id) {
				return fmt.Errorf("%s does not vote", n.cfg.Name)
			}
		}
		return nil
	})
	away.halt(t)
	remove := func(n running) {
		t.Helper()
		eventually(t, "remove it", func() error {
			refusal, err := first.decideAs(t.Context(), catalog.RemoveMember, catalog.MemberRemoval{ID: n.id, Lost: true})
			if err == nil && refusal != nil && refusal.Code != catalog.NotFound {
				err = refusal
			}
			return err
		})
	}
	remove(away)
	n, err := New(away.cfg.Config, slogOf(t))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- n.Run(t.Context()) }()
	mustEnd(t, ended)

	cfg := away.cfg.Config
	eventually(t, "another joins", func() error { return joinBy(t, first, cfg) })
	runs := start(t, cfg)
	eventually(t, "it takes part", func() error {
		if !first.raft.Votes(runs.id) {
			return errors.New("it does not vote")
		}
		return nil
	})
	remove(runs)
	mustEnd(t, runs.end)
	remove(runs) // the others still decide
}

func mustEnd(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if !errors.Is(err, membership.ErrRemoved) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("a removed node goes on")
	}
}

// TestOneMemberEndsNobody lets one member turn another away as removed, as one does that is behind or was taken over. The other hears a
// leader: it goes on.
func TestOneMemberEndsNobody(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, ""))
	for _, n := range nodes {
		eventually(t, "all take part", func() error {
			if silent, heard := n.raft.Heard(); !heard || silent > time.Second || !nodes[0].raft.Votes(n.id) || len(n.peer.Connected()) != 2 {
				return errors.New("no leader is heard")
			}
			return nil
		})
		n.refusals.Note(peer.Event{Kind: peer.EventRefused, Peer: "liar", Refusal: peer.Removed})
		if n.member().Removed(time.Now().Add(time.Hour)) {
			t.Errorf("%s is to end", n.cfg.Name)
		}
	}
}
