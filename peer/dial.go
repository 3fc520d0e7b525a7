package peer

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	firstPause  = 250 * time.Millisecond
	longPause   = 30 * time.Second
	leastPause  = 500 * time.Millisecond // even when a caller waits
	politePause = time.Second            // for the smaller ID to dial first
	stableTime  = 10 * time.Second       // a connection that lasted this long resets the pauses
	stagger     = 300 * time.Millisecond // between the addresses of one node
	maxResolved = 8                      // addresses tried in one attempt
)

// pauseAfter returns how long to wait after that many failed attempts in a row. random is from [0, 1), and spreads
// the nodes of a cluster that lost the same one.
func pauseAfter(failures int, random float64) time.Duration {
	pause := longPause
	if shift := max(failures-1, 0); shift < 7 {
		pause = min(firstPause<<shift, longPause)
	}
	return time.Duration(float64(pause) * (0.5 + random))
}

// due says whether node r is to be dialled for class now, and if so after which wait.
// The caller holds Peer.mu.
func (p *Peer) due(r *remote, class Class, failures int) (wait time.Duration, urgent, dial bool) {
	if p.state != running || r.member.OutOnly || len(r.member.Addresses) == 0 || r.usable(class) != nil {
		return 0, false, false
	}
	self := p.outOnly
	urgent = r.wanted[class] > 0
	switch {
	case failures > 0:
		wait = pauseAfter(failures, rand.Float64())
	case !urgent && !self && p.self > r.member.ID:
		wait = politePause
	}
	return wait, urgent, urgent || self || class == Control
}

// keepDialled makes a connection to r whenever one is missing that should be there.
func (p *Peer) keepDialled(ctx context.Context, r *remote, class Class) {
	failures := 0
	var last, made time.Time // end of the last attempt; when the last connection was made
	for ctx.Err() == nil {
		p.mu.Lock()
		wait, _, dial := p.due(r, class, failures)
		changed := r.changed
		p.mu.Unlock()
		if !dial {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		if !made.IsZero() {
			failures++
			if time.Since(made) > stableTime {
				failures = 0
			}
			made = time.Time{}
			continue
		}
		if !p.pauseBefore(ctx, r, class, wait, last) {
			continue
		}
		l, err := p.dialMember(ctx, r, class)
		if err == nil {
			p.tasks.Go(func() { p.runLink(ctx, l) })
			made = time.Now()
		} else {
			failures++
			p.count.dialFailures.Add(1)
			p.noteFailure(ctx, r, class, failures, err)
		}
		last = time.Now()
		p.finishRound(r, class, err)
	}
}

// pauseBefore waits before an attempt to dial, shorter if a caller of Open waits. It returns false if the attempt has
// become needless meanwhile.
func (p *Peer) pauseBefore(ctx context.Context, r *remote, class Class, wait time.Duration, last time.Time) bool {
	begin := time.Now()
	for {
		p.mu.Lock()
		_, urgent, dial := p.due(r, class, 0)
		changed := r.changed
		p.mu.Unlock()
		rest := time.Until(begin.Add(wait))
		if urgent {
			rest = min(rest, time.Until(last.Add(leastPause)))
		}
		if !dial || rest <= 0 {
			return dial
		}
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-changed:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false
		}
	}
}

func (p *Peer) noteFailure(ctx context.Context, r *remote, class Class, failures int, err error) {
	if ctx.Err() != nil {
		return
	}
	level := p.log.Debug
	if failures == 1 {
		level = p.log.Info
	}
	level("cannot reach node", "node", r.member.ID, "class", class.String(), "attempts", failures, "reason", err.Error())
}

// finishRound lets the callers of Open know that an attempt has ended.
func (p *Peer) finishRound(r *remote, class Class, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.rounds[class]++
	r.failure[class] = err
	r.signal()
}

// dialMember makes and registers one connection to r.
func (p *Peer) dialMember(ctx context.Context, r *remote, class Class) (*link, error) {
	p.mu.Lock()
	m, epoch, last := r.member, p.epoch, r.last
	p.mu.Unlock()
	p.count.dials.Add(1)
	targets := make([]target, 0, len(m.Addresses))
	for _, address := range m.Addresses {
		targets = append(targets, target{address: address, id: m.ID})
	}
	d := dialer{transport: p.transport, cert: p.cert, config: p.quicConfig()}
	conn, to, err := d.race(ctx, targets, last)
	if err != nil {
		return nil, err
	}
	h := hello{version: protocolVersion, class: class, epoch: epoch, boot: p.boot, cluster: p.cfg.Cluster}
	meta, a, clock, err := introduce(ctx, conn, h, m.ID)
	if err != nil {
		closeConn(conn, Unwanted, "no answer to hello")
		p.learn(m.ID, to.address, err)
		return nil, err
	}
	l := &link{
		peer: m.ID, class: class, dialler: p.self, address: to.address, conn: conn, meta: meta,
		boot: a.boot, epoch: epoch, clock: clock, since: time.Now(), out: make(chan []byte, 2),
	}
	if refusal := p.register(l); refusal != Welcome {
		closeConn(conn, refusal, "the member list has changed")
		return nil, fmt.Errorf("%w: the member list has changed", ErrNotMember)
	}
	return l, nil
}

