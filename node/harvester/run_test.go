package harvester

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/harvests"
	"holdfast/catalog/runs"
)

// leads runs a harvester in a bubble until the test ends.
func (a *alone) leads(t *testing.T, h *Harvester) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != context.Canceled {
			t.Errorf("the harvester ended with %v", err)
		}
	})
}

// TestHarvestsRunWhenTheyAreDue has an hourly harvest run for a day, with hours in which nobody leads.
func TestHarvestsRunWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(t)
		a.domain("a.org")
		number := a.define(runs.Selective, runs.Asked{Name: "hourly"}, "a.org/defaultconfig")
		first := time.Now().Truncate(time.Minute).Add(time.Hour)
		a.activate(number, first)
		a.leads(t, a.harvester())
		time.Sleep(time.Until(first) - time.Second)
		if h := a.harvest(number); h.Runs != 0 {
			t.Fatalf("it ran before its date: %+v", h)
		}
		time.Sleep(3 * time.Second)
		if h := a.harvest(number); h.Runs != 1 || h.Next != catalog.At(first.Add(time.Hour)) {
			t.Fatalf("after the first date: %+v", h)
		}
		a.once(number, 1, []string{"a.org/defaultconfig"})
		a.lead(false)
		time.Sleep(5*time.Hour + time.Minute)
		a.lead(true)
		time.Sleep(3 * time.Second)
		h := a.harvest(number)
		if h.Runs != 2 || h.Skipped != 4 || h.Next != catalog.At(first.Add(6*time.Hour)) {
			t.Errorf("after five hours without a leader: %d runs, %d skipped, next %v", h.Runs, h.Skipped, h.Next.Std())
		}
		time.Sleep(18 * time.Hour)
		if h := a.harvest(number); h.Runs != 20 || h.Skipped != 4 {
			t.Errorf("after a day: %d runs, %d skipped", h.Runs, h.Skipped)
		}
		jobs := see(a, func(v catalog.View) ([]catalog.Job, error) { return v.Jobs(catalog.JobSubmitted, 0, 0) })
		if len(jobs) != 20 {
			t.Errorf("%d jobs are submitted", len(jobs))
		}
	})
}

// TestManyHarvestsAtOnce has harvests become due at the same time. What a leader reads for each does not grow with their
// number.
func TestManyHarvestsAtOnce(t *testing.T) {
	t.Parallel()
	reads := func(t *testing.T, n int) (each int) {
		synctest.Test(t, func(t *testing.T) {
			a := newAlone(t)
			a.domain("a.org")
			first := time.Now().Truncate(time.Minute).Add(time.Hour)
			for i := range n {
				a.activate(a.define(runs.Selective, runs.Asked{Name: fmt.Sprint("harvest ", i)}, "a.org/defaultconfig"), first)
			}
			before := a.reads()
			a.leads(t, a.harvester())
			time.Sleep(time.Until(first) + 20*time.Second)
			each = (a.reads() - before) / n
			for number := range uint64(n) {
				a.once(number+1, 1, []string{"a.org/defaultconfig"})
			}
		})
		return each
	}
	if few, many := reads(t, 20), reads(t, 200); many > 2*few {
		t.Errorf("of each of 20 harvests %d keys were read, of each of 200 %d", few, many)
	}
}

// TestJobsAreSubmittedAsChannelsHaveRoom submits the first jobs of a run, and others as these are taken.
func TestJobsAreSubmittedAsChannelsHaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(t)
		a.settings(`{"domain_config_subset_size":1,"max_waiting_per_channel":3}`)
		number := a.define(runs.Selective, runs.Asked{Name: "some"}, a.many(4)...)
		byHand := a.must(catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Channel: "FOCUSED",
			Spec: []byte(`{}`)})
		a.activate(number, time.Now())
		a.leads(t, a.harvester())
		waiting := func() int {
			return see(a, func(v catalog.View) (int, error) { return v.WaitingIn("FOCUSED") })
		}
		time.Sleep(lookEvery + 2*beat)
		if n, made := waiting(), len(a.made(number, 1)); n != 3 || made != 8 {
			t.Fatalf("%d of %d jobs wait", n, made)
		}
		first := see(a, func(v catalog.View) ([]catalog.Job, error) { return v.Waiting("FOCUSED", 0, 2, nil) })
		for _, j := range first {
			a.must(catalog.ClaimJob, catalog.JobRef{ID: j.ID, Node: self()})
		}
		if n := waiting(); n != 1 {
			t.Fatalf("%d jobs wait", n)
		}
		time.Sleep(lookEvery + beat)
		if n := waiting(); n != 3 {
			t.Errorf("%d jobs wait", n)
		}
		if s := string(byHand.Value); a.state4(1) != catalog.JobNew {
			t.Errorf("a job made by hand was submitted: %s", s)
		}
	})
}

