package raft

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// Carrier opens streams to other nodes. Streams that others open are handed in with Node.Stream.
type Carrier interface {
	// Dial opens a stream for Raft to the node.
	Dial(ctx context.Context, to catalog.NodeID) (net.Conn, error)
}

// layer is Raft's stream layer over a Carrier. Addresses are node ids.
type layer struct {
	self     catalog.NodeID
	carrier  Carrier
	incoming chan net.Conn
	closed   chan struct{}

	mu    sync.Mutex
	conns map[*conn]struct{} // nil once closed
}

func newLayer(self catalog.NodeID, carrier Carrier) *layer {
	return &layer{
		self:     self,
		carrier:  carrier,
		incoming: make(chan net.Conn, 16),
		closed:   make(chan struct{}),
		conns:    make(map[*conn]struct{}),
	}
}

// piece is how many bytes must go within a deadline.
const piece = 64 << 10

// conn is a stream that the layer can close when the node stops. Raft sets a deadline for a whole message, which may
// be large; conn applies that time to each piece of it, so that a slow connection is not taken for a dead one.
type conn struct {
	net.Conn
	layer *layer
	peer  catalog.NodeID

	// Of whoever writes.
	patience time.Duration // 0: for ever
	both     bool          // the answer's deadline moves with the pieces
}

// SetDeadline gives each piece that is written, and then the answer, as long as it is until the deadline.
func (c *conn) SetDeadline(deadline time.Time) error {
	c.patience, c.both = patience(deadline), true
	return c.Conn.SetDeadline(deadline)
}

// SetWriteDeadline gives each piece that is written as long as it is until the deadline.
func (c *conn) SetWriteDeadline(deadline time.Time) error {
	c.patience, c.both = patience(deadline), false
	return c.Conn.SetWriteDeadline(deadline)
}

func patience(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return 0
	}
	return max(1, time.Until(deadline))
}

// Write writes p piece by piece.
func (c *conn) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if err := c.extend(); err != nil {
			return n, err
		}
		more, err := c.Conn.Write(p[:min(piece, len(p))])
		n, p = n+more, p[more:]
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// extend moves the deadline for the next piece.
func (c *conn) extend() error {
	switch {
	case c.patience == 0:
		return nil
	case c.both:
		return c.Conn.SetDeadline(time.Now().Add(c.patience))
	}
	return c.Conn.SetWriteDeadline(time.Now().Add(c.patience))
}

// RemoteAddr returns the other node's id.
func (c *conn) RemoteAddr() net.Addr { return address(c.peer) }

// Close closes the stream.
func (c *conn) Close() error {
	c.layer.mu.Lock()
	delete(c.layer.conns, c)
	c.layer.mu.Unlock()
	return c.Conn.Close()
}

// address is a node id as a net.Addr.
type address string

// Network names the kind of address.
func (a address) Network() string { return "node" }

// String returns the node id.
func (a address) String() string { return string(a) }

// keep remembers a stream, or closes it when the layer is closed.
func (l *layer) keep(c net.Conn, peer catalog.NodeID) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		c.Close()
		return nil, ErrStopped
	}
	kept := &conn{Conn: c, layer: l, peer: peer}
	l.conns[kept] = struct{}{}
	return kept, nil
}

// Dial opens a stream to the node with that address, which may be this one. It ends when the layer is closed, so that a
// node that stops does not wait for one that is gone.
func (l *layer) Dial(to hraft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	peer := catalog.NodeID(to)
	if peer == l.self {
		ours, theirs := net.Pipe()
		l.hand(peer, theirs)
		return l.keep(ours, peer)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	go func() {
		select {
		case <-l.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	c, err := l.carrier.Dial(ctx, peer)
	if err != nil {
		return nil, fmt.Errorf("dial %s for raft: %w", to, err)
	}
	return l.keep(c, peer)
}

// Accept returns the next stream that another node opened.
func (l *layer) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// hand gives Raft a stream that another node opened.
func (l *layer) hand(from catalog.NodeID, c net.Conn) {
	kept, err := l.keep(c, from)
	if err != nil {
		return
	}
	select {
	case l.incoming <- kept:
	case <-l.closed:
		kept.Close()
	default:
		kept.Close() // nobody accepts: the other side tries again
	}
}

// Close closes the layer and every stream.
func (l *layer) Close() error {
	l.mu.Lock()
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	if conns == nil {
		return nil
	}
	close(l.closed)
	for c := range conns {
		c.Conn.Close()
	}
	return nil
}

// Addr returns this node's id.
func (l *layer) Addr() net.Addr { return address(l.self) }
