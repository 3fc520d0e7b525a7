package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

func (c *cluster) history() history.View { return catalog.HistoryIn(c.view()) }

// started makes a job that a node runs, of a harvest if number is not 0.
func (c *cluster) started(t *testing.T, number, run, after uint64) jobs.Job {
	t.Helper()
	_, parts, sum := divided(t, 1)
	job := opened(t, c, jobs.JobOpening{Harvest: "h", Collection: "web", Number: number, Run: run, After: after})
	c.must(t, jobs.AddPart, jobs.JobAddition{ID: job, Number: 1, Part: parts[0]})
	c.must(t, jobs.CloseJob, jobs.JobClosing{ID: job, Parts: 1, Sum: sum, Submit: true})
	return c.claimed(t, job)
}

func (c *cluster) claimed(t *testing.T, job uint64) jobs.Job {
	t.Helper()
	c.must(t, catalog.ClaimJob, catalog.JobRef{ID: job, Node: id("north-1")})
	j, err := c.view().Job(job)
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, catalog.StartJob, catalog.JobRef{ID: job, Node: j.Node, Attempt: j.Attempt})
	return j
}

// chunks cuts statistics as a node proposes them.
func chunks(j jobs.Job, all []jobs.Statistic) (out []jobs.JobStatistics) {
	for some := range slices.Chunk(all, jobs.StatisticsInChunk) {
		out = append(out, jobs.JobStatistics{ID: j.ID, Node: j.Node, Attempt: j.Attempt, Number: len(out) + 1,
			Statistics: some})
	}
	out[len(out)-1].Last = true
	return out
}

func (c *cluster) tell(t *testing.T, j jobs.Job, all ...jobs.Statistic) int {
	t.Helper()
	out := chunks(j, all)
	for _, b := range out {
		c.must(t, jobs.AddStatistics, b)
	}
	return len(out)
}

func (c *cluster) end(t *testing.T, j jobs.Job, chunks int, failed bool) {
	t.Helper()
	c.must(t, catalog.FinishJob, catalog.JobEnd{ID: j.ID, Node: j.Node, Attempt: j.Attempt, Failed: failed,
		Statistics: chunks})
}

// ended runs a job that brings the statistics, and keeps them.
func (c *cluster) ended(t *testing.T, number, run, after uint64, all ...jobs.Statistic) jobs.Job {
	t.Helper()
	j := c.started(t, number, run, after)
	c.end(t, j, c.tell(t, j, all...), false)
	c.keepAll(t)
	return j
}

// keepAll brings what has ended into the history, as a leader does, each step twice.
func (c *cluster) keepAll(t *testing.T) {
	t.Helper()
	for {
		due, err := c.view().Uncounted(1)
		if err != nil {
			t.Fatal(err)
		}
		if len(due) == 0 {
			break
		}
		step := history.Step{Job: due[0].Job, After: due[0].After}
		c.must(t, history.Keep, step)
		if res := c.apply(t, history.Keep, step); res.Refusal == nil {
			t.Errorf("%+v is carried out twice", step)
		}
	}
	if some, err := c.history().PendingHistory(); some || err != nil {
		t.Errorf("pending: %t, %v", some, err)
	}
}

func stat(name string, objects, bytes int64, stop string) jobs.Statistic {
	of := configurations(name)[0]
	return jobs.Statistic{Domain: string(of.Domain), Name: of.Name, Objects: objects, Bytes: bytes, Stop: stop}
}

// lines are statistics of as many domains, with a sum of others at the end.
func lines(n int, of int64) (all []jobs.Statistic) {
	for i := range n {
		all = append(all, stat(fmt.Sprintf("d%06d.org", i), of, 1000*of, "completed"))
	}
	return append(all, jobs.Statistic{Objects: 7, Bytes: 8})
}

