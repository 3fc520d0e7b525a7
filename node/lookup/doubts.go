package lookup

import (
	"sync"
	"time"

	"holdfast/catalog"
)

// Doubts remembers which nodes did not answer recently, so that readers do not wait for the same node again while
// gossip has not noticed yet. It only changes the order in which nodes are asked.
type Doubts struct {
	mu    sync.Mutex
	until map[catalog.NodeID]time.Time
}

// doubtTime is how long a node that did not answer is asked last.
const doubtTime = 15 * time.Second

// NewDoubts returns an empty set of nodes in doubt.
func NewDoubts() *Doubts { return &Doubts{until: map[catalog.NodeID]time.Time{}} }

// Add doubts the node from now on, for a while.
func (d *Doubts) Add(id catalog.NodeID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until[id] = time.Now().Add(doubtTime)
}

// Clear trusts a node that has answered.
func (d *Doubts) Clear(id catalog.NodeID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.until, id)
}

// last returns the nodes in their order, with the doubted ones behind the others.
func (d *Doubts) last(nodes []catalog.NodeID) []catalog.NodeID {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.until) == 0 || len(nodes) < 2 {
		return nodes
	}
	now := time.Now()
	out, behind := make([]catalog.NodeID, 0, len(nodes)), []catalog.NodeID(nil)
	for _, id := range nodes {
		if now.Before(d.until[id]) {
			behind = append(behind, id)
		} else {
			out = append(out, id)
		}
	}
	return append(out, behind...)
}

// Has reports whether the node is doubted now.
func (d *Doubts) Has(id catalog.NodeID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Before(d.until[id])
}
