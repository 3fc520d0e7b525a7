package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxAddrs is how many addresses of a host are tried in one fetch.
const maxAddrs = 4

// minConnect is the least time an address gets, where several share the time there is.
const minConnect = 2 * time.Second

// conn is a connection to a server.
type conn struct {
	net.Conn
	addr      netip.Addr // not valid behind a proxy
	facts     *TLS
	protocols []string
	notes     []string // of the TLS handshake
	proxied   bool     // requests go to an HTTP proxy
	unasked   bool     // over TLS, HTTP/2 was not offered
	silent    bool     // over TLS, the server chose no protocol
	h2        *h2conn  // where HTTP/2 was agreed on
	idle      time.Time
	received  bool          // anything, ever
	count     *atomic.Int64 // of all bytes that the Client received; nil: nobody counts
}

// connect makes a connection that the request can go over: by the way given, with TLS where the scheme says so.
func (c *Client) connect(ctx context.Context, r *Request) (*conn, error) {
	for {
		nc, addr, err := c.reach(ctx, r)
		if err != nil {
			return nil, err
		}
		if r.Target.Scheme != "https" {
			return &conn{Conn: nc, addr: addr, protocols: []string{"http/1.1"}, proxied: r.absolute(),
				count: &c.received}, nil
		}
		protos := c.speaks.offer(r)
		out, err := c.secure(ctx, nc, r, protos)
		if err == nil {
			out.addr, out.count = addr, &c.received
			return out, nil
		}
		nc.Close()
		// A server that speaks HTTP/2 alone refuses an offer without it.
		if r.HTTP2 != HTTP2Never && protos[0] != protoH2 && ctx.Err() == nil &&
			strings.Contains(err.Error(), "no application protocol") {
			c.speaks.learn(r.Target, true)
			continue
		}
		return nil, err
	}
}

// reach connects by TCP: to the proxy, or to the first address that is allowed and answers.
func (c *Client) reach(ctx context.Context, r *Request) (net.Conn, netip.Addr, error) {
	addrs, err := c.allowed(r)
	if err != nil {
		return nil, netip.Addr{}, err
	}
	if r.Way.Proxy != nil {
		nc, err := r.Way.throughProxy(ctx, r, addrs)
		return nc, netip.Addr{}, err
	}
	if len(addrs) == 0 {
		return nil, netip.Addr{}, fmt.Errorf("connect to %s: the host has no address", r.Target.Authority)
	}
	var failed error
	each := max(r.Idle/time.Duration(len(addrs)), min(minConnect, r.Idle))
	for _, addr := range addrs {
		d := r.Way.dialer(each)
		nc, err := d.DialContext(ctx, "tcp", net.JoinHostPort(addr.String(), r.Target.Port))
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("connect to %s: %w", r.Target.Authority, err))
			continue
		}
		remote, ok := nc.RemoteAddr().(*net.TCPAddr)
		if !ok || !c.cfg.Allowed(remote.AddrPort().Addr().Unmap()) {
			nc.Close()
			return nil, netip.Addr{}, fmt.Errorf("%s at %s: %w", r.Target.Host, nc.RemoteAddr(), ErrForbidden)
		}
		return nc, addr, nil
	}
	return nil, netip.Addr{}, failed
}

