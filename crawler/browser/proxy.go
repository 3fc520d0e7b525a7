package browser

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Web answers what pages ask for. It may be asked by several goroutines.
type Web interface {
	// Answer fetches what a page requests; nil refuses the request. It ends soon after ctx does.
	Answer(ctx context.Context, r *Request) *Answer
}

// Request is one request of a page.
type Request struct {
	Method string // GET, HEAD, POST or OPTIONS
	URL    string // absolute, without fragment
	Header http.Header
	Body   []byte
	Page   bool // it is the page itself that is asked for

	load *load
}

// Waits tells that the request waits for its turn, or no longer does: such time is not held against the page.
func (r *Request) Waits(waits bool) {
	if r.load != nil {
		r.load.waits(waits)
	}
}

// Answer is the response to a Request. Only what goes from end to end is in its Header.
type Answer struct {
	Status int
	Header http.Header
	Body   io.Reader // Size bytes; nil for none
	Size   int64
	Done   func() // called when the body is no longer needed; may be nil
}

// Limits on what a page may request.
const (
	maxBody     = 8 << 20
	maxHeader   = 128 << 10
	maxRequests = 5000 // of one page
	headerTime  = 30 * time.Second
	answerTime  = 2 * time.Minute // to take an answer
)

// proxy is an HTTP proxy on loopback for one browser, and the server of all that goes through it.
type proxy struct {
	log      *slog.Logger
	listener net.Listener
	ca       *authority
	outer    *http.Server
	inner    *http.Server
	tunnels  *tunnels
	serving  sync.WaitGroup

	mu    sync.Mutex
	load  *load // the page that is being loaded; nil for none
	conns map[net.Conn]struct{}
}

func newProxy(log *slog.Logger) (*proxy, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("recording proxy: %w", err)
	}
	p := &proxy{log: log, listener: l, ca: ca, tunnels: newTunnels(l.Addr()), conns: map[net.Conn]struct{}{}}
	p.outer = p.server(http.HandlerFunc(p.plain))
	p.inner = p.server(http.HandlerFunc(p.tunnelled))
	p.inner.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, tunnelKey{}, c)
	}
	p.serving.Go(func() { _ = p.outer.Serve(&guard{l, p}) }) // ends with close
	p.serving.Go(func() { _ = p.inner.Serve(p.tunnels) })
	return p, nil
}

func (p *proxy) server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: answerTime, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0)}
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// close ends the proxy and all its connections.
func (p *proxy) close() {
	_ = p.outer.Close() // the connections' ends are of no interest
	_ = p.tunnels.Close()
	_ = p.inner.Close()
	p.drop()
	p.serving.Wait()
}

// drop closes all connections of the browser.
func (p *proxy) drop() {
	p.mu.Lock()
	conns := p.conns
	p.conns = map[net.Conn]struct{}{}
	p.mu.Unlock()
	for c := range conns {
		_ = c.Close()
	}
}

// begin lets a page ask, until end.
func (p *proxy) begin(l *load) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load = l
}

// end refuses whatever comes from now on, and waits until all is over that was under way.
func (p *proxy) end(l *load) {
	p.mu.Lock()
	p.load = nil
	p.mu.Unlock()
	l.cancel()
	p.drop()
	l.asking.Wait()
}

// current is the page that asks, to which one request more is counted.
func (p *proxy) current() *load {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.load == nil || !p.load.more() {
		return nil
	}
	p.load.asking.Add(1)
	return p.load
}

// plain serves what the browser asks of the proxy itself: requests for http URLs, and tunnels.
func (p *proxy) plain(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme != "http" || r.URL.Host == "":
		refuse(w, http.StatusForbidden)
	default:
		p.serve(w, r, "http", r.URL.Host)
	}
}

// tunnelled serves what comes through a tunnel.
func (p *proxy) tunnelled(w http.ResponseWriter, r *http.Request) {
	t, ok := r.Context().Value(tunnelKey{}).(*tunnel)
	if !ok || r.Method == http.MethodConnect {
		refuse(w, http.StatusForbidden)
		return
	}
	p.serve(w, r, t.scheme, t.authority)
}

