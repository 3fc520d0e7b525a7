package peer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// errRetired reports that a link takes no new streams; another one does, or soon will.
var errRetired = errors.New("connection is retired")

// link is one greeted connection. When both sides dialled at once there are two of a
// class for a while; one is then retired: both sides stop opening streams on it, tell
// each other how many they opened, and close it when the last of them is done.
type link struct {
	peer    ID
	class   Class
	dialler ID
	address string
	conn    *quic.Conn
	meta    *quic.Stream // the first stream: hello, answer, then retire and done
	boot    uint64       // of the other side
	epoch   uint64
	clock   time.Duration // other side's clock less ours, when it was made
	since   time.Time
	remote  *remote // set, with order, by register
	order   uint64
	out     chan []byte // frames for meta: at most one retire and one done

	mu           sync.Mutex
	opening      int    // streams being opened by us
	opened       uint64 // streams opened by us
	accepted     uint64 // streams opened by the other side that have arrived
	live         int    // streams not yet closed here
	retiring     bool   // we open no more
	retireSent   bool
	theirsKnown  bool // other side opens no more
	theirs       uint64
	doneSent     bool
	doneReceived bool
}

// open reports whether new streams may be opened on l.
func (l *link) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.retiring && !l.theirsKnown && l.conn.Context().Err() == nil
}

// before orders links of one pair and class in the same way on both sides: the one dialled by the smaller ID first,
// and of those the newest.
func (l *link) before(other *link) bool {
	if l.dialler != other.dialler {
		return l.dialler < other.dialler
	}
	return l.order > other.order
}

// openStream opens a stream on l, or returns errRetired.
func (l *link) openStream(ctx context.Context) (*stream, error) {
	l.mu.Lock()
	if l.retiring || l.theirsKnown {
		l.mu.Unlock()
		return nil, errRetired
	}
	l.opening++
	l.mu.Unlock()
	s, err := l.conn.OpenStreamSync(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening--
	if err == nil {
		l.opened++
		l.live++
	}
	l.step()
	if err != nil {
		return nil, err
	}
	return &stream{quic: s, link: l}, nil
}

// took counts a stream that the other side opened.
func (l *link) took(s *quic.Stream) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted++
	l.live++
	return &stream{quic: s, link: l}
}

// release counts a stream that is closed on this side.
func (l *link) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live--
	l.step()
}

// retire makes l take no new streams; it closes once those it has are done.
func (l *link) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retiring = true
	l.step()
}

// heard takes a frame that the other side sent on the first stream.
func (l *link) heard(kind byte, opened uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch kind {
	case metaRetire:
		l.theirsKnown, l.theirs = true, opened
		l.retiring = true
	case metaDone:
		l.doneReceived = true
	}
	l.step()
}

// step does the next due step of retiring l. The caller holds l.mu.
func (l *link) step() {
	if l.retiring && !l.retireSent && l.opening == 0 {
		l.retireSent = true
		l.out <- encodeMeta(metaRetire, l.opened)
	}
	if l.retireSent && l.theirsKnown && l.live == 0 && l.accepted >= l.theirs && !l.doneSent {
		l.doneSent = true
		l.out <- encodeMeta(metaDone, 0)
	}
	if l.doneSent && l.doneReceived {
		closeConn(l.conn, Settled, "another connection is used")
	}
}

// runLink serves a registered connection until it ends.
func (p *Peer) runLink(ctx context.Context, l *link) {
	unhook := context.AfterFunc(ctx, func() { closeConn(l.conn, Stopping, "node is stopping") })
	defer unhook()
	var readers sync.WaitGroup
	readers.Go(func() { p.readMeta(l) })
	readers.Go(func() { writeMeta(l) })
	if l.class == Control {
		readers.Go(func() { p.receivePackets(l) })
	}
	var err error
	for {
		var s *quic.Stream
		if s, err = l.conn.AcceptStream(l.conn.Context()); err != nil {
			break
		}
		taken := l.took(s)
		p.tasks.Go(func() { p.serveStream(ctx, taken) })
	}
	if cause := context.Cause(l.conn.Context()); cause != nil {
		err = cause
	}
	closeConn(l.conn, Malformed, "connection failed")
	p.unregister(l, ending(err))
	p.learn(l.peer, l.address, refusedBy(l.peer, err))
	readers.Wait()
}

func (p *Peer) readMeta(l *link) {
	for {
		frame, err := readFrame(l.meta, maxMeta)
		if err != nil {
			break
		}
		kind, opened, err := parseMeta(frame)
		if err != nil {
			break
		}
		l.heard(kind, opened)
		p.retired(l.remote)
	}
	closeConn(l.conn, Malformed, "first stream ended")
}

func writeMeta(l *link) {
	for {
		select {
		case <-l.conn.Context().Done():
			return
		case frame := <-l.out:
			if err := writeFrame(l.meta, frame); err != nil {
				return // the connection has ended: its reader says so
			}
		}
	}
}
