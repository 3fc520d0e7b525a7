package catalog_test

import (
	"math"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// repeated makes a harvest that is due again and again.
func repeated(t *testing.T, level int) (*cluster, uint64) {
	t.Helper()
	c := harvesting(t)
	if level > 4 {
		c.raiseTo(t, level)
	}
	number := c.defined(t, runs.Selective, "daily")
	c.must(t, runs.AddConfigurations, runs.Listing{Number: number, Configurations: configurations("a.org", "b.org")})
	c.activated(t, number, 1000)
	return c, number
}

// begun begins the run that is due next.
func (c *cluster) begun(t *testing.T, number uint64) (run uint64) {
	t.Helper()
	h, err := catalog.RunsIn(c.view()).Harvest(number)
	if err != nil {
		t.Fatal(err)
	}
	c.now = max(c.now, h.Next)
	c.must(t, runs.BeginRun, runs.Beginning{Number: number, Date: h.Next, Next: c.now + 1000})
	return h.Runs + 1
}

// ran lets a run of one job bring statistics, and end.
func (c *cluster) ran(t *testing.T, number uint64, all ...jobs.Statistic) (run uint64) {
	t.Helper()
	run = c.begun(t, number)
	c.ended(t, number, run, 0, all...)
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: run, Jobs: 1, Configurations: 2})
	return run
}

func (c *cluster) brought(t *testing.T, number, run uint64) (history.Sum, bool) {
	t.Helper()
	sum, whole, err := c.history().Sum(number, run)
	if err != nil {
		t.Fatal(err)
	}
	return sum, whole
}

// TestWhatARunBroughtIsAddedUp, of jobs that are done alone, and it is whole once all of them are.
func TestWhatARunBroughtIsAddedUp(t *testing.T) {
	t.Parallel()
	c, number := repeated(t, catalog.Level)
	c.ran(t, number, stat("a.org", 5, 50, "completed"), stat("b.org", 6, 60, "completed"))
	run := c.begun(t, number)
	if sum, whole := c.brought(t, number, run); whole || sum != (history.Sum{}) {
		t.Errorf("before anything came: %+v, %t", sum, whole)
	}
	first := c.ended(t, number, run, 0, stat("a.org", 3, 30, "config-object-limit"),
		jobs.Statistic{Objects: 7, Bytes: 70, Stop: "config-object-limit"})
	second := c.started(t, number, run, first.ID)
	c.end(t, second, c.tell(t, second, stat("b.org", 100, 1000, "unfinished")), true)
	c.keepAll(t)
	want := history.Sum{Jobs: 1, Configurations: 1, Objects: 10, Bytes: 100, Limited: 1}
	sum, whole := c.brought(t, number, run)
	if want.At = sum.At; whole || sum != want || sum.At == 0 {
		t.Errorf("one job is done and one failed: %+v, %t", sum, whole)
	}
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: run, Jobs: 2, Configurations: 2})
	if _, whole := c.brought(t, number, run); whole {
		t.Error("it is whole though a job failed")
	}
	c.now += 5000
	c.must(t, catalog.ResubmitJob, catalog.JobRef{ID: second.ID})
	again := c.claimed(t, second.ID+1)
	c.end(t, again, c.tell(t, again, stat("b.org", 0, 0, "completed")), false)
	if _, whole := c.brought(t, number, run); whole {
		t.Error("it is whole before its last job is in it")
	}
	c.keepAll(t)
	last := want.At
	want.Jobs, want.Configurations, want.Silent = 2, 2, 1
	sum, whole = c.brought(t, number, run)
	if want.At = sum.At; !whole || sum != want || sum.At <= last {
		t.Errorf("all jobs are done: %+v, %t", sum, whole)
	}
	all, err := c.history().LastRuns(0, 10)
	if err != nil || !slices.Equal(all, []history.RunRef{{Harvest: number, Run: 2}, {Harvest: number, Run: 1}}) {
		t.Errorf("%v, %v", all, err)
	}
	if all, err = c.history().LastRuns(sum.At, 10); err != nil || len(all) != 1 {
		t.Errorf("since the last one: %v, %v", all, err)
	}
	if all, err = c.history().LastRuns(sum.At+1, 10); err != nil || len(all) != 0 {
		t.Errorf("since later: %v, %v", all, err)
	}
}

// TestNothingIsAddedUpBelowTheLevel: members with the last release's program do not know of it. A run that was under way
// when the level was raised is never whole.
func TestNothingIsAddedUpBelowTheLevel(t *testing.T) {
	t.Parallel()
	c, number := repeated(t, 4)
	run := c.begun(t, number)
	first := c.ended(t, number, run, 0, stat("a.org", 5, 50, "completed"))
	if n := c.starting("runsum/") + c.starting("runlast/"); n != 0 {
		t.Errorf("%d keys at level 4", n)
	}
	c.raiseTo(t, catalog.Level)
	c.ended(t, number, run, first.ID, stat("b.org", 6, 60, "completed"))
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: run, Jobs: 2, Configurations: 2})
	if sum, whole := c.brought(t, number, run); whole || sum.Objects != 6 {
		t.Errorf("%+v, whole %t", sum, whole)
	}
}

// TestWhatIsUsual is told from the last five whole runs, from three at least.
func TestWhatIsUsual(t *testing.T) {
	t.Parallel()
	c, number := repeated(t, catalog.Level)
	brings := func(objects int64) uint64 {
		return c.ran(t, number, stat("a.org", objects, 1000*objects, "completed"))
	}
	for n, objects := range []int64{1000, 10, 20, 30} {
		run := brings(objects)
		if usual, known, err := c.history().Usual(number, run); err != nil || known != (n == 3) {
			t.Errorf("before run %d: %+v, %t, %v", run, usual, known, err)
		}
	}
	c.begun(t, number)
	c.must(t, runs.EndRun, runs.Ending{Number: number, Run: 5}) // without jobs: it is of no weight
	brings(40)
	run := brings(50)
	usual, known, err := c.history().Usual(number, run+1)
	if err != nil || !known || usual != (history.Usual{Runs: 5, Objects: 30, Bytes: 30_000}) {
		t.Errorf("%+v, %t, %v", usual, known, err)
	}
	if usual, known, err := c.history().Usual(number, 4); err != nil || !known || usual.Objects != 20 || usual.Runs != 3 {
		t.Errorf("of three: %+v, %t, %v", usual, known, err)
	}
	if _, known, err := c.history().Usual(number, math.MaxUint64); err != nil || known {
		t.Errorf("before a run that is far ahead: %t, %v", known, err)
	}
	for _, tt := range []struct {
		objects, bytes int64
		want           bool
	}{{30, 30_000, false}, {15, 15_000, false}, {14, 30_000, true}, {30, 14_999, true}, {90, 90_000, false},
		{91, 30_000, true}, {30, 90_001, true}, {0, 0, true}, {math.MaxInt64, 30_000, true}} {
		if got := usual.Differs(history.Sum{Objects: tt.objects, Bytes: tt.bytes}); got != tt.want {
			t.Errorf("%d objects, %d bytes: %t", tt.objects, tt.bytes, got)
		}
	}
}
