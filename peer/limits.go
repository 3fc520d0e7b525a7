package peer

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/time/rate"
)

const (
	handshakeTime = 5 * time.Second  // without a message, until a handshake is given up
	greetTime     = 5 * time.Second  // for hello and answer
	visitTime     = 30 * time.Second // for a whole join or check
	refusalTime   = 2 * time.Second  // for a refused node to read why

	firstWindow   = 512 << 10 // what a stranger can make us buffer
	controlWindow = 16 << 20
	allWindows    = 384 << 20 // over all connections

	maxVisitors        = 48 // connections that are not admitted yet
	maxVisitorsAddress = 32 // of one address
	crowd              = 16 // visitors from which on an address must be proved first

	maxJoins = 4 // joins at a time
)

// gate counts connections from their first packet until their node is known to be a member, so that strangers can
// hold only a bounded amount of memory.
type gate struct {
	joins  *rate.Limiter
	joined chan struct{}

	mu        sync.Mutex
	visitors  int
	byAddress map[netip.Addr]int
}

func newGate() *gate {
	return &gate{
		joins:     rate.NewLimiter(2, 10),
		joined:    make(chan struct{}, maxJoins),
		byAddress: make(map[netip.Addr]int),
	}
}

// crowded reports whether a new address must first prove that it is not forged.
func (g *gate) crowded() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.visitors >= crowd
}

// enter counts a visitor in, or refuses it. leave counts it out; only the first call does.
func (g *gate) enter(from net.Addr) (leave func(), ok bool) {
	var address netip.Addr
	if udp, is := from.(*net.UDPAddr); is {
		address = udp.AddrPort().Addr().Unmap()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.visitors >= maxVisitors || g.byAddress[address] >= maxVisitorsAddress {
		return nil, false
	}
	g.visitors++
	g.byAddress[address]++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.visitors--
		if g.byAddress[address]--; g.byAddress[address] == 0 {
			delete(g.byAddress, address)
		}
	}), true
}

// enterJoin admits one join, or reports that there are too many.
func (g *gate) enterJoin() (leave func(), ok bool) {
	if !g.joins.Allow() {
		return nil, false
	}
	select {
	case g.joined <- struct{}{}:
		return func() { <-g.joined }, true
	default:
		return nil, false
	}
}

var errCrowded = errors.New("too many connections at once")

// passKey is the context key of the function that counts a visitor out.
type passKey struct{}

func (p *Peer) admitHandshake(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	leave, ok := p.gate.enter(info.RemoteAddr)
	if !ok {
		p.count.refusedBusy.Add(1)
		return nil, errCrowded
	}
	context.AfterFunc(ctx, leave)
	return context.WithValue(ctx, passKey{}, leave), nil
}

// leaveGate counts an admitted connection out of the visitors.
func leaveGate(conn *quic.Conn) {
	if leave, ok := conn.Context().Value(passKey{}).(func()); ok {
		leave()
	}
}

// windows bounds the receive buffers of connections: none beyond the first for
// strangers, some for control, much for bulk, and never more than a total.
type windows struct {
	mu    sync.Mutex
	conns map[*quic.Conn]*grant
	total uint64
}

type grant struct{ used, most uint64 }

func newWindows() *windows { return &windows{conns: make(map[*quic.Conn]*grant)} }

func (w *windows) admit(conn *quic.Conn, class Class, bulk uint64) {
	most := uint64(controlWindow)
	if class == Bulk {
		most = bulk
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[conn] = &grant{most: most}
}

func (w *windows) forget(conn *quic.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.conns[conn]; g != nil {
		w.total -= g.used
		delete(w.conns, conn)
	}
}

// allow decides whether conn's window may grow by delta bytes.
func (w *windows) allow(conn *quic.Conn, delta uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.conns[conn]
	if g == nil || g.used+delta > g.most || w.total+delta > allWindows {
		return false
	}
	g.used += delta
	w.total += delta
	return true
}