// TestStatisticsCountFromTheEndOn, all of the attempt that ended, and none of any other.
func TestStatisticsCountFromTheEndOn(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, catalog.Level)
	lost := c.started(t, 0, 0, 0)
	first := chunks(lost, lines(700, 1))
	c.must(t, jobs.AddStatistics, first[0])
	c.must(t, jobs.AddStatistics, first[1])
	c.must(t, catalog.LoseJob, catalog.JobEnd{ID: lost.ID, Node: lost.Node, Attempt: lost.Attempt, Reason: "gone"})
	refusedAs(t, c.apply(t, jobs.AddStatistics, first[2]), catalog.Conflict, "statistics of a lost attempt")
	refusedAs(t, c.apply(t, jobs.DropStatistics, jobs.JobRef{ID: lost.ID, Attempt: -1}), catalog.Invalid, "attempt -1")

	j := c.claimed(t, lost.ID)
	second := chunks(j, lines(601, 2))
	refusedAs(t, c.apply(t, jobs.AddStatistics, second[1]), catalog.Conflict, "the second chunk before the first")
	c.must(t, jobs.AddStatistics, second[0])
	end := catalog.JobEnd{ID: j.ID, Node: j.Node, Attempt: j.Attempt, Statistics: 3}
	refusedAs(t, c.apply(t, catalog.FinishJob, end), catalog.Conflict, "an end before all statistics are there")
	c.must(t, jobs.AddStatistics, second[1])
	c.must(t, jobs.AddStatistics, second[2])
	refusedAs(t, c.apply(t, jobs.AddStatistics, jobs.JobStatistics{ID: j.ID, Node: j.Node, Attempt: j.Attempt,
		Number: 4, Last: true, Statistics: lines(0, 0)}), catalog.Conflict, "what follows the last")
	if some, err := c.history().PendingHistory(); some || err != nil {
		t.Errorf("it counts before the end: %t, %v", some, err)
	}
	if got, err := c.history().OfJob(j.ID, 0, 10); err != nil || len(got) != 0 {
		t.Errorf("statistics of a job that has not ended: %v, %v", got, err)
	}
	before := c.index
	c.must(t, catalog.FinishJob, end)
	c.must(t, catalog.FinishJob, end) // again
	if got, err := c.history().OfJob(j.ID, 0, 1000); err != nil || !reflect.DeepEqual(got, lines(601, 2)) {
		t.Errorf("%d statistics, %v, by command %d", len(got), err, before)
	}
	if got, err := c.history().OfJob(j.ID, 299, 3); err != nil || !reflect.DeepEqual(got, lines(601, 2)[299:302]) {
		t.Errorf("a page over two chunks: %v, %v", got, err)
	}
	if got, err := c.history().OfJob(j.ID, 1000, 3); err != nil || len(got) > 0 {
		t.Errorf("a page behind the end: %v, %v", got, err)
	}
	c.keepAll(t)
	due, err := c.view().LostStatistics(10)
	if err != nil || !slices.Equal(due, []jobs.JobRef{{ID: j.ID, Attempt: lost.Attempt}}) {
		t.Errorf("to be removed: %v, %v", due, err)
	}
	for range 2 {
		c.must(t, jobs.DropStatistics, due[0])
	}
	if n := c.starting("jobstat/"); n != 3 {
		t.Errorf("%d chunks are left", n)
	}
	if got, err := c.history().OfDomain("d000600.org", "", 10); err != nil || len(got) != 1 || got[0].Objects != 2 ||
		got[0].Job != j.ID || got[0].Received == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestChunksThatComeAgain: after a restart, a node tells the statistics from the beginning, and they may be others.
func TestChunksThatComeAgain(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, catalog.Level)
	j := c.started(t, 0, 0, 0)
	for _, all := range [][]jobs.Statistic{lines(1000, 1), lines(1000, 1), lines(700, 1), lines(899, 2), lines(899, 2)} {
		c.tell(t, j, all...)
	}
	whole := lines(899, 2)[:600]
	c.tell(t, j, whole...) // the same, but no more
	c.end(t, j, 2, false)
	if got, err := c.history().OfJob(j.ID, 0, 5000); err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("%d statistics, %v", len(got), err)
	}
	if n := c.starting("jobstat/"); n != 2 {
		t.Errorf("%d chunks are left", n)
	}
	refusedAs(t, c.apply(t, jobs.AddStatistics, chunks(j, whole)[0]), catalog.Conflict, "after the end")

	none := c.started(t, 0, 0, 0)
	c.tell(t, none, lines(1, 1)...)
	c.end(t, none, 0, true)
	if due, err := c.view().LostStatistics(10); err != nil || len(due) != 1 {
		t.Errorf("statistics that the end did not count stay: %v, %v", due, err)
	}
}

