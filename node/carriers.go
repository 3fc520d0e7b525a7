package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"holdfast/catalog"
	"holdfast/peer"
	"holdfast/raft"
)

// The kinds of streams and calls between nodes. They are on the wire: a kind keeps its meaning for ever.
const (
	raftStream     = "raft"
	raftCall       = "raft.forward"
	gossipStream   = "gossip"
	fileStream     = "file"
	capturesStream = "captures"
	logStream      = "job.log"
	checksumCall   = "file.checksum"
	verifyCall     = "file.verify"
	progressCall   = "job.progress"
	auditCall      = "audit"
	indexCall      = "index"
	digestCall     = "captures.digest"
	paceCall       = "pace"
	orderCall      = "job.order"
	straysCall     = "strays"
)

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

// nowhere stands in for the network while a cluster of one is founded.
type nowhere struct{}

func (nowhere) Dial(context.Context, catalog.NodeID) (net.Conn, error) {
	return nil, peer.ErrUnreachable
}

func (nowhere) Call(context.Context, catalog.NodeID, []byte) ([]byte, error) {
	return nil, peer.ErrUnreachable
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
	var answer Answer
	data, err := json.Marshal(request)
	if err != nil {
		return answer, fmt.Errorf("encode the %s request: %w", kind, err)
	}
	reply, err := p.Call(ctx, peer.ID(to), kind, data)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return answer, fmt.Errorf("read the %s answer of %s: %w", kind, to, err)
	}
	return answer, nil
}

// answer makes handle the answerer of a kind of requests.
func answer[Request, Answer any](p *peer.Peer, kind string, handle func(ctx context.Context, from catalog.NodeID, r Request) (Answer, error)) {
	p.HandleCall(kind, func(ctx context.Context, from peer.ID, request []byte) ([]byte, error) {
		var r Request
		if err := json.Unmarshal(request, &r); err != nil {
			return nil, fmt.Errorf("read a %s request: %w", kind, err)
		}
		a, err := handle(ctx, catalog.NodeID(from), r)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	})
}

// remoteCode returns the code that another node gave its refusal, or nothing.
func remoteCode(err error) string {
	var remote *peer.RemoteError
	if errors.As(err, &remote) {
		return remote.Code
	}
	return ""
}
