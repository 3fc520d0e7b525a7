package node

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/node/wire"
	"holdfast/peer"
)

const (
	clockCall = "clock"
	// clockEvery is how often the members are asked for the time; clockLimit is how long an answer may take.
	clockEvery = 10 * time.Second
	clockLimit = 2 * time.Second
)

// clocks compares this machine's clock with those of the other members. What it knows of them is kept against a steady
// clock, which no one can set: so a step of this machine's clock shows at once, without asking anybody again.
type clocks struct {
	wall func() time.Time // the machine's clock
	base time.Time        // when the steady clock began
	ask  chan struct{}    // receives when a member has connected

	mu     sync.Mutex
	others map[catalog.NodeID]time.Duration // their clocks less the steady clock
}

func newClocks() *clocks {
	return &clocks{wall: time.Now, base: time.Now(), ask: make(chan struct{}, 1), others: map[catalog.NodeID]time.Duration{}}
}

// steady returns what the steady clock showed at a moment that this process read from the machine.
func (c *clocks) steady(at time.Time) time.Time { return c.base.Round(0).Add(at.Sub(c.base)) }

// heard notes what a member's clock showed at a moment of this process.
func (c *clocks) heard(id catalog.NodeID, theirs, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others[id] = theirs.Round(0).Sub(c.steady(at))
}

// knows reports whether a clock of the member is known.
func (c *clocks) knows(id catalog.NodeID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.others[id]
	return known
}

// connected has the clocks compared soon.
func (c *clocks) connected() {
	select {
	case c.ask <- struct{}{}:
	default:
	}
}

// keep forgets the clocks of those who are not among the members.
func (c *clocks) keep(members []catalog.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.others {
		if !slices.Contains(members, id) {
			delete(c.others, id)
		}
	}
}

// skew returns how far this machine's clock is ahead of the members' median now. Of two that disagree the earlier one
// counts: time in the catalog cannot be taken back.
func (c *clocks) skew() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.wall().Round(0).Sub(c.steady(time.Now()))
	all := []time.Duration{own}
	for _, other := range c.others {
		all = append(all, other)
	}
	slices.Sort(all)
	return own - all[(len(all)-1)/2]
}

// now returns the time that this machine and the others agree on: the members' median when this machine's clock is far off.
func (c *clocks) now() time.Time {
	now := c.wall()
	if off := c.skew(); off.Abs() > maxSkew {
		return now.Add(-off)
	}
	return now
}

// timekeeper keeps the clocks compared.
type timekeeper struct {
	clocks  *clocks
	members func() []catalog.NodeID // the others
	peer    *peer.Peer
	log     *slog.Logger
}

// run asks the members for the time, now and then and when one has connected. Of one that does not answer, what its
// clock showed when the nodes connected counts.
func (t timekeeper) run(ctx context.Context) error {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		t.compare(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-t.clocks.ask:
		}
	}
}

func (t timekeeper) compare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clockLimit)
	defer cancel()
	members := t.members()
	t.clocks.keep(members)
	var connected []catalog.NodeID
	for _, id := range t.peer.Connected() {
		if slices.Contains(members, catalog.NodeID(id)) {
			connected = append(connected, catalog.NodeID(id))
		}
	}
	wire.Gather(connected, func(id catalog.NodeID) (struct{}, error) { return struct{}{}, t.askOne(ctx, id) })
	for _, l := range t.peer.Stats().Links {
		if id := catalog.NodeID(l.Peer); slices.Contains(members, id) && !t.clocks.knows(id) {
			t.clocks.heard(id, l.Since.Round(0).Add(l.Clock), l.Since)
		}
	}
}

// askOne notes what a member's clock shows; the way there and back is taken to be equally long.
func (t timekeeper) askOne(ctx context.Context, id catalog.NodeID) error {
	began := time.Now()
	micros, err := ask[int64](ctx, t.peer, id, clockCall, struct{}{})
	if err != nil {
		t.log.Debug("a member does not tell the time", "member", id, "error", err)
		return err
	}
	t.clocks.heard(id, time.UnixMicro(micros), began.Add(time.Since(began)/2))
	return nil
}

// serve tells another member the time.
func (c *clocks) serve(context.Context, catalog.NodeID, struct{}) (int64, error) {
	return c.wall().UnixMicro(), nil
}

// timekeeper returns what keeps this node's clocks compared.
func (n *Node) timekeeper() timekeeper {
	others := func() (out []catalog.NodeID) {
		for _, m := range n.known.Load().Members {
			if m.ID != n.id {
				out = append(out, m.ID)
			}
		}
		return out
	}
	return timekeeper{clocks: n.clocks, members: others, peer: n.peer, log: n.log}
}