// introduce says hello on a fresh connection and reads the answer. clock is the other
// side's clock less ours.
func introduce(ctx context.Context, conn *quic.Conn, h hello, to ID) (meta *quic.Stream, a answer, clock time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	meta, err = conn.OpenStreamSync(ctx)
	if err == nil {
		a, clock, err = greet(ctx, meta, h)
	}
	if err == nil && a.refusal != Welcome {
		err = &RefusedError{By: to, Refusal: a.refusal, Reason: a.reason, Epoch: a.epoch}
	}
	if err != nil {
		return nil, answer{}, 0, fmt.Errorf("greet node %s: %w", to.Short(), refusedBy(to, err))
	}
	return meta, a, clock, nil
}

// greet sends h and reads the answer, if it comes before ctx ends.
func greet(ctx context.Context, meta *quic.Stream, h hello) (a answer, clock time.Duration, err error) {
	unhook := context.AfterFunc(ctx, func() { meta.CancelRead(streamClosed) })
	defer unhook()
	h.clock = time.Now()
	if err := writeFrame(meta, h.encode()); err != nil {
		return answer{}, 0, err
	}
	frame, err := readFrame(meta, maxHello)
	took := time.Since(h.clock)
	if err != nil {
		return answer{}, 0, cmp.Or(ctx.Err(), err)
	}
	a, err = parseAnswer(frame)
	return a, a.clock.Sub(h.clock.Add(took / 2)), err
}

// target is an address and the node that must answer there.
type target struct {
	address string
	id      ID
	anyone  bool // any node may answer; id is not looked at
}

// dialer makes connections over one UDP port.
type dialer struct {
	transport *quic.Transport
	cert      tls.Certificate
	config    *quic.Config
}

// race dials all targets, one shortly after the other, and returns the first handshake
// that succeeds; first, if it is among them, is dialled before the others.
func (d dialer) race(ctx context.Context, targets []target, first string) (*quic.Conn, target, error) {
	if len(targets) == 0 {
		return nil, target{}, fmt.Errorf("%w: no address is known", ErrUnreachable)
	}
	targets = slices.Clone(targets)
	slices.SortStableFunc(targets, func(a, b target) int {
		return btoi(b.address == first) - btoi(a.address == first)
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn *quic.Conn
		to   target
		err  error
	}
	results := make(chan result)
	var all sync.WaitGroup
	for i, to := range targets {
		all.Go(func() {
			timer := time.NewTimer(time.Duration(i) * stagger)
			defer timer.Stop()
			select {
			case <-ctx.Done():
				results <- result{err: ctx.Err()}
				return
			case <-timer.C:
			}
			conn, err := d.dial(ctx, to)
			results <- result{conn, to, err}
		})
	}
	var won result
	var errs []error
	for range targets {
		got := <-results
		switch {
		case got.err != nil:
			errs = append(errs, got.err)
		case won.conn == nil:
			won = got
			cancel()
		default:
			closeConn(got.conn, Unwanted, "another address answered first")
		}
	}
	all.Wait()
	if won.conn == nil {
		return nil, target{}, fmt.Errorf("%w: %w", ErrUnreachable, errors.Join(errs...))
	}
	return won.conn, won.to, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// dial makes one QUIC connection, trying each address that the name resolves to.
func (d dialer) dial(ctx context.Context, to target) (*quic.Conn, error) {
	addresses, err := resolve(ctx, to.address)
	if err != nil {
		return nil, err
	}
	config := clientTLS(d.cert, to.id)
	if to.anyone {
		config = anyTLS(d.cert)
	}
	var errs []error
	for _, address := range addresses {
		conn, err := d.transport.Dial(ctx, net.UDPAddrFromAddrPort(address), config, d.config)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, fmt.Errorf("dial %s: %w", address, translate(err)))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// resolve turns host:port into addresses.
func resolve(ctx context.Context, address string) ([]netip.AddrPort, error) {
	if direct, err := netip.ParseAddrPort(address); err == nil {
		return []netip.AddrPort{direct}, nil
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", clip(address), err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port of address %q: %w", clip(address), err)
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up %q: %w", clip(host), err)
	}
	found := make([]netip.AddrPort, 0, len(ips))
	for _, ip := range ips[:min(len(ips), maxResolved)] {
		found = append(found, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	}
	return found, nil
}
