package harvester

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// crawled has the only job of a run claimed and ended, with one statistic for each stop reason, by configuration.
func (a *alone) crawled(number, run uint64, stops map[string]string) {
	a.t.Helper()
	all := a.made(number, run)
	if len(all) != 1 {
		a.t.Fatalf("%d jobs", len(all))
	}
	for id, names := range all {
		a.must(catalog.SubmitJob, catalog.JobRef{ID: id})
		a.must(catalog.ClaimJob, catalog.JobRef{ID: id, Node: self()})
		chunk := jobs.JobStatistics{ID: id, Node: self(), Attempt: 1, Number: 1, Last: true}
		for _, text := range names {
			var domain, name string
			if _, err := fmt.Sscanf(text, "%7s/%s", &domain, &name); err != nil {
				a.t.Fatal(err)
			}
			chunk.Statistics = append(chunk.Statistics, jobs.Statistic{Domain: domain, Name: name, Objects: 100,
				Bytes: 1000, Stop: stops[domain], MaxBytes: new(int64(1_000_000_000))})
		}
		a.must(jobs.AddStatistics, chunk)
		a.must(catalog.FinishJob, catalog.JobEnd{ID: id, Node: self(), Attempt: 1, Statistics: 1})
	}
}

// TestASnapshotContinuesAnother leaves out what was completed, and what its own limit stopped unless it was raised. It
// waits until the results of the earlier one are all known, and expects what they say.
func TestASnapshotContinuesAnother(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	stops := map[string]string{"aaa.org": "completed", "bbb.org": "config-size-limit", "ccc.org": "config-size-limit",
		"ddd.org": "unfinished"}
	for name := range stops {
		a.domain(domains.Name(name))
	}
	first := a.define(runs.Snapshot, runs.Asked{Name: "first"})
	a.begin(first)
	if err := a.harvester().Split(t.Context(), first, 1); err != nil {
		t.Fatal(err)
	}
	a.crawled(first, 1, stops)
	a.must(domains.SetConfiguration, domains.Configuring{Domain: "ccc.org", Name: "defaultconfig", Template: "default",
		Lists: []string{"defaultseeds"}, Bytes: new(int64(2_000_000_000))})
	second := a.define(runs.Snapshot, runs.Asked{Name: "second", Earlier: first})
	a.begin(second)
	if err := a.harvester().Split(t.Context(), second, 1); !errors.Is(err, errPending) {
		t.Fatalf("with results that are not known: %v", err)
	}
	if r := a.run(second, 1); r.State != runs.Splitting {
		t.Fatalf("the run is %s", r.State)
	}
	a.keepAll()
	if err := a.harvester().Split(t.Context(), second, 1); err != nil {
		t.Fatal(err)
	}
	a.once(second, 1, []string{"ccc.org/defaultconfig", "ddd.org/defaultconfig"})
	if left := a.run(second, 1).LeftOut; left["completed"] != 1 || left["limit not raised"] != 1 || len(left) != 2 {
		t.Errorf("left out: %v", left)
	}
	number := a.define(runs.Selective, runs.Asked{Name: "one"}, "aaa.org/defaultconfig")
	p, err := a.harvester().Preview(t.Context(), number)
	if err != nil || p.Expected != 2721 { // completed 100 objects, limit 1e9 bytes
		t.Errorf("expected %d, %v", p.Expected, err)
	}
}

// TestASnapshotContinuesAChain leaves out what any snapshot of the chain completed: the one before it left that out
// itself.
func TestASnapshotContinuesAChain(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.domain("aaa.org")
	a.domain("bbb.org")
	stops := map[string]string{"aaa.org": "completed", "bbb.org": "unfinished"}
	next := func(earlier uint64, want ...string) uint64 {
		number := a.define(runs.Snapshot, runs.Asked{Name: fmt.Sprintf("after %d", earlier), Earlier: earlier})
		a.begin(number)
		if err := a.harvester().Split(t.Context(), number, 1); err != nil {
			t.Fatal(err)
		}
		a.once(number, 1, want)
		a.crawled(number, 1, stops)
		a.keepAll()
		return number
	}
	first := next(0, "aaa.org/defaultconfig", "bbb.org/defaultconfig")
	second := next(first, "bbb.org/defaultconfig")
	third := next(second, "bbb.org/defaultconfig")
	if left := a.run(third, 1).LeftOut; left["completed"] != 1 {
		t.Errorf("left out: %v", left)
	}
}

// keepAll brings the results of jobs that have ended into the history.
func (a *alone) keepAll() {
	a.t.Helper()
	for {
		due := see(a, func(v catalog.View) ([]jobs.Counted, error) { return v.Uncounted(1) })
		if len(due) == 0 {
			return
		}
		a.must(history.Keep, history.Step{Job: due[0].Job, After: due[0].After})
	}
}
