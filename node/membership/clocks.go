// Package membership makes a node a member of a cluster, and keeps it one. It founds and joins clusters, knows whom
// to trust and by which key, admits others, compares the members' clocks, and ends a node that is no longer a member.
package membership

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/node/wire"
)

const (
	// ClockCall is the kind of the request for the time. It is on the wire and keeps its meaning.
	ClockCall = "clock"
	// clockEvery is how often the members are asked for the time; clockLimit is how long an answer may take.
	clockEvery = 10 * time.Second
	clockLimit = 2 * time.Second
)

// MaxSkew is how far a clock may be off before a human is told; Raft does not let such a node lead.
const MaxSkew = 30 * time.Second

// Clocks compares this machine's clock with those of the other members. It keeps what it knows of them relative to a
// steady clock, which nobody can set. A step of this machine's clock therefore shows at once, without asking anybody
// again.
type Clocks struct {
	wall   func() time.Time // the machine's clock
	pauses *pauses
	base   time.Time     // when the steady clock began
	ask    chan struct{} // receives when a member has connected

	mu     sync.Mutex
	others map[catalog.NodeID]time.Duration // their clocks less the steady clock
}

// NewClocks returns clocks that know only this machine's.
func NewClocks() *Clocks {
	return &Clocks{wall: time.Now, pauses: newPauses(), base: time.Now(),
		ask: make(chan struct{}, 1), others: map[catalog.NodeID]time.Duration{}}
}

// steady returns the steady clock's value at a time that this process read from the machine.
func (c *Clocks) steady(at time.Time) time.Time { return c.base.Round(0).Add(at.Sub(c.base)) }

// heard records a member's clock at a time of this process.
func (c *Clocks) heard(id catalog.NodeID, theirs, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others[id] = theirs.Round(0).Sub(c.steady(at))
}

// knows reports whether a clock of the member is known.
func (c *Clocks) knows(id catalog.NodeID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.others[id]
	return known
}

// Compared returns how many other members' clocks are known.
func (c *Clocks) Compared() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.others)
}

// Connected has Run compare the clocks soon.
func (c *Clocks) Connected() {
	select {
	case c.ask <- struct{}{}:
	default:
	}
}

// keep forgets the clocks of nodes that are not among the members.
func (c *Clocks) keep(members []catalog.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.others {
		if !slices.Contains(members, id) {
			delete(c.others, id)
		}
	}
}

// Skew returns how far this machine's clock is ahead of the members' median now. If only two clocks are known and they
// disagree, the earlier one counts: time in the catalog cannot be taken back.
func (c *Clocks) Skew() time.Duration {
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

// Now returns the time that this machine and the others agree on: the members' median when this machine's clock is far
// off.
func (c *Clocks) Now() time.Time {
	now := c.wall()
	if off := c.Skew(); off.Abs() > MaxSkew {
		return now.Add(-off)
	}
	return now
}

// Wall returns what this machine's clock shows.
func (c *Clocks) Wall() time.Time { return c.wall() }

// Alerts says that this machine's clock is off, if it is.
func (c *Clocks) Alerts() []alert.Alert {
	off := c.Skew()
	if off.Abs() <= MaxSkew {
		return nil
	}
	return []alert.Alert{alert.New(alert.ClockOff, "", "ahead", off.Round(time.Second).String())}
}

// Doubtful reports whether nothing should be decided by this machine's clock.
func (c *Clocks) Doubtful() bool { return c.Skew().Abs() > MaxSkew }

// Link is a connection with another member, and how far that member's clock was ahead when they connected.
type Link struct {
	Peer  catalog.NodeID
	Since time.Time
	Ahead time.Duration
}

// Timekeeper keeps the clocks compared.
type Timekeeper struct {
	Clocks    *Clocks
	Others    func() []catalog.NodeID // members
	Connected func() []catalog.NodeID // can be asked at once
	Links     func() []Link
	Caller    wire.Caller
	Log       *slog.Logger
}

// Run asks the members for the time, now and then and when one has connected. For a member that does not answer, it
// uses what that member's clock showed when the nodes connected.
func (t Timekeeper) Run(ctx context.Context) error {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		t.compare(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-t.Clocks.ask:
		}
	}
}

func (t Timekeeper) compare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clockLimit)
	defer cancel()
	members := t.Others()
	t.Clocks.keep(members)
	var connected []catalog.NodeID
	for _, id := range t.Connected() {
		if slices.Contains(members, id) {
			connected = append(connected, id)
		}
	}
	wire.Gather(connected, func(id catalog.NodeID) (struct{}, error) { return struct{}{}, t.askOne(ctx, id) })
	for _, l := range t.Links() {
		if slices.Contains(members, l.Peer) && !t.Clocks.knows(l.Peer) {
			t.Clocks.heard(l.Peer, l.Since.Round(0).Add(l.Ahead), l.Since)
		}
	}
}

// askOne records a member's clock, assuming that both directions take equally long.
func (t Timekeeper) askOne(ctx context.Context, id catalog.NodeID) error {
	began := time.Now()
	micros, err := wire.Ask[int64](ctx, t.Caller, id, ClockCall, struct{}{})
	if err != nil {
		t.Log.Debug("a member does not tell the time", "member", id, "error", err)
		return err
	}
	t.Clocks.heard(id, time.UnixMicro(micros), began.Add(time.Since(began)/2))
	return nil
}

// AnswerClock tells another member the time.
func (c *Clocks) AnswerClock() wire.Handler {
	return wire.Answer(ClockCall, func(context.Context, catalog.NodeID, struct{}) (int64, error) {
		return c.wall().UnixMicro(), nil
	})
}
