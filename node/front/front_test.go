package front

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/node/config"
)

// impatient is a port's patience for tests.
func impatient() patience {
	return patience{head: 300 * time.Millisecond, idle: time.Minute, pause: 300 * time.Millisecond, rate: 1 << 20, spare: 900 * time.Millisecond}
}

// port serves a handler as the node does, and returns where.
func port(t *testing.T, all, each int, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	portOn(t, l, all, each, h)
	return l.Addr().String()
}

func portOn(t *testing.T, l net.Listener, all, each int, h http.HandlerFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, newConnections(l, all, each, config.Secure{}.Trusts), h, impatient()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// wires is a listener in memory, for tests with a clock of their own.
type wires struct {
	calls chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func (p *wires) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *wires) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

func (*wires) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// dial opens a connection and sends text.
func dial(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// closed waits until the other end has closed the connection, and returns what it said before.
func closed(t *testing.T, c net.Conn) string {
	t.Helper()
	said, err := io.ReadAll(c)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Fatal("the connection is held")
	}
	return string(said)
}

const silentPost = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"

// TestSilentCallersAreCutOff says nothing where something is expected: the port waits for none of it for ever.
func TestSilentCallersAreCutOff(t *testing.T) {
	read := func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
	refuse := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no token", http.StatusUnauthorized) }
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		text string
		want string
	}{
		"no head":                      {read, "", ""},
		"half a head":                  {read, "GET / HTTP/1.1\r\nHost:", ""},
		"no body":                      {read, silentPost, "400 Bad Request"},
		"half a body":                  {read, silentPost + "half", "400 Bad Request"},
		"half a chunk":                 {read, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nab", "400 Bad Request"},
		"no body, and it is refused":   {refuse, silentPost, "401 Unauthorized"},
		"no body, and nobody reads it": {func(http.ResponseWriter, *http.Request) {}, silentPost, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if said := closed(t, dial(t, port(t, 100, 100, tt.h), tt.text)); !strings.Contains(said, tt.want) {
				t.Errorf("answered %q", said)
			}
		})
	}
}

// TestDrippingBodyIsCutOff sends a byte whenever the port would give up.
func TestDrippingBodyIsCutOff(t *testing.T) {
	ended := make(chan error, 1)
	addr := port(t, 100, 100, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		ended <- err
	})
	c := dial(t, addr, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the body ended well")
			}
			return
		case <-deadline:
			t.Fatal("a body of a byte now and then is held")
		case <-tick.C:
			_, _ = c.Write([]byte("x")) // the end is seen by the handler
		}
	}
}

// TestSteadyBodyMayTakeLong sends a body for longer than each of the times that the port waits.
func TestSteadyBodyMayTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &wires{calls: make(chan net.Conn), ended: make(chan struct{})}
		portOn(t, l, 100, 100, func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprintf(w, "%d %v", n, err)
		})
		c, there := net.Pipe()
		defer c.Close()
		l.calls <- there
		const block, times = 256 << 10, 15
		if _, err := fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", block*times); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range times {
			<-time.After(100 * time.Millisecond)
			if _, err := c.Write(make([]byte, block)); err != nil {
				t.Fatal(err)
			}
		}
		if took, most := time.Since(began), max(impatient().head, impatient().pause, impatient().spare); took <= most {
			t.Errorf("the body took %v, no longer than the port waits, %v", took, most)
		}
		if said := closed(t, c); !strings.HasSuffix(said, fmt.Sprintf("%d <nil>", block*times)) {
			t.Errorf("answered %q", said)
		}
	})
}

// TestABodyWaitsForItsHandler lets the handler do something else before it reads a body that is all there: for that
// long, it is not the caller who is slow.
func TestABodyWaitsForItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &wires{calls: make(chan net.Conn), ended: make(chan struct{})}
		portOn(t, l, 100, 100, func(w http.ResponseWriter, r *http.Request) {
			<-time.After(2 * impatient().spare)
			n, err := io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprintf(w, "%d %v", n, err)
		})
		c, there := net.Pipe()
		defer c.Close()
		l.calls <- there
		go func() {
			for _, text := range []string{"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", "bytes"} {
				_, _ = io.WriteString(c, text) // the answer tells
			}
		}()
		if said := closed(t, c); !strings.HasSuffix(said, "5 <nil>") {
			t.Errorf("answered %q", said)
		}
	})
}

// TestWhoDoesNotReadIsCutOff asks for much and takes nothing: what the handler holds meanwhile is given back.
func TestWhoDoesNotReadIsCutOff(t *testing.T) {
	ended := make(chan error, 1)
	addr := port(t, 100, 100, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 1<<20)
		for {
			if _, err := w.Write(block); err != nil {
				ended <- err
				return
			}
		}
	})
	dial(t, addr, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the handler waits for a reader that does not read")
	}
}

// TestSlowAnswerMayTakeLong lets the handler think for longer than the port waits for a reader, twice on one
// connection.
func TestSlowAnswerMayTakeLong(t *testing.T) {
	addr := port(t, 100, 100, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(700 * time.Millisecond):
			_, _ = io.WriteString(w, "thought")
		case <-r.Context().Done():
		}
	})
	c := dial(t, addr, "")
	in := bufio.NewReader(c)
	for range 2 {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); err != nil || string(text) != "thought" {
			t.Errorf("%q %v", text, err)
		}
	}
}

// TestSilentConnectionsMakeRoom opens more connections than a port takes, in all and from one address: those that were
// silent for longest are closed, one that talks stays, and whoever comes is served.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	for name, bounds := range map[string][2]int{"in all": {10, 100}, "from one address": {20, 10}} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			d := newConnections(l, bounds[0], bounds[1], config.Secure{}.Trusts)
			defer func() { _ = d.Close() }()
			accept := func() (net.Conn, net.Conn) {
				ours := dial(t, l.Addr().String(), "")
				theirs, err := d.Accept()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = theirs.Close() })
				return ours, theirs
			}
			talks, heard := accept()
			var silent []net.Conn
			for range 9 {
				ours, _ := accept()
				silent = append(silent, ours)
			}
			if _, err := talks.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := heard.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			for range 9 {
				accept()
			}
			for _, c := range silent {
				closed(t, c)
			}
			if _, err := heard.Write([]byte("y")); err != nil {
				t.Errorf("the one that talks: %v", err)
			}
			if d.opened() != 10 || len(d.from) != 1 {
				t.Errorf("%d are open, from %d addresses", d.opened(), len(d.from))
			}
			_ = heard.Close()
			if d.opened() != 9 {
				t.Errorf("%d are open after one was closed", d.opened())
			}
		})
	}
}

func TestHostOf(t *testing.T) {
	var got []string
	for _, a := range []string{"192.0.2.1:80", "192.0.2.2:80", "[2001:db8::1]:80", "[2001:db8::2]:80", "[2001:db8:0:1::1]:80"} {
		addr, err := net.ResolveTCPAddr("tcp", a)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, countsOf(addr)[0].name)
	}
	if want := []string{"192.0.2.1/32", "192.0.2.2/32", "2001:db8::/64", "2001:db8::/64", "2001:db8:0:1::/64"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
