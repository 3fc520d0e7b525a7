package node

import (
	"context"
	"time"

	"holdfast/catalog"
	"holdfast/node/membership"
	"holdfast/node/steward"
)

// steward returns what does the leader's duties on this node.
func (n *Node) steward() *steward.Steward {
	alive := func() map[catalog.NodeID]int64 {
		out := map[catalog.NodeID]int64{}
		for _, f := range n.gossip.Alive() {
			out[catalog.NodeID(f.ID)] = int64(f.Free)
		}
		out[n.id] = int64(n.facts().Free)
		return out
	}
	return steward.New(steward.Config{Self: n.id, Lease: time.Duration(n.cfg.Limits.Lease), Agreement: n.raft,
		Contacts: n.raft.Contacts, Alive: alive, News: n.changed.C, Now: n.clocks.Now,
		Unsure: func() bool { return n.clocks.Skew().Abs() > membership.MaxSkew }, Log: n.log})
}

// member returns what keeps this node a member.
func (n *Node) member() membership.Member {
	return membership.Member{Folder: n.cfg, Roster: n.roster, Refusals: n.refusals, Agreement: agreement{n.raft},
		Caller: carrier{n.peer}, Insist: n.agreed().insist, Log: n.log}
}

// timekeeper returns what keeps this node's clocks compared.
func (n *Node) timekeeper() membership.Timekeeper {
	links := func() (out []membership.Link) {
		for _, l := range n.peer.Stats().Links {
			out = append(out, membership.Link{Peer: catalog.NodeID(l.Peer), Since: l.Since, Ahead: l.Clock})
		}
		return out
	}
	connected := func() (out []catalog.NodeID) {
		for _, id := range n.peer.Connected() {
			out = append(out, catalog.NodeID(id))
		}
		return out
	}
	return membership.Timekeeper{Clocks: n.clocks, Others: n.roster.Others, Connected: connected, Links: links, Caller: carrier{n.peer}, Log: n.log}
}

// lack returns what tells the indexer of which shards this node lacks files.
func (n *Node) lack() func(context.Context) error {
	name := catalog.ReplicaName(n.cfg.Replica.Name)
	doubtful := func() []catalog.FileName { return append(n.store.Missing(), n.store.Loose()...) }
	return n.watching(func(ctx context.Context, changed <-chan struct{}) error {
		return n.indexer.Lack(ctx, n.raft, name, doubtful, changed)
	}, catalog.PrefixOwed(name), catalog.PrefixReplicaLayout(name))
}

// watching returns a part of the node that is told of changes of the catalog under the prefixes.
func (n *Node) watching(run func(context.Context, <-chan struct{}) error, prefixes ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		watch := n.raft.Watch(prefixes...)
		defer watch.Close()
		return run(ctx, watch.C)
	}
}
