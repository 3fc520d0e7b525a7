package steward

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestTheCatalogsClockIsSetBackAfterAWhile: not at once, for a machine that has just started may have no time yet.
func TestTheCatalogsClockIsSetBackAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d clockDuty
		ahead := catalog.At(time.Now().Add(24 * time.Hour))
		if _, due := d.due(ahead, time.Now(), time.Now()); due {
			t.Error("it is set back at once")
		}
		time.Sleep(clockPatience)
		if change, due := d.due(ahead, time.Now(), time.Now()); !due || change.Ahead < int64(catalog.ClockMost) {
			t.Errorf("it is not set back after %v: %+v", clockPatience, change)
		}
		if _, due := d.due(catalog.At(time.Now()), time.Now(), time.Now()); due {
			t.Error("a clock that is right is set back")
		}
		if _, due := d.due(ahead, time.Now(), time.Now()); due {
			t.Error("it is set back at once after it was right")
		}
	})
}
