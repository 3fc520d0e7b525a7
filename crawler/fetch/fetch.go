// Package fetch gets a URI from the web and keeps the exact bytes that were on the wire.
//
// It speaks HTTP/1.1 over its own connections, because the archive keeps what was sent and received, not what a
// library makes of it. If a server insists, it speaks HTTP/2, and records the HTTP/1.1 messages with the same meaning
// (doc/fetching.md). Servers, proxies and name servers are treated as hostile: headers, bodies, times and addresses
// all have limits.
package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"holdfast/internal/coding"
)

// Status codes of fetches that brought no HTTP status, as Heritrix numbers them.
const (
	CodeDNSOK         = 1
	CodeDNSFailed     = -1
	CodeConnectFailed = -2
	CodeConnectLost   = -3
	CodeTimeout       = -4
	CodeUnfetchable   = -7
	CodeForbidden     = -5002 // an address that the settings do not allow
)

// Limits on what a server may send before its content.
const (
	maxHead    = 256 << 10
	maxInterim = 10
)

// ErrForbidden reports that a host has only addresses that the crawl may not reach.
var ErrForbidden = errors.New("address not allowed")

// errHead reports a response that does not begin as HTTP does.
var errHead = errors.New("not an HTTP response")

// Config says how to fetch where a Request says nothing else. Idle and Timeout must be set.
type Config struct {
	UserAgent string                // User-Agent header
	From      string                // From header, "" for none
	Timeout   time.Duration         // of a fetch as a whole
	Idle      time.Duration         // of connecting, and of a silent server
	MaxBody   int64                 // bytes of body kept; 0: no limit
	SpillDir  string                // folder for bodies too large for memory
	Allowed   func(netip.Addr) bool // which addresses may be reached; nil: all
	MaxIdle   int                   // connections kept open; 0: 64
}

// Client fetches. It is safe for concurrent use.
type Client struct {
	cfg    Config
	conns  *pool
	mem    chan []byte
	tls    *tls.Config
	speaks *tongues

	codings coding.Pool

	received atomic.Int64
}

// Received is how many bytes have come from servers and proxies so far.
func (c *Client) Received() int64 { return c.received.Load() }

// New makes a Client. Close it to close its connections.
func New(cfg Config) *Client {
	if cfg.MaxIdle == 0 {
		cfg.MaxIdle = 64
	}
	if cfg.Allowed == nil {
		cfg.Allowed = func(netip.Addr) bool { return true }
	}
	return &Client{cfg: cfg, conns: newPool(cfg.MaxIdle), mem: make(chan []byte, 64), tls: tlsConfig(),
		speaks: newTongues()}
}

// Close closes the connections that are idle.
func (c *Client) Close() { c.conns.close() }

// Exchange is one fetch: what was sent, what was received, and how it ended. Release it after use.
type Exchange struct {
	Status     int // HTTP status, or a code
	Begin      time.Time
	Duration   time.Duration
	IP         netip.Addr // of the server; not valid if the fetch goes through a proxy
	Request    []byte     // as recorded: the bytes sent, without secrets and without what was only for a proxy
	Hidden     []string   // what the recorded request has without its value: names of headers, and "form"
	Response   *Recording // exact bytes received; nil where there is no whole head
	Head       Head
	BodySize   int64
	Protocols  []string      // WARC-Protocol's values, as "http/1.1", "tls/1.3"
	TLS        *TLS          // nil without TLS
	RetryAfter time.Duration // as the response says; 0: it does not
	Truncated  string        // "", or the reason in WARC-Truncated's words
	Notes      []string      // annotations for the log
	Err        error         // why Status is negative; without secrets
	Permanent  bool          // trying again will not help
	Unreadable []byte        // what came, where it is no HTTP

	codings *coding.Pool
}

// Release gives the recording's memory and file back.
func (x *Exchange) Release() {
	if x.Response != nil {
		x.Response.release()
	}
}

// How an attempt at an exchange ended.
type attempt int

const (
	settled    attempt = iota
	stale              // the server had closed the kept connection before it saw the request
	needsH2            // the server speaks only HTTP/2
	needsHTTP1         // the server wants HTTP/1.1 for this
)

// maxAttempts is how many connections one fetch takes at most.
const maxAttempts = 4

// Fetch gets the target. It always returns an Exchange, which also says what went wrong. When ctx ends, the fetch
// ends at once and Err is the context's error.
func (c *Client) Fetch(ctx context.Context, r Request) *Exchange {
	x := &Exchange{Begin: time.Now(), codings: &c.codings}
	defer func() { x.Duration = time.Since(x.Begin) }()
	c.complete(&r)
	if err := r.check(); err != nil {
		x.Status, x.Err, x.Permanent = CodeUnfetchable, err, true
		return x
	}
	wire := r.bytes(onWire)
	x.Request = wire
	if r.secret() {
		x.Request, x.Hidden = r.bytes(inRecord), r.hides()
	}
	ctx, cancel := context.WithDeadline(ctx, x.Begin.Add(r.Timeout))
	defer cancel()
	var conn *conn
	if r.Method == "GET" || r.Method == "HEAD" {
		conn = c.conns.take(r.server(), r.HTTP2 != HTTP2Never)
	}
	if conn != nil && len(r.Addrs) > 0 && conn.addr.IsValid() &&
		!slices.ContainsFunc(r.Addrs, func(a netip.Addr) bool { return a.Unmap() == conn.addr }) {
		conn.Close() // the host is not to be asked at this address
		conn = nil
	}
	reused := conn != nil
	for range maxAttempts {
		if conn == nil {
			var err error
			if conn, err = c.connect(ctx, &r); err != nil {
				x.failedToConnect(ctx, err)
				return x
			}
		}
		x.reset(conn)
		how, keep := c.exchange(ctx, conn, x, &r, wire)
		if keep {
			c.conns.put(r.server(), conn)
		} else {
			conn.Close()
		}
		if how == settled || how == stale && !reused || how == needsH2 && r.HTTP2 == HTTP2Never {
			break
		}
		if how != stale {
			c.speaks.learn(r.Target, how == needsH2)
		}
		conn, reused = nil, false
	}
	return x
}

