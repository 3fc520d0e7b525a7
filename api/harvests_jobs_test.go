package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/catalog/history"
	kept "holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/client"
	"holdfast/harvest"
)

// jobsMade begins the run of a snapshot, which is the first harvest, and makes n jobs of it.
func jobsMade(t *testing.T, b *backend, c client.Harvests, n int) (ids []uint64) {
	t.Helper()
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
	for range n {
		open := kept.JobOpening{Harvest: "all", Number: 1, Run: 1, Collection: "web", Channel: defined.Snapshot}
		if len(ids) > 0 {
			open.After = ids[len(ids)-1]
		}
		var job catalog.Job
		if err := json.Unmarshal(b.must(kept.OpenJob, open).Value, &job); err != nil {
			t.Fatal(err)
		}
		for i, p := range parts {
			b.must(kept.AddPart, kept.JobAddition{ID: job.ID, Number: i + 1, Part: p})
		}
		b.must(kept.CloseJob, kept.JobClosing{ID: job.ID, Parts: len(parts), Sum: sum})
		ids = append(ids, job.ID)
	}
	return ids
}

// The jobs of a run are listed in pages, the first first.
func TestJobsOfARun(t *testing.T) {
	t.Parallel()
	b, c := harvesting(t)
	want := jobsMade(t, b, c, 3)
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

// What the jobs of a run brought is shown once one is done.
func TestWhatARunBrought(t *testing.T) {
	t.Parallel()
	b, c := harvesting(t)
	ids := jobsMade(t, b, c, 2)
	shown := func() *wire.RunBrought {
		page, err := c.RunsPage(t.Context(), 1, client.Place{})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		return page.Items[0].Brought
	}
	if got := shown(); got != nil {
		t.Errorf("before anything came: %+v", got)
	}
	b.must(runs.EndRun, runs.Ending{Number: 1, Run: 1, Jobs: 2})
	for i, id := range ids {
		b.must(catalog.SubmitJob, catalog.JobRef{ID: id})
		b.must(catalog.ClaimJob, catalog.JobRef{ID: id, Node: self})
		b.must(kept.AddStatistics, kept.JobStatistics{ID: id, Node: self, Attempt: 1, Number: 1, Last: true,
			Statistics: []kept.Statistic{{Domain: "a.org", Name: "x", Objects: 5, Bytes: 50, Stop: "completed"}}})
		b.must(catalog.FinishJob, catalog.JobEnd{ID: id, Node: self, Attempt: 1, Statistics: 1})
		b.must(history.Keep, history.Step{Job: id})
		n := int64(i + 1)
		want := &wire.RunBrought{Whole: n == 2, Jobs: uint64(n), Configurations: n, Objects: 5 * n, Bytes: 50 * n}
		if got := shown(); !reflect.DeepEqual(got, want) {
			t.Errorf("after %d jobs: %+v", n, got)
		}
	}
}

// An index can be asked of all jobs of a harvest, or of one of its runs. It names those that it does not have.
func TestIndexOfAHarvest(t *testing.T) {
	t.Parallel()
	b, c, _ := keeperAnd(t)
	if ids := jobsMade(t, b, c.Harvests(), 2); !slices.Equal(ids, []uint64{1, 2}) {
		t.Fatalf("jobs %v", ids)
	}
	if _, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}}); err != nil {
		t.Fatal(err)
	}
	for run := range uint64(2) { // 0: of all
		var text strings.Builder
		of, err := c.Jobs().HarvestIndex(t.Context(), wire.JobIndexCDX, 1, run, &text)
		if err != nil || !slices.Equal(of.Jobs, []uint64{1}) || !slices.Equal(of.Missing, []uint64{2}) ||
			!slices.Equal(of.Unmade, []uint64{1}) || text.String() != "cdx\nsecond\n" {
			t.Errorf("run %d: %q %+v %v", run, text.String(), of, err)
		}
	}
	b.must(runs.EndRun, runs.Ending{Number: 1, Run: 1, Jobs: 2})
	for run := range uint64(2) {
		if of, err := c.Jobs().HarvestIndex(t.Context(), wire.JobIndexCDX, 1, run, io.Discard); err != nil || len(of.Unmade) != 0 {
			t.Errorf("run %d, whose jobs are all made: %+v %v", run, of, err)
		}
	}
	made(t, c.Harvests(), wire.HarvestRequest{Name: "later", Kind: "snapshot"})
	if of, err := c.Jobs().HarvestIndex(t.Context(), wire.JobIndexCDX, 2, 0, io.Discard); err != nil ||
		len(of.Jobs)+len(of.Missing) != 0 {
		t.Errorf("a harvest that has not run: %+v %v", of, err)
	}
	for query, want := range map[string]int{"harvest=3": 404, "harvest=1&run=2": 404, "harvest=2&run=1": 404, "run=1": 422,
		"": 422, "harvest=1&job=1": 422, "job=1&run=1": 422} {
		answer, err := http.DefaultClient.Do(b.request(c, http.MethodGet, "/jobs/index?"+query, ""))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", query, answer.StatusCode, want)
		}
	}
}

