package node

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Secure says how the TCP ports are kept from being listened in on. On other addresses than this machine's own they speak HTTPS, or
// plain HTTP with proxies that are trusted to do so in front of the node.
type Secure struct {
	Certificate    string         // PEM file with the certificate and its chain
	CertificateKey string         // PEM file with its key
	TrustedProxies []netip.Prefix // from which plain HTTP is taken, and X-Forwarded-For believed
}

// HTTPS reports whether the ports speak HTTPS.
func (s Secure) HTTPS() bool { return s.Certificate != "" }

// parseProxies reads addresses and prefixes such as "192.0.2.10" and "10.1.0.0/16".
func parseProxies(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, errAddress := netip.ParseAddr(text)
			if errAddress != nil || a.Zone() != "" {
				return nil, fmt.Errorf("trusted-proxies: %q: want an address or a prefix, as in \"192.0.2.10\" or \"10.1.0.0/16\"", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if a := p.Addr(); a.Is4In6() { // what is compared with it is not mapped
			p = netip.PrefixFrom(a.Unmap(), max(0, p.Bits()-96))
		}
		if least := narrowest(p); p.Bits() < least {
			return nil, fmt.Errorf("trusted-proxies: %q is too wide: whoever is in it is believed whom it asks for, and may speak plain HTTP. "+
				"Name the proxies themselves, as in \"192.0.2.10\", or their network, /%d or narrower, as in \"10.1.0.0/16\"", text, least)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// narrowest returns how many bits a prefix of trusted proxies has at least.
func narrowest(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 8
	}
	return 16
}

// check returns what is wrong with the settings for a port that listens on the address, or nil.
func (s Secure) check(key, address string) error {
	if (s.Certificate == "") != (s.CertificateKey == "") {
		return errors.New("certificate and certificate-key: want both, or neither")
	}
	host, port, _ := net.SplitHostPort(address)
	if s.HTTPS() || len(s.TrustedProxies) > 0 || onlyHere(host) {
		return nil
	}
	return fmt.Errorf(`%s %q: others can reach this address, and plain HTTP would send access tokens and pages in clear.
Add one of these to cluster.toml. A certificate, as files that are read again when they change:
    certificate = "/etc/holdfast/node.pem"
    certificate-key = "/etc/holdfast/node.key"
or the addresses of proxies in front of the node, from which plain HTTP is taken:
    trusted-proxies = ["192.0.2.10"]
or let the port be for this machine alone:
    %s = "127.0.0.1:%s"`, key, address, key, port)
}

// onlyHere reports whether the host of an address to listen on is this machine's own.
func onlyHere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// trusts reports whether plain HTTP from the address is that of a trusted proxy.
func (s Secure) trusts(ip netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// addressOf returns the IP address of an address with a port.
func addressOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// listen lets connections in from this machine and from trusted proxies as they come, plain or not, and from everywhere else by HTTPS
// alone. certificate is nil where there is none: then nobody else is let in.
func (s Secure) listen(l net.Listener, certificate *certificate, log *slog.Logger) net.Listener {
	if !s.HTTPS() && len(s.TrustedProxies) == 0 {
		return l
	}
	d := &door{Listener: l, secure: s, log: log, in: make(chan net.Conn), ended: make(chan struct{})}
	if certificate != nil {
		d.tls = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.get, NextProtos: []string{"http/1.1"}}
	}
	go d.admit()
	return d
}

// door is a listener that decides by who comes whether plain HTTP will do.
type door struct {
	net.Listener
	secure Secure
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
		case (here || d.secure.trusts(from)) && d.tls != nil:
			go d.look(c)
		case here || d.secure.trusts(from):
			d.hand(c)
		case d.tls != nil:
			go d.greet(c)
		default:
			d.log.Debug("plain HTTP is taken from trusted proxies alone", "from", from)
			_ = c.Close()
		}
	}
}

// look sees by the first byte whether a caller speaks TLS.
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

// greet makes the handshake with a caller.
func (d *door) greet(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(greeting))
	greeted := tls.Server(c, d.tls)
	if err := greeted.Handshake(); err != nil {
		var plain tls.RecordHeaderError
		if errors.As(err, &plain) && plain.Conn != nil {
			_, _ = io.WriteString(plain.Conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 25\r\n\r\nThis port speaks HTTPS.\r\n")
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

// certificate is read again when its files change. One that cannot be read, or does not fit its key, leaves the one before.
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

// loadCertificate reads the certificate, nil when there is none.
func (s Secure) loadCertificate(log *slog.Logger) (*certificate, error) {
	if !s.HTTPS() {
		return nil, nil
	}
	c := &certificate{certFile: s.Certificate, keyFile: s.CertificateKey, log: log, now: time.Now}
	stamps, err := c.stat()
	if err == nil {
		err = c.load(stamps)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: certificate: %w", ErrConfig, err)
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

// forwardedPort is the port in the address of a client that a trusted proxy named: no connection comes from it.
const forwardedPort = 0

// forwarded tells the handler whom a request is from: what a trusted proxy says of it, and of nobody else.
func (s Secure) forwarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err == nil && s.trusts(from.Addr().Unmap()) {
			if client, ok := s.client(r.Header.Values("X-Forwarded-For")); ok {
				r.RemoteAddr = netip.AddrPortFrom(client, forwardedPort).String()
			}
		} else {
			for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded"} {
				r.Header.Del(name)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// client returns the last address that is not a trusted proxy's: what stands before it anybody can have written.
func (s Secure) client(lines []string) (netip.Addr, bool) {
	all := strings.Split(strings.Join(lines, ","), ",")
	for i := len(all) - 1; i >= 0; i-- {
		ip, err := netip.ParseAddr(strings.TrimSpace(all[i]))
		if err != nil {
			return netip.Addr{}, false
		}
		if ip = ip.Unmap(); !s.trusts(ip) {
			return ip, true
		}
	}
	return netip.Addr{}, false
}
