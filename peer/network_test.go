package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPausesGrowAndSpread(t *testing.T) {
	t.Parallel()
	tests := []struct {
		failures int
		random   float64
		want     time.Duration
	}{
		{0, 0.5, 250 * time.Millisecond},
		{1, 0, 125 * time.Millisecond},
		{1, 0.5, 250 * time.Millisecond},
		{2, 0.5, 500 * time.Millisecond},
		{4, 0.5, 2 * time.Second},
		{7, 0.5, 16 * time.Second},
		{8, 0.5, 30 * time.Second},
		{1000, 0.5, 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.failures, tt.random), func(t *testing.T) {
			if got := pauseAfter(tt.failures, tt.random); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestSimultaneousDialLosesNoStream has both sides dial at once, many times, while both
// make calls; every call must be answered and one connection must be left.
func TestSimultaneousDialLosesNoStream(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
			acquaint(1, a, b)
			var all sync.WaitGroup
			for _, pair := range [][2]*testNode{{a, b}, {b, a}} {
				for i := range 4 {
					all.Go(func() {
						for j := range 10 {
							text := fmt.Sprint(i, j)
							reply, err := pair[0].Call(within(t), pair[1].ID(), "echo", []byte(text))
							if err != nil || string(reply) != pair[0].ID().Short()+" "+text {
								t.Errorf("call %s: %q, %v", text, reply, err)
							}
						}
					})
				}
			}
			all.Wait()
			for _, n := range []*testNode{a, b} {
				eventually(t, "one connection is left", func() bool {
					links := n.Stats().Links
					return len(links) == 1 && !links[0].Retiring
				})
			}
			if x, y := a.Stats().Links[0], b.Stats().Links[0]; x.Dialled == y.Dialled {
				t.Error("the two sides kept different connections")
			}
		})
	}
}

// TestRetiredConnectionKeepsItsStreams opens a stream on a connection that is then
// retired in favour of another: the stream must go on working until it is closed.
func TestRetiredConnectionKeepsItsStreams(t *testing.T) {
	t.Parallel()
	a, b := prepare(t, Config{}, newTestIdentity(t)), prepare(t, Config{}, newTestIdentity(t))
	if a.ID() < b.ID() {
		a, b = b, a // what b dials is preferred
	}
	for _, n := range []*testNode{a, b} {
		n.Handle("mirror", Control, func(_ context.Context, _ ID, s net.Conn) {
			defer s.Close()
			_, _ = io.Copy(s, s)
		})
		n.begin(t)
	}
	unreachable := a.member()
	unreachable.OutOnly = true // so that b does not dial yet
	a.SetMembers(1, []Member{a.member(), b.member()})
	b.SetMembers(1, []Member{unreachable, b.member()})
	s, err := a.Open(within(t), b.ID(), "mirror")
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string) {
		t.Helper()
		got := make([]byte, len(text))
		if _, err := s.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(s, got); err != nil || string(got) != text {
			t.Fatalf("mirror: %q, %v", got, err)
		}
	}
	say("before")
	b.Peer.mu.Lock()
	r := b.remotes[a.ID()]
	r.member.Addresses = a.member().Addresses
	b.Peer.mu.Unlock()
	l, err := keeper{b.Peer, r, Control}.dial(within(t))
	if err != nil {
		t.Fatal(err)
	}
	b.tasks.Go(func() { b.runLink(context.Background(), l) })
	eventually(t, "the first connection is retired", func() bool {
		links := a.Stats().Links
		return len(links) == 2 && (links[0].Retiring || links[1].Retiring)
	})
	say("while retired")
	call(t, a, b, "on the new one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*testNode{a, b} {
		eventually(t, "the first connection is closed", func() bool { return len(n.Stats().Links) == 1 })
	}
	call(t, b, a, "after")
}

func TestOutOnlyNodeIsReachedBack(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
	hidden := b.member()
	hidden.OutOnly, hidden.Addresses = true, nil
	both := []Member{a.member(), hidden}
	a.SetMembers(1, both)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.Call(ctx, b.ID(), "echo", nil); !errors.Is(err, ErrUnreachable) {
		t.Errorf("call before it has connected: %v", err)
	}
	b.SetMembers(1, both)
	call(t, a, b, "reached back")
	s, err := a.Open(within(t), b.ID(), "reverse") // bulk, too
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := a.Stats().Dials; got != 0 {
		t.Errorf("the out-only node was dialled %d times", got)
	}
}

func TestReconnectAfterRestart(t *testing.T) {
	t.Parallel()
	a := newTestNode(t, Config{})
	id := newTestIdentity(t)
	b := prepare(t, Config{}, id).begin(t)
	acquaint(1, a, b)
	call(t, a, b, "first life")
	address := b.Addr().String()
	b.stop()
	eventually(t, "loss is noticed", func() bool { return len(a.Connected()) == 0 })
	eventually(t, "the loss is told", func() bool { _, ok := a.saw(EventDisconnected, b.ID()); return ok })
	again := prepare(t, Config{Listen: address}, id).begin(t)
	again.SetMembers(1, []Member{a.member(), again.member()})
	call(t, again, a, "second life")
	call(t, a, again, "second life")
}

