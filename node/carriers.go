package node

import (
	"context"
	"errors"
	"fmt"
	"net"

	"holdfast/catalog"
	"holdfast/node/wire"
	"holdfast/peer"
	"holdfast/raft"
)

// The kinds of streams and calls between nodes that no room names. They are on the wire: a kind keeps its meaning for ever.
const (
	raftStream   = "raft"
	raftCall     = "raft.forward"
	gossipStream = "gossip"
	indexCall    = "index"
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
func (c carrier) takes(kind string, class peer.Class, handle func(ctx context.Context, from catalog.NodeID, s net.Conn)) {
	c.peer.Handle(kind, class, func(ctx context.Context, from peer.ID, s net.Conn) { handle(ctx, catalog.NodeID(from), s) })
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
