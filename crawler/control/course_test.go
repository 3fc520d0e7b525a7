package control

import (
	"testing"
	"time"

	"holdfast/crawler/events"
	"holdfast/crawler/report"
	"holdfast/internal/disk"
)

// noFrontier is one that has nothing to give out.
type noFrontier struct{}

func (noFrontier) Pause()  {}
func (noFrontier) Resume() {}
func (noFrontier) Stop()   {}

// newTestCourse is that of a crawl without anything to fetch.
func newTestCourse(t *testing.T) *Course {
	t.Helper()
	logs, err := report.OpenLogs(disk.New(), t.TempDir(), report.Sizes{})
	if err != nil {
		t.Fatal(err)
	}
	hub := events.NewHub(events.Config{Write: func([]byte) {}})
	t.Cleanup(func() {
		hub.Close()
		if err := logs.Close(); err != nil {
			t.Error(err)
		}
	})
	return NewCourse(noFrontier{}, logs, hub)
}

// A pause with a length does not end another that took its place.
func TestAnotherPauseGoesOn(t *testing.T) {
	c := newTestCourse(t)
	c.Pause(ForOperator, Hold{Reason: "first"}, time.Hour)
	c.mu.Lock()
	first := c.holds[ForOperator]
	c.mu.Unlock()
	c.Pause(ForOperator, Hold{Reason: "second"}, 0)
	c.resume(ForOperator, "", first) // as the first one's clock would
	if at := c.Standing(); at.State != Paused || at.Reason != "second" || !at.Until.IsZero() {
		t.Errorf("%+v", at)
	}
}
