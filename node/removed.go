package node

import (
	"context"
	"errors"
	"time"
)

// ErrRemoved reports that the cluster has removed this node. It would only hold elections that it cannot win, and know nothing of
// what the archive has.
var ErrRemoved = errors.New("this node was removed from the cluster and is no member any more; " +
	"to use it again, let it join with a token (its files stay)")

const (
	removedEvery    = time.Second
	removedPatience = 10 * time.Second // without a leader, or with members that only turn this node away
)

// membership ends the node when it is no member any more: by its own catalog, once it does not matter to the cluster's consensus, or
// because members turn it away as removed and none lets it in.
func (n *Node) membership(ctx context.Context) error {
	tick := time.NewTicker(removedEvery)
	defer tick.Stop()
	for {
		if n.isRemoved(time.Now()) {
			return ErrRemoved
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (n *Node) isRemoved(now time.Time) bool {
	if n.refused.removed(now) >= removedPatience {
		return true
	}
	if joined(*n.known.Load(), n.id) != 0 || n.raft.IsLeader() { // one that leads hands over first
		return false
	}
	silent, _ := n.raft.Heard()
	return !n.raft.Votes(n.id) || silent >= removedPatience
}
