package raft

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/catalog"
)

// operation is one call in a history of a counter: an add of 1 or a linear read.
type operation struct {
	add         bool
	begin, end  int // by a clock that all callers share
	value       int // after the add, or read
	outcomeLost bool
}

// TestCounterIsLinearizable adds to and reads a counter from all nodes while leaders are cut off and killed.
func TestCounterIsLinearizable(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.timing.quorum = 2 * time.Second
	three(t, c)
	h := &history{}
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	for _, n := range c.nodes {
		for range 2 {
			callers.Go(func() { h.drive(ctx, t, n.Node) })
		}
	}
	for round := range 4 {
		before := h.done()
		c.eventually("operations go on", func() bool { return h.done() > before+40 })
		leader := c.leader()
		if round%2 == 1 {
			if err := leader.raft.now().LeadershipTransfer().Error(); err != nil {
				t.Log(err)
			}
			continue
		}
		for id := range c.nodes {
			if id != leader.cfg.Self {
				c.hub.cut([]catalog.NodeID{leader.cfg.Self}, []catalog.NodeID{id})
			}
		}
		c.eventually("another leader", func() bool { return c.leader() != leader })
		c.hub.heal()
	}
	before := h.done()
	c.eventually("operations go on", func() bool { return h.done() > before+40 })
	cancel()
	callers.Wait()
	h.check(t)
}

type history struct {
	mu    sync.Mutex
	clock int
	all   []operation
}

func (h *history) now() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

func (h *history) done() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

func (h *history) drive(ctx context.Context, t *testing.T, n *Node) {
	for i := 0; ctx.Err() == nil; i++ {
		op := operation{add: i%2 == 0, begin: h.now()}
		var err error
		if op.add {
			var result catalog.Result
			result, err = n.Propose(context.Background(), addKind, tinyAdd{Key: "x", N: 1}, "")
			if err == nil {
				err = json.Unmarshal(result.Value, &op.value)
			}
		} else if err = n.Linear(context.Background()); err == nil {
			op.value = count(t, n, "x")
		}
		switch {
		case errors.Is(err, ErrNoQuorum):
			op.outcomeLost = true
		case err != nil:
			t.Error(err)
			return
		}
		op.end = h.now()
		h.mu.Lock()
		h.all = append(h.all, op)
		h.mu.Unlock()
	}
}

// check looks for an order of the operations that explains every answer. Adds of 1 answer with their place in
// that order, so it is enough that no two adds answer the same and that whoever began after another had ended
// saw at least its value, an add more.
func (h *history) check(t *testing.T) {
	seen := make(map[int]bool)
	lost := 0
	for _, op := range h.all {
		switch {
		case op.outcomeLost:
			lost++
		case op.add && seen[op.value]:
			t.Errorf("two adds answered %d: one was applied twice or lost", op.value)
		case op.add:
			seen[op.value] = true
		}
	}
	answered := slices.DeleteFunc(slices.Clone(h.all), func(op operation) bool { return op.outcomeLost })
	byEnd := slices.SortedFunc(slices.Values(answered), func(a, b operation) int { return a.end - b.end })
	slices.SortFunc(answered, func(a, b operation) int { return a.begin - b.begin })
	var latest operation // the highest value among those that ended before op began
	for _, op := range answered {
		for ; byEnd[0].end < op.begin; byEnd = byEnd[1:] {
			if byEnd[0].value > latest.value {
				latest = byEnd[0]
			}
		}
		if op.value < latest.value || op.add && op.value == latest.value {
			t.Errorf("%+v ended before %+v began", latest, op)
		}
	}
	for value := range seen {
		if value > len(seen)+lost {
			t.Errorf("an add answered %d after %d adds: some were applied more than once", value, len(seen)+lost)
		}
	}
	t.Logf("%d operations, %d with an unknown outcome", len(h.all), lost)
}
