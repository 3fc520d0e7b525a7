package front

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/node/config"
)

// asked is a request from an address, through whom a trusted proxy says if said is not empty.
func asked(from, said string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = from
	if said != "" {
		r.Header.Set("X-Forwarded-For", said)
	}
	local := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7482}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
}

// TestClientsBehindAProxyAreBounded lets one client of a trusted proxy hold as many requests as it may: it gets no
// more, whatever it writes into the request, and others are served.
func TestClientsBehindAProxyAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secure := config.Secure{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")}}
		hold := make(chan struct{})
		c := newCallers(secure, func() bool { return false })
		h := forwarded(secure, c.bound(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hold" {
				<-hold
			}
		})))
		status := func(r *http.Request) int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		for range requestsAtOnce {
			go func() {
				r := asked("192.0.2.10:4000", "2001:db8::1")
				r.URL.Path = "/hold"
				status(r)
			}()
		}
		synctest.Wait()
		for said, want := range map[string]int{"2001:db8::1": 429, "2001:db8::ffff": 429, "198.51.100.7, 2001:db8::1": 429,
			"2001:db8::1, 192.0.2.10": 429, "2001:db8:0:1::1": 200, "198.51.100.7": 200, "2001:db8::1, 198.51.100.7": 200, "": 200} {
			if got := status(asked("192.0.2.10:4000", said)); got != want {
				t.Errorf("for %q: %d, want %d", said, got, want)
			}
		}
		if got := status(asked("[2001:db8::1]:4000", "198.51.100.8")); got != 200 {
			t.Errorf("a stranger who is no client of the proxy: %d", got)
		}
		close(hold)
		synctest.Wait()
		if got := status(asked("192.0.2.10:4000", "2001:db8::1")); got != 200 || len(c.under) != 0 {
			t.Errorf("afterwards: %d, %d clients are counted", got, len(c.under))
		}
	})
}

// TestRequestsAreKeptToTheirRate asks as often as it gets an answer for ten seconds.
func TestRequestsAreKeptToTheirRate(t *testing.T) {
	const most = requestBurst + 10*requestRate + 1
	for name, tt := range map[string]struct {
		from, said string
		crowded    bool
		bounded    bool
	}{
		"a stranger at a crowded port":        {"198.51.100.7:4000", "", true, true},
		"a stranger":                          {"198.51.100.7:4000", "", false, false},
		"a stranger who names somebody else":  {"198.51.100.7:4000", "127.0.0.1", true, true},
		"another address of loopback":         {"127.0.0.9:4000", "", true, true},
		"this machine":                        {"127.0.0.1:4000", "", true, false},
		"a proxy's client":                    {"192.0.2.10:4000", "198.51.100.7", true, true},
		"a proxy's client at an idle port":    {"192.0.2.10:4000", "198.51.100.7", false, false},
		"a proxy's client that says loopback": {"192.0.2.10:4000", "127.0.0.1", true, true},
		"a proxy that does not say for whom":  {"192.0.2.10:4000", "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				secure := config.Secure{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")}}
				served := 0
				h := forwarded(secure, newCallers(secure, func() bool { return tt.crowded }).bound(
					http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ })))
				for began := time.Now(); time.Since(began) < 10*time.Second && served < 2*most; {
					h.ServeHTTP(httptest.NewRecorder(), asked(tt.from, tt.said))
				}
				if (served <= most) != tt.bounded {
					t.Errorf("%d in ten seconds", served)
				}
			})
		})
	}
}

// TestManyReadersShareAnAddress lets the readers of a library ask for the 100 parts of a page each, all at the same
// time, from behind a trusted proxy: all are served.
func TestManyReadersShareAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secure := config.Secure{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/32")}}
		served := atomic.Int64{}
		c := newCallers(secure, func() bool { return false })
		h := forwarded(secure, c.bound(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(10 * time.Millisecond)
			served.Add(1)
		})))
		for range 10 * 100 {
			go h.ServeHTTP(httptest.NewRecorder(), asked("192.0.2.10:4000", "198.51.100.7"))
		}
		time.Sleep(time.Minute)
		c.mu.Lock()
		defer c.mu.Unlock()
		if served.Load() != 1000 || len(c.under) != 0 || c.all != 0 {
			t.Errorf("%d of 1000 requests were served, %d clients and %d requests are counted", served.Load(), len(c.under), c.all)
		}
	})
}

