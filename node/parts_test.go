package node

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"testing"
	"testing/synctest"
)

func TestPartsStopInTheReverseOfTheirStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped []string
		wait := func(name string) part {
			return part{name, func(ctx context.Context) error {
				<-ctx.Done()
				stopped = append(stopped, name)
				return ctx.Err()
			}}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- runParts(ctx, quiet(), func() {}, wait("state"), wait("peer"), wait("api")) }()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if want := []string{"api", "peer", "state"}; !slices.Equal(stopped, want) {
			t.Errorf("stopped %v, want %v", stopped, want)
		}
	})
}

func TestAPartThatFailsEndsTheNode(t *testing.T) {
	broken := errors.New("disk gone")
	held := false
	err := runParts(t.Context(), quiet(), func() {},
		part{"state", func(ctx context.Context) error { <-ctx.Done(); held = true; return nil }},
		part{"store", func(context.Context) error { return broken }})
	if !errors.Is(err, broken) || !held {
		t.Errorf("error %v, the other part stopped: %v", err, held)
	}
}

// freeUDP returns ports of loopback that nobody has.
func freeUDP(t testing.TB, n int) []int {
	t.Helper()
	var out []int
	for range n {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		out = append(out, c.LocalAddr().(*net.UDPAddr).Port)
	}
	return out
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
