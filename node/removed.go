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
// because members turn it away as removed, none has let it in since, and it hears no leader. One member that is behind, or lies, ends nobody.
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
	if n.raft.IsLeader() { // one that leads hands over first
		return false
	}
	silent, _ := n.raft.Heard()
	if n.refused.removed(now) >= removedPatience && silent >= removedPatience {
		return true // with a leader it is a member, whatever a single one says
	}
	if joined(*n.known.Load(), n.id) != 0 {
		return false
	}
	return !n.raft.Votes(n.id) || silent >= removedPatience
}
