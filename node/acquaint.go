package node

import (
	"context"
	"time"

	"holdfast/catalog"
	"holdfast/node/wire"
)

const (
	membersCall = "members"
	// acquaintEvery is the pause between two looks whether this node hears a leader; one that has heard none for
	// acquaintAfter asks for the member list.
	acquaintEvery = 2 * time.Second
	acquaintAfter = 5 * time.Second
	acquaintLimit = 5 * time.Second // for an answer
)

// acquaint asks the members that this node knows for theirs as long as it hears no leader. One that was away while a
// member joined takes that one for a stranger; when it leads by now, the agreed state, which would tell, comes from
// nobody else.
func (n *Node) acquaint(ctx context.Context) error {
	tick := time.NewTicker(acquaintEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if silent, _ := n.raft.Heard(); silent > acquaintAfter {
			n.askMembers(ctx)
		}
	}
}

// askMembers asks all others at once, and takes each list that is newer than what this node knows.
func (n *Node) askMembers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, acquaintLimit)
	defer cancel()
	wire.Gather(*n.others.Load(), func(id string) (known, error) {
		k, err := ask[known](ctx, n.peer, catalog.NodeID(id), membersCall, struct{}{})
		if err != nil {
			n.log.Debug("member does not tell its member list", "member", n.nameOf(catalog.NodeID(id)), "error", err)
			return k, err
		}
		n.adopt(k) // without waiting for those that are slower
		return k, nil
	})
}

// serveMembers tells another member whom this node knows.
func (n *Node) serveMembers(context.Context, catalog.NodeID, struct{}) (known, error) {
	return *n.known.Load(), nil
}

// adopt takes a member list of the same cluster and epoch that a later command has made than the one known here.
func (n *Node) adopt(k known) {
	n.trusting.Lock()
	defer n.trusting.Unlock()
	old := *n.known.Load()
	if k.Cluster.ID != old.Cluster.ID || k.Cluster.Epoch != old.Cluster.Epoch || k.Index <= old.Index || sameKnown(old, k) {
		return
	}
	if err := n.cfg.saveKnown(n.disk, k); err != nil {
		n.log.Warn("a newer member list is not kept", "error", err)
		return
	}
	n.log.Info("a newer member list was told", "members", len(k.Members), "index", k.Index)
	n.known.Store(&k)
	n.setTrusted(k)
}
