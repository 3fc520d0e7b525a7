package owed

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestTheFirstOfAllPagesWakes asks for what is owed page by page; a later page has nothing to do for an hour.
func TestTheFirstOfAllPagesWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := New(Config{Bell: NewBell()})
		rings, end := d.cfg.Bell.Listen()
		defer end()
		for _, pages := range [][]time.Duration{{time.Second, time.Hour}, {time.Hour, time.Second, 2 * time.Second}} {
			began := time.Now()
			for _, pause := range pages {
				d.wakeIn(pause)
			}
			<-rings
			if took := time.Since(began); took != time.Second {
				t.Errorf("rang after %v", took)
			}
		}
	})
}

// What the catalog does not tell, and what it does, wakes who watches; nothing wakes one who has ended.
func TestWhoWatchesIsWokenByBoth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changed, ended := make(chan struct{}), false
		var prefixes []string
		c := Catalog{Self: "n", Replica: "north", Bell: NewBell(), Changes: func(under ...string) (<-chan struct{}, func()) {
			prefixes = under
			return changed, func() { ended = true }
		}}
		woken, end := c.Watch()
		rang := func() bool {
			synctest.Wait()
			select {
			case <-woken:
				return true
			default:
				return false
			}
		}
		if rang() {
			t.Error("woken by nothing")
		}
		if changed <- struct{}{}; !rang() {
			t.Error("not woken by a change of the catalog")
		}
		if c.Bell.Ring(); !rang() {
			t.Error("not woken by what became due")
		}
		for range 3 { // nobody listens meanwhile
			c.Bell.Ring()
			synctest.Wait()
		}
		if !rang() || rang() {
			t.Error("several rings are not one")
		}
		if !slices.Contains(prefixes, catalog.PrefixOwed("north")) || !slices.Contains(prefixes, catalog.PrefixLeft("n")) {
			t.Errorf("looks under %q", prefixes)
		}
		end()
		c.Bell.Ring()
		if rang() || !ended {
			t.Errorf("woken after the end; the watch of the catalog has ended: %t", ended)
		}
	})
}
