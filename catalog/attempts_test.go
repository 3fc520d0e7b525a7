package catalog_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/catalog"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
)

// attempt names one attempt of a job.
type attempt struct {
	job    uint64
	number int
}

func (a attempt) tail() string { return fmt.Sprintf("%016x/%08x", a.job, a.number) }

// attempts plays nodes that run jobs, lose them, come back and tell statistics late, and a leader that tidies up. It
// knows what each attempt has told, and which of them ended by saying so.
type attempts struct {
	*cluster
	jobs    []uint64
	told    map[attempt][][]jobs.Statistic
	counted map[attempt]bool
	version int64 // of statistics, so that no two are the same
}

func (a *attempts) job(t *rapid.T) jobs.Job {
	j, err := a.view().Job(rapid.SampledFrom(a.jobs).Draw(t, "job"))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// ref names an attempt of the job, mostly the present one, at the node that has it or another one.
func (a *attempts) ref(t *rapid.T) (jobs.Job, catalog.JobRef) {
	j := a.job(t)
	r := catalog.JobRef{ID: j.ID, Node: j.Node, Attempt: j.Attempt}
	if rapid.IntRange(0, 3).Draw(t, "late") == 0 {
		r.Attempt = rapid.IntRange(0, j.Attempt+1).Draw(t, "attempt")
		r.Node = id(rapid.SampledFrom([]string{"north-1", "north-2"}).Draw(t, "node"))
	}
	return j, r
}

// busy reports whether the attempt is the present one of a job that has not ended.
func (a *attempts) busy(t *rapid.T, of attempt) bool {
	j, err := a.view().Job(of.job)
	if err != nil {
		t.Fatal(err)
	}
	return j.Attempt == of.number && j.Node != "" && (j.State == catalog.JobSubmitted || j.State == catalog.JobStarted)
}

func (a *attempts) Create(t *rapid.T) {
	var j jobs.Job
	asked := creation(nil)
	asked.Channel = jobs.Focused
	if err := json.Unmarshal(a.must(t, catalog.CreateJob, asked).Value, &j); err != nil {
		t.Fatal(err)
	}
	a.jobs = append(a.jobs, j.ID)
}

func (a *attempts) Claim(t *rapid.T) {
	node := id(rapid.SampledFrom([]string{"north-1", "north-2"}).Draw(t, "node"))
	a.apply(t, catalog.ClaimJob, catalog.JobRef{ID: a.job(t).ID, Node: node})
}

// Tell tells a chunk of an attempt.
func (a *attempts) Tell(t *rapid.T) {
	_, r := a.ref(t)
	of := attempt{r.ID, r.Attempt}
	n := rapid.IntRange(1, len(a.told[of])+2).Draw(t, "chunk")
	last := rapid.Bool().Draw(t, "last")
	a.version++
	some := make([]jobs.Statistic, jobs.StatisticsInChunk)
	for i := range some {
		some[i] = stat(fmt.Sprintf("d%d-%d.org", n, i), a.version, int64(r.ID), "completed")
	}
	if last {
		some = some[:2]
	}
	busy := a.busy(t, of)
	res := a.apply(t, jobs.AddStatistics, jobs.JobStatistics{ID: r.ID, Node: r.Node, Attempt: r.Attempt, Number: n,
		Statistics: some, Last: last})
	if res.Refusal != nil {
		return
	}
	if !busy {
		t.Fatalf("attempt %d of job %d, which does not run, told statistics", r.Attempt, r.ID)
	}
	a.told[of] = append(slices.Clip(a.told[of][:n-1]), some)
}

func (a *attempts) End(t *rapid.T) {
	_, r := a.ref(t)
	of := attempt{r.ID, r.Attempt}
	end := catalog.JobEnd{ID: r.ID, Node: r.Node, Attempt: r.Attempt, Failed: rapid.Bool().Draw(t, "failed"),
		Statistics: rapid.SampledFrom([]int{0, 1, len(a.told[of])}).Draw(t, "chunks")}
	busy := a.busy(t, of)
	if res := a.apply(t, catalog.FinishJob, end); res.Refusal == nil && busy {
		a.counted[of] = end.Statistics > 0
	}
}

func (a *attempts) Lose(t *rapid.T) {
	_, r := a.ref(t)
	a.apply(t, catalog.LoseJob, catalog.JobEnd{ID: r.ID, Node: r.Node, Attempt: r.Attempt, Reason: "gone"})
}

func (a *attempts) Stop(t *rapid.T) {
	a.apply(t, catalog.WishJob, catalog.JobWishing{ID: a.job(t).ID, Wish: catalog.WishStop, Reason: "enough"})
}

func (a *attempts) Resubmit(t *rapid.T) {
	var j jobs.Job
	res := a.apply(t, catalog.ResubmitJob, catalog.JobRef{ID: a.job(t).ID})
	if res.Refusal != nil {
		return
	}
	if err := json.Unmarshal(res.Value, &j); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(a.jobs, j.ID) {
		a.jobs = append(a.jobs, j.ID)
	}
}

func (a *attempts) Reject(t *rapid.T) { a.apply(t, catalog.RejectJob, catalog.JobRef{ID: a.job(t).ID}) }

// Keep brings a chunk into the history, as the leader does.
func (a *attempts) Keep(t *rapid.T) {
	due, err := a.view().Uncounted(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range due {
		a.must(t, history.Keep, history.Step{Job: c.Job, After: c.After})
	}
}

// Drop removes what is lost, as the leader does.
func (a *attempts) Drop(t *rapid.T) {
	due, err := a.view().LostStatistics(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range due {
		a.must(t, jobs.DropStatistics, ref)
	}
}

// DropAny asks for the removal of any attempt's, which a leader does not do: only what is lost goes.
func (a *attempts) DropAny(t *rapid.T) {
	_, r := a.ref(t)
	a.apply(t, jobs.DropStatistics, catalog.JobRef{ID: r.ID, Attempt: r.Attempt})
}

// Check: what an attempt has told is there while it runs, and for good if it ended so; else it is to be removed.
func (a *attempts) Check(t *rapid.T) {
	kept := map[string]int{}
	for key := range a.All() {
		if tail, of := strings.CutPrefix(key, "jobstat/"); of {
			kept[tail[:len(tail)-9]]++
		}
	}
	lost, err := a.view().LostStatistics(1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range slices.Collect(maps.Keys(a.told)) {
		due := slices.Contains(lost, catalog.JobRef{ID: of.job, Attempt: of.number})
		n, told := kept[of.tail()], len(a.told[of])
		switch lives := a.counted[of] || a.busy(t, of); {
		case lives && (n != told || due):
			t.Fatalf("attempt %d of job %d told %d chunks: %d are there, to be removed: %t", of.number, of.job, told, n, due)
		case !lives && n > 0 && !due:
			t.Fatalf("%d chunks of attempt %d of job %d stay for ever", n, of.number, of.job)
		}
	}
	for _, job := range a.jobs {
		j, err := a.view().Job(job)
		if err != nil {
			t.Fatal(err)
		}
		var want []jobs.Statistic
		if of := (attempt{job, j.Attempt}); a.counted[of] {
			want = slices.Concat(a.told[of]...)
		}
		if got, err := a.history().OfJob(job, 0, 10_000); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("job %d, %s, has %d statistics, want %d: %v", job, j.State, len(got), len(want), err)
		}
	}
}

// settle does what the leader owes, and looks at what is left.
func (a *attempts) settle(t *rapid.T) {
	for a.starting("jobuncounted/")+a.starting("joblost/") > 0 {
		a.Keep(t)
		a.Drop(t)
	}
	a.Check(t)
	attempts, chunks, lines := 0, 0, 0
	for of, told := range a.told {
		if a.counted[of] || a.busy(t, of) {
			attempts, chunks = attempts+1, chunks+len(told)
		}
		if a.counted[of] {
			lines += len(slices.Concat(told...))
		}
	}
	for prefix, want := range map[string]int{"jobstat/": chunks, "jobtally/": attempts, "historyof/": lines} {
		if n := a.starting(prefix); n != want {
			t.Fatalf("%d keys under %s are left, want %d", n, prefix, want)
		}
	}
	for of, told := range a.told {
		if !a.counted[of] {
			continue
		}
		for _, x := range told[0][:1] {
			all, err := a.history().OfDomain(x.Domain, "", 1000)
			if err != nil || !slices.ContainsFunc(all, func(l history.Line) bool { return l.Statistic == x }) {
				t.Fatalf("the history of %s lacks job %d: %v", x.Domain, of.job, err)
			}
		}
	}
}

// TestAttemptsOfJobsThatHaveEnded plays lost attempts, late ones, stops, rejected and resubmitted jobs: what an attempt
// told counts if it ended the job so, and is else removed, all of it.
func TestAttemptsOfJobsThatHaveEnded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := &attempts{cluster: emptyCluster(t), told: map[attempt][][]jobs.Statistic{},
			counted: map[attempt]bool{}}
		a.join(t, "north-2")
		a.raiseTo(t, catalog.Level)
		a.Create(t)
		t.Repeat(map[string]func(*rapid.T){"create": a.Create, "claim": a.Claim, "claim again": a.Claim, "tell": a.Tell,
			"tell more": a.Tell, "end": a.End, "lose": a.Lose, "stop": a.Stop, "resubmit": a.Resubmit,
			"reject": a.Reject, "keep": a.Keep, "drop": a.Drop, "drop any": a.DropAny, "": a.Check})
		a.settle(t)
	})
}