// serve has one request answered.
func (p *proxy) serve(w http.ResponseWriter, r *http.Request, scheme, authority string) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions:
	default:
		refuse(w, http.StatusMethodNotAllowed)
		return
	}
	if r.Header.Get("Upgrade") != "" || r.Header.Get("Service-Worker") != "" {
		refuse(w, http.StatusForbidden) // web sockets are not recorded; service workers would answer instead of us
		return
	}
	l := p.current()
	if l == nil {
		refuse(w, http.StatusForbidden)
		return
	}
	defer l.asking.Done()
	l.began()
	defer l.ended()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	url := scheme + "://" + strings.ToLower(authority) + pathOf(r.RequestURI)
	a := l.web.Answer(l.ctx, &Request{Method: r.Method, URL: url, Header: r.Header, Body: body,
		Page: r.Method == http.MethodGet && l.is(url), load: l})
	if a == nil || a.Status < 200 || a.Status > 599 {
		refuse(w, http.StatusForbidden)
		return
	}
	if a.Done != nil {
		defer a.Done()
	}
	a.write(w)
}

// pathOf returns path and query of a request's target as it was sent, even if that is a whole URL.
func pathOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok && target[0] != '/' {
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			target = rest[i:]
		} else {
			target = ""
		}
	}
	if target == "" || target[0] != '/' {
		target = "/" + target
	}
	return target
}

// write sends the answer. The browser may have gone away meanwhile.
func (a *Answer) write(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	h := w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
	for _, name := range [...]string{"Content-Type", "Date"} { // nothing is made up
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
	bodiless := a.Status == http.StatusNoContent || a.Status == http.StatusNotModified
	if !bodiless {
		h.Set("Content-Length", fmt.Sprint(a.Size))
	}
	w.WriteHeader(a.Status)
	if a.Body != nil && !bodiless {
		_, _ = io.CopyN(w, a.Body, a.Size)
	}
}

// refuse answers that a resource is not available. Scripts of any site can see that.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
}

// tunnel takes a connection to a host over: TLS, or plain HTTP.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" {
		refuse(w, http.StatusBadRequest)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusInternalServerError)
		return
	}
	_ = conn.SetDeadline(time.Now().Add(headerTime))
	first, err := greet(conn, buffered.Reader)
	if err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	t := &tunnel{Conn: &joined{conn, buffered.Reader}, scheme: "http", authority: r.Host}
	if first == 0x16 { // a TLS handshake
		t.scheme, t.Conn = "https", tls.Server(t.Conn, p.ca.config(host))
	}
	if t.scheme == "https" && port == "443" || t.scheme == "http" && port == "80" {
		t.authority = strings.TrimSuffix(r.Host, ":"+port)
	}
	p.tunnels.give(t)
}

// greet opens a tunnel and looks at its first byte.
func greet(conn net.Conn, r *bufio.Reader) (byte, error) {
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return 0, err
	}
	first, err := r.Peek(1)
	if err != nil {
		return 0, err
	}
	return first[0], nil
}

// joined is a connection of which something was read already.
type joined struct {
	net.Conn
	r *bufio.Reader
}

func (j *joined) Read(p []byte) (int, error) { return j.r.Read(p) }

// tunnelKey is of the context's value that is the tunnel.
type tunnelKey struct{}

// tunnel is a connection to a host, as the browser believes.
type tunnel struct {
	net.Conn
	scheme, authority string
}

// tunnels is a listener for connections that are there already.
type tunnels struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newTunnels(addr net.Addr) *tunnels {
	return &tunnels{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (t *tunnels) give(c net.Conn) {
	select {
	case t.conns <- c:
	case <-t.closed:
		_ = c.Close()
	}
}

func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

func (t *tunnels) Addr() net.Addr { return t.addr }

// guard lets the browser's connections in, and no others of this machine.
type guard struct {
	net.Listener
	p *proxy
}

func (g *guard) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := known(c.RemoteAddr(), c.LocalAddr()); errors.Is(err, errStranger) {
			g.p.log.Warn("a stranger's connection to the browser's proxy was refused", "from", c.RemoteAddr().String())
			_ = c.Close()
			continue
		}
		t := &tracked{Conn: c, p: g.p}
		g.p.mu.Lock()
		g.p.conns[t] = struct{}{}
		g.p.mu.Unlock()
		return t, nil
	}
}

// tracked is a connection that drop finds.
type tracked struct {
	net.Conn
	p *proxy
}

func (t *tracked) Close() error {
	t.p.mu.Lock()
	delete(t.p.conns, t)
	t.p.mu.Unlock()
	return t.Conn.Close()
}
