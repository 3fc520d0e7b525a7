package raft

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holdfast/catalog"
)

func TestSingleNodeRestartsWithoutReplay(t *testing.T) {
	t.Parallel()
	c := lone(t)
	a := c.found("a", "north")
	for range 20 {
		c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	}
	boot := a.storage.boot
	c.stop("a")
	a = c.start("a")
	if got := count(t, a.Node, "x"); got != 20 {
		t.Errorf("after a restart the counter is %d, want 20", got)
	}
	if a.storage.boot <= boot {
		t.Errorf("boot %d after %d", a.storage.boot, boot)
	}
	if err := a.Linear(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := a.Status().Replayed; got != 0 {
		t.Errorf("%d entries were applied again", got)
	}
	if err := a.Bootstrap(context.Background(), catalog.Command{Kind: catalog.Found}); !errors.Is(err, ErrFounded) {
		t.Errorf("founding twice: %v", err)
	}
}

func TestThreeNodesAgree(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b, d := three(t, c)
	watch := d.Watch("count/y")
	defer watch.Close()
	other := d.Watch("count/z")
	defer other.Close()
	keys, others := d.Keys("count/"), d.Keys("count/z")
	for i, n := range []*running{a, b, d} {
		result := c.propose(n, addKind, tinyAdd{Key: "y", N: 1})
		if string(result.Value) != string(rune('1'+i)) {
			t.Errorf("add %d answered %s", i, result.Value)
		}
		for _, reader := range []*running{a, b, d} {
			if err := reader.Linear(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := count(t, reader.Node, "y"); got != i+1 {
				t.Errorf("%s reads %d after %d adds", reader.cfg.Self, got, i+1)
			}
		}
	}
	<-watch.C
	select {
	case <-other.C:
		t.Error("a watch was signalled for a key it does not watch")
	default:
	}
	if got := keys.Take(); !slices.Equal(got, []string{"y"}) || len(others.Take()) > 0 || len(keys.Take()) > 0 {
		t.Errorf("keys that were written: %q", got)
	}
	keys.Close()
	c.propose(a, addKind, tinyAdd{Key: "y", N: 1})
	if err := d.Linear(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := keys.Take(); len(got) > 0 {
		t.Errorf("keys are collected after Close: %q", got)
	}
}

func TestLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	three(t, c)
	old := c.leader()
	c.propose(old, addKind, tinyAdd{Key: "x", N: 1})
	id := old.cfg.Self
	c.kill(id)
	next := c.leader()
	c.propose(next, addKind, tinyAdd{Key: "x", N: 1})
	back := c.start(id)
	c.propose(back, addKind, tinyAdd{Key: "x", N: 1})
	c.eventually("the old leader caught up", func() bool { return count(t, back.Node, "x") == 3 })
}

// TestStoppingHandsTheLeadershipOver stops a leader: the next leads in the next term. Nobody stands for election by himself
// for a minute, so that without a handover nobody leads in the time that the test waits.
func TestStoppingHandsTheLeadershipOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.timing.heartbeat, c.timing.election, c.timing.lease = time.Minute, time.Minute, time.Minute
	three(t, c)
	old := c.leader()
	term := old.Status().Term
	c.stop(old.cfg.Self)
	next := c.leader()
	if got := next.Status().Term; got != term+1 {
		t.Errorf("term %d became %d: there was an election in between", term, got)
	}
	back := c.start(old.cfg.Self)
	c.propose(back, addKind, tinyAdd{Key: "x", N: 1})
}

func TestMinoritySaysSoAndHeals(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.timing.quorum = 2 * time.Second
	three(t, c)
	old := c.leader()
	var others []catalog.NodeID
	for id := range c.nodes {
		if id != old.cfg.Self {
			others = append(others, id)
		}
	}
	c.propose(old, addKind, tinyAdd{Key: "x", N: 1})
	c.hub.cut([]catalog.NodeID{old.cfg.Self}, others)
	waits, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := old.Propose(waits, addKind, tinyAdd{Key: "x", N: 10}, ""); !errors.Is(err, ErrNoQuorum) || waits.Err() != nil {
		t.Errorf("the minority answered %v", err)
	}
	if err := old.Linear(context.Background()); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("a linear read in the minority: %v", err)
	}
	if got := count(t, old.Node, "x"); got != 1 {
		t.Errorf("the minority reads %d locally", got)
	}
	if s := old.Status(); s.Quorum || s.Role == Leader {
		t.Errorf("the minority's status says %+v", s)
	}
	c.propose(c.nodes[others[0]], addKind, tinyAdd{Key: "x", N: 1})
	c.hub.heal()
	c.eventually("healed", func() bool { return count(t, old.Node, "x") >= 2 && old.Status().Quorum })
	c.propose(old, addKind, tinyAdd{Key: "x", N: 1})
	if got := count(t, c.leader().Node, "x"); got != 3 && got != 13 {
		t.Errorf("after healing the counter is %d", got)
	}
}

func TestRetryAppliesOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	three(t, c)
	leader := c.leader()
	var follower *running
	for _, n := range c.nodes {
		if n != leader {
			follower = n
		}
	}
	lost := 0
	c.hub.mu.Lock()
	c.hub.calls = func(_ catalog.NodeID, response []byte) error {
		if lost++; lost <= 3 && len(response) > 1 {
			return errApart // the answer is lost on its way, after the command was applied
		}
		return nil
	}
	c.hub.mu.Unlock()
	result := c.propose(follower, addKind, tinyAdd{Key: "x", N: 1})
	if string(result.Value) != "1" || lost < 4 {
		t.Errorf("after %d calls the answer is %s", lost, result.Value)
	}
	if got := count(t, leader.Node, "x"); got != 1 {
		t.Errorf("a retried add counts %d times", got)
	}
}

func TestServeRefusesForeignNames(t *testing.T) {
	t.Parallel()
	c := lone(t)
	a := c.found("a", "north")
	text, err := json.Marshal(catalog.Command{Version: 1, Kind: addKind, Node: "b", Body: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Serve(context.Background(), "x", encodeProposal([][]byte{text})); !errors.Is(err, errWire) {
		t.Errorf("a proposal in another's name: %v", err)
	}
	if _, err := a.Propose(context.Background(), addKind, tinyAdd{Pad: make([]byte, 600<<10)}, ""); !errors.Is(err, ErrTooBig) {
		t.Errorf("a command of 800 KiB: %v", err)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	c := newCluster(t)
	a, _, _ := three(t, c)
	c.propose(a, addKind, tinyAdd{Key: "x", N: 1})
	for _, id := range []catalog.NodeID{"c", "b", "a"} {
		c.stop(id)
	}
	if _, err := a.Propose(context.Background(), addKind, tinyAdd{Key: "x", N: 1}, ""); !errors.Is(err, ErrStopped) {
		t.Errorf("a stopped node answered %v", err)
	}
	if err := a.storage.state.view(func(reader) error { return nil }); !errors.Is(err, ErrStopped) {
		t.Errorf("a stopped node's state answered %v", err)
	}
	goleak.VerifyNone(t, ignore)
}
