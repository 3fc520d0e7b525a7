package browser

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// answers is a Web made of a function.
type answers func(ctx context.Context, r *Request) *Answer

func (f answers) Answer(ctx context.Context, r *Request) *Answer { return f(ctx, r) }

// newClient starts a proxy that asks web for one page, and a client that goes through it as a browser would.
func newClient(t *testing.T, web Web) (*proxy, *load, *http.Client) {
	t.Helper()
	p, err := newProxy(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l := newLoad(t.Context(), web)
	p.begin(l)
	to := &url.URL{Scheme: "http", Host: p.address()}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(to), TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // instead, as Chromium does: one key of the chain has to be the proxy's
		VerifyConnection: func(s tls.ConnectionState) error {
			for _, c := range s.PeerCertificates {
				if sum := sha256.Sum256(c.RawSubjectPublicKeyInfo); base64.StdEncoding.EncodeToString(sum[:]) == p.ca.fingerprint {
					if s.ServerName == "" { // an address
						return nil
					}
					return s.PeerCertificates[0].VerifyHostname(s.ServerName)
				}
			}
			return errors.New("not the proxy's key")
		}}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		p.end(l)
		p.close()
	})
	return p, l, client
}

// echo answers with what was asked.
func echo(_ context.Context, r *Request) *Answer {
	text := r.Method + " " + r.URL + " " + string(r.Body)
	return &Answer{Status: 200, Header: http.Header{"X-One": {"a", "b"}}, Body: strings.NewReader(text), Size: int64(len(text))}
}

// Requests reach the Web as they were meant, over HTTP and through tunnels, many over one connection.
func TestProxyPassesOn(t *testing.T) {
	_, l, client := newClient(t, answers(echo))
	for _, origin := range []string{"http://example.test", "http://example.test:8080", "https://example.test", "https://example.test:8443", "https://127.0.0.1", "https://[::1]"} {
		for range 3 {
			answer, err := client.Post(origin+"/a%20b[1]?c=d&e=http://x/", "text/plain", strings.NewReader("said"))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if want := "POST " + origin + "/a%20b[1]?c=d&e=http://x/ said"; err != nil || string(body) != want {
				t.Errorf("%q, want %q (%v)", body, want, err)
			}
			if got := fmt.Sprint(answer.Header["X-One"]); got != "[a b]" || answer.Header.Get("Content-Type") != "" || answer.Header.Get("Date") != "" {
				t.Errorf("header %v", answer.Header)
			}
			answer.Body.Close()
		}
	}
	if l.total() != 18 || l.quiet(time.Now()) == 0 {
		t.Errorf("%d requests, quiet %v", l.total(), l.quiet(time.Now()))
	}
}

// What is not recorded, or not wanted, is refused.
func TestProxyRefuses(t *testing.T) {
	asked := 0
	_, _, client := newClient(t, answers(func(_ context.Context, r *Request) *Answer {
		asked++
		if strings.HasSuffix(r.URL, "/odd") {
			return &Answer{Status: 101}
		}
		return nil
	}))
	tests := []struct {
		method, path string
		header       http.Header
		status       int
	}{
		{"GET", "/unwanted", nil, 403},
		{"GET", "/odd", nil, 403},
		{"PUT", "/", nil, 405},
		{"DELETE", "/", nil, 405},
		{"GET", "/socket", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}, 403},
		{"GET", "/sw.js", http.Header{"Service-Worker": {"script"}}, 403},
	}
	for _, origin := range []string{"http://example.test", "https://example.test"} {
		for _, tt := range tests {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, origin+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = tt.header
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Body.Close(); answer.StatusCode != tt.status {
				t.Errorf("%s %s%s: %d, want %d", tt.method, origin, tt.path, answer.StatusCode, tt.status)
			}
		}
		answer, err := client.Post(origin+"/", "text/plain", bytes.NewReader(make([]byte, maxBody+1)))
		if err == nil && answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a huge body: %d", answer.StatusCode)
		}
	}
	if asked != 4 {
		t.Errorf("the web was asked %d times", asked)
	}
}

