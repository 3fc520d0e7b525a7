package node

import (
	"sync"
	"time"

	"holdfast/catalog"
)

// doubts remembers which nodes did not answer of late, so that readers do not wait for the same node again while
// gossip has not noticed yet. It is advice for the order in which nodes are asked, nothing else.
type doubts struct {
	mu    sync.Mutex
	until map[catalog.NodeID]time.Time
}

// doubtTime is how long a node that did not answer is asked last.
const doubtTime = 15 * time.Second

func newDoubts() *doubts { return &doubts{until: map[catalog.NodeID]time.Time{}} }

// add doubts the node from now on, for a while.
func (d *doubts) add(id catalog.NodeID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until[id] = time.Now().Add(doubtTime)
}

// clear trusts a node that has answered.
func (d *doubts) clear(id catalog.NodeID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.until, id)
}

// last returns the nodes in their order, with the doubted ones behind the others.
func (d *doubts) last(nodes []catalog.NodeID) []catalog.NodeID {
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

// has reports whether the node is doubted now.
func (d *doubts) has(id catalog.NodeID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Before(d.until[id])
}
