package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/ports"
	"holdfast/node/membership"
	"holdfast/raft"
)

func TestPartsStopInTheReverseOfTheirStart(t *testing.T) {
	t.Parallel()
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
		go func() {
			done <- runParts(ctx, quiet(), newStages(), func() {}, wait("state"), wait("peer"), wait("api"))
		}()
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
	t.Parallel()
	broken := errors.New("disk gone")
	held := false
	err := runParts(t.Context(), quiet(), newStages(), func() {},
		part{"state", func(ctx context.Context) error { <-ctx.Done(); held = true; return nil }},
		part{"store", func(context.Context) error { return broken }})
	if !errors.Is(err, broken) || !held {
		t.Errorf("error %v, the other part stopped: %v", err, held)
	}
}

// TestACauseIsToldBeforeWhatFollowsFromIt lets a part end because consensus has stopped, and only then tells consensus why that was.
func TestACauseIsToldBeforeWhatFollowsFromIt(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	err := runParts(t.Context(), quiet(), newStages(), func() {},
		part{"raft", func(ctx context.Context) error { close(stopped); <-ctx.Done(); return lost(raft.ErrSetBack) }},
		part{"cover", func(context.Context) error { <-stopped; return fmt.Errorf("find who covers: %w", raft.ErrStopped) }})
	if !errors.Is(err, membership.ErrStateLost) || !strings.HasPrefix(err.Error(), "raft: ") {
		t.Errorf("the node ends with: %v", err)
	}
	err = runParts(t.Context(), quiet(), newStages(), func() {}, part{"cover", func(context.Context) error { return raft.ErrStopped }})
	if !errors.Is(err, raft.ErrStopped) {
		t.Errorf("without another cause the node ends with: %v", err)
	}
}

// TestAStopIsBounded stops parts of which one waits for a disk that has gone: the stop ends all the same and names it. One that
// only takes its time is waited for.
func TestAStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		lasts := func(name string, d time.Duration) part {
			return part{name, func(ctx context.Context) error { <-ctx.Done(); <-time.After(d); return ctx.Err() }}
		}
		gone := part{"index", func(context.Context) error { <-back; return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stop := newStages()
		began := time.Now()
		err := bounded(stop, time.Minute, func() error {
			return runParts(ctx, quiet(), stop, func() {}, gone, lasts("one", 50*time.Second), lasts("two", 50*time.Second))
		})
		if !errors.Is(err, ErrHung) || !strings.HasPrefix(err.Error(), "index: ") {
			t.Errorf("the stop ended with %v", err)
		}
		if took := time.Since(began); took != 160*time.Second {
			t.Errorf("it took %v", took)
		}
		close(back)
		synctest.Wait()
		again := newStages()
		err = bounded(again, time.Minute, func() error {
			return runParts(ctx, quiet(), again, func() {}, lasts("one", 50*time.Second), lasts("two", 50*time.Second))
		})
		if err != nil {
			t.Errorf("a slow stop ended with %v", err)
		}
	})
}

// freeUDP returns ports of loopback that nobody has, each once: clusters run side by side. They lie below those that the system gives
// out, and that commands are tested with.
func freeUDP(t testing.TB, n int) []int {
	t.Helper()
	var out []int
	for len(out) < n {
		port := 4096 + rand.IntN(6144)
		held, err := ports.Hold(port)
		if err != nil {
			t.Fatal(err)
		}
		if held == nil {
			continue
		}
		c, err := net.ListenPacket("udp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			_ = held.Close()
			continue
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = held.Close() }) // after the nodes that begin later have stopped
		out = append(out, port)
	}
	return out
}

// quiet keeps what a node reports to itself, but for warnings and errors: they are shown when a test fails.
func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
