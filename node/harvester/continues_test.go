package harvester

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// harvested makes the jobs of a harvest's next run, and ends them.
func (a *alone) harvested(number uint64) (ids []uint64) {
	a.t.Helper()
	a.begin(number)
	run := a.harvest(number).Runs
	if err := a.harvester().Split(a.t.Context(), number, run); err != nil {
		a.t.Fatal(err)
	}
	for id := range a.made(number, run) {
		a.must(catalog.SubmitJob, jobs.JobRef{ID: id})
		a.must(catalog.ClaimJob, jobs.JobRef{ID: id, Node: self(), Attempt: 1})
		a.must(catalog.StartJob, jobs.JobRef{ID: id, Node: self(), Attempt: 1})
		a.must(catalog.FinishJob, jobs.JobEnd{ID: id, Node: self(), Attempt: 1})
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// continues is what the first job of a harvest's last run continues.
func (a *alone) continues(number uint64) []uint64 {
	a.t.Helper()
	run := a.harvest(number).Runs
	for id := range a.made(number, run) {
		d, err := a.harvester().Definition(see(a, func(v catalog.View) (catalog.Job, error) { return v.Job(id) }))
		if err != nil {
			a.t.Fatal(err)
		}
		return d.Continues
	}
	a.t.Fatalf("run %d of harvest %d has no jobs", run, number)
	return nil
}

// A job continues the run before; one that brought nothing is passed over.
func TestWhatASelectiveHarvestContinues(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.domain("a.org")
	number := a.define(runs.Selective, runs.Asked{Name: "daily"}, "a.org/defaultconfig")
	other := a.define(runs.Selective, runs.Asked{Name: "other"}, "a.org/defaultconfig")
	first := a.harvested(number)
	if got := a.continues(number); len(got) != 0 {
		t.Errorf("the first run continues %v", got)
	}
	a.harvested(other)
	a.begin(number) // its jobs are never run
	if err := a.harvester().Split(t.Context(), number, 2); err != nil {
		t.Fatal(err)
	}
	if got := a.continues(number); !slices.Equal(got, first) {
		t.Errorf("the second run continues %v, want %v", got, first)
	}
	third := a.harvested(number)
	if got := a.continues(number); !slices.Equal(got, first) {
		t.Errorf("the third run continues %v, want %v", got, first)
	}
	a.harvested(number)
	if got := a.continues(number); !slices.Equal(got, third) {
		t.Errorf("the fourth run continues %v, want %v", got, third)
	}
}

// A snapshot continues those that it says, and the chain before.
func TestWhatASnapshotContinues(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.domain("a.org")
	snapshot := func(name string, earlier uint64) (number uint64, ids []uint64) {
		number = a.define(runs.Snapshot, runs.Asked{Name: name, Earlier: earlier})
		return number, a.harvested(number)
	}
	one, first := snapshot("2025", 0)
	two, second := snapshot("2025, continued", one)
	three, third := snapshot("2026", 0)
	for _, tt := range []struct {
		number uint64
		want   []uint64
	}{{one, nil}, {two, first}, {three, slices.Concat(first, second)}} {
		if got := a.continues(tt.number); !slices.Equal(got, tt.want) {
			t.Errorf("snapshot %d continues %v, want %v", tt.number, got, tt.want)
		}
	}
	four, _ := snapshot("2026, continued", three)
	if got := a.continues(four); !slices.Equal(got, slices.Concat(first, second, third)) {
		t.Errorf("the fourth continues %v, want %v", got, slices.Concat(first, second, third))
	}
}

// What an unfinished snapshot harvests is not known: one that continues it waits, and says so.
func TestASnapshotWaitsForTheOneThatItContinues(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.domain("a.org")
	one := a.define(runs.Snapshot, runs.Asked{Name: "first"})
	a.begin(one)
	two := a.define(runs.Snapshot, runs.Asked{Name: "second", Earlier: one})
	a.begin(two)
	h := a.harvester()
	waits := func(when string) {
		t.Helper()
		if err := h.Split(t.Context(), two, 1); !errors.Is(err, errPending) {
			t.Errorf("%s: %v", when, err)
		}
		if said := strings.Join(alert.Texts(h.Alerts()), "\n"); !strings.Contains(said, "until all jobs of snapshot 1") {
			t.Errorf("%s: %s", when, said)
		}
	}
	waits("while the jobs of the first are made")
	if err := h.Split(t.Context(), one, 1); err != nil {
		t.Fatal(err)
	}
	waits("while they are new")
	for id := range a.made(one, 1) {
		a.must(catalog.SubmitJob, jobs.JobRef{ID: id})
		a.must(catalog.ClaimJob, jobs.JobRef{ID: id, Node: self(), Attempt: 1})
		waits("while they run")
		a.must(catalog.StartJob, jobs.JobRef{ID: id, Node: self(), Attempt: 1})
		a.must(catalog.FinishJob, jobs.JobEnd{ID: id, Node: self(), Attempt: 1})
	}
	if err := h.Split(t.Context(), two, 1); err != nil || len(a.made(two, 1)) != 1 || len(h.Alerts()) != 0 {
		t.Errorf("afterwards: %v, %v, %v", err, a.made(two, 1), h.Alerts())
	}
}

// broke is a history that cannot be read.
type broke struct{ History }

func (broke) Pending(catalog.View) (bool, error) { return false, errCut }

// A run that waits is not told as one whose jobs could not be made, nor the other way round.
func TestWaitingIsToldFromErrors(t *testing.T) {
	t.Parallel()
	a := newAlone(t)
	a.domain("a.org")
	one := a.define(runs.Snapshot, runs.Asked{Name: "first"})
	a.begin(one)
	two := a.define(runs.Snapshot, runs.Asked{Name: "second", Earlier: one})
	a.begin(two)
	h := a.harvester()
	l := h.lead(t.Context())
	defer l.end()
	said := func() string {
		t.Helper()
		k := key{two, 1}
		if !l.splits.begin(k, entire) {
			t.Fatal("the run is not tried")
		}
		l.splitOne(k)
		clear(l.splits.after)
		return strings.Join(alert.Texts(h.Alerts()), "\n")
	}
	const failed, waits = "could not be made here", "waits until all jobs of snapshot 1"
	if got := said(); strings.Contains(got, failed) || !strings.Contains(got, waits) {
		t.Errorf("a run that waits: %s", got)
	}
	history := h.cfg.History
	h.cfg.History = broke{history}
	if got := said(); !strings.Contains(got, failed) || !strings.Contains(got, errCut.Error()) {
		t.Errorf("a history that cannot be read: %s", got)
	}
	h.cfg.History = history
	if got := said(); strings.Contains(got, failed) {
		t.Errorf("a run that waits again: %s", got)
	}
	if r := a.run(two, 1); r.State != runs.Splitting || r.Error != "" {
		t.Errorf("the run is %s: %s", r.State, r.Error)
	}
}