// reset makes x ready for an attempt over conn.
func (x *Exchange) reset(conn *conn) {
	x.Status, x.Err, x.Permanent, x.Unreadable = 0, nil, false, nil
	x.IP, x.TLS, x.Protocols = conn.addr, conn.facts, conn.protocols
	x.Notes = append(x.Notes[:0], conn.notes...)
}

// fail notes why a fetch brought nothing.
func (x *Exchange) fail(ctx context.Context, err error, code int) {
	var timeout net.Error
	switch {
	case errors.Is(err, ErrForbidden):
		code, x.Permanent = CodeForbidden, true
	case errors.Is(ctx.Err(), context.Canceled):
		err = ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) &&
		timeout.Timeout():
		if code != CodeConnectFailed {
			code = CodeTimeout
		}
	}
	x.Status, x.Err = code, err
}

// failedToConnect notes why there is no connection, for the log too.
func (x *Exchange) failedToConnect(ctx context.Context, err error) {
	x.fail(ctx, err, CodeConnectFailed)
	if x.Notes = x.Notes[:0]; x.Status == CodeConnectFailed && ctx.Err() == nil {
		x.Notes = append(x.Notes, connectNote(err))
	}
}

// exchange sends the request and receives the response over conn. keep: the connection can serve another request.
func (c *Client) exchange(ctx context.Context, conn *conn, x *Exchange, r *Request, wire []byte) (
	how attempt, keep bool) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer func() { keep = stop() && keep }()
	m := message{rec: newRecording(c.takeMemory(), c.cfg.SpillDir, c.giveMemory), maxBody: r.MaxBody,
		headOnly: r.Method == "HEAD", midFetch: r.MidFetch}
	if conn.h2 != nil {
		err := conn.h2.exchange(ctx, conn.reader(ctx, r), &m, r, wire)
		x.Notes = append(x.Notes, "h2")
		return c.take(ctx, x, r, &m, conn, err)
	}
	if err := conn.send(ctx, wire, r.Idle); err != nil {
		m.rec.release()
		x.fail(ctx, fmt.Errorf("send to %s: %w", r.Target.Authority, err), CodeConnectLost)
		if ctx.Err() != nil {
			return settled, false
		}
		return stale, false
	}
	return c.take(ctx, x, r, &m, conn, m.receive(conn.reader(ctx, r)))
}

// take copies what was received into x.
func (c *Client) take(ctx context.Context, x *Exchange, r *Request, m *message, conn *conn, err error) (
	how attempt, keep bool) {
	if m.head.Status == 0 {
		how = m.tongue(conn, err)
		if errors.Is(err, errHead) {
			x.Unreadable = bytes.Clone(m.rec.mem[:min(len(m.rec.mem), maxHead)])
		}
		m.rec.release()
		if errors.Is(err, errHead) {
			x.Notes = append(x.Notes, m.note)
		}
		x.fail(ctx, fmt.Errorf("response of %s: %w", r.Target.Authority, err), CodeConnectLost)
		if x.Status == CodeForbidden || ctx.Err() != nil {
			how = settled
		}
		return how, false
	}
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, errSpill) {
		m.rec.release()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		x.Status, x.Err = CodeConnectLost, err
		return settled, false
	}
	if conn.proxied && m.head.Status == 407 {
		m.rec.release()
		x.fail(ctx, fmt.Errorf("%s: %w", r.Way.Proxy, &proxyRefusal{407}), CodeConnectFailed)
		x.Notes = append(x.Notes, connectNote(x.Err))
		return settled, false
	}
	x.Status, x.Head, x.Response, x.BodySize = m.head.Status, m.head, m.rec, m.bodySize
	x.RetryAfter = m.head.RetryAfter(x.Begin)
	if !m.head.minor11 && conn.h2 == nil {
		x.Protocols = append([]string{"http/1.0"}, conn.protocols[1:]...)
	}
	x.Truncated = m.truncation(err)
	if m.note != "" {
		x.Notes = append(x.Notes, m.note)
	}
	if conn.h2 != nil {
		return settled, m.done && err == nil && conn.h2.usable()
	}
	return settled, m.reusable() && err == nil
}

func (c *Client) takeMemory() []byte {
	select {
	case b := <-c.mem:
		return b[:0]
	default:
		return make([]byte, 0, 32<<10)
	}
}

func (c *Client) giveMemory(b []byte) {
	if cap(b) > maxMemory {
		return
	}
	select {
	case c.mem <- b:
	default:
	}
}
