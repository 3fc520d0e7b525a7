package node

import (
	"context"
	"errors"
	"fmt"
	"net"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/gossip"
	"holdfast/node/steward"
	"holdfast/node/wire"
	"holdfast/peer"
	"holdfast/raft"
)

// The kinds of streams and calls between nodes that no room names. They are on the wire: a kind keeps its meaning for
// ever.
const (
	raftStream   = "raft"
	raftCall     = "raft.forward"
	gossipStream = "gossip"
)

// carrier is how the rooms reach other nodes: through the peers' port.
type carrier struct{ peer *peer.Peer }

func (c carrier) Open(ctx context.Context, to catalog.NodeID, kind string) (net.Conn, error) {
	return c.peer.Open(ctx, peer.ID(to), kind)
}

func (c carrier) Call(ctx context.Context, to catalog.NodeID, kind string, request []byte) ([]byte, error) {
	reply, err := c.peer.Call(ctx, peer.ID(to), kind, request)
	if remote := (*peer.RemoteError)(nil); errors.As(err, &remote) {
		err = &wire.Refusal{Code: remote.Code, Message: remote.Message}
	}
	return reply, err
}

// answers makes the room's handler the answerer of a kind of requests.
func (c carrier) answers(kind string, handle wire.Handler) {
	c.peer.HandleCall(kind, func(ctx context.Context, from peer.ID, request []byte) ([]byte, error) {
		reply, err := handle(ctx, catalog.NodeID(from), request)
		if r := wire.Reasoned(nil); errors.As(err, &r) {
			err = &peer.RemoteError{Code: r.Reason(), Message: r.Error()}
		}
		return reply, err
	})
}

// takes makes the room's handler the answerer of a kind of streams.
func (c carrier) takes(kind string, class peer.Class, handle func(context.Context, catalog.NodeID, net.Conn)) {
	c.peer.Handle(kind, class, func(ctx context.Context, from peer.ID, s net.Conn) {
		handle(ctx, catalog.NodeID(from), s)
	})
}

// raftCarrier lets Raft dial through the peers' port.
type raftCarrier struct{ peer *peer.Peer }

func (c raftCarrier) Dial(ctx context.Context, to catalog.NodeID) (net.Conn, error) {
	return c.peer.Open(ctx, peer.ID(to), raftStream)
}

func (c raftCarrier) Call(ctx context.Context, to catalog.NodeID, request []byte) ([]byte, error) {
	response, err := c.peer.Call(ctx, peer.ID(to), raftCall, request)
	if remote := (*peer.RemoteError)(nil); errors.As(err, &remote) {
		err = fmt.Errorf("%w: %w", raft.ErrAnswered, err)
	}
	return response, err
}

// gossipCarrier lets gossip send and dial through the peers' port.
type gossipCarrier struct{ peer *peer.Peer }

func (c gossipCarrier) Send(to string, packet []byte) bool {
	return c.peer.SendPacket(peer.ID(to), packet)
}

func (c gossipCarrier) Dial(ctx context.Context, to string) (net.Conn, error) {
	return c.peer.Open(ctx, peer.ID(to), gossipStream)
}

// facts is what this node tells the others by gossip.
func (n *Node) facts() gossip.Facts {
	f := gossip.Facts{ID: string(n.id), Name: n.cfg.Name, Replica: n.cfg.Replica.Name, Place: n.cfg.Replica.Place,
		Addresses: n.cfg.Table.Addresses, Version: Version()}
	if n.crawls != nil {
		f.Jobs = len(n.crawls.List())
	}
	if n.raft != nil {
		f.Raft = string(n.raft.Status().Leader)
		if s, err := n.raft.Standing(); err == nil {
			f.Standing = gossip.Standing(s)
		}
	}
	if n.replica != nil {
		shards, next := n.replica.Disks.Lacking(gossip.MaxLacking)
		f.Lacking.Shards = shards
		for _, s := range next {
			f.Lacking.Next = append(f.Lacking.Next, uint16(s))
		}
	}
	f.Free, f.Total = n.space().All()
	return f
}

// lackingOf returns what nodes say of shards that they have lost with a disk and have no room for; of two answers of a
// node, the later one counts.
func lackingOf(all []gossip.Facts) map[catalog.NodeID]steward.Lacking {
	out := map[catalog.NodeID]steward.Lacking{}
	for i := range all {
		one := steward.Lacking{Shards: all[i].Lacking.Shards}
		for _, s := range all[i].Lacking.Next {
			one.Next = append(one.Next, catalog.Shard(s))
		}
		out[catalog.NodeID(all[i].ID)] = one
	}
	return out
}

// heard is what gossip says of each node.
func heard(g *gossip.Gossip) map[catalog.NodeID]api.Presence {
	out := map[catalog.NodeID]api.Presence{}
	for _, f := range g.Nodes() {
		out[catalog.NodeID(f.Facts.ID)] = api.Presence{State: string(f.State), Version: f.Facts.Version,
			Free: int64(f.Facts.Free), Jobs: f.Facts.Jobs}
	}
	return out
}

// onGossip is called with every change that gossip sees.
func (n *Node) onGossip(e gossip.Event) {
	if e.Kind != gossip.NodeUpdated {
		n.log.Info("gossip", "event", string(e.Kind), "about", e.Facts.Name, "id", e.Facts.ID)
	}
	if err := n.raft.Witness().Saw(catalog.NodeID(e.Facts.ID), raft.Standing(e.Facts.Standing)); err != nil {
		n.log.Warn("cannot keep how far the log of a member is", "about", e.Facts.Name, "error", err)
	}
	n.tellOf(e)
}

// tellOf wakes who waits for news of other nodes.
func (n *Node) tellOf(e gossip.Event) {
	n.changed.Tell()
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

// rooms returns the living nodes, each with its free room in bytes.
func (n *Node) rooms() map[catalog.NodeID]int64 {
	out := map[catalog.NodeID]int64{}
	if n.gossip != nil {
		for _, f := range n.gossip.Alive() {
			out[catalog.NodeID(f.ID)] = int64(f.Free)
		}
	}
	free, _ := n.space().All()
	out[n.id] = int64(free)
	return out
}

func (n *Node) isAlive(id catalog.NodeID) bool { return n.alive()[id] }
