//go:build e2e

package systemtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// slow is one way to hold a connection.
type slow struct {
	name string
	say  string // at once
	drip string // again and again, "" for nothing
}

func slowKinds(host string) []slow {
	return []slow{
		{name: "no head"},
		{name: "head of a byte now and then", say: "GET / HTTP/1.1\r\nHost: " + host + "\r\nX-A: ", drip: "a"},
		{name: "no body", say: "POST /api/v1/jobs HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 100\r\n\r\n"},
		{name: "body of a byte now and then", say: "POST /api/v1/jobs HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 100000\r\n\r\n", drip: "a"},
		{name: "idle", say: "GET /nothing HTTP/1.1\r\nHost: " + host + "\r\n\r\n"},
		{name: "answer not read", say: "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\nGET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"},
	}
}

// hold keeps n connections of a kind open until ctx ends: one that is closed is opened again after a while. It comes from several addresses of
// loopback, as a handful of machines would.
func hold(ctx context.Context, kind slow, addr string, n int) (open *atomic.Int64, wait func()) {
	open = &atomic.Int64{}
	var all sync.WaitGroup
	for i := range n {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i%8+1))}
		all.Go(func() {
			d := net.Dialer{LocalAddr: from, Timeout: 10 * time.Second}
			for ctx.Err() == nil {
				c, err := d.DialContext(ctx, "tcp", addr)
				if err != nil {
					rest(ctx, time.Second)
					continue
				}
				open.Add(1)
				_, _ = io.WriteString(c, kind.say)
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				for ctx.Err() == nil {
					if kind.drip != "" {
						if _, err := io.WriteString(c, kind.drip); err != nil {
							break
						}
						rest(ctx, 5*time.Second)
						continue
					}
					if kind.name == "answer not read" {
						rest(ctx, 5*time.Second)
						if _, err := io.WriteString(c, kind.say); err != nil {
							break
						}
						continue
					}
					if _, err := io.Copy(io.Discard, c); err == nil || ctx.Err() == nil {
						break
					}
				}
				stop()
				_ = c.Close()
				open.Add(-1)
				rest(ctx, 30*time.Second) // slow callers, not a flood of requests
			}
		})
	}
	return open, all.Wait
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// rate asks for the URL again and again, each time over a new connection, and returns how often a second it was answered.
func rate(t *testing.T, target string, lasts time.Duration) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var answers atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
				if err != nil {
					t.Error(err)
					return
				}
				response, err := client.Do(request)
				if err != nil {
					continue // it is not counted
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				answers.Add(1)
			}
		})
	}
	all.Wait()
	return float64(answers.Load()) / lasts.Seconds()
}

// TestSlowCallers holds many connections of each slow kind at each TCP port, without a token, and prints what that leaves of the
// rate at which readers are served. HOLDFAST_SLOW sets how many (default 2 000; the node must go on serving at any number),
// HOLDFAST_SLOW_SHARE the share of the rate, in percent, that must be left (default 0: it is only printed, for it depends on the
// machine).
func TestSlowCallers(t *testing.T) {
	n := int(number(t, "HOLDFAST_SLOW", 2000))
	least := float64(number(t, "HOLDFAST_SLOW_SHARE", 0)) / 100
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	files.Cur = files.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if uint64(n)+1000 > files.Cur {
		t.Fatalf("%d files may be open, too few for %d connections", files.Cur, n)
	}
	c := alone(t)
	st, err := statusOf(t.Context(), c, "north-1")
	if err != nil {
		t.Fatal(err)
	}
	listen := st.Node.Listen
	const lasts = 5 * time.Second
	for _, port := range []struct{ name, addr, path string }{{"api", listen.API, "/api/v1/openapi.json"}, {"access", listen.Access, "/"}} {
		target := (&url.URL{Scheme: "http", Host: port.addr, Path: port.path}).String()
		for _, kind := range slowKinds(port.addr) {
			quiet := rate(t, target, lasts)
			ctx, cancel := context.WithCancel(t.Context())
			open, wait := hold(ctx, kind, port.addr, n)
			rest(t.Context(), lasts) // until all that can be are there
			held := open.Load()
			busy := rate(t, target, lasts)
			cancel()
			wait()
			share := busy / max(quiet, 0.001)
			t.Logf("%-6s %-28s %6d held: readers got %6.0f/s of %6.0f/s, %3.0f %%", port.name, kind.name, held, busy, quiet, 100*share)
			if busy == 0 || share < least {
				t.Errorf("%s, %s: readers got %.0f of %.0f answers a second", port.name, kind.name, busy, quiet)
			}
			if !c.Running("north-1") {
				t.Fatal("the node has ended")
			}
		}
	}
}
