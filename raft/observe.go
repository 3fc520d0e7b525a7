package raft

import (
	"context"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// observed picks the observations that an observer handles.
func observed(o *hraft.Observation) bool {
	switch o.Data.(type) {
	case hraft.LeaderObservation, hraft.FailedHeartbeatObservation, hraft.ResumedHeartbeatObservation:
		return true
	}
	return false
}

// observer keeps up with who leads and whom the leader hears.
type observer struct {
	contacts *contacts
	changed  *notice   // the leader changed
	leading  chan bool // holds the latest change of whether this node leads
}

// run takes what Raft observes until ctx is done.
func (o *observer) run(ctx context.Context, events <-chan hraft.Observation, notify <-chan bool) {
	for {
		select {
		case <-ctx.Done():
			o.tell(false)
			return
		case leads := <-notify:
			o.contacts.clear()
			o.tell(leads)
			o.changed.announce()
		case e := <-events:
			switch data := e.Data.(type) {
			case hraft.LeaderObservation:
				o.changed.announce()
			case hraft.FailedHeartbeatObservation:
				o.contacts.lost(catalog.NodeID(data.PeerID), data.LastContact)
			case hraft.ResumedHeartbeatObservation:
				o.contacts.heard(catalog.NodeID(data.PeerID))
			}
		}
	}
}

// tell puts the latest value into leading.
func (o *observer) tell(leads bool) {
	select {
	case <-o.leading:
	default:
	}
	select {
	case o.leading <- leads:
	default:
	}
}

// contacts is what the leader knows of nodes that it has not heard from recently.
type contacts struct {
	mu     sync.Mutex
	silent map[catalog.NodeID]time.Time
	led    time.Time // when this node was last seen to lead
}

func newContacts() *contacts { return &contacts{silent: make(map[catalog.NodeID]time.Time)} }

func (c *contacts) lost(id catalog.NodeID, last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent[id] = last
}

func (c *contacts) heard(id catalog.NodeID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.silent, id)
}

func (c *contacts) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.silent)
}

// leads notes that this node leads now.
func (c *contacts) leads() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.led = time.Now()
}

// lastLed returns when this node was last seen to lead, the zero time if never.
func (c *contacts) lastLed() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.led
}

// since returns how long the node has been silent, 0 when it was heard within a heartbeat.
func (c *contacts) since(id catalog.NodeID) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.silent[id]; ok {
		return time.Since(last)
	}
	return 0
}
