package raft

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/catalog"
)

// crowd is many callers of a cluster at once.
type crowd struct {
	acked, unknown, tooBig, ended atomic.Int64
	mu                            sync.Mutex
	seen                          map[string]bool
}

// add adds to the counter and notes what came of it.
func (w *crowd) add(ctx context.Context, t *testing.T, n *Node, pad int) {
	result, err := n.Propose(ctx, addKind, tinyAdd{Key: "x", N: 1, Pad: make([]byte, pad)}, "")
	switch {
	case err == nil:
		w.mu.Lock()
		if w.seen[string(result.Value)] {
			t.Errorf("two adds answered %s", result.Value)
		}
		w.seen[string(result.Value)] = true
		w.mu.Unlock()
		w.acked.Add(1)
	case errors.Is(err, ErrTooBig):
		if pad < catalog.MaxBytes/2 {
			t.Errorf("a small command is refused with a large one: %v", err)
		}
		w.tooBig.Add(1)
	case errors.Is(err, context.Canceled):
		w.ended.Add(1)
		w.unknown.Add(1)
	case errors.Is(err, ErrNoQuorum), errors.Is(err, ErrStopped):
		w.unknown.Add(1)
	default:
		t.Errorf("an add: %v", err)
	}
}

// call adds from the node until ctx or the node ends: commands that are small, large and too large, some of which nobody waits for.
func (w *crowd) call(ctx context.Context, t *testing.T, n *Node, first int) {
	for kind := first; ctx.Err() == nil && !n.raft.stopped.Load(); kind++ {
		switch kind % 12 {
		case 0:
			w.add(context.Background(), t, n, catalog.MaxBytes)
		case 1:
			w.add(context.Background(), t, n, 64<<10)
		case 2:
			hasty, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, context.Canceled)
			w.add(hasty, t, n, 0)
			cancel()
		default:
			w.add(context.Background(), t, n, 0)
		}
	}
}

// TestGroupsOfCommands has a crowd on each node while the leadership is handed on and the leader stops. Every add that is
// acknowledged counts once; one that is too large, or whose caller has gone, harms no other; linear reads go on.
func TestGroupsOfCommands(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	three(t, c)
	w := &crowd{seen: map[string]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	nodes := make([]*Node, 0, 3)
	for _, n := range c.nodes {
		nodes = append(nodes, n.Node)
	}
	for _, n := range nodes {
		for first := range 12 {
			callers.Go(func() { w.call(ctx, t, n, first) })
		}
	}
	for range 3 {
		before := w.acked.Load()
		c.eventually("adds go on", func() bool { return w.acked.Load() > before+100 })
		leader := c.leader()
		floor := int(w.acked.Load())
		if err := leader.Linear(t.Context()); err != nil {
			t.Errorf("a linear read in a crowd: %v", err)
		}
		if got := count(t, leader.Node, "x"); got < floor {
			t.Errorf("a linear read gives %d after %d adds", got, floor)
		}
		if err := leader.raft.now().LeadershipTransfer().Error(); err != nil {
			t.Log(err)
		}
	}
	before := w.acked.Load()
	c.eventually("adds go on", func() bool { return w.acked.Load() > before+100 })
	c.stop(c.leader().cfg.Self)
	before = w.acked.Load()
	c.eventually("adds go on without the leader", func() bool { return w.acked.Load() > before+100 })
	cancel()
	callers.Wait()
	for _, n := range nodes { // a command whose caller has gone may be under way still
		c.eventually(string(n.cfg.Self)+" has no command under way", func() bool {
			s := &n.intake.packer
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.inside == 0 && s.next == nil
		})
	}
	leader := c.leader()
	got, acked, unknown := count(t, leader.Node, "x"), int(w.acked.Load()), int(w.unknown.Load())
	if got < acked || got > acked+unknown {
		t.Errorf("%d adds after %d were acknowledged and %d were not", got, acked, unknown)
	}
	if w.tooBig.Load() == 0 || w.ended.Load() == 0 {
		t.Errorf("%d were too big, %d callers went", w.tooBig.Load(), w.ended.Load())
	}
	c.eventually("the nodes' states are the same", func() bool {
		for _, n := range c.nodes {
			if count(t, n.Node, "x") != got {
				return false
			}
		}
		return true
	})
	t.Logf("%d acknowledged, %d unknown, %d too big, %d callers gone", acked, unknown, w.tooBig.Load(), w.ended.Load())
}

// TestLargeAnswersKeepNobodyBack puts more results into one answer than may be sent: what does not fit is asked for again.
func TestLargeAnswersKeepNobodyBack(t *testing.T) {
	t.Parallel()
	large, err := json.Marshal(bytes.Repeat([]byte("x"), catalog.MaxBytes/2))
	if err != nil {
		t.Fatal(err)
	}
	waiting := make([]answer, 40)
	for i := range waiting {
		waiting[i].result.Value = large
	}
	for rounds := 0; len(waiting) > 0; rounds++ {
		b, err := encodeAnswers(waiting)
		if err != nil || len(b) > 8<<20 {
			t.Fatalf("an answer of %d bytes, %v", len(b), err)
		}
		got, err := decodeAnswers(b, len(waiting))
		if err != nil {
			t.Fatal(err)
		}
		var left []answer
		for i, a := range got {
			switch {
			case errors.Is(a.err, errAgain):
				left = append(left, waiting[i])
			case a.err != nil || !bytes.Equal(a.result.Value, large):
				t.Fatalf("answer %d: %v", i, a.err)
			}
		}
		if len(left) == len(waiting) {
			t.Fatal("no answer fits")
		}
		waiting = left
	}
}
