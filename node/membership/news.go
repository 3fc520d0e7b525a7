package membership

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"holdfast/catalog"
)

// factsEvery is how often this node sends its facts to the others again.
const factsEvery = 10 * time.Second

// News keeps this node in the gossip of the members, and keeps the facts fresh that it tells there.
type News struct {
	Self    catalog.NodeID
	Roster  *Roster
	Changed *Changes              // of what gossip says
	Join    func(others []string) // tells gossip who the other members are
	Tell    func() error          // gives gossip this node's facts
	Log     *slog.Logger
}

// Run goes on until ctx ends.
func (n News) Run(ctx context.Context) error {
	tick := time.NewTicker(factsEvery)
	defer tick.Stop()
	var asked *Known
	for fresh := false; ; {
		news := n.Changed.C()
		if known := n.Roster.Known(); known != asked {
			asked = known
			var others []string
			for _, id := range known.Others(n.Self) {
				others = append(others, string(id))
			}
			n.Join(others)
		}
		if !fresh {
			if err := n.Tell(); err != nil {
				n.Log.Warn("facts not told", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			fresh = false
		case <-news: // not answered with news of this node's own, or the nodes would keep each other talking
			fresh = true
		}
	}
}

// Changes lets many wait for the next change.
type Changes struct {
	mu   sync.Mutex
	next chan struct{}
}

// NewChanges returns changes before the first one.
func NewChanges() *Changes { return &Changes{next: make(chan struct{})} }

// C returns a channel that is closed at the next change.
func (c *Changes) C() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// Tell wakes who waits for a change.
func (c *Changes) Tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}
