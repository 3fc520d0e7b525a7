package front

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"holdfast/node/config"
)

// addressOf returns the IP address of an address with a port.
func addressOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// listenSecurely accepts connections from this machine and from trusted proxies, with or without TLS, and from
// everywhere else only with HTTPS. If certificate is nil, nobody else is accepted.
func listenSecurely(s config.Secure, l net.Listener, certificate *certificate, log *slog.Logger) net.Listener {
	if !s.HTTPS() && len(s.TrustedProxies) == 0 {
		return l
	}
	d := &door{Listener: l, secure: s, log: log, in: make(chan net.Conn), ended: make(chan struct{})}
	if certificate != nil {
		d.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.get,
			NextProtos: []string{"http/1.1"}}
	}
	go d.admit()
	return d
}

// door is a listener that decides by who comes whether plain HTTP will do.
type door struct {
	net.Listener
	secure config.Secure
	tls    *tls.Config // nil: no HTTPS
	log    *slog.Logger
	in     chan net.Conn
	ended  chan struct{} // closed when the listener fails or is closed; failed says how
	failed error
}

// greeting is how long a caller may take to show whether it speaks TLS, and for the handshake.
const greeting = 10 * time.Second

func (d *door) admit() {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			d.failed = err
			close(d.ended)
			return
		}
		from := addressOf(c.RemoteAddr())
		here := from.IsLoopback() || from == addressOf(c.LocalAddr())
		switch {
		case (here || d.secure.Trusts(from)) && d.tls != nil:
			go d.look(c)
		case here || d.secure.Trusts(from):
			d.hand(c)
		case d.tls != nil:
			go d.greet(c)
		default:
			d.log.Debug("plain HTTP is taken from trusted proxies alone", "from", from)
			_ = c.Close()
		}
	}
}

// look determines by the first byte whether a caller speaks TLS.
func (d *door) look(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(greeting))
	r := bufio.NewReaderSize(c, 16)
	first, err := r.Peek(1)
	if err != nil {
		_ = c.Close()
		return
	}
	looked := &peeked{Conn: c, r: r}
	if first[0] == 0x16 { // a handshake
		d.greet(looked)
		return
	}
	_ = c.SetDeadline(time.Time{})
	d.hand(looked)
}

// notPlain answers a caller who speaks plain HTTP where only HTTPS is allowed.
const notPlain = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 25\r\n\r\n" +
	"This port speaks HTTPS.\r\n"

// greet makes the handshake with a caller.
func (d *door) greet(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(greeting))
	greeted := tls.Server(c, d.tls)
	if err := greeted.Handshake(); err != nil {
		var plain tls.RecordHeaderError
		if errors.As(err, &plain) && plain.Conn != nil {
			_, _ = io.WriteString(plain.Conn, notPlain)
		}
		d.log.Debug("no TLS handshake", "from", c.RemoteAddr(), "error", err)
		_ = c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	d.hand(greeted)
}

func (d *door) hand(c net.Conn) {
	select {
	case d.in <- c:
	case <-d.ended:
		_ = c.Close()
	}
}

// Accept returns the next connection that was let in.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.in:
		return c, nil
	case <-d.ended:
		return nil, d.failed
	}
}

// peeked is a connection of which some bytes were looked at.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// certificate is read again when its files change. One that cannot be read, or does not fit its key, leaves the one
// before.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger
	now               func() time.Time

	mu     sync.Mutex
	loaded *tls.Certificate
	stamps [2]stamp
	looked time.Time
}

// stamp is what changes with a file.
type stamp struct {
	size  int64
	at    time.Time
	inode uint64
}

func stampOf(info os.FileInfo) stamp {
	out := stamp{size: info.Size(), at: info.ModTime()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		out.inode = s.Ino
	}
	return out
}

// certificateLook is how often the files are looked at.
const certificateLook = time.Second

// loadCertificate reads the certificate, nil if there is none.
func loadCertificate(s config.Secure, log *slog.Logger) (*certificate, error) {
	if !s.HTTPS() {
		return nil, nil
	}
	c := &certificate{certFile: s.Certificate, keyFile: s.CertificateKey, log: log, now: time.Now}
	stamps, err := c.stat()
	if err == nil {
		err = c.load(stamps)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: certificate: %w", config.ErrConfig, err)
	}
	return c, nil
}

func (c *certificate) stat() (out [2]stamp, err error) {
	for i, path := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(path)
		if err != nil {
			return out, err
		}
		out[i] = stampOf(info)
	}
	return out, nil
}

func (c *certificate) load(stamps [2]stamp) error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read %s and %s: %w", c.certFile, c.keyFile, err)
	}
	c.loaded, c.stamps = &pair, stamps
	return nil
}

// get returns the certificate as it is now.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= certificateLook {
		c.looked = now
		stamps, err := c.stat()
		if err == nil && stamps != c.stamps {
			if err = c.load(stamps); err == nil {
				c.log.Info("a new certificate is used", "file", c.certFile)
			}
		}
		if err != nil {
			c.log.Error("the certificate cannot be read again; the one before is used", "error", err)
		}
	}
	return c.loaded, nil
}

// unknownClient is the address of a client that a trusted proxy does not name, or not so that it can be read: it is not
// the proxy's, at which more may be allowed.
const unknownClient = "unknown"

// forwardedPort is the port in the address of a client that a trusted proxy named: no connection comes from it.
const forwardedPort = 0

// forwarded tells the handler whom a request is from. Only what a trusted proxy says about that is believed.
func forwarded(s config.Secure, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err == nil && s.Trusts(from.Addr().Unmap()) {
			switch client, err := clientOf(s, r.Header.Values("X-Forwarded-For")); {
			case err != nil:
				r.RemoteAddr = unknownClient
				r = r.WithContext(context.WithValue(r.Context(), relayedKey{}, true))
			case client.IsValid():
				r.RemoteAddr = netip.AddrPortFrom(client, forwardedPort).String()
			}
		} else if dropForwarded(r.Header) {
			r = r.WithContext(context.WithValue(r.Context(), relayedKey{}, true))
		}
		next.ServeHTTP(w, r)
	})
}

// dropForwarded takes off what a proxy would say of a request, and reports whether there was any of it.
func dropForwarded(h http.Header) (found bool) {
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded"} {
		_, given := h[name]
		found = found || given
		h.Del(name)
	}
	return found
}

// clientOf returns the last address that is not a trusted proxy's: anybody can have written those before it. It is not
// valid if there is none. The error is that of an address that cannot be read.
func clientOf(s config.Secure, lines []string) (netip.Addr, error) {
	if len(lines) == 0 {
		return netip.Addr{}, nil
	}
	all := strings.Split(strings.Join(lines, ","), ",")
	for i := len(all) - 1; i >= 0; i-- {
		ip, err := forwardedAddress(strings.TrimSpace(all[i]))
		if err != nil || !s.Trusts(ip) {
			return ip, err
		}
	}
	return netip.Addr{}, nil
}

// forwardedAddress reads an address as proxies write it: alone, in brackets, or with a port.
func forwardedAddress(text string) (netip.Addr, error) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap(), nil
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	ip, err := netip.ParseAddr(text)
	return ip.Unmap(), err
}
