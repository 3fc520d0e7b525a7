package control

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// idling is a crawl whose progress a test makes.
type idling struct {
	*Course
	received, begun, busy atomic.Int64
	done                  chan struct{}
}

func newIdling(t *testing.T, noResponse, inactivity time.Duration) *idling {
	t.Helper()
	c := &idling{Course: newTestCourse(t), done: make(chan struct{})}
	c.Begin(nil)
	watch := &Idle{Course: c.Course, Received: c.received.Load, Begun: c.begun.Load,
		Busy:   func() int { return int(c.busy.Load()) },
		Limits: func() (time.Duration, time.Duration) { return noResponse, inactivity }}
	ended := make(chan struct{})
	go func() { watch.Run(c.done); close(ended) }()
	t.Cleanup(func() { close(c.done); <-ended })
	return c
}

// pass lets so much time pass, and returns why the crawl stopped by then.
func (c *idling) pass(length time.Duration) string {
	time.Sleep(length) // in the bubble, where it takes no time
	synctest.Wait()
	if at := c.Standing(); at.State == Stopping {
		return at.Reason
	}
	return ""
}

// A crawl that gets nowhere is stopped, by which of the two it is; what comes now and then keeps it going.
func TestIdleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newIdling(t, 30*time.Minute, 30*time.Minute)
		for range 5 { // URIs, but not a byte
			c.begun.Add(1)
			if why := c.pass(5 * time.Minute); why != "" {
				t.Fatalf("stopped: %s", why)
			}
		}
		c.busy.Store(1)
		if why := c.pass(6 * time.Minute); why != ReasonNoResponse {
			t.Errorf("stopped for %q", why)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newIdling(t, time.Hour, 20*time.Minute)
		c.busy.Store(1)
		for range 10 { // one that takes long
			c.received.Add(1)
			if why := c.pass(25 * time.Minute); why != "" {
				t.Fatalf("stopped: %s", why)
			}
		}
		c.busy.Store(0)
		if why := c.pass(19 * time.Minute); why != "" {
			t.Fatalf("stopped: %s", why)
		}
		if why := c.pass(2 * time.Minute); why != ReasonInactivity {
			t.Errorf("stopped for %q", why)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newIdling(t, 0, 0)
		if why := c.pass(3 * time.Hour); why != "" {
			t.Errorf("stopped for %q, though it never is to be", why)
		}
	})
}

// No pause is idleness, whoever holds it: an operator, the node that waits for its lease, a full disk, a closed window.
func TestPausesAreNoIdleness(t *testing.T) {
	for holder := range holders {
		synctest.Test(t, func(t *testing.T) {
			c := newIdling(t, 30*time.Minute, 30*time.Minute)
			if why := c.pass(29 * time.Minute); why != "" {
				t.Fatalf("stopped: %s", why)
			}
			c.Pause(holder, Hold{Reason: "not now"}, 0)
			if why := c.pass(2 * time.Hour); why != "" {
				t.Fatalf("stopped in a pause: %s", why)
			}
			if at := c.Standing(); at.State != Paused || at.Elapsed != 29*time.Minute {
				t.Errorf("%+v", at)
			}
			c.Resume(holder, "")
			if why := c.pass(2 * time.Minute); why != ReasonInactivity {
				t.Errorf("stopped for %q", why)
			}
		})
	}
}
