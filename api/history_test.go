package api

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/history"
	agreed "holdfast/catalog/jobs"
	"holdfast/harvest"
)

// collect reads a list to its end.
func collect[T any](t *testing.T, all iter.Seq2[T, error]) (out []T) {
	t.Helper()
	for one, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

// TestHistoryOfADomainAndStatisticsOfAJob: 150 jobs harvest a domain, and the last of them many others.
func TestHistoryOfADomainAndStatisticsOfAJob(t *testing.T) {
	t.Parallel()
	b, all, c := keeperAnd(t, "a.org", "b.org")
	limit := int64(7)
	node := self
	var last uint64
	for i := range 150 {
		created := b.must(catalog.CreateJob, catalog.JobCreation{Harvest: "daily", Collection: "web", Submit: true,
			Spec: []byte("{}")})
		var job catalog.Job
		if err := json.Unmarshal(created.Value, &job); err != nil {
			t.Fatal(err)
		}
		last = job.ID
		b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: node})
		told := agreed.JobStatistics{ID: job.ID, Node: node, Attempt: 1, Number: 1, Last: true,
			Statistics: []agreed.Statistic{{Domain: "a.org", Name: "x", Objects: int64(i), Bytes: 10,
				Stop: "config-object-limit", MaxObjects: &limit}}}
		chunks := 1
		if i == 149 {
			for n := 1; n < agreed.StatisticsInChunk; n++ {
				told.Statistics = append(told.Statistics, agreed.Statistic{Domain: fmt.Sprintf("d%d.org", n), Name: "x"})
			}
			told.Last = false
			b.must(agreed.AddStatistics, told)
			told.Number, told.Last, told.Statistics = 2, true, []agreed.Statistic{{Objects: 3, Bytes: 4}}
			chunks = 2
		}
		b.must(agreed.AddStatistics, told)
		b.must(catalog.FinishJob, catalog.JobEnd{ID: job.ID, Node: node, Attempt: 1, Statistics: chunks})
		for after := range chunks {
			b.must(history.Keep, history.Step{Job: job.ID, After: after})
		}
	}
	lines := collect(t, c.History(t.Context(), "A.org."))
	newest := func(a, b wire.DomainHistory) int { return int(b.Job) - int(a.Job) }
	if len(lines) != 150 || !slices.IsSortedFunc(lines, newest) {
		t.Fatalf("%d lines, not the newest first", len(lines))
	}
	if l := lines[1]; l.Job != last-1 || l.Harvest != "daily" || l.Configuration != "x" || l.Objects != 148 ||
		l.Bytes != 10 || l.Stop != "config-object-limit" || l.MaxObjects != harvest.AtMost(7) || !l.MaxBytes.IsZero() ||
		l.Received.IsZero() || l.HarvestID != 0 {
		t.Errorf("%+v", l)
	}
	if lines := collect(t, c.History(t.Context(), "b.org")); len(lines) != 0 {
		t.Errorf("a domain that was never harvested: %+v", lines)
	}
	statistics := collect(t, all.Jobs().Statistics(t.Context(), last))
	if n := len(statistics); n != agreed.StatisticsInChunk+1 || statistics[n-1].Domain != "" ||
		statistics[n-1].Bytes != 4 || statistics[299].Domain != "d299.org" {
		t.Errorf("%d statistics: %+v", n, statistics[n-1])
	}
	if statistics[0].Best != nil || statistics[299].Best != nil {
		t.Errorf("its own harvests are the best: %+v", statistics[0].Best)
	}
	earlier := collect(t, all.Jobs().Statistics(t.Context(), last-1))
	if b := earlier[0].Best; b == nil || b.Job != last || b.Objects != 149 || b.Bytes != 10 || b.Completed || b.Received.IsZero() {
		t.Errorf("the best harvest beside the one before: %+v", b)
	}
	for _, err := range all.Jobs().Statistics(t.Context(), 9999) {
		if err == nil {
			t.Error("statistics of a job that does not exist")
		}
	}
}
