package peer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen in the end.
const patience = 2 * time.Minute

// testNode is a Peer under test, with what it was told.
type testNode struct {
	*Peer
	id    Identity
	stop  func()
	fails bool // Run is meant to fail

	mu     sync.Mutex
	events []Event
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newTestIdentity(t testing.TB) Identity {
	t.Helper()
	id, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// prepare makes a node that does not run yet; begin starts it, and the test's end stops it.
func prepare(t testing.TB, cfg Config, id Identity) *testNode {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Cluster == "" {
		cfg.Cluster = "test"
	}
	p, err := New(cfg, id, quiet())
	if err != nil {
		t.Fatal(err)
	}
	n := &testNode{Peer: p, id: id}
	p.Events(func(e Event) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.events = append(n.events, e)
	})
	p.HandleCall("echo", func(_ context.Context, from ID, request []byte) ([]byte, error) {
		return append([]byte(from.Short()+" "), request...), nil
	})
	p.Handle("reverse", Bulk, func(_ context.Context, _ ID, s net.Conn) {
		defer s.Close()
		all, err := io.ReadAll(s)
		if err != nil {
			return
		}
		slices.Reverse(all)
		_, _ = s.Write(all)
	})
	return n
}

func (n *testNode) begin(t testing.TB) *testNode {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; (err != nil) != n.fails {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

func newTestNode(t testing.TB, cfg Config) *testNode {
	t.Helper()
	return prepare(t, cfg, newTestIdentity(t)).begin(t)
}

func (n *testNode) member() Member {
	return Member{ID: n.ID(), Key: n.id.Public(), Addresses: []string{n.Addr().String()}}
}

func (n *testNode) saw(kind EventKind, about ID) (Event, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e.Kind == kind && e.Peer == about {
			return e, true
		}
	}
	return Event{}, false
}

// acquaint gives all nodes one member list. Each knows the others before any of them dials: a node that is called before
// it knows the caller turns it away.
func acquaint(epoch uint64, nodes ...*testNode) {
	var members []Member
	for _, n := range nodes {
		members = append(members, n.member())
	}
	for _, n := range nodes {
		known := slices.Clone(members)
		for i := range known {
			known[i].OutOnly = known[i].ID != n.ID() // so that it does not dial yet
		}
		n.SetMembers(epoch, known)
	}
	for _, n := range nodes {
		n.SetMembers(epoch, members)
	}
}

// eventually waits until holds does.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s in vain for: %s", patience, what)
		}
	}
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func call(t testing.TB, from, to *testNode, text string) {
	t.Helper()
	reply, err := from.Call(within(t), to.ID(), "echo", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := from.ID().Short() + " " + text; string(reply) != want {
		t.Fatalf("reply %q, want %q", reply, want)
	}
}

func TestCallAndStream(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
	acquaint(1, a, b)
	call(t, a, b, "hello")
	call(t, b, a, "hello back")

	s, err := a.Open(within(t), b.ID(), "reverse")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Write([]byte("desrever")); err != nil {
		t.Fatal(err)
	}
	if err := s.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	if err != nil || string(got) != "reversed" {
		t.Fatalf("read %q, %v", got, err)
	}
	for _, n := range []*testNode{a, b} {
		eventually(t, "connected", func() bool { return len(n.Connected()) == 1 })
	}
	eventually(t, "the connection is told", func() bool { _, ok := a.saw(EventConnected, b.ID()); return ok })
}

func TestStreamIsANetConn(t *testing.T) {
	t.Parallel()
	a, b := prepare(t, Config{}, newTestIdentity(t)), newTestIdentity(t)
	hold := make(chan struct{})
	other := prepare(t, Config{}, b)
	for _, n := range []*testNode{a, other} {
		n.Handle("silent", Control, func(_ context.Context, _ ID, s net.Conn) {
			<-hold
			_ = s.Close()
		})
		n.begin(t)
	}
	defer close(hold)
	acquaint(1, a, other)
	s, err := a.Open(within(t), other.ID(), "silent")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := s.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("read past the deadline: %v", err)
	}
	if err := s.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	blocked := make(chan error, 2)
	go func() {
		_, err := s.Read(make([]byte, 1))
		blocked <- err
	}()
	go func() {
		_, err := io.Copy(s, endless{})
		blocked <- err
	}()
	eventually(t, "write fills the window", func() bool { return a.Stats().Links[0].Sent > 64<<10 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-blocked; !errors.Is(err, net.ErrClosed) {
			t.Errorf("blocked call after Close: %v", err)
		}
	}
}

func TestCloseWriteAfterTheOtherSideHasClosed(t *testing.T) {
	t.Parallel()
	a, b := prepare(t, Config{}, newTestIdentity(t)), prepare(t, Config{}, newTestIdentity(t))
	for _, n := range []*testNode{a, b} {
		n.Handle("hasty", Control, func(_ context.Context, _ ID, s net.Conn) { _ = s.Close() })
		n.begin(t)
	}
	acquaint(1, a, b)
	opened, err := a.Open(within(t), b.ID(), "hasty")
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*stream)
	eventually(t, "the other side reads no more", func() bool { return s.quic.Context().Err() != nil })
	if err := s.CloseWrite(); err != nil {
		t.Errorf("close of our direction: %v", err)
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, ErrDisconnected) {
		t.Errorf("write: %v", err)
	}
	if _, err := s.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read: %v", err)
	}
	_ = s.Close()
	if err := s.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("close of our direction after Close: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestCallErrors(t *testing.T) {
	t.Parallel()
	a, b := prepare(t, Config{}, newTestIdentity(t)), prepare(t, Config{}, newTestIdentity(t))
	arrived, gone := make(chan struct{}), make(chan struct{})
	for _, n := range []*testNode{a, b} {
		n.HandleCall("coded", func(context.Context, ID, []byte) ([]byte, error) {
			return nil, &RemoteError{Code: "no-leader", Message: "nobody leads"}
		})
		n.HandleCall("plain", func(context.Context, ID, []byte) ([]byte, error) { return nil, io.ErrNoProgress })
		n.HandleCall("huge", func(context.Context, ID, []byte) ([]byte, error) { return make([]byte, MaxMessage+1), nil })
	}
	b.HandleCall("slow", func(ctx context.Context, _ ID, _ []byte) ([]byte, error) {
		close(arrived)
		<-ctx.Done()
		close(gone)
		return nil, ctx.Err()
	})
	a.HandleCall("slow", nil)
	a.HandleCall("only here", nil)
	a.begin(t)
	b.begin(t)
	acquaint(1, a, b)

	_, err := a.Call(within(t), b.ID(), "coded", nil)
	if !errors.Is(err, &RemoteError{Code: "no-leader"}) || err.Error() != "nobody leads" {
		t.Errorf("coded error: %v", err)
	}
	for _, kind := range []string{"plain", "huge"} {
		if _, err := a.Call(within(t), b.ID(), kind, nil); !errors.Is(err, &RemoteError{Code: CodeInternal}) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := a.Call(within(t), b.ID(), "echo", make([]byte, MaxMessage+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("large request: %v", err)
	}
	if _, err := a.Call(within(t), b.ID(), "never named", nil); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("kind unknown here: %v", err)
	}
	if _, err := a.Call(within(t), b.ID(), "only here", nil); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("kind unknown there: %v", err)
	}
	if _, err := a.Call(within(t), newTestIdentity(t).ID(), "echo", nil); !errors.Is(err, ErrNotMember) {
		t.Errorf("not a member: %v", err)
	}
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		select {
		case <-arrived:
		case <-ctx.Done():
		}
		cancel()
	}()
	if _, err := a.Call(ctx, b.ID(), "slow", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("slow call: %v", err)
	}
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the handler's context did not end with the caller's")
	}
	large := bytes.Repeat([]byte("x"), MaxMessage-16)
	if reply, err := a.Call(within(t), b.ID(), "echo", large); err != nil || len(reply) < len(large) {
		t.Errorf("large call: %d bytes, %v", len(reply), err)
	}
}

func TestRunAndCloseOnce(t *testing.T) {
	t.Parallel()
	p, err := New(Config{Listen: "127.0.0.1:0", Cluster: "c"}, newTestIdentity(t), quiet())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(within(t)); !errors.Is(err, ErrStopped) {
		t.Errorf("run after close: %v", err)
	}
	for _, cfg := range []Config{{}, {Cluster: "c", KeepAlive: time.Minute}, {Cluster: "c", Listen: "nowhere"}} {
		if p, err := New(cfg, newTestIdentity(t), quiet()); err == nil {
			t.Errorf("New(%+v) succeeded", cfg)
			_ = p.Close()
		}
	}
}
