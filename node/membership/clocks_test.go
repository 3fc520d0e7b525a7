package membership

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestAStepOfTheClockShowsAtOnce steps this machine's clock after the nodes have connected: before anybody is asked
// again it is known how far it is off.
func TestAStepOfTheClockShowsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var step time.Duration
		c := NewClocks()
		c.wall = func() time.Time { return time.Now().Add(step) }
		for _, id := range []catalog.NodeID{"b", "c"} {
			c.heard(id, time.Now().Add(time.Second), time.Now())
		}
		want := func(off time.Duration) {
			t.Helper()
			if got := c.Skew(); got != off {
				t.Errorf("the clock is %v ahead, want %v", got, off)
			}
			if got := time.Until(c.Now()).Abs(); got > time.Minute {
				t.Errorf("the time to go by is %v off", got)
			}
		}
		want(-time.Second)
		time.Sleep(time.Hour)
		want(-time.Second)
		step = 10 * 365 * 24 * time.Hour
		want(step - time.Second)
		step = -24 * time.Hour
		want(step - time.Second)
		step = 0
		c.heard("b", time.Now().Add(-time.Hour), time.Now()) // another's clock does not make this one wrong
		want(0)
		c.keep([]catalog.NodeID{"b"})
		if got := c.Skew(); got != time.Hour { // of two that disagree, the earlier counts
			t.Errorf("of two clocks, the later is %v ahead, want an hour", got)
		}
	})
}

// TestAPauseThatBeginsInTheFutureEnds: a stamp that a wrong clock has made begins a pause when it is first seen.
func TestAPauseThatBeginsInTheFutureEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := NewClocks()
		stamp := catalog.At(time.Now().Add(87_600 * time.Hour))
		first := n.Duty().Seen("f", 3, stamp)
		time.Sleep(20 * time.Second)
		now := n.Duty()
		if got := now.Seen("f", 3, stamp); got != first || now.Now-got != 20_000 {
			t.Errorf("first seen at %d, then at %d, %d ms ago", first, got, now.Now-got)
		}
		if got := now.Seen("f", 4, stamp); got != now.Now {
			t.Errorf("another try's pause began %d ms ago", now.Now-got)
		}
	})
}
