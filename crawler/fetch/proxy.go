package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/proxy"
)

// maxProxyHead is how long a proxy's answer to CONNECT may be.
const maxProxyHead = 16 << 10

// errProxy reports that a proxy could not be reached, or does not behave like one.
var errProxy = errors.New("proxy failed")

// proxyRefusal reports that a proxy does not let a request through.
type proxyRefusal struct{ status int }

func (p *proxyRefusal) Error() string { return fmt.Sprintf("proxy refused with status %d", p.status) }

// authorization returns the login for the proxy; "" for none.
func (p *Proxy) authorization() string {
	if p.user == "" && p.password == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password))
}

// throughProxy connects to the proxy, and through it to the target where it does not take requests itself. Proxies are
// the operator's choice: their own addresses are not judged.
func (w Way) throughProxy(ctx context.Context, r *Request, addrs []netip.Addr) (net.Conn, error) {
	p := w.Proxy
	ctx, cancel := context.WithTimeout(ctx, r.Idle)
	defer cancel()
	d := w.dialer(r.Idle)
	failed := func(err error) error {
		return fmt.Errorf("connect to %s by %s: %w: %w", r.Target.Authority, p, errProxy, err)
	}
	if p.scheme == "socks5" {
		var auth *proxy.Auth
		if p.user != "" {
			auth = &proxy.Auth{User: p.user, Password: p.password}
		}
		socks, err := proxy.SOCKS5("tcp", p.address, auth, &d)
		if err != nil {
			return nil, failed(err)
		}
		host := r.Target.Host
		if len(addrs) > 0 {
			host = addrs[0].String() // the proxy connects where we know that we may
		}
		nc, err := socks.(proxy.ContextDialer).DialContext(ctx, "tcp", net.JoinHostPort(host, r.Target.Port))
		if err != nil {
			return nil, failed(err)
		}
		return nc, nil
	}
	nc, err := d.DialContext(ctx, "tcp", p.address)
	if err != nil {
		return nil, failed(err)
	}
	if r.Target.Scheme == "http" {
		return nc, nil
	}
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	err = tunnel(nc, net.JoinHostPort(r.Target.Host, r.Target.Port), r.UserAgent, p.authorization())
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		nc.Close()
		return nil, failed(err)
	}
	return nc, nil
}

// tunnel asks an HTTP proxy for a connection to the address, host and port. It reads no byte beyond the proxy's answer.
func tunnel(nc net.Conn, address, agent, authorization string) error {
	b := append([]byte(nil), "CONNECT "+address+" HTTP/1.1\r\n"...)
	b = appendField(b, "Host", address)
	b = appendField(b, "User-Agent", agent)
	b = appendField(b, "Proxy-Authorization", authorization)
	if _, err := nc.Write(append(b, "\r\n"...)); err != nil {
		return err
	}
	status, err := readTunnelAnswer(nc.Read)
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return &proxyRefusal{status}
	}
	return nil
}

// readTunnelAnswer reads the header of an answer to CONNECT, byte by byte, because what follows no longer comes from
// the proxy.
func readTunnelAnswer(read func([]byte) (int, error)) (int, error) {
	head := make([]byte, 0, 256)
	interim := 0
	for {
		if len(head) == maxProxyHead {
			return 0, fmt.Errorf("answer longer than %d bytes", maxProxyHead)
		}
		head = append(head, 0)
		n, err := read(head[len(head)-1:])
		if head = head[:len(head)-1+n]; err != nil && n == 0 {
			return 0, fmt.Errorf("answer to CONNECT: %w", noEOF(err))
		}
		if n == 0 || head[len(head)-1] != '\n' || !bytes.HasSuffix(head, []byte("\n\r\n")) &&
			!bytes.HasSuffix(head, []byte("\n\n")) {
			continue
		}
		h, ok := parseHead(head)
		if !ok {
			return 0, fmt.Errorf("answer to CONNECT is not HTTP: it begins %.40q", head)
		}
		if h.Status >= 200 {
			return h.Status, nil
		}
		if interim++; interim > maxInterim {
			return 0, errors.New("too many interim answers to CONNECT")
		}
		head = head[:0]
	}
}