// TestRestartWithoutGoodbye cuts the first life off before it can say goodbye: the old
// connection must give way to the one that the second life makes.
func TestRestartWithoutGoodbye(t *testing.T) {
	t.Parallel()
	a := newTestNode(t, Config{})
	id := newTestIdentity(t)
	b := prepare(t, Config{}, id).begin(t)
	acquaint(1, a, b)
	call(t, b, a, "first life")
	eventually(t, "connected", func() bool { return len(a.Connected()) == 1 })
	address := b.Addr().String()
	b.fails = true
	if err := b.udp.Close(); err != nil { // not one packet more
		t.Fatal(err)
	}
	again := prepare(t, Config{Listen: address}, id).begin(t)
	again.SetMembers(1, []Member{a.member(), again.member()})
	call(t, again, a, "second life")
	eventually(t, "the second life is called", func() bool { // a call may meet the change of connections
		reply, err := a.Call(within(t), again.ID(), "echo", []byte("second life"))
		return err == nil && string(reply) == a.ID().Short()+" second life"
	})
	eventually(t, "one connection is left", func() bool { return len(a.Stats().Links) == 1 })
}

func TestControlStaysFastBesideBulk(t *testing.T) {
	t.Parallel()
	a, b := prepare(t, Config{}, newTestIdentity(t)), prepare(t, Config{}, newTestIdentity(t))
	for _, n := range []*testNode{a, b} {
		n.Handle("sink", Bulk, func(_ context.Context, _ ID, s net.Conn) {
			defer s.Close()
			_, _ = io.Copy(io.Discard, s)
		})
		n.begin(t)
	}
	acquaint(1, a, b)
	call(t, a, b, "warm up")
	s, err := a.Open(within(t), b.ID(), "sink")
	if err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buf := make([]byte, 256<<10)
		for {
			n, err := s.Write(buf)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}()
	eventually(t, "bulk flows", func() bool { return sent.Load() > 8<<20 })
	before := sent.Load()
	calls := 0 // BenchmarkCallBesideBulk measures how long they take
	eventually(t, "bulk goes on beside calls", func() bool {
		for range 50 {
			calls++
			call(t, a, b, fmt.Sprint(calls))
		}
		return sent.Load() > before // 50 calls may end before a write of the bulk does
	})
	_ = s.Close()
	<-copied
}

func TestPacketsDropRatherThanBlock(t *testing.T) {
	t.Parallel()
	a, b := prepare(t, Config{}, newTestIdentity(t)), prepare(t, Config{}, newTestIdentity(t))
	got := make(chan string, 1)
	b.Packets(func(from ID, packet []byte) {
		select {
		case got <- from.Short() + " " + string(packet[:4]):
		default:
		}
	})
	a.begin(t)
	b.begin(t)
	if a.SendPacket(b.ID(), []byte("ping")) {
		t.Error("packet to a stranger was accepted")
	}
	acquaint(1, a, b)
	eventually(t, "connected", func() bool { return len(a.Connected()) == 1 })
	eventually(t, "a packet arrives", func() bool {
		a.SendPacket(b.ID(), []byte("ping"))
		select {
		case text := <-got:
			return text == a.ID().Short()+" ping"
		default:
			return false
		}
	})
	if a.SendPacket(b.ID(), make([]byte, MaxPacket+1)) {
		t.Error("too long a packet was accepted")
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range 20_000 {
			a.SendPacket(b.ID(), make([]byte, MaxPacket))
		}
	}()
	select {
	case <-sent:
	case <-within(t).Done():
		t.Error("20 000 packets are not handed over: sending blocks")
	}
	if a.Stats().PacketsDropped < 1000 {
		t.Errorf("dropped %d packets only", a.Stats().PacketsDropped)
	}
	call(t, a, b, "still alive")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
	acquaint(3, a, b)
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	shut := b.member()
	shut.Addresses = append(shut.Addresses, closed.LocalAddr().String())
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	hidden := Member{ID: newTestIdentity(t).ID(), OutOnly: true}
	report := Check(within(t), Config{Cluster: "test", Epoch: 3}, a.id, []Member{a.member(), shut, hidden})
	if len(report.Paths) != 3 || report.OK() {
		t.Fatalf("report %+v", report)
	}
	good, bad := report.Paths[0], report.Paths[1]
	if good.Problem != "" || !good.Trusted || good.Packet != MaxPacket || good.Handshake <= 0 || good.Clock.Abs() > time.Second {
		t.Errorf("good path: %+v", good)
	}
	if bad.Answers || bad.Problem == "" || bad.Advice == "" {
		t.Errorf("closed port: %+v", bad)
	}
	tests := []struct {
		name string
		cfg  Config
		id   Identity
		to   Member
	}{
		{"stranger", Config{Cluster: "test", Epoch: 3}, newTestIdentity(t), b.member()},
		{"other cluster", Config{Cluster: "else", Epoch: 3}, a.id, b.member()},
		{"older epoch", Config{Cluster: "test", Epoch: 2}, a.id, b.member()},
		{"wrong node", Config{Cluster: "test", Epoch: 3}, a.id, Member{ID: newTestIdentity(t).ID(), Addresses: b.member().Addresses}},
		{"no such name", Config{Cluster: "test", Epoch: 3}, a.id, Member{ID: b.ID(), Addresses: []string{"no.such.host.invalid:1"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Check(within(t), tt.cfg, tt.id, []Member{tt.to}).Paths[0]
			if got.Trusted || got.Problem == "" || got.Advice == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}
