package node

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTheFirstOfAllPagesWakes asks for what is owed page by page; a later page has nothing to do for an hour.
func TestTheFirstOfAllPagesWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &duties{bell: newBell()}
		rings, end := d.bell.listen()
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
