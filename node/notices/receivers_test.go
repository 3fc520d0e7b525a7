//go:build slow && !race

package notices

import (
	"fmt"
	"testing"
	"time"

	"holdfast/catalog"
	agreed "holdfast/catalog/notices"
)

// A receiver that accepts nothing for a day gets all of it then, once; one that accepts and does not say so gets it
// again with the same id, and no more after three days.
func TestReceiversThatFail(t *testing.T) {
	within(t, 1, func(tr *trial) {
		tr.address("a")
		tr.set(func() { tr.refuses = true })
		for k := range 5 {
			tr.see("north-1", job(k), true)
		}
		time.Sleep(24 * time.Hour)
		tr.set(func() { tr.refuses = false })
		time.Sleep(2 * time.Hour)
		for k := range 5 {
			if got := tr.received("a", "+job-held "+fmt.Sprint(k)); len(got) != 1 || sum(got) != 1 {
				t.Errorf("job %d: %v", k, got)
			}
		}
		tr.set(func() { tr.lies = true })
		tr.see("north-1", job(9), true)
		time.Sleep(5 * 24 * time.Hour)
		got := tr.received("a", "+job-held 9")
		if len(got) != 1 || sum(got) < 60 || sum(got) > 90 {
			t.Errorf("%v", got)
		}
		var state agreed.State
		err := tr.View(func(v catalog.View) error {
			a, err := catalog.NoticesIn(v).Address("a")
			if err == nil {
				state, err = catalog.NoticesIn(v).State(&a)
			}
			return err
		})
		if err != nil || state.GivenUp == 0 || state.Lost != 1 {
			t.Errorf("%+v, %v", state, err)
		}
	})
}