// A harvest with more jobs than an index is made of is refused, not cut.
func TestIndexOfManyJobs(t *testing.T) {
	t.Parallel()
	b, c, _ := keeperAnd(t)
	jobsMade(t, b, c.Harvests(), mostIndexed+1)
	var problem *wire.Error
	_, err := c.Jobs().HarvestIndex(t.Context(), wire.JobIndexCDX, 1, 1, io.Discard)
	if !errors.As(err, &problem) || problem.Status != http.StatusUnprocessableEntity {
		t.Errorf("%v", err)
	}
}

// TestARunThatWaitsHasNoError: a snapshot waits for the jobs of the one that it continues, and a run for the results of
// earlier kept. One that failed waits for nothing.
func TestARunThatWaitsHasNoError(t *testing.T) {
	t.Parallel()
	b, c := harvesting(t)
	b.serves(defined.Snapshot)
	job := jobsMade(t, b, c, 1)[0]
	says := func(number uint64, state, waits, failed string) {
		t.Helper()
		h, err := c.Show(t.Context(), number)
		if err != nil || h.LastRun == nil || h.LastRun.State != state || h.LastRun.Waits != waits ||
			h.LastRun.Error != failed || h.Error != failed {
			t.Errorf("%+v, %+v, %v: want %s, waiting %q, error %q", h, h.LastRun, err, state, waits, failed)
		}
		for r, err := range c.Runs(t.Context(), number) {
			if err != nil || r.State != state || r.Waits != waits || r.Error != failed {
				t.Errorf("%+v, %v: want %s, waiting %q, error %q", r, err, state, waits, failed)
			}
		}
	}
	says(1, "splitting", "", "")
	h := made(t, c, wire.HarvestRequest{Name: "second", Kind: "snapshot", Continues: 1})
	at := catalog.At(time.Now()) - 1000
	b.must(runs.Activate, runs.Activation{Number: 2, Version: h.Version, Next: at})
	b.must(runs.BeginRun, runs.Beginning{Number: 2, Date: at})
	const ended, counted = "until all jobs of snapshot 1 have ended, which it continues",
		"until what earlier jobs brought is in the history"
	says(2, "splitting", ended, "")
	b.must(runs.EndRun, runs.Ending{Number: 1, Run: 1, Jobs: 1, Configurations: 1})
	says(1, "made", "", "")
	says(2, "splitting", ended, "")
	b.must(catalog.SubmitJob, catalog.JobRef{ID: job})
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job, Node: self})
	says(2, "splitting", ended, "")
	b.must(kept.AddStatistics, kept.JobStatistics{ID: job, Node: self, Attempt: 1, Number: 1, Last: true,
		Statistics: []kept.Statistic{{Domain: "a.org", Name: "defaultconfig", Objects: 1, Stop: "completed"}}})
	b.must(catalog.FinishJob, catalog.JobEnd{ID: job, Node: self, Attempt: 1, Statistics: 1})
	says(2, "splitting", counted, "")
	b.must(history.Keep, history.Step{Job: job})
	says(2, "splitting", "", "")
	b.must(runs.EndRun, runs.Ending{Number: 2, Run: 1, Error: "there is no template default"})
	says(2, "failed", "", "there is no template default")
}
