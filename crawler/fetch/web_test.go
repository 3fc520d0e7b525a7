package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"holdfast/harvest"
)

var loopback = []netip.Addr{netip.MustParseAddr("127.0.0.1")}

func client(t testing.TB) *Client {
	c := New(Config{UserAgent: "test", Timeout: 10 * time.Second, Idle: 5 * time.Second, SpillDir: t.TempDir()})
	t.Cleanup(c.Close)
	return c
}

func target(t testing.TB, url string) Target {
	out, err := ParseTarget(url)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// listen accepts connections and hands them to serve.
func listen(t testing.TB, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// secureServer serves HTTP/1.1 and HTTP/2, or what alpn says alone.
func secureServer(t testing.TB, alpn []string, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{}
	if alpn != nil {
		s.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			cfg := &tls.Config{Certificates: s.TLS.Certificates, NextProtos: alpn}
			if !slices.Contains(hello.SupportedProtos, alpn[0]) {
				cfg.NextProtos = []string{"none"} // Go's servers would let HTTP/1.1 in
			}
			return cfg, nil
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestHTTP2Modes(t *testing.T) {
	t.Parallel()
	page := func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			n, _ := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n)
			return
		}
		io.WriteString(w, r.Proto)
	}
	both, only, old := secureServer(t, nil, page), secureServer(t, []string{"h2"}, page), secureServer(t, []string{"http/1.1"}, page)
	tests := []struct {
		name  string
		s     *httptest.Server
		mode  HTTP2
		proto string
	}{
		{"insisted, not needed", both, HTTP2Insisted, "http/1.1"}, {"insisted, needed", only, HTTP2Insisted, "h2"}, {"insisted, old", old, "", "http/1.1"},
		{"preferred", both, HTTP2Preferred, "h2"}, {"preferred, old", old, HTTP2Preferred, "http/1.1"}, {"never", both, HTTP2Never, "http/1.1"},
		{"never, needed", only, HTTP2Never, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t)
			for i := range 3 {
				x := c.Fetch(t.Context(), Request{Target: target(t, tt.s.URL+"/"), Addrs: loopback, HTTP2: tt.mode})
				if tt.proto == "" {
					if x.Status != CodeConnectFailed || !strings.HasPrefix(x.Notes[0], "tlsFailed:") {
						t.Fatalf("status %d, %v, notes %v", x.Status, x.Err, x.Notes)
					}
					continue
				}
				if x.Status != 200 || x.Protocols[0] != tt.proto || x.Protocols[1] != "tls/1.3" || x.TLS.Cipher == "" || x.TLS.Problem == "" {
					t.Fatalf("fetch %d: status %d, %v, protocols %v, TLS %+v", i, x.Status, x.Err, x.Protocols, x.TLS)
				}
				if has := strings.Contains(strings.Join(x.Notes, " "), "h2"); has != (tt.proto == "h2") || x.Notes[0] != "tlsUnverified:unknownAuthority" {
					t.Errorf("notes %v", x.Notes)
				}
				if !bytes.HasPrefix(x.Request, []byte("GET / HTTP/1.1\r\nHost: ")) {
					t.Errorf("request %q", x.Request)
				}
				x.Release()
			}
			body := strings.Repeat("x", 300<<10) // more than the server takes at once
			if tt.proto != "" {
				x := c.Fetch(t.Context(), Request{Target: target(t, tt.s.URL+"/"), Addrs: loopback, HTTP2: tt.mode, Method: "POST", Body: []byte(body), ContentType: "text/plain"})
				if got, err := x.Payload(100); string(got) != "307200" {
					t.Errorf("posted %q, %v, %v", got, err, x.Err)
				}
				if x.TLS.Problem == "" { // though the session is an earlier one's
					t.Error("the certificate was taken for good")
				}
				x.Release()
			}
		})
	}
}

// A server that does not care for ALPN and speaks HTTP/2 whatever the client offers is understood, too.
func TestHTTP2WithoutWords(t *testing.T) {
	t.Parallel()
	certs := secureServer(t, nil, nil).TLS.Certificates
	for _, silent := range []bool{false, true} {
		at := listen(t, func(c net.Conn) {
			tc := tls.Server(c, &tls.Config{Certificates: certs, NextProtos: []string{"h2"}})
			if err := tc.Handshake(); err != nil || silent && tc.ConnectionState().NegotiatedProtocol == "" {
				return
			}
			preface := make([]byte, len(http2.ClientPreface))
			tc.Write(newFrames().Bytes()) // its settings, whoever is there
			if io.ReadFull(tc, preface); string(preface) != http2.ClientPreface {
				return
			}
			page := newFrames().head(false, ":status", "200").body(true, "x")
			tc.Write(page.Bytes())
			io.Copy(io.Discard, tc)
		})
		x := client(t).Fetch(t.Context(), Request{Target: target(t, "https://"+at+"/"), Addrs: loopback})
		if x.Status != 200 || x.Protocols[0] != "h2" {
			t.Errorf("status %d, %v, %v", x.Status, x.Protocols, x.Err)
		}
		x.Release()
	}
}

