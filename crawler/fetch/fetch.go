// Package fetch gets a URI from the web and keeps the exact bytes that were on the wire.
//
// It speaks HTTP/1.1 over its own connections, because what is archived is what
// was sent and received, not what a library makes of it. Servers
// are taken to be hostile: heads, bodies, times and addresses all have limits.
package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
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

// Config says how to fetch. Idle and Timeout must be set.
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
	cfg   Config
	conns *pool
	mem   chan []byte
	tls   *tls.Config
}

// New makes a Client. Close it to close its connections.
func New(cfg Config) *Client {
	if cfg.MaxIdle == 0 {
		cfg.MaxIdle = 64
	}
	if cfg.Allowed == nil {
		cfg.Allowed = func(netip.Addr) bool { return true }
	}
	// Archives keep what is served, whoever vouches for it: certificates are checked, the finding is noted, the fetch goes on.
	return &Client{cfg: cfg, conns: newPool(cfg.MaxIdle), mem: make(chan []byte, 64),
		tls: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, NextProtos: []string{"http/1.1"}}}
}

// Close closes the connections that are idle.
func (c *Client) Close() { c.conns.close() }

// Request is what to fetch.
type Request struct {
	Target  Target
	Addrs   []netip.Addr // where the host is, in order of preference
	Referer string
}

// Exchange is one fetch: what was sent, what came back, and how it ended. Release it after use.
type Exchange struct {
	Status    int // HTTP status, or a code
	Begin     time.Time
	Duration  time.Duration
	IP        netip.Addr
	Request   []byte     // exact bytes sent
	Response  *Recording // exact bytes received; nil where there is no whole head
	Head      Head
	BodySize  int64
	Truncated string   // "", or the reason in WARC-Truncated's words
	Notes     []string // annotations for the log
	Err       error    // why Status is negative
	Permanent bool     // trying again will not help
}

// Release gives the recording's memory and file back.
func (x *Exchange) Release() {
	if x.Response != nil {
		x.Response.release()
	}
}

// Target is a URL taken apart as far as a fetch needs it.
type Target struct {
	URL, Scheme, Host, Port string
	Authority               string // host, and port where it is not the scheme's own
	Path                    string // path and query, as sent
}

// ParseTarget takes an http(s) URL in normal form apart.
func ParseTarget(url string) (Target, error) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok || (scheme != "http" && scheme != "https") {
		return Target{}, fmt.Errorf("target %.200q: not http or https", url)
	}
	slash := strings.IndexAny(rest, "/?#")
	path := "/"
	authority := rest
	if slash >= 0 {
		authority, path = rest[:slash], rest[slash:]
	}
	if i := strings.IndexByte(path, '#'); i >= 0 {
		path = path[:i]
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	t := Target{URL: url, Scheme: scheme, Authority: authority, Path: path, Host: authority, Port: "80"}
	if scheme == "https" {
		t.Port = "443"
	}
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		t.Host, t.Port = authority[:i], authority[i+1:]
	}
	t.Host = strings.Trim(t.Host, "[]")
	if t.Host == "" || strings.ContainsAny(authority+path, " \t\r\n\x00") {
		return Target{}, fmt.Errorf("target %.200q: no usable host or path", url)
	}
	return t, nil
}

// Fetch gets the target. It always returns an Exchange; what went wrong stands in it. When ctx ends, the fetch
// ends at once and Err is the context's error.
func (c *Client) Fetch(ctx context.Context, r Request) *Exchange {
	x := &Exchange{Begin: time.Now(), Request: c.request(r)}
	ctx, cancel := context.WithDeadline(ctx, x.Begin.Add(c.cfg.Timeout))
	defer cancel()
	conn := c.conns.take(r.Target)
	reused := conn != nil
	for {
		if conn == nil {
			var err error
			if conn, err = c.dial(ctx, r); err != nil {
				x.fail(ctx, err, CodeConnectFailed)
				break
			}
		}
		x.IP = conn.addr
		x.Notes = append(x.Notes[:0], conn.notes...)
		again, keep := c.exchange(ctx, conn, x, r.Target)
		if keep {
			c.conns.put(r.Target, conn)
		} else {
			conn.Close()
		}
		if !again || !reused {
			break
		}
		// The server closed a kept connection before it saw the request.
		conn, reused = nil, false
		x.Err, x.Status = nil, 0
	}
	x.Duration = time.Since(x.Begin)
	return x
}

// fail notes why a fetch brought nothing.
func (x *Exchange) fail(ctx context.Context, err error, code int) {
	var timeout net.Error
	switch {
	case errors.Is(err, ErrForbidden):
		code, x.Permanent = CodeForbidden, true
	case errors.Is(ctx.Err(), context.Canceled):
		err = ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		if code != CodeConnectFailed {
			code = CodeTimeout
		}
	}
	x.Status, x.Err = code, err
}

func (c *Client) request(r Request) []byte {
	b := make([]byte, 0, 512)
	b = append(b, "GET "...)
	b = append(b, r.Target.Path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.Target.Authority...)
	b = append(b, "\r\nUser-Agent: "...)
	b = append(b, c.cfg.UserAgent...)
	if c.cfg.From != "" {
		b = append(b, "\r\nFrom: "...)
		b = append(b, c.cfg.From...)
	}
	if r.Referer != "" && !(strings.HasPrefix(r.Referer, "https:") && r.Target.Scheme == "http") {
		b = append(b, "\r\nReferer: "...)
		b = append(b, r.Referer...)
	}
	return append(b, "\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\r\n"...)
}

// exchange sends the request and receives the response. again: nothing came and the connection was already closed
// by the other side; keep: the connection can serve another request.
func (c *Client) exchange(ctx context.Context, conn *conn, x *Exchange, t Target) (again, keep bool) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer func() { keep = stop() && keep }()
	conn.SetWriteDeadline(time.Now().Add(c.cfg.Idle))
	if _, err := conn.Write(x.Request); err != nil {
		x.fail(ctx, fmt.Errorf("send to %s: %w", t.Authority, err), CodeConnectLost)
		return ctx.Err() == nil, false
	}
	rec := newRecording(c.takeMemory(), c.cfg.SpillDir, c.giveMemory)
	m := message{rec: rec, maxBody: c.cfg.MaxBody}
	err := m.receive(func(p []byte) (int, error) {
		if err := conn.SetReadDeadline(time.Now().Add(c.cfg.Idle)); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return conn.Read(p)
	})
	if m.head.Status == 0 {
		received := rec.size
		rec.release()
		if errors.Is(err, errHead) {
			x.Permanent = true
			x.Notes = append(x.Notes, m.note)
		}
		x.fail(ctx, fmt.Errorf("response of %s: %w", t.Authority, err), CodeConnectLost)
		return received == 0 && x.Status == CodeConnectLost && ctx.Err() == nil, false
	}
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, errSpill) {
		rec.release()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		x.Status, x.Err = CodeConnectLost, err
		return false, false
	}
	x.Status, x.Head, x.Response, x.BodySize = m.head.Status, m.head, rec, m.bodySize
	x.Truncated = m.truncation(err)
	if m.note != "" {
		x.Notes = append(x.Notes, m.note)
	}
	return false, m.reusable() && err == nil
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