// TestStatisticsThatAreRefused, each for one reason.
func TestStatisticsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, catalog.Level)
	j := c.started(t, 0, 0, 0)
	for name, x := range map[string]jobs.Statistic{
		"no domain":            {Name: "n"},
		"a slash":              {Domain: "a.org/b", Name: "n"},
		"capitals":             {Domain: "A.org", Name: "n"},
		"no name":              {Domain: "a.org"},
		"a name with a slash":  {Domain: "a.org", Name: "a/b"},
		"objects below 0":      stat("a.org", -1, 0, "completed"),
		"bytes below 0":        stat("a.org", 0, -1, "completed"),
		"a stop without end":   stat("a.org", 1, 1, string(make([]byte, 65))),
		"a limit of objects":   {Domain: "a.org", Name: "n", MaxObjects: new(int64(-1))},
		"a limit of bytes":     {Domain: "a.org", Name: "n", MaxBytes: new(int64(-1))},
		"a domain of one dash": {Domain: "\x00", Name: "n"},
	} {
		b := chunks(j, []jobs.Statistic{x})[0]
		refusedAs(t, c.apply(t, jobs.AddStatistics, b), catalog.Invalid, name)
	}
	short := chunks(j, lines(10, 1))[0]
	short.Last = false
	refusedAs(t, c.apply(t, jobs.AddStatistics, short), catalog.Invalid, "a short chunk that is not the last")
	short.Last, short.Number = true, 0
	refusedAs(t, c.apply(t, jobs.AddStatistics, short), catalog.Invalid, "chunk 0")
	short.Number, short.Attempt = 1, 2
	refusedAs(t, c.apply(t, jobs.AddStatistics, short), catalog.Conflict, "another attempt")
	refusedAs(t, c.apply(t, history.Keep, history.Step{Job: j.ID}), catalog.NotFound, "of a job that has not ended")
	old := aloneAt(t, 3)
	for _, kind := range []catalog.Kind{jobs.AddStatistics, jobs.DropStatistics, history.Keep} {
		refusedAs(t, old.apply(t, kind, struct{}{}), catalog.Unsupported, string(kind)+" at level 3")
	}
	old.must(t, catalog.CreateJob, creation(nil))
	res := old.apply(t, catalog.FinishJob, catalog.JobEnd{ID: 1, Statistics: 1})
	if res.Refusal == nil || res.Refusal.Message != `body: json: unknown field "statistics"` {
		t.Errorf("at level 3: %+v", res.Refusal)
	}
}

// TestTheBestHistory is the same in whatever order harvests are compared, and by the rules of the issue.
func TestTheBestHistory(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for name, tt := range map[string]struct {
		all  []jobs.Statistic
		want int // index of the best
	}{
		"one":                    {[]jobs.Statistic{stat("a.org", 5, 50, "unfinished")}, 0},
		"the latest completed":   {[]jobs.Statistic{stat("a.org", 9, 1, "completed"), stat("a.org", 5, 1, "completed")}, 1},
		"completed, though less": {[]jobs.Statistic{stat("a.org", 5, 1, "completed"), stat("a.org", 9, 1, "size-limit")}, 0},
		"most objects":           {[]jobs.Statistic{stat("a.org", 9, 1, "time-limit"), stat("a.org", 5, 1, "unfinished")}, 0},
		"the later of equals":    {[]jobs.Statistic{stat("a.org", 5, 9, "unfinished"), stat("a.org", 5, 1, "unfinished")}, 1},
	} {
		for range 4 {
			c := aloneAt(t, catalog.Level)
			made := make([]jobs.Job, len(tt.all))
			for i, x := range tt.all {
				made[i] = c.started(t, 0, 0, 0)
				c.end(t, made[i], c.tell(t, made[i], x), false)
				c.now += 1000
			}
			for _, i := range random.Perm(len(made)) {
				c.must(t, history.Keep, history.Step{Job: made[i].ID})
			}
			best, err := c.history().Best("a.org", "defaultconfig")
			if x := tt.all[tt.want]; err != nil || best.Job != made[tt.want].ID || best.Objects != x.Objects ||
				best.Bytes != x.Bytes || best.Completed != (x.Stop == "completed") || best.At == 0 {
				t.Errorf("%s: %+v, %v", name, best, err)
			}
			if none, err := c.history().Best("a.org", "other"); err != nil || none != (history.Best{}) {
				t.Errorf("%s: another configuration: %+v, %v", name, none, err)
			}
			all, err := c.history().OfDomain("a.org", "", 100)
			if err != nil || len(all) != len(made) || all[0].Job != made[len(made)-1].ID {
				t.Errorf("%s: the newest is not first: %+v, %v", name, all, err)
			}
		}
	}
}

