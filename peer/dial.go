package peer

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// introduce says hello on a fresh connection and reads the answer. clock is the other
// side's clock less ours.
func introduce(ctx context.Context, conn *quic.Conn, h hello, to ID) (meta *quic.Stream, a answer, clock time.Duration,
	err error) {
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
