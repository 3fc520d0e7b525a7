package api

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	kept "holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/harvest"
)

// The jobs of a run are listed in pages, the first first.
func TestJobsOfARun(t *testing.T) {
	t.Parallel()
	b, c := harvesting(t)
	h := made(t, c, wire.HarvestRequest{Name: "all", Kind: "snapshot"})
	at := catalog.At(time.Now()) - 1000
	b.must(runs.Activate, runs.Activation{Number: 1, Version: h.Version, Next: at})
	b.must(runs.BeginRun, runs.Beginning{Number: 1, Date: at})
	parts, err := kept.Divide(harvest.Job{Name: "all", Seeds: []string{"http://a.org/"}})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := kept.SumOf(parts)
	if err != nil {
		t.Fatal(err)
	}
	var want []uint64
	for range 3 {
		open := kept.JobOpening{Harvest: "all", Number: 1, Run: 1, Collection: "web", Channel: defined.Snapshot}
		if len(want) > 0 {
			open.After = want[len(want)-1]
		}
		var job catalog.Job
		if err := json.Unmarshal(b.must(kept.OpenJob, open).Value, &job); err != nil {
			t.Fatal(err)
		}
		for i, p := range parts {
			b.must(kept.AddPart, kept.JobAddition{ID: job.ID, Number: i + 1, Part: p})
		}
		b.must(kept.CloseJob, kept.JobClosing{ID: job.ID, Parts: len(parts), Sum: sum})
		want = append(want, job.ID)
	}
	var got []uint64
	for job, err := range c.Jobs(t.Context(), 1, 1) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, job.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("jobs %v, want %v", got, want)
	}
	for _, wrong := range [][2]uint64{{1, 2}, {2, 1}} {
		for _, err := range c.Jobs(t.Context(), wrong[0], wrong[1]) {
			if status(err) != 404 {
				t.Errorf("run %d of harvest %d: %v", wrong[1], wrong[0], err)
			}
		}
	}
}
