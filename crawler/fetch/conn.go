package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// maxAddrs is how many addresses of a host are tried in one fetch.
const maxAddrs = 4

// idleTime is how long a connection is kept for a next request.
const idleTime = 15 * time.Second

// conn is a connection to a server.
type conn struct {
	net.Conn
	addr  netip.Addr
	notes []string // of the TLS handshake
	idle  time.Time
}

// dial connects to the first address that is allowed and answers. The address is checked once more on the
// connection itself, so that no name can lead elsewhere in between.
func (c *Client) dial(ctx context.Context, r Request) (*conn, error) {
	var failed error
	tried := 0
	for _, addr := range r.Addrs {
		addr = addr.Unmap()
		if !c.cfg.Allowed(addr) {
			failed = errors.Join(failed, fmt.Errorf("%s at %s: %w", r.Target.Host, addr, ErrForbidden))
			continue
		}
		if tried++; tried > maxAddrs {
			break
		}
		d := net.Dialer{Timeout: c.cfg.Idle}
		nc, err := d.DialContext(ctx, "tcp", net.JoinHostPort(addr.String(), r.Target.Port))
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("connect to %s: %w", r.Target.Authority, err))
			continue
		}
		remote, ok := nc.RemoteAddr().(*net.TCPAddr)
		if !ok || !c.cfg.Allowed(remote.AddrPort().Addr().Unmap()) {
			nc.Close()
			return nil, fmt.Errorf("%s at %s: %w", r.Target.Host, nc.RemoteAddr(), ErrForbidden)
		}
		if r.Target.Scheme != "https" {
			return &conn{Conn: nc, addr: addr}, nil
		}
		secured, err := c.secure(ctx, nc, r.Target.Host)
		if err != nil {
			nc.Close()
			return nil, err
		}
		secured.addr = addr
		return secured, nil
	}
	if failed == nil {
		failed = fmt.Errorf("connect to %s: no address", r.Target.Authority)
	}
	if tried > 0 && errors.Is(failed, ErrForbidden) {
		failed = fmt.Errorf("connect to %s: no allowed address answers", r.Target.Authority)
	}
	return nil, failed
}

// secure does the TLS handshake. A certificate that does not hold is noted, not refused.
func (c *Client) secure(ctx context.Context, nc net.Conn, host string) (*conn, error) {
	cfg := c.tls.Clone()
	cfg.ServerName = host
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Idle)
	defer cancel()
	tc := tls.Client(nc, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS with %s: %w", host, err)
	}
	out := &conn{Conn: tc}
	state := tc.ConnectionState()
	if len(state.PeerCertificates) > 0 {
		opts := x509.VerifyOptions{DNSName: host, Intermediates: x509.NewCertPool()}
		for _, cert := range state.PeerCertificates[1:] {
			opts.Intermediates.AddCert(cert)
		}
		if _, err := state.PeerCertificates[0].Verify(opts); err != nil {
			out.notes = append(out.notes, "tlsUnverified")
		}
	}
	return out, nil
}

// pool keeps idle connections, by scheme and authority, the most recently used first.
type pool struct {
	mu    sync.Mutex
	max   int
	count int
	conns map[string][]*conn
}

func newPool(max int) *pool { return &pool{max: max, conns: map[string][]*conn{}} }

func (t Target) server() string { return t.Scheme + "://" + t.Authority }

func (p *pool) take(t Target) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := t.server()
	list := p.conns[key]
	for len(list) > 0 {
		c := list[len(list)-1]
		list = list[:len(list)-1]
		p.count--
		if len(list) == 0 {
			delete(p.conns, key)
		} else {
			p.conns[key] = list
		}
		if time.Since(c.idle) < idleTime {
			return c
		}
		c.Close()
	}
	return nil
}

func (p *pool) put(t Target, c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= p.max {
		p.evict()
	}
	if p.count >= p.max {
		c.Close()
		return
	}
	c.idle = time.Now()
	key := t.server()
	p.conns[key] = append(p.conns[key], c)
	p.count++
}

// evict closes the connection that has been idle longest.
func (p *pool) evict() {
	var oldest string
	var since time.Time
	for key, list := range p.conns {
		if oldest == "" || list[0].idle.Before(since) {
			oldest, since = key, list[0].idle
		}
	}
	list := p.conns[oldest]
	if len(list) == 0 {
		return
	}
	list[0].Close()
	p.count--
	if len(list) == 1 {
		delete(p.conns, oldest)
		return
	}
	p.conns[oldest] = list[1:]
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, list := range p.conns {
		for _, c := range list {
			c.Close()
		}
		delete(p.conns, key)
	}
	p.count, p.max = 0, 0
}