func TestTLSJunk(t *testing.T) {
	t.Parallel()
	at := listen(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 400 this is no TLS\r\n\r\n")
		io.Copy(io.Discard, c)
	})
	x := client(t).Fetch(t.Context(), Request{Target: target(t, "https://"+at+"/"), Addrs: loopback})
	if x.Status != CodeConnectFailed || len(x.Notes) != 1 || !strings.HasPrefix(x.Notes[0], "tlsFailed:") || strings.ContainsAny(x.Notes[0], " ,") {
		t.Errorf("status %d, notes %v, %v", x.Status, x.Notes, x.Err)
	}
}

// httpProxy is a proxy for both kinds of requests, which tells what it was asked.
func httpProxy(t *testing.T, asked chan<- string) string {
	return listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		asked <- req.Method + " " + req.RequestURI + " " + req.Header.Get("Proxy-Authorization")
		up, err := net.Dial("tcp", req.Host)
		if err != nil {
			io.WriteString(c, "HTTP/1.1 502 no\r\n\r\n")
			return
		}
		defer up.Close()
		if req.Method == "CONNECT" {
			io.WriteString(c, "HTTP/1.1 200 yes\r\nX: y\r\n\r\n")
			go io.Copy(up, r)
		} else if err := req.Write(up); err != nil {
			return
		}
		io.Copy(c, up)
	})
}

func TestProxies(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) })
	plain := httptest.NewServer(page)
	defer plain.Close()
	secure := secureServer(t, nil, page)
	asked := make(chan string, 10)
	at := httpProxy(t, asked)
	routes, err := NewRoutes([]harvest.Route{{Hosts: []string{"10.*"}, Via: "direct"}, {Hosts: []string{"*"}, Via: "http://u:p@" + at}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	auth := "Basic " + base64.StdEncoding.EncodeToString([]byte("u:p"))
	for url, want := range map[string]string{plain.URL: "GET " + plain.URL + "/x " + auth, secure.URL: "CONNECT " + strings.TrimPrefix(secure.URL, "https://") + " " + auth} {
		tg := target(t, url+"/x")
		x := client(t).Fetch(t.Context(), Request{Target: tg, Way: routes.Way(tg.Host)})
		if x.Status != 200 || x.IP.IsValid() {
			t.Fatalf("%s: status %d, address %s, %v", url, x.Status, x.IP, x.Err)
		}
		if got := <-asked; got != want {
			t.Errorf("the proxy was asked %q, want %q", got, want)
		}
		if got := string(x.Request); !strings.HasPrefix(got, "GET /x HTTP/1.1\r\nHost: ") || strings.Contains(got, "Proxy") {
			t.Errorf("recorded %q", got)
		}
		x.Release()
	}
	if w := routes.Way("10.1.2.3"); w.Proxy != nil {
		t.Error("direct goes by proxy")
	}
	x := New(Config{Timeout: time.Minute, Idle: time.Second, Allowed: Public}).Fetch(t.Context(), Request{Target: target(t, plain.URL+"/"), Way: routes.Way("x")})
	if x.Status != CodeForbidden {
		t.Errorf("private address by proxy: %d", x.Status)
	}
}

func TestNoProxies(t *testing.T) {
	t.Parallel()
	for _, via := range []string{"http://:", "http://:1", "http://h", "http://h:0", "http://h:65536", "http://h:x", "ftp://h:1", "h:1", ""} {
		if p, err := NewProxy(via); err == nil {
			t.Errorf("%q is %s", via, p)
		}
	}
}

func TestProxiesThatLie(t *testing.T) {
	t.Parallel()
	for answer, note := range map[string]string{
		"HTTP/1.1 407 who?\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n": "proxyRefused:407",
		"":                  "proxyFailed",
		"SSH-2.0-x\r\n\r\n": "proxyFailed",
		"HTTP/1.1 200 ok\r\n" + strings.Repeat("X: y\r\n", 10_000) + "\r\n": "proxyFailed",
		strings.Repeat("HTTP/1.1 100 go on\r\n\r\n", 50):                    "proxyFailed",
		"HTTP/1.1 200 ok\r\n\r\nno TLS, but a long text instead of it":      "tlsFailed",
	} {
		at := listen(t, func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, answer)
		})
		p, err := NewProxy("http://" + at)
		if err != nil {
			t.Fatal(err)
		}
		x := client(t).Fetch(t.Context(), Request{Target: target(t, "https://h.test/"), Way: Way{Proxy: p}})
		if x.Status != CodeConnectFailed || len(x.Notes) != 1 || !strings.HasPrefix(x.Notes[0], note) {
			t.Errorf("%.30q: status %d, notes %v, %v", answer, x.Status, x.Notes, x.Err)
		}
	}
}

