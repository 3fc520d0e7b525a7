package owed

import (
	"testing"
	"testing/synctest"
	"time"
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
