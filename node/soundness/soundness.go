// Package soundness checks the catalog: each node checks its own state, of an index that all of them have, and the
// digests of their states are compared. It knows nothing of what is in a catalog.
package soundness

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// The kinds of calls between nodes, in the name of who asks. They are on the wire and keep their meaning.
const (
	PinCall   = "catalog.pin"     // which indexes a node can check
	CheckCall = "catalog.check"   // check one of these
	StateCall = "catalog.checked" // how that stands
)

const (
	window    = time.Second // in which nodes look for an index in common
	most      = 64          // indexes of a node
	pinned    = time.Minute // how long they wait to be checked
	askLimit  = 20 * time.Second
	mostFound = 20 // problems that a node tells
)

// The states of a check, as the API shows them.
const (
	Idle        = "idle"        // none since the node started
	Running     = "running"     //
	Done        = "done"        //
	Failed      = "failed"      //
	Stopped     = "stopped"     //
	Unreachable = "unreachable" // the node does not answer
)

// Pinned is the agreed state of one index.
type Pinned interface {
	View(func(catalog.View) error) error
	Close()
}

// Config is what the checks of a node need.
type Config struct {
	Self   catalog.NodeID
	Pin    func(ctx context.Context, window time.Duration, most int) (map[uint64]Pinned, error)
	View   func(func(catalog.View) error) error
	Linear func(context.Context) error
	Ask    wire.Caller // in the name of who asks
	Log    *slog.Logger
}

// Checks checks the catalog of this node, and has the others check theirs.
type Checks struct {
	cfg  Config
	work chan Pinned // at most one waits

	mu    sync.Mutex
	pins  map[uint64]Pinned
	ended bool      // nothing is pinned any more
	until time.Time // when the pins are let go
	state api.NodeCheck
	stop  context.CancelFunc // of the check under way
}

// New returns checks that do nothing yet.
func New(cfg Config) *Checks {
	return &Checks{cfg: cfg, work: make(chan Pinned, 1),
		state: api.NodeCheck{Node: string(cfg.Self), State: Idle, Problems: []string{}}}
}

// Run carries out checks until ctx ends.
func (c *Checks) Run(ctx context.Context) error {
	tick := time.NewTicker(pinned / 4)
	defer tick.Stop()
	defer c.end()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-c.work:
			c.check(ctx, p)
			p.Close()
		case <-tick.C:
			c.release(false)
		}
	}
}

// release lets go what was pinned, if nobody has asked for it in time.
func (c *Checks) release(all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !all && time.Now().Before(c.until) {
		return
	}
	for _, p := range c.pins {
		p.Close()
	}
	c.pins = nil
}

// end lets everything go, for good: the state cannot be closed before.
func (c *Checks) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.release(true)
	select {
	case p := <-c.work:
		p.Close()
	default:
	}
}

// Pin returns the indexes of which this node can check its state, for a minute.
func (c *Checks) Pin(ctx context.Context, _ catalog.NodeID, _ struct{}) ([]uint64, error) {
	c.mu.Lock()
	busy := c.state.State == Running || c.pins != nil
	c.mu.Unlock()
	if busy {
		return nil, refusal("it checks its catalog already, or is about to")
	}
	pins, err := c.cfg.Pin(ctx, window, most)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.pins != nil || c.state.State == Running {
		for _, p := range pins {
			p.Close()
		}
		return nil, refusal("it is about to check its catalog already")
	}
	c.pins, c.until = pins, time.Now().Add(pinned)
	var out []uint64
	for index := range pins {
		out = append(out, index)
	}
	slices.Sort(out)
	return out, nil
}

// Request asks for a check of the state of an index, or to stop the one under way.
type Request struct {
	Index uint64 `json:"index,omitempty"`
	Stop  bool   `json:"stop,omitempty"`
}

// Begin begins to check the state of an index that Pin has named, or stops the check that is under way.
func (c *Checks) Begin(_ context.Context, _ catalog.NodeID, r Request) (api.NodeCheck, error) {
	if r.Stop {
		return c.halt(), nil
	}
	c.mu.Lock()
	p := c.pins[r.Index]
	delete(c.pins, r.Index)
	if c.ended && p != nil {
		p.Close()
		p = nil
	}
	c.until = time.Time{}
	c.mu.Unlock()
	c.release(false)
	if p == nil {
		return api.NodeCheck{}, refusal("it has not kept its state of index %d", r.Index)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = api.NodeCheck{Node: string(c.cfg.Self), State: Running, Index: r.Index, Began: time.Now().UTC(),
		Problems: []string{}}
	accepted := false
	if !c.ended {
		select {
		case c.work <- p:
			accepted = true
		default:
		}
	}
	if !accepted {
		p.Close()
		c.state.State, c.state.Reason = Failed, "the node is busy with another check"
	}
	return c.shown(), nil
}

func (c *Checks) halt() api.NodeCheck {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
	}
	return c.shown()
}

// shown is a copy of the state.
func (c *Checks) shown() api.NodeCheck {
	out := c.state
	out.Problems = slices.Clone(c.state.Problems)
	return out
}

// State says how the last check of this node stands.
func (c *Checks) State(context.Context, catalog.NodeID, struct{}) (api.NodeCheck, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown(), nil
}

func refusal(format string, args ...any) error {
	return &wire.Refusal{Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

// check checks the state, and notes what it finds.
func (c *Checks) check(ctx context.Context, p Pinned) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c.mu.Lock()
	c.stop = stop
	c.mu.Unlock()
	seen := 0
	pace := func() error {
		if seen++; seen%4096 == 0 {
			c.mu.Lock()
			c.state.Keys = int64(seen)
			c.mu.Unlock()
			return ctx.Err()
		}
		return nil
	}
	var found int64
	var problems []string
	note := func(key, what string) {
		if found++; found <= mostFound {
			problems = append(problems, key+": "+what)
		}
	}
	var is catalog.Checked
	err := p.View(func(v catalog.View) (err error) { is, err = catalog.Check(v, pace, note); return err })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = nil
	c.state.Ended = time.Now().UTC()
	c.state.Found, c.state.Problems = found, append([]string{}, problems...)
	c.state.Keys, c.state.Files, c.state.Removed, c.state.Events = is.Keys, is.Files, is.Removed, is.Events
	switch {
	case err == nil:
		c.state.State, c.state.Digest = Done, is.Digest.String()
	case ctx.Err() != nil:
		c.state.State, c.state.Reason = Stopped, "it was stopped"
	default:
		c.state.State, c.state.Reason = Failed, err.Error()
		c.cfg.Log.Error("the catalog could not be checked", "error", err)
	}
}