// A SOCKS proxy connects to wherever it is told.
func TestSOCKS(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "by socks") }))
	defer s.Close()
	at := listen(t, func(c net.Conn) {
		b := make([]byte, 300)
		io.ReadFull(c, b[:2])
		io.ReadFull(c, b[:b[1]])
		c.Write([]byte{5, 0})
		io.ReadFull(c, b[:10])
		up, err := net.Dial("tcp", fmt.Sprintf("%d.%d.%d.%d:%d", b[4], b[5], b[6], b[7], int(b[8])<<8|int(b[9])))
		if err != nil {
			c.Write([]byte{5, 1, 0, 1, 0, 0, 0, 0, 0, 0})
			return
		}
		defer up.Close()
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go io.Copy(up, c)
		io.Copy(c, up)
	})
	p, err := NewProxy("socks5://" + at)
	if err != nil {
		t.Fatal(err)
	}
	x := client(t).Fetch(t.Context(), Request{Target: target(t, s.URL+"/"), Addrs: loopback, Way: Way{Proxy: p}})
	if x.Status != 200 || x.IP.IsValid() {
		t.Errorf("status %d, %v", x.Status, x.Err)
	}
	x.Release()
}

func TestSourceAddress(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) }))
	defer s.Close()
	routes, err := NewRoutes(nil, []harvest.Route{{Hosts: []string{"127.0.0.*"}, Via: "127.0.0.7"}})
	if err != nil {
		t.Fatal(err)
	}
	x := client(t).Fetch(t.Context(), Request{Target: target(t, s.URL+"/"), Addrs: loopback, Way: routes.Way("127.0.0.1")})
	if got, _ := x.Payload(100); !strings.HasPrefix(string(got), "127.0.0.7:") {
		t.Errorf("seen from %q, %v", got, x.Err)
	}
	x.Release()
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(1000)
		begin := time.Now()
		done := make(chan time.Duration, 2)
		for range 2 { // each takes its share
			go func() {
				for n := 0; n < 5000; n += 500 {
					if err := l.take(t.Context(), 500); err != nil {
						t.Error(err)
					}
				}
				done <- time.Since(begin)
			}()
		}
		a, b := <-done, <-done
		if d := b - a; b < 9*time.Second || b > 11*time.Second || d > time.Second {
			t.Errorf("took %v and %v", a, b)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.take(ctx, 100_000); err == nil {
			t.Error("waited longer than it may")
		}
		go func() {
			l.take(t.Context(), 1)
			done <- 0
		}()
		synctest.Wait()
		l.SetRate(0)
		<-done
	})
	for _, l := range []*Limiter{nil, {}, NewLimiter(0)} {
		if err := l.take(t.Context(), 1<<40); err != nil || l.piece(9) != 9 {
			t.Error("no limit limits")
		}
	}
}

// What is received counts against the limiter, and a wait for it does not count as the server's silence.
func TestReadingAtARate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		go func() {
			defer there.Close()
			io.WriteString(there, "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n"+strings.Repeat("x", 20_000))
		}()
		m := &message{rec: newRecording(make([]byte, 0, 64<<10), "", func([]byte) {})}
		r := &Request{Idle: 100 * time.Millisecond, Limiters: [2]*Limiter{nil, NewLimiter(1000)}}
		begin := time.Now()
		if err := m.receive((&conn{Conn: here}).reader(t.Context(), r)); err != nil || m.bodySize != 20_000 {
			t.Errorf("%d bytes, %v", m.bodySize, err)
		}
		if took := time.Since(begin); took < 18*time.Second || took > 21*time.Second {
			t.Errorf("took %s", took)
		}
	})
}