// TestManyNetworksOfOneCaller comes from each of many networks of one site: they count as four, and others are served.
func TestManyNetworksOfOneCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipes{make(chan net.Addr), make(chan struct{})}
		d := newConnections(l, connectionsInAll, connectionsOfOne, config.Secure{}.Trusts)
		taken := map[string]int{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for c, err := d.Accept(); err == nil; c, err = d.Accept() {
				taken[addressOf(c.RemoteAddr()).String()[:8]]++
				_ = c.Close()
			}
		}()
		const seconds = 5
		for i := range seconds * 2000 {
			l.from <- &net.TCPAddr{IP: net.ParseIP(fmt.Sprintf("2001:db8:7:%x::1", i)), Port: 1}
			if i%100 == 0 {
				l.from <- &net.TCPAddr{IP: net.ParseIP("2001:db9::1"), Port: 1}
			}
			time.Sleep(time.Second / 2000)
		}
		synctest.Wait()
		if most := network * (connectionBurst + seconds*connectionRate); taken["2001:db8"] > most+5 {
			t.Errorf("%d connections of one site were taken in %d s, want at most %d", taken["2001:db8"], seconds, most)
		}
		if taken["2001:db9"] != seconds*20 {
			t.Errorf("%d connections of another site were taken, want all %d", taken["2001:db9"], seconds*20)
		}
		_ = d.Close()
		<-ended
		time.Sleep(2 * connectionWait)
		if d.mu.Lock(); d.open.Len() != 0 || len(d.from) != 0 {
			t.Errorf("%d connections are counted", d.open.Len())
		}
		d.mu.Unlock()
	})
}

// TestAnAddressMayHaveMoreWhileThereIsRoom holds more connections from one address than it has when the port is
// crowded: none is closed, and new ones come at the usual rate.
func TestAnAddressMayHaveMoreWhileThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipes{make(chan net.Addr), make(chan struct{})}
		d := newConnections(l, connectionsInAll, connectionsOfOne, config.Secure{}.Trusts)
		ended := make(chan struct{})
		var held []net.Conn
		go func() {
			defer close(ended)
			for c, err := d.Accept(); err == nil; c, err = d.Accept() {
				held = append(held, c)
			}
		}()
		const readers = 300 * 6
		for i := range readers {
			l.from <- &net.TCPAddr{IP: net.ParseIP("198.51.100.7"), Port: 1 + i}
			time.Sleep(time.Minute / readers)
		}
		synctest.Wait()
		if got := d.opened(); got != readers {
			t.Errorf("%d connections are open, want %d", got, readers)
		}
		_ = d.Close()
		<-ended
		for _, c := range held {
			_ = c.Close()
		}
	})
}

// pipes is a listener of connections in memory, from addresses of its caller's choice.
type pipes struct {
	from   chan net.Addr
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case from := <-p.from:
		a, b := net.Pipe()
		return &pipe{Conn: a, other: b, from: from}, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

type pipe struct {
	net.Conn
	other net.Conn
	from  net.Addr
}

func (p *pipe) RemoteAddr() net.Addr { return p.from }
func (p *pipe) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// TestNewConnectionsAreKeptToTheirRate comes again and again from one network, as whoever is cut off does: the port
// takes that many at once and that many a second, and others as if nothing were.
func TestNewConnectionsAreKeptToTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipes{make(chan net.Addr), make(chan struct{})}
		d := newConnections(l, connectionsInAll, connectionsOfOne, config.Secure{}.Trusts)
		taken := map[string]int{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				c, err := d.Accept()
				if err != nil {
					if !errors.Is(err, net.ErrClosed) {
						t.Error(err)
					}
					return
				}
				taken[countsOf(c.RemoteAddr())[0].name]++
				_ = c.Close()
			}
		}()
		const seconds = 10
		for i := range seconds * 1000 {
			l.from <- &net.TCPAddr{IP: net.ParseIP("2001:db8::1").To16(), Port: 1 + i}
			if i%100 == 0 {
				l.from <- &net.TCPAddr{IP: net.ParseIP("198.51.100.7"), Port: 1 + i}
			}
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		many, few := taken["2001:db8::/64"], taken["198.51.100.7/32"]
		if want := connectionBurst + seconds*connectionRate; many < want-5 || many > want+5 {
			t.Errorf("%d connections of one network were taken in %d s, want %d", many, seconds, want)
		}
		if few != seconds*10 {
			t.Errorf("%d connections of another address were taken, want all %d", few, seconds*10)
		}
		_ = d.Close()
		<-ended
		synctest.Wait()
		time.Sleep(2 * connectionWait) // those that waited are closed when it is their turn
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open.Len() != 0 || len(d.from) != 0 {
			t.Errorf("%d connections are counted", d.open.Len())
		}
	})
}
