package node

import (
	"context"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/gossip"
	"holdfast/node/membership"
	"holdfast/raft"
)

// factsEvery is how often this node sends its facts to the others again.
const factsEvery = 10 * time.Second

// news joins the gossip, keeps this node's facts fresh in it, and tells when somebody comes or goes.
func (n *Node) news(ctx context.Context) error {
	tick := time.NewTicker(factsEvery)
	defer tick.Stop()
	var asked *membership.Known
	for fresh := false; ; {
		news := n.changed.C()
		if known := n.roster.Known(); known != asked {
			asked = known
			var others []string
			for _, id := range known.Others(n.id) {
				others = append(others, string(id))
			}
			n.gossip.Join(others)
		}
		if !fresh {
			if err := n.gossip.SetFacts(n.facts()); err != nil {
				n.log.Warn("facts not told", "error", err)
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

// onGossip is called with every change that gossip sees.
func (n *Node) onGossip(e gossip.Event) {
	if e.Kind != gossip.NodeUpdated {
		n.log.Info("gossip", "event", string(e.Kind), "about", e.Facts.Name, "id", e.Facts.ID)
	}
	if err := n.raft.Witness().Saw(catalog.NodeID(e.Facts.ID), raft.Standing(e.Facts.Standing)); err != nil {
		n.log.Warn("how far a member is could not be kept", "about", e.Facts.Name, "error", err)
	}
	n.tellOf(e)
}

// tellOf wakes who waits for news of other nodes.
func (n *Node) tellOf(e gossip.Event) {
	n.changed.tell()
	if e.Kind != gossip.NodeUpdated {
		n.bell.Ring() // an owed copy may have found a source
	}
}

// alive returns who gossip believes alive, this node among them.
func (n *Node) alive() map[catalog.NodeID]bool {
	out := map[catalog.NodeID]bool{n.id: true}
	if n.gossip == nil {
		return out
	}
	for _, f := range n.gossip.Alive() {
		out[catalog.NodeID(f.ID)] = true
	}
	return out
}

func (n *Node) isAlive(id catalog.NodeID) bool { return n.alive()[id] }

// changes lets many wait for the next change.
type changes struct {
	mu   sync.Mutex
	next chan struct{}
}

func newChanges() *changes { return &changes{next: make(chan struct{})} }

// C returns a channel that is closed at the next change.
func (c *changes) C() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

func (c *changes) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}
