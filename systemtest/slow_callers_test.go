//go:build e2e

package systemtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// slow is one way to hold a connection.
type slow struct {
	name string
	say  string        // at once
	drip string        // again and again, "" for nothing
	deaf bool          // it never reads
	rest time.Duration // between drips
}

func slowKinds(host, path string) []slow {
	get := "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
	post := "POST /api/v1/jobs HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: "
	return []slow{
		{name: "no head"},
		{name: "dripping head", say: "GET / HTTP/1.1\r\nHost: " + host + "\r\nX-A: ", drip: "a", rest: 5 * time.Second},
		{name: "no body", say: post + "100\r\n\r\n"},
		{name: "dripping body", say: post + "100000\r\n\r\n", drip: "a", rest: 5 * time.Second},
		{name: "idle", say: "GET /nothing HTTP/1.1\r\nHost: " + host + "\r\n\r\n"},
		{name: "answers not read", say: strings.Repeat(get, 20), deaf: true},
		{name: "asked again, not read", say: get + get, drip: get + get, deaf: true, rest: 5 * time.Second},
	}
}

// TestMain is another program when the environment says so. Slow callers are a process of their own, so that what they
// cost can be told from what they make the node cost; nodes whose harvests have a faster clock are processes anyway.
func TestMain(m *testing.M) {
	for name, be := range map[string]func(string) error{"HOLDFAST_SLOW_CALLERS": beSlow, envHasty: beHasty} {
		what := os.Getenv(name)
		if what == "" {
			continue
		}
		if err := be(what); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// callers are a running process of slow callers.
type callers struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// callSlowly starts n callers of a kind at an address.
func callSlowly(t *testing.T, kind int, addr, path string, n int) *callers {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("HOLDFAST_SLOW_CALLERS=%d %s %s %d", kind, addr, path, n), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &callers{cmd, in, bufio.NewScanner(out)}
}

// held returns how many connections are open.
func (c *callers) held(t *testing.T) int {
	t.Helper()
	if _, err := io.WriteString(c.in, "held\n"); err != nil || !c.out.Scan() {
		t.Fatalf("the slow callers do not answer: %v", err)
	}
	n, err := strconv.Atoi(c.out.Text())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// end ends them all.
func (c *callers) end(t *testing.T) {
	t.Helper()
	_ = c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Fatalf("slow callers: %v", err)
	}
}

// beSlow holds connections until standard input ends, and says how many whenever a line comes.
func beSlow(what string) error {
	var number, n int
	var addr, path string
	if _, err := fmt.Sscan(what, &number, &addr, &path, &n); err != nil {
		return fmt.Errorf("read %q: %w", what, err)
	}
	kind := slowKinds(addr, path)[number]
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var open atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			rest(ctx, time.Duration(i)*2*time.Second/time.Duration(n))
			for ctx.Err() == nil {
				kind.call(ctx, &open, addr, byte(i%8+1))
				rest(ctx, time.Second) // whoever is cut off comes back
			}
		})
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := fmt.Println(open.Load()); err != nil {
			return err
		}
	}
	cancel()
	all.Wait()
	return nil
}

// call holds one connection until it is cut off or ctx ends. It comes from one of several addresses of loopback, as from
// a handful of machines.
func (k slow) call(ctx context.Context, open *atomic.Int64, addr string, from byte) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, from)}, Timeout: 10 * time.Second}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer func() { stop(); _ = c.Close() }()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
		if k.deaf {
			_ = tcp.SetReadBuffer(4 << 10)
		}
	}
	if _, err := io.WriteString(c, k.say); err != nil {
		return
	}
	open.Add(1)
	defer open.Add(-1)
	switch {
	case k.drip == "" && !k.deaf:
		_, _ = io.Copy(io.Discard, c)
	case k.drip == "":
		for broken(c) == nil && ctx.Err() == nil {
			rest(ctx, 5*time.Second)
		}
	default:
		for ctx.Err() == nil {
			rest(ctx, k.rest)
			if _, err := io.WriteString(c, k.drip); err != nil {
				return
			}
		}
	}
}

// broken returns why the connection is no more, without reading from it.
func broken(c net.Conn) error {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	code := 0
	if failed := raw.Control(func(fd uintptr) { code, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR) }); failed != nil {
		return failed
	}
	if err == nil && code != 0 {
		err = syscall.Errno(code)
	}
	return err
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