// allowed returns the request's addresses that may be reached, of both families in turn, at most maxAddrs. Where a
// proxy looks names up by itself there may be none, but a literal address in the URL is judged there, too.
func (c *Client) allowed(r *Request) ([]netip.Addr, error) {
	given := r.Addrs
	if literal, err := netip.ParseAddr(r.Target.Host); err == nil {
		given = []netip.Addr{literal}
	}
	var first, second []netip.Addr
	other := false // than the source address's family
	for _, addr := range given {
		addr = addr.Unmap()
		switch {
		case addr.Zone() != "" || !c.cfg.Allowed(addr):
		case r.Way.Source.IsValid() && r.Way.Proxy == nil && addr.Is4() != r.Way.Source.Is4():
			other = true
		case len(first) == 0 || first[0].Is4() == addr.Is4():
			first = append(first, addr)
		default:
			second = append(second, addr)
		}
	}
	if len(first) == 0 && other {
		return nil, fmt.Errorf("connect to %s from %s: the host has no address of that family, IPv4 or IPv6",
			r.Target.Authority, r.Way.Source)
	}
	if len(first) == 0 && len(given) > 0 {
		return nil, fmt.Errorf("%s at %s: %w", r.Target.Host, given[0], ErrForbidden)
	}
	if len(second) == 0 || len(first) == 0 {
		return first[:min(len(first), maxAddrs)], nil
	}
	mixed := make([]netip.Addr, 0, maxAddrs)
	for i := 0; len(mixed) < maxAddrs && (i < len(first) || i < len(second)); i++ {
		if i < len(first) {
			mixed = append(mixed, first[i])
		}
		if i < len(second) && len(mixed) < maxAddrs {
			mixed = append(mixed, second[i])
		}
	}
	return mixed, nil
}

// send writes the request.
func (c *conn) send(ctx context.Context, wire []byte, idle time.Duration) error {
	c.SetWriteDeadline(time.Now().Add(idle))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err := c.Write(wire)
	return err
}

// reader returns how to read from the connection: within the idle time, and no faster than the limiters allow.
func (c *conn) reader(ctx context.Context, r *Request) func([]byte) (int, error) {
	idle, limiters := r.Idle, r.Limiters
	return func(p []byte) (int, error) {
		if err := c.SetReadDeadline(time.Now().Add(idle)); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		for _, l := range limiters {
			p = p[:l.piece(len(p))]
		}
		n, err := c.Read(p)
		c.received = c.received || n > 0
		if c.count != nil {
			c.count.Add(int64(n))
		}
		for _, l := range limiters {
			if late := l.take(ctx, n); late != nil && err == nil {
				err = late
			}
		}
		return n, err
	}
}

// connectNote returns a word for the log that says why no connection was made.
func connectNote(err error) string {
	var refusal *proxyRefusal
	var handshake *handshakeError
	switch {
	case errors.As(err, &handshake):
		return "tlsFailed:" + word(handshake.cause.Error())
	case errors.As(err, &refusal):
		return fmt.Sprintf("proxyRefused:%d", refusal.status)
	case errors.Is(err, errProxy):
		return "proxyFailed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connectRefused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "unreachable"
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "connectTimeout"
	}
	return "connectFailed"
}

// word makes a short annotation of a text: letters, digits and hyphens.
func word(text string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.'
	}) {
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(part)
		if b.Len() > 60 {
			break
		}
	}
	return b.String()[:min(b.Len(), 80)]
}

// tongues remembers which servers speak only HTTP/2, and which want HTTP/1.1. It holds a bounded number.
type tongues struct {
	mu    sync.Mutex
	known map[[2]string]bool // by scheme and authority: HTTP/2
}

const maxTongues = 10_000

func newTongues() *tongues { return &tongues{known: map[[2]string]bool{}} }

func (t *tongues) learn(target Target, h2 bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for old := range t.known {
		if len(t.known) < maxTongues {
			break
		}
		delete(t.known, old)
	}
	t.known[[2]string{target.Scheme, target.Authority}] = h2
}

// The protocols' names in ALPN.
const (
	protoHTTP1 = "http/1.1"
	protoH2    = "h2"
)

// offer is what to offer a server, the preferred first.
func (t *tongues) offer(r *Request) []string {
	if r.HTTP2 == HTTP2Never {
		return []string{protoHTTP1}
	}
	t.mu.Lock()
	h2, known := t.known[[2]string{r.Target.Scheme, r.Target.Authority}]
	t.mu.Unlock()
	if known && h2 || !known && r.HTTP2 == HTTP2Preferred {
		return []string{protoH2, protoHTTP1}
	}
	return []string{protoHTTP1}
}
