package runner

import (
	"testing"

	"holdfast/catalog"
)

func TestAnAttemptIsBegunOnceThoughTheCatalogLags(t *testing.T) {
	t.Parallel()
	c := &Runner{running: map[uint64]*Attempt{}, begun: map[uint64]int{}}
	shown := catalog.Job{ID: 4, Attempt: 1, State: catalog.JobSubmitted}
	look := func() {
		t.Helper()
		if err := c.forget(func(uint64) (catalog.Job, error) { return shown, nil }); err != nil {
			t.Fatal(err)
		}
	}
	want := func(job catalog.Job, begins bool) {
		t.Helper()
		if got := c.begin(job); got != begins {
			t.Errorf("attempt %d begins: %v, want %v", job.Attempt, got, begins)
		}
	}
	want(shown, true)
	look()
	want(shown, false) // claimed, but the catalog here does not show it yet
	shown.State = catalog.JobStarted
	look()
	want(shown, false) // ended, but the catalog here does not show it yet
	shown.State = catalog.JobDone
	look()
	if len(c.begun) != 0 {
		t.Errorf("%v is remembered of ended jobs", c.begun)
	}
	shown.State, shown.Attempt = catalog.JobSubmitted, 2
	want(shown, true) // given to this node again
}
