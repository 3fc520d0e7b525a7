package raft

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/catalog"
)

func TestDeadVoterIsReplacedAfterTheGrace(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	grace := 1500 * time.Millisecond
	c.config = func(cfg *Config) { cfg.Grace = grace }
	three(t, c)
	for _, id := range []catalog.NodeID{"d"} {
		c.grow(c.leader(), id, "east")
	}
	leader := c.leader()
	c.eventually("d knows all", func() bool {
		return c.nodes["d"].Status().Role == NonVoter && c.nodes["d"].Status().Applied == leader.Status().Applied
	})
	var dead catalog.NodeID
	for _, id := range leader.Status().Voters {
		if id != leader.cfg.Self {
			dead = id
		}
	}
	began := time.Now()
	c.kill(dead)
	c.eventually("d votes in its place", func() bool {
		voters := leader.Status().Voters
		return len(voters) == 3 && slices.Contains(voters, "d") && !slices.Contains(voters, dead)
	})
	if took := time.Since(began); took < grace-c.timing.heartbeat { // it is counted from when the voter was heard last
		t.Errorf("the dead voter was replaced after %v, before the grace time", took)
	}
	if silent, leads := leader.Contacts()[dead]; leads && silent < grace { // on a busy machine another may lead now
		t.Errorf("the leader says it heard the dead voter %v ago", silent)
	}
	c.propose(leader, addKind, tinyAdd{Key: "x", N: 1})
	back := c.start(dead)
	c.eventually("the dead one came back without a vote", func() bool {
		return back.Status().Role == NonVoter && count(t, back.Node, "x") == 1 && leader.Contacts()[dead] == 0
	})
}

func TestFiveNodesGrowAndShrink(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.found("a", "north")
	for i, id := range []catalog.NodeID{"b", "c", "d", "e"} {
		c.grow(a, id, []string{"north", "south", "south", "west"}[i])
	}
	c.eventually("five voters", func() bool { return len(a.Status().Voters) == 5 })
	c.propose(c.leader(), memberKind, Candidate{ID: "e", Place: "gone"})
	c.eventually("e takes no part and three vote", func() bool {
		return !slices.Contains(c.leader().Status().Voters, "e") && c.leader().Contacts() != nil
	})
	leader := c.leader()
	c.eventually("e is out", func() bool { _, in := leader.Contacts()["e"]; return !in })
	c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
}

func TestGossipIsAdvice(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var thinks atomic.Bool
	c.config = func(cfg *Config) {
		cfg.Alive = func() map[catalog.NodeID]bool {
			return map[catalog.NodeID]bool{"a": true, "b": thinks.Load(), "c": thinks.Load()}
		}
	}
	a := c.found("a", "north")
	b := c.grow(a, "b", "south")
	d := c.grow(a, "c", "west")
	c.eventually("all know all", func() bool {
		return b.Status().Applied == a.Status().Applied && d.Status().Applied == a.Status().Applied
	})
	if voters := a.Status().Voters; len(voters) != 1 {
		t.Errorf("%v vote though gossip has not seen them", voters)
	}
	thinks.Store(true)
	c.eventually("three voters", func() bool { return len(a.Status().Voters) == 3 })
	thinks.Store(false)
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	if voters := c.leader().Status().Voters; len(voters) != 3 {
		t.Errorf("gossip alone took the vote from some: %v are left", voters)
	}
}

func TestSkewedNodeDoesNotLead(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var off atomic.Int64
	c.config = func(cfg *Config) {
		if cfg.Self == "a" {
			cfg.Skew = func() time.Duration { return time.Duration(off.Load()) }
		}
	}
	a, _, _ := three(t, c)
	c.eventually("a leads", a.IsLeader)
	off.Store(int64(31 * time.Second))
	c.eventually("another leads", func() bool { return !a.IsLeader() && c.leader() != a })
	if _, heard := a.Heard(); !heard {
		t.Error("the node that led has heard no leader")
	}
}

func TestHeardGrowsWhenCutOff(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	three(t, c)
	leader := c.leader()
	var cut *running
	for _, n := range c.nodes {
		if n != leader {
			cut = n
		}
	}
	for id := range c.nodes {
		if id != cut.cfg.Self {
			c.hub.cut([]catalog.NodeID{cut.cfg.Self}, []catalog.NodeID{id})
		}
	}
	c.eventually("it has not heard a leader for a second", func() bool {
		since, heard := cut.Heard()
		return heard && since > time.Second
	})
	c.hub.heal()
	c.eventually("it hears one again", func() bool {
		since, heard := cut.Heard()
		return heard && since < 300*time.Millisecond
	})
	if since, heard := leader.Heard(); !heard || leader.IsLeader() && since != 0 {
		t.Errorf("a leader heard itself %v ago", since)
	}
	if err := cut.Linear(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestWhoKnowsNoLeaderGetsNoVote lets a new member answer how far it is while nothing reaches it: it gets no vote before it has
// the configuration, for it would refuse its vote to nodes that it does not know, and nobody could lead any more.
func TestWhoKnowsNoLeaderGetsNoVote(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var asked atomic.Int64
	c.hub.calls = func(to catalog.NodeID, _ []byte) error {
		if to == "c" {
			asked.Add(1)
		}
		return nil
	}
	a := c.found("a", "north")
	c.grow(a, "b", "south")
	c.hub.deafen("c", true)
	c.grow(a, "c", "west")
	c.eventually("c was asked, and is not heard of", func() bool { return asked.Load() > 0 && a.contacts.since("c") > 0 })
	if voters := a.Status().Voters; slices.Contains(voters, "c") {
		t.Errorf("%v vote, and c has not even the configuration", voters)
	}
	c.hub.deafen("c", false)
	c.eventually("three voters", func() bool { return len(c.leader().Status().Voters) == 3 })
	c.propose(c.leader(), addKind, tinyAdd{Key: "x", N: 1})
}
