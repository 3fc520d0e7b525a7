package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// maxKind is the most bytes that the name of a kind of stream may have.
const maxKind = 64

const (
	kindTime  = 10 * time.Second // for a stream to say its kind
	openTries = 4                // connections tried by one Open
)

// stream is a QUIC stream as a net.Conn. Close ends both directions; CloseWrite only
// ours, and the other side then reads to the end of file.
type stream struct {
	quic *quic.Stream
	link *link

	writing sync.Mutex // held while Write runs: QUIC forbids closing at the same time
	once    sync.Once
}

var _ net.Conn = (*stream)(nil)

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.quic.Read(b)
	if err != nil && err != io.EOF {
		err = translate(err)
	}
	return n, err
}

func (s *stream) Write(b []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	n, err := s.quic.Write(b)
	return n, translate(err)
}

// CloseWrite ends our direction: the other side reads the end of file after what was written. It is no error if the
// other side has ended it already by no longer reading.
func (s *stream) CloseWrite() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.quic.Close()
	if err == nil {
		return nil
	}
	var ended *quic.StreamError
	if cause := context.Cause(s.quic.Context()); errors.As(cause, &ended) && ended.Remote {
		return nil
	}
	return net.ErrClosed
}

// Close ends the stream. Data written before is still delivered, unless a Write is under way: that is interrupted.
func (s *stream) Close() error {
	s.once.Do(func() {
		if s.writing.TryLock() {
			_ = s.quic.Close() // fails only if the direction was ended before
			s.writing.Unlock()
		} else {
			s.quic.CancelWrite(streamClosed)
		}
		s.quic.CancelRead(streamClosed)
		s.link.release()
	})
	return nil
}

// abort ends both directions at once with a code.
func (s *stream) abort(code quic.StreamErrorCode) {
	s.once.Do(func() {
		s.quic.CancelWrite(code)
		s.quic.CancelRead(code)
		s.link.release()
	})
}

func (s *stream) LocalAddr() net.Addr                { return s.link.conn.LocalAddr() }
func (s *stream) RemoteAddr() net.Addr               { return s.link.conn.RemoteAddr() }
func (s *stream) SetDeadline(t time.Time) error      { return s.quic.SetDeadline(t) }
func (s *stream) SetReadDeadline(t time.Time) error  { return s.quic.SetReadDeadline(t) }
func (s *stream) SetWriteDeadline(t time.Time) error { return s.quic.SetWriteDeadline(t) }

// Open opens a stream of a kind to a node. It dials if there is no connection, and
// returns when the stream is open or an attempt to dial begun after the call has failed.
// The kind must have been given to Handle here too: that says which connection it uses.
// The stream outlives ctx and has the methods CloseWrite and Close beside net.Conn's.
func (p *Peer) Open(ctx context.Context, to ID, kind string) (net.Conn, error) {
	s, err := p.open(ctx, to, kind)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (p *Peer) open(ctx context.Context, to ID, kind string) (*stream, error) {
	served, ok := p.services[kind]
	if !ok {
		return nil, fmt.Errorf("open %q to node %s: %w", clip(kind), to.Short(), ErrUnknownKind)
	}
	var err error
	for range openTries {
		var l *link
		if l, err = p.connected(ctx, to, served.class); err != nil {
			break
		}
		var s *stream
		if s, err = l.openStream(ctx); err == nil {
			if err = s.begin(ctx, kind); err == nil {
				return s, nil
			}
		}
		if ctx.Err() != nil {
			err = ctx.Err()
			break
		}
		if !errors.Is(err, errRetired) {
			err = translate(err)
		}
	}
	return nil, fmt.Errorf("open %q to node %s: %w", kind, to.Short(), err)
}

// begin writes the kind of a new stream.
func (s *stream) begin(ctx context.Context, kind string) error {
	unhook := context.AfterFunc(ctx, func() { s.quic.CancelWrite(streamClosed) })
	_, err := s.quic.Write(appendText(make([]byte, 0, 1+len(kind)), kind))
	if !unhook() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.abort(streamClosed)
	}
	return err
}

// connected returns a connection to a node on which streams can be opened; it has one made if there is none.
func (p *Peer) connected(ctx context.Context, to ID, class Class) (*link, error) {
	if to == p.self {
		return nil, fmt.Errorf("%w: it is this node itself", ErrUnreachable)
	}
	p.mu.Lock()
	r := p.remotes[to]
	if r == nil {
		p.mu.Unlock()
		return nil, ErrNotMember
	}
	if l := r.usable(class); l != nil {
		p.mu.Unlock()
		return l, nil
	}
	r.wanted[class]++
	round := r.rounds[class]
	r.signal()
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		r.wanted[class]--
	}()
	timer := time.NewTimer(2 * handshakeTime)
	defer timer.Stop()
	for {
		p.mu.Lock()
		l, changed := r.usable(class), r.changed
		rounds, failure := r.rounds[class], r.failure[class]
		state, member := p.state, p.remotes[to] == r
		p.mu.Unlock()
		switch {
		case l != nil:
			return l, nil
		case !member:
			return nil, ErrNotMember
		case state == stopped:
			return nil, ErrStopped
		case rounds > round && failure != nil:
			return nil, failure
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, ctx.Err())
		case <-timer.C:
			return nil, fmt.Errorf("%w: it has not connected to this node", ErrUnreachable)
		case <-changed:
		}
	}
}

// serveStream reads the kind of a stream that the other side opened, and has it answered.
func (p *Peer) serveStream(ctx context.Context, s *stream) {
	kind, err := readKind(s)
	if err != nil {
		s.abort(streamMalformed)
		return
	}
	served, ok := p.services[kind]
	if !ok || served.class != s.link.class {
		p.count.unknownKinds.Add(1)
		p.log.Debug("stream of unknown kind", "node", s.link.peer, "kind", clip(kind))
		s.abort(streamUnknownKind)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unhook := context.AfterFunc(s.link.conn.Context(), cancel)
	defer unhook()
	served.handle(ctx, s.link.peer, s)
}

func readKind(s *stream) (string, error) {
	if err := s.SetReadDeadline(time.Now().Add(kindTime)); err != nil {
		return "", err
	}
	var n [1]byte
	if _, err := io.ReadFull(s, n[:]); err != nil {
		return "", err
	}
	if n[0] == 0 || n[0] > maxKind {
		return "", fmt.Errorf("kind of %d bytes", n[0])
	}
	kind := make([]byte, n[0])
	if _, err := io.ReadFull(s, kind); err != nil {
		return "", err
	}
	return string(kind), s.SetReadDeadline(time.Time{})
}
