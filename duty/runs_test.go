package duty_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/duty"
)

// runner lets a harvest of a.org run.
type runner struct {
	*script
	node catalog.NodeID
	job  uint64
	each catalog.Time // between two runs
}

func newRunner(t *testing.T) runner {
	s := newScript(t)
	s.level = catalog.Level
	s.replica("north", nil)
	s.apply(catalog.RaiseLevel, catalog.LevelChange{Level: catalog.Level})
	s.apply(domains.Create, domains.Creation{Name: "a.org", Collection: "web"})
	s.apply(runs.Create, runs.Creation{Kind: runs.Selective, Collection: "web", Asked: runs.Asked{Name: "News", Schedule: "daily"}})
	s.apply(runs.AddConfigurations, runs.Listing{Number: 1, Configurations: []runs.Configuration{{Domain: "a.org", Name: "defaultconfig"}}})
	s.apply(runs.Activate, runs.Activation{Number: 1, Version: 2, Next: catalog.At(time.Unix(1000, 0))})
	members, err := s.view().Members()
	s.check(err)
	return runner{s, members[0].ID, 0, catalog.Day}
}

// run lets the next run bring objects of 10 bytes; what is kept says whether its statistics enter the history.
func (r *runner) run(objects int64, stop string, kept bool) {
	h, err := catalog.RunsIn(r.view()).Harvest(1)
	r.check(err)
	r.now = h.Next.Std()
	r.apply(runs.BeginRun, runs.Beginning{Number: 1, Date: h.Next, Next: h.Next + r.each})
	r.job++
	r.apply(jobs.MakeJob, jobs.JobMaking{Opening: jobs.JobOpening{Harvest: "News", Collection: "web", Number: 1, Run: h.Runs + 1},
		Parts: []jobs.Part{{Kind: jobs.PartJob, Text: `{}`}}})
	r.apply(runs.EndRun, runs.Ending{Number: 1, Run: h.Runs + 1, Jobs: 1, Configurations: 1})
	r.apply(catalog.SubmitJob, catalog.JobRef{ID: r.job})
	r.apply(catalog.ClaimJob, catalog.JobRef{ID: r.job, Node: r.node})
	r.apply(jobs.AddStatistics, jobs.JobStatistics{ID: r.job, Node: r.node, Attempt: 1, Number: 1, Last: true,
		Statistics: []jobs.Statistic{{Domain: "a.org", Name: "defaultconfig", Objects: objects, Bytes: 10 * objects, Stop: stop}}})
	r.apply(catalog.FinishJob, catalog.JobEnd{ID: r.job, Node: r.node, Attempt: 1, Statistics: 1})
	if kept {
		r.apply(history.Keep, history.Step{Job: r.job})
	}
}

// told lists the alerts about run n a while after the last command.
func (r *runner) told(n int, after time.Duration) (out []string) {
	sum, _, err := catalog.HistoryIn(r.view()).Sum(1, r.job)
	r.check(err)
	all, err := duty.RunsUnusual(r.view(), sum.At.Std().Add(after))
	r.check(err)
	for _, a := range all {
		if a.Subject == fmt.Sprintf("1/%d", n) {
			out = append(out, string(a.Kind)+" "+a.Parameters["objects"]+" "+a.Parameters["usual-objects"]+
				a.Parameters["configurations"])
		}
	}
	return out
}

// TestRunsThatDiffer are told for a day: once there is something to compare them with, and once all of them is there.
func TestRunsThatDiffer(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for n, tt := range []struct {
		objects int64
		stop    string
		want    []string
	}{
		{100, "completed", nil}, {1000, "completed", nil}, {110, "completed", nil}, // nothing to compare with
		{500, "completed", []string{"run-unusual 500 110"}},
		{55, "completed", []string{"run-unusual 55 305"}},
		{120, "completed", nil},
		{110, "config-object-limit", []string{"run-limited  1"}},
		{0, "completed", []string{"run-silent  1", "run-unusual 0 110"}},
	} {
		r.run(tt.objects, tt.stop, true)
		if got := r.told(n+1, time.Minute); !slices.Equal(got, tt.want) {
			t.Errorf("run %d, %d objects: %q, want %q", n+1, tt.objects, got, tt.want)
		}
	}
	if got := r.told(8, 25*time.Hour); len(got) > 0 {
		t.Errorf("after a day: %v", got)
	}
	r.run(1, "completed", false)
	if all, err := duty.RunsUnusual(r.view(), r.now); err != nil || slices.ContainsFunc(all, func(a alert.Alert) bool { return a.Subject == "1/9" }) {
		t.Errorf("before what it brought is known: %v, %v", all, err)
	}
}

// TestRunsThatAreNotListedAreCounted: nobody is to believe that all others are as usual.
func TestRunsThatAreNotListedAreCounted(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.each = 1000
	r.run(5, "completed", true)
	listed := func() (n int, more string) {
		all, err := duty.RunsUnusual(r.view(), r.now)
		r.check(err)
		for _, a := range all {
			if a.Kind == alert.MoreRunsUnusual {
				more = a.Parameters["runs"]
			} else {
				n++
			}
		}
		return n, more
	}
	for range 23 { // each meets a limit where the first one was completed
		r.run(5, "config-object-limit", true)
	}
	if n, more := listed(); n != 20 || more != "3" {
		t.Errorf("%d are listed, %q more", n, more)
	}
}

// TestAliasesThatLapse are told for two weeks before they do, and not after.
func TestAliasesThatLapse(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	day := 24 * time.Hour
	for name, in := range map[domains.Name]time.Duration{"b.org": 10 * day, "c.org": 12 * day, "d.org": 40 * day} {
		r.apply(domains.Create, domains.Creation{Name: name, Collection: "web"})
		r.apply(domains.SetAlias, domains.Aliasing{Name: name, Of: "a.org", Until: catalog.At(r.now.Add(in))})
	}
	for after, want := range map[time.Duration][2]string{-5 * day: {}, 0: {"2", "b.org"}, 11 * day: {"1", "c.org"}, 13 * day: {}, 30 * day: {"1", "d.org"}, 41 * day: {}} {
		all, err := duty.AliasesLapsing(r.view(), r.now.Add(after))
		r.check(err)
		var got [2]string
		if len(all) > 0 {
			got = [2]string{all[0].Parameters["aliases"], all[0].Parameters["alias"]}
		}
		if got != want || len(all) > 1 {
			t.Errorf("after %v: %v, want %v", after, got, want)
		}
	}
}