// A large body comes through whole; one that is shorter than said breaks the connection rather than look whole.
func TestProxyBodies(t *testing.T) {
	const size = 50 << 20
	done := make(chan bool, 2)
	_, _, client := newClient(t, answers(func(_ context.Context, r *Request) *Answer {
		n := int64(size)
		if strings.HasSuffix(r.URL, "/short") {
			n = 1000
		}
		return &Answer{Status: 200, Body: io.LimitReader(zeros{}, n), Size: size, Done: func() { done <- true }}
	}))
	for path, whole := range map[string]bool{"/huge": true, "/short": false} {
		answer, err := client.Get("https://example.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, answer.Body)
		if whole != (err == nil && n == size) {
			t.Errorf("%s: %d bytes, %v", path, n, err)
		}
		answer.Body.Close()
		<-done
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// The end of a page ends what it asked for, and nothing is answered after it.
func TestProxyEnds(t *testing.T) {
	asked := make(chan struct{})
	var once sync.Once
	p, l, client := newClient(t, answers(func(ctx context.Context, _ *Request) *Answer {
		once.Do(func() { close(asked) })
		<-ctx.Done()
		return nil
	}))
	result := make(chan error, 1)
	go func() {
		answer, err := client.Get("https://slow.test/")
		if err == nil {
			answer.Body.Close()
			err = fmt.Errorf("status %d", answer.StatusCode)
		}
		result <- err
	}()
	<-asked
	if l.quiet(time.Now()) != 0 {
		t.Error("quiet while something is asked for")
	}
	p.end(l)
	if err := <-result; err == nil {
		t.Error("answered after the end")
	}
	for _, u := range []string{"http://slow.test/", "https://slow.test/"} {
		answer, err := client.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s after the end: %d", u, answer.StatusCode)
		}
	}
}

// Whoever speaks nonsense to the proxy gets an error or a closed connection, and the Web hears nothing of it.
func TestProxyHostile(t *testing.T) {
	p, _, _ := newClient(t, answers(func(_ context.Context, r *Request) *Answer {
		if r.URL != "http://fine.test/" {
			t.Errorf("asked for %q", r.URL)
		}
		return nil
	}))
	tests := map[string]string{
		"garbage":         "\x00\x01\x02\r\n\r\n",
		"no host":         "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"other scheme":    "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"tunnel to none":  "CONNECT / HTTP/1.1\r\nHost: \r\n\r\n",
		"tunnel no port":  "CONNECT x HTTP/1.1\r\nHost: x\r\n\r\n",
		"broken TLS":      "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n\x16\x03\x01\x00\x05hello",
		"tunnel in it":    "CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\nCONNECT y:80 HTTP/1.1\r\nHost: y\r\n\r\n",
		"garbage in it":   "CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\nnonsense\r\n\r\n",
		"long head":       "GET http://x/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n",
		"two lengths":     "POST http://x/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"as it should be": "GET http://fine.test/ HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp4", p.address())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			go func() {
				_, _ = io.WriteString(c, text)
				_ = c.(*net.TCPConn).CloseWrite()
			}()
			all, err := io.ReadAll(io.LimitReader(c, 1<<20))
			var slow net.Error
			if errors.As(err, &slow) && slow.Timeout() {
				t.Errorf("the connection stays open; it said %q", all)
			}
			if bytes.Contains(all, []byte("HTTP/1.1 200 OK\r\nCache")) {
				t.Errorf("%q", all)
			}
		})
	}
}

// A page asks so often and no more.
func TestProxyCounts(t *testing.T) {
	_, l, client := newClient(t, answers(echo))
	l.mu.Lock()
	l.requests = maxRequests - 1
	l.mu.Unlock()
	for i, want := range []int{200, 403, 403} {
		answer, err := client.Get("http://example.test/")
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("request %d: %d", i, answer.StatusCode)
		}
	}
}

// FuzzMessages reads what a browser that was taken over might say.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("{\"id\":1}\x00{\"method\":\"x\"}\x00"))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		total := 0
		for {
			m, err := readMessage(r)
			if err != nil {
				return
			}
			total += len(m) + 1
			if total > len(data) || bytes.IndexByte(m, 0) >= 0 {
				t.Fatalf("message %q of %q", m, data)
			}
		}
	})
}
