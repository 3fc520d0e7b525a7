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

// The kinds of streams and calls between nodes. They are on the wire: a kind keeps its meaning for ever.
const (
	raftStream   = "raft"
	raftCall     = "raft.forward"
	gossipStream = "gossip"
	fileStream   = "file"
	checksumCall = "file.checksum"
	verifyCall   = "file.verify"
	auditCall    = "audit"
	indexCall    = "index"
	straysCall   = "strays"
)

// carrier is how the rooms reach other nodes: through the peers' port.
type carrier struct{ peer *peer.Peer }

func (c carrier) Open(ctx context.Context, to catalog.NodeID, kind string) (net.Conn, error) {
	return c.peer.Open(ctx, peer.ID(to), kind)
}

func (c carrier) Call(ctx context.Context, to catalog.NodeID, kind string, request []byte) ([]byte, error) {
	return c.peer.Call(ctx, peer.ID(to), kind, request)
}

// answers makes the room's handler the answerer of a kind of requests.
func (c carrier) answers(kind string, handle wire.Handler) {
	c.peer.HandleCall(kind, func(ctx context.Context, from peer.ID, request []byte) ([]byte, error) {
		reply, err := handle(ctx, catalog.NodeID(from), request)
		return reply, asRemote(err)
	})
}

// raftCarrier lets Raft dial through the peers' port.
type raftCarrier struct{ peer *peer.Peer }

func (c raftCarrier) Dial(ctx context.Context, to catalog.NodeID) (net.Conn, error) {
	return c.peer.Open(ctx, peer.ID(to), raftStream)
}

func (c raftCarrier) Call(ctx context.Context, to catalog.NodeID, request []byte) ([]byte, error) {
	response, err := c.peer.Call(ctx, peer.ID(to), raftCall, request)
	if remoteCode(err) != "" {
		err = fmt.Errorf("%w: %w", raft.ErrAnswered, err)
	}
	return response, err
}

// ignoreNotFound is nil for what the catalog does not have.
func ignoreNotFound(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// gossipCarrier lets gossip send and dial through the peers' port.
type gossipCarrier struct{ peer *peer.Peer }

func (c gossipCarrier) Send(to string, packet []byte) bool {
	return c.peer.SendPacket(peer.ID(to), packet)
}

func (c gossipCarrier) Dial(ctx context.Context, to string) (net.Conn, error) {
	return c.peer.Open(ctx, peer.ID(to), gossipStream)
}

// ask sends one request to another node and reads its answer, both as JSON.
func ask[Answer any](ctx context.Context, p *peer.Peer, to catalog.NodeID, kind string, request any) (Answer, error) {
	return wire.Ask[Answer](ctx, carrier{p}, to, kind, request)
}

// answer makes handle the answerer of a kind of requests.
func answer[Request, Answer any](p *peer.Peer, kind string,
	handle func(ctx context.Context, from catalog.NodeID, r Request) (Answer, error)) {
	carrier{p}.answers(kind, wire.Answer(kind, handle))
}

// askAll asks the members at once in the name of who asks, this node itself by own, and returns their replies in their
// order.
func askAll[Answer any](ctx context.Context, n *Node, members []catalog.Member, kind string, request any,
	own func(context.Context) (Answer, error)) []wire.Reply[catalog.Member, Answer] {
	return wire.Gather(members, func(m catalog.Member) (Answer, error) {
		if m.ID == n.id {
			return own(ctx)
		}
		return askFor[Answer](ctx, n, m.ID, kind, request)
	})
}

// asRemote is how a room's refusal travels.
func asRemote(err error) error {
	var r *wire.Refusal
	if errors.As(err, &r) {
		return &peer.RemoteError{Code: r.Code, Message: r.Message}
	}
	return err
}

// remoteMessage is what a refusal says.
func remoteMessage(err error) string {
	var remote *peer.RemoteError
	if errors.As(asRemote(err), &remote) {
		return remote.Message
	}
	return err.Error()
}

// remoteCode returns the code of a node's refusal, or nothing.
func remoteCode(err error) string {
	var remote *peer.RemoteError
	if errors.As(asRemote(err), &remote) {
		return remote.Code
	}
	return ""
}
