package raft

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// errAgain reports that a request found no leader, or one that lost the leadership meanwhile: it may be repeated.
var errAgain = errors.New("the leader changed")

// consensus is the Raft library while it runs, and this node's way to the leader.
type consensus struct {
	quorum  time.Duration // how long a caller waits for a leader
	running atomic.Pointer[hraft.Raft]
	changed *notice     // the leader, or whether Raft runs, changed
	stopped atomic.Bool // Run is ending
	gate    gate
}

func newConsensus(quorum time.Duration) *consensus {
	return &consensus{quorum: quorum, changed: newNotice()}
}

// now returns Raft, nil before Run and after. Who has entered the gate gets Raft.
func (c *consensus) now() *hraft.Raft { return c.running.Load() }

// set makes r what now returns.
func (c *consensus) set(r *hraft.Raft) {
	c.running.Store(r)
	c.changed.announce()
}

// stop tells callers who wait for a leader that the node is ending.
func (c *consensus) stop() {
	c.stopped.Store(true)
	c.changed.announce()
}

// leader returns the leader as this node knows, or nothing.
func (c *consensus) leader() catalog.NodeID {
	r := c.now()
	if r == nil {
		return ""
	}
	_, id := r.LeaderWithID()
	return catalog.NodeID(id)
}

// leads reports whether this node thinks it leads.
func (c *consensus) leads() bool {
	r := c.now()
	return r != nil && r.State() == hraft.Leader
}

// withLeader calls try with the leader until it answers something else than errAgain. Without a leader for
// the quorum time, or after twice that time in all, it gives up.
func (c *consensus) withLeader(ctx context.Context, try func(context.Context, catalog.NodeID) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, 2*c.quorum, ErrNoQuorum)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		leader, err := c.findLeader(limited)
		if err == nil {
			err = try(limited, leader)
		}
		if err == nil || !errors.Is(err, errAgain) {
			if limited.Err() != nil && ctx.Err() == nil && err != nil {
				return ErrNoQuorum
			}
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-limited.Done():
			timer.Stop()
			return context.Cause(limited)
		}
	}
}

// findLeader returns the leader as soon as this node knows of one.
func (c *consensus) findLeader(ctx context.Context) (leader catalog.NodeID, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.quorum, ErrNoQuorum)
	defer cancel()
	err = c.changed.wait(limited, func() bool {
		leader = c.leader()
		return leader != "" || c.stopped.Load()
	})
	if c.stopped.Load() {
		return "", ErrStopped
	}
	return leader, err
}

// endsWithLeader calls cancel when this node no longer takes the given one for the leader, so that nobody
// waits for an answer from a node that is cut off.
func (c *consensus) endsWithLeader(ctx context.Context, leader catalog.NodeID, cancel func()) (stop func()) {
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := c.changed.wait(ctx, func() bool { return c.leader() != leader }); err == nil {
			cancel()
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// votersIn returns who votes by the latest configuration.
func votersIn(r *hraft.Raft) []catalog.NodeID {
	var out []catalog.NodeID
	for _, s := range r.GetConfiguration().Configuration().Servers {
		if s.Suffrage == hraft.Voter {
			out = append(out, catalog.NodeID(s.ID))
		}
	}
	slices.Sort(out)
	return out
}