// TestHowAConfigurationFaredInASnapshot: of the job that took over from a failed one, and with the limits of then.
func TestHowAConfigurationFaredInASnapshot(t *testing.T) {
	t.Parallel()
	c := harvesting(t)
	number := c.defined(t, runs.Snapshot, "all")
	daily := c.defined(t, runs.Selective, "daily")
	limit := int64(5)
	x := stat("a.org", 5, 50, "config-object-limit")
	x.MaxObjects = &limit
	failed := c.started(t, number, 1, 0)
	c.end(t, failed, c.tell(t, failed, stat("a.org", 1, 1, "unfinished")), true)
	c.now += 1000
	c.must(t, catalog.ResubmitJob, catalog.JobRef{ID: failed.ID})
	next := c.claimed(t, failed.ID+1)
	c.end(t, next, c.tell(t, next, x), false)
	c.must(t, history.Keep, history.Step{Job: next.ID})
	c.must(t, history.Keep, history.Step{Job: failed.ID}) // late
	c.ended(t, daily, 1, 0, stat("b.org", 1, 1, "completed"))
	got, err := c.history().Earlier(number, "a.org", "defaultconfig")
	if err != nil || got.Job != next.ID || got.Stop != x.Stop || got.MaxObjects == nil || *got.MaxObjects != limit ||
		got.MaxBytes != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if none, err := c.history().Earlier(daily, "b.org", "defaultconfig"); err != nil || none != (history.Earlier{}) {
		t.Errorf("of a selective harvest: %+v, %v", none, err)
	}
	gotten, err := c.history().OfDomain("a.org", "", 1)
	if err != nil || len(gotten) != 1 || gotten[0].Job != next.ID || gotten[0].Harvest != number || gotten[0].Run != 1 {
		t.Fatalf("%+v, %v", gotten, err)
	}
	gotten, err = c.history().OfDomain("a.org", gotten[0].Cursor, 10)
	if err != nil || len(gotten) != 1 || gotten[0].Job != failed.ID {
		t.Errorf("the next page: %+v, %v", gotten, err)
	}
}

// TestWhatDidNotEnterTheArchiveWasNotCompleted, whatever the crawl says of it.
func TestWhatDidNotEnterTheArchiveWasNotCompleted(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]struct{ upload, reject bool }{"upload": {upload: true}, "rejected": {reject: true},
		"a failed crawl": {}} {
		c := harvesting(t)
		number := c.defined(t, runs.Snapshot, "all")
		job := c.started(t, number, 1, 0)
		end := jobs.JobEnd{ID: job.ID, Node: job.Node, Attempt: job.Attempt, Failed: true,
			Statistics: c.tell(t, job, stat("a.org", 9, 90, "completed"))}
		if spoil.upload {
			end.UploadError = &jobs.Fault{Short: "no room"}
		}
		c.must(t, catalog.FinishJob, end)
		if spoil.reject {
			c.must(t, catalog.RejectJob, jobs.JobRef{ID: job.ID})
		}
		c.must(t, history.Keep, history.Step{Job: job.ID})
		best, err := c.history().Best("a.org", "defaultconfig")
		earlier, other := c.history().Earlier(number, "a.org", "defaultconfig")
		stored := !spoil.upload && !spoil.reject
		if err != nil || other != nil || best.Completed != stored || (earlier.Stop == "completed") != stored {
			t.Errorf("%s: %+v, %+v, %v, %v", name, best, earlier, err, other)
		}
	}
}

// TestTheHistoryOfADomainReadsItsOwnKeys: among many other domains' lines, a page of a domain's history costs as many
// keys as it has lines, a few for each.
func TestTheHistoryOfADomainReadsItsOwnKeys(t *testing.T) {
	t.Parallel()
	c := aloneAt(t, catalog.Level)
	for range 5 {
		c.ended(t, 0, 0, 0, lines(10, 3)...)
	}
	for n := range 50_000 {
		c.put(fmt.Sprintf("historyof/z%06d.org/%016x/%016x/00000000", n, 1, 1), "\x01")
	}
	in := &counting{Reader: c}
	got, err := history.NewView(in).OfDomain("d000004.org", "", 3)
	if err != nil || len(got) != 3 || in.keys > 15 {
		t.Errorf("%d lines, %v, after %d keys", len(got), err, in.keys)
	}
}