func (a *alone) state4(id uint64) catalog.JobState {
	return see(a, func(v catalog.View) (catalog.Job, error) { return v.Job(id) }).State
}

// TestAHarvestWaitsForItsChannel begins no run before a node serves the channel.
func TestAHarvestWaitsForItsChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(t)
		a.must(harvests.CreateChannel, harvests.ChannelCreation{Name: "EVENTS"})
		a.domain("a.org")
		number := a.define(runs.Event, runs.Asked{Name: "some", Channel: "EVENTS"}, "a.org/defaultconfig")
		a.activate(number, time.Now())
		a.leads(t, a.harvester())
		time.Sleep(3 * time.Minute)
		if h := a.harvest(number); h.Runs != 0 || !h.Active {
			t.Fatalf("%+v", h)
		}
		h := a.harvester()
		if p := alert.Texts(h.Alerts()); len(p) != 1 || !strings.Contains(p[0], "no node that crawls serves channel EVENTS") {
			t.Errorf("problems: %q", p)
		}
		a.must(catalog.UpdateMember, catalog.MemberChange{ID: self(), Channels: &[]string{"EVENTS"}})
		time.Sleep(time.Minute + beat)
		if p := alert.Texts(h.Alerts()); len(p) != 0 || a.harvest(number).Runs != 1 {
			t.Errorf("%+v, problems %q", a.harvest(number), p)
		}
		a.once(number, 1, []string{"a.org/defaultconfig"})
	})
}

// TestAScheduleThatCannotBeRead deactivates its harvest.
func TestAScheduleThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(t)
		a.must(harvests.CreateSchedule, harvests.Creation{Name: "odd", Text: `{"unit":"fortnight"}`})
		a.domain("a.org")
		number := a.define(runs.Selective, runs.Asked{Name: "some", Schedule: "odd"}, "a.org/defaultconfig")
		a.activate(number, time.Now())
		a.leads(t, a.harvester())
		time.Sleep(lookEvery + beat)
		if h := a.harvest(number); h.Active || h.Error != "the schedule odd cannot be used" || h.Detail == "" {
			t.Errorf("%+v", h)
		}
		if p := alert.Texts(a.harvester().Alerts()); len(p) != 1 || !strings.Contains(p[0], "the schedule odd cannot be used") {
			t.Errorf("problems: %q", p)
		}
	})
}

// TestALongSplitHoldsUpNoOtherHarvest has a snapshot whose jobs take long to store, and selective harvests that are
// due meanwhile. No run is split twice at once.
func TestALongSplitHoldsUpNoOtherHarvest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(t)
		a.settings(`{"domain_config_subset_size":1}`)
		all := a.many(30)
		big := a.define(runs.Snapshot, runs.Asked{Name: "all"})
		a.before = func(_ catalog.Kind, body any) (bool, error) {
			if a.isSnapshot(body) {
				time.Sleep(time.Minute)
			}
			return true, nil
		}
		a.activate(big, time.Now())
		a.leads(t, a.harvester())
		time.Sleep(5 * time.Minute)
		small := a.define(runs.Selective, runs.Asked{Name: "small"}, all[:3]...)
		a.activate(small, time.Now())
		time.Sleep(time.Minute + lookEvery)
		a.once(small, 1, all[:3])
		if r := a.run(big, 1); r.State != runs.Splitting {
			t.Fatalf("the snapshot is %s", r.State)
		}
		a.lead(false)
		time.Sleep(2 * time.Minute)
		a.lead(true)
		time.Sleep(40 * time.Minute)
		var want []string
		for i := range 30 {
			want = append(want, string(host(i))+"/defaultconfig")
		}
		a.once(big, 1, want)
	})
}
