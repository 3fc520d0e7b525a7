package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// raw connects to a node as id, past all of this package's manners.
func raw(t *testing.T, to *testNode, id Identity) *quic.Conn {
	t.Helper()
	v, err := newVisitor(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.close)
	conn, err := v.dial(within(t), target{address: to.Addr().String(), id: to.ID()})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// endsWith waits until the other side closes conn, and checks the reason it gives.
func endsWith(t *testing.T, conn *quic.Conn, why Refusal) {
	t.Helper()
	select {
	case <-conn.Context().Done():
	case <-time.After(patience):
		t.Fatal("the connection lives on")
	}
	var app *quic.ApplicationError
	if err := context.Cause(conn.Context()); !errors.As(err, &app) || Refusal(app.ErrorCode) != why {
		t.Errorf("connection ended with %v, want %q", err, why)
	}
}

func TestHostileHellos(t *testing.T) {
	a := newTestNode(t, Config{})
	acquaint(1, a)
	good := hello{version: protocolVersion, class: Control, epoch: 1, clock: time.Now(), cluster: "test"}
	change := func(f func(*hello)) []byte {
		h := good
		f(&h)
		return h.encode()
	}
	framed := func(payload []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
	}
	tests := []struct {
		name string
		send []byte
		want Refusal
	}{
		{"rubbish", framed([]byte("GET / HTTP/1.1")), Malformed},
		{"empty frame", framed(nil), Malformed},
		{"endless frame", binary.BigEndian.AppendUint32(nil, 1<<32-1), Malformed},
		{"old protocol", framed(change(func(h *hello) { h.version = 0 })), OldProtocol},
		{"unknown class", framed(change(func(h *hello) { h.class = 99 })), Malformed},
		{"stranger", framed(good.encode()), Stranger},
		{"stranger that checks", framed(change(func(h *hello) { h.class = checkClass })), Stranger},
		{"nothing at all", nil, Malformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn := raw(t, a, newTestIdentity(t))
			s, err := conn.OpenStreamSync(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write(tt.send); err != nil {
				t.Fatal(err)
			}
			endsWith(t, conn, tt.want)
		})
	}
}

// TestSilentStrangersAreBounded fills every place for strangers with connections that
// say nothing; a member must be able to connect all the same, once they time out at latest.
func TestSilentStrangersAreBounded(t *testing.T) {
	t.Parallel()
	a, b := newTestNode(t, Config{}), newTestNode(t, Config{})
	v, err := newVisitor(newTestIdentity(t))
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	var all sync.WaitGroup
	for range maxVisitorsAddress + 20 {
		all.Go(func() {
			_, _ = v.dial(within(t), target{address: a.Addr().String(), id: a.ID()})
			if n := a.Stats().Visitors; n > maxVisitorsAddress {
				t.Errorf("%d visitors of one address", n)
			}
		})
	}
	all.Wait()
	if a.Stats().RefusedBusy == 0 {
		t.Error("no stranger was refused")
	}
	acquaint(1, a, b)
	eventually(t, "the member gets in", func() bool { return len(a.Connected()) == 1 })
	call(t, b, a, "inside")
	eventually(t, "strangers are gone", func() bool { return a.Stats().Visitors == 0 })
}

// TestHostileStreams has a member open streams that are no streams of ours.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	a, m := newTestNode(t, Config{}), newTestIdentity(t)
	a.SetMembers(1, []Member{a.member(), {ID: m.ID(), OutOnly: true}})
	conn := raw(t, a, m)
	h := hello{version: protocolVersion, class: Control, epoch: 1, cluster: "test"}
	if _, _, _, err := introduce(within(t), conn, h, a.ID()); err != nil {
		t.Fatal(err)
	}
	for i, send := range [][]byte{{0}, {255, 'x'}, append([]byte{5}, "nokin"...), append([]byte{7}, "reverse"...)} {
		s, err := conn.OpenStreamSync(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(send); err != nil {
			t.Fatal(err)
		}
		var refused *quic.StreamError
		if _, err := s.Read(make([]byte, 1)); !errors.As(err, &refused) {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	s, err := conn.OpenStreamSync(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s, "\x04echo\xff\xff\xff\xffxxx"); err != nil { // a request of 4 GiB
		t.Fatal(err)
	}
	if _, err := s.Read(make([]byte, 1)); err == nil {
		t.Error("a request of 4 GiB was answered")
	}
	if got := a.Connected(); len(got) != 1 {
		t.Errorf("connected: %v", got)
	}
}

func TestWindowsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWindows()
	conns := make([]*quic.Conn, 8)
	for i := range conns {
		conns[i] = new(quic.Conn)
		if w.allow(conns[i], 1) {
			t.Error("a stranger's window grew")
		}
		w.admit(conns[i], Bulk, 96<<20)
	}
	granted := 0
	for _, c := range conns {
		for w.allow(c, 1<<20) {
			granted++
		}
	}
	if granted != allWindows>>20 {
		t.Errorf("granted %d MiB, want %d", granted, allWindows>>20)
	}
	w.forget(conns[0])
	w.forget(conns[0])
	if !w.allow(conns[7], 1<<20) {
		t.Error("what an ended connection had is not free again")
	}
}
