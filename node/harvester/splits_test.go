package harvester

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
)

// TestASmallJobTakesOneCommand, and one with much text is made part by part.
func TestASmallJobTakesOneCommand(t *testing.T) {
	t.Parallel()
	for seeds, want := range map[int]string{
		1:    "job.make run.end",
		1800: "job.open job.part job.part job.close run.end",
	} {
		a := newAlone(t)
		a.domain("a.org")
		var list strings.Builder
		for i := range seeds {
			fmt.Fprintf(&list, "http://www.a.org/a/page/with/a/name/of/some/length/%d\n", i)
		}
		a.must(domains.SetList, listing("a.org", domains.Seeds, domains.DefaultSeedList, list.String()))
		number := a.define(runs.Selective, runs.Asked{Name: "some"}, "a.org/defaultconfig")
		a.begin(number)
		var kinds []string
		a.before = func(kind catalog.Kind, _ any) (bool, error) {
			kinds = append(kinds, string(kind))
			return true, nil
		}
		if err := a.harvester().Split(t.Context(), number, 1); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("with %d seeds: %s", seeds, got)
		}
		a.once(number, 1, []string{"a.org/defaultconfig"})
	}
}

// TestManySmallRunsAreSplitAtOnce, and few large ones: each size has its own number, so that none waits for another.
func TestManySmallRunsAreSplitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlone(t)
		var all []string
		for i := range walkPage + 1 {
			a.domain(host(i))
			all = append(all, string(host(i))+"/defaultconfig")
		}
		due := func(name string, of []string) {
			a.activate(a.define(runs.Selective, runs.Asked{Name: name}, of...), time.Now())
		}
		for i := range 6 {
			due(fmt.Sprint("large", i), all)
		}
		for i := range 40 {
			due(fmt.Sprint("small", i), all[:1])
		}
		open := make(chan struct{})
		waiting := map[bool]int{}
		a.before = func(_ catalog.Kind, body any) (bool, error) {
			name := ""
			switch b := body.(type) {
			case jobs.JobOpening:
				name = b.Harvest
			case jobs.JobMaking:
				name = b.Opening.Harvest
			default:
				return true, nil
			}
			a.mu.Lock()
			waiting[strings.HasPrefix(name, "small")]++
			a.mu.Unlock()
			<-open
			return true, nil
		}
		a.leads(t, a.harvester())
		time.Sleep(lookEvery + 2*beat)
		synctest.Wait()
		a.mu.Lock()
		if waiting[true] != 32 || waiting[false] != 4 {
			t.Errorf("%d small and %d large runs are split at once", waiting[true], waiting[false])
		}
		a.mu.Unlock()
		close(open)
		time.Sleep(lookEvery)
		synctest.Wait()
		for number := range uint64(46) {
			if r := a.run(number+1, 1); r.State != runs.Made {
				t.Errorf("run of harvest %d: %s", number+1, r.State)
			}
		}
	})
}

// TestFewRunsHaveMuchTextInHand: a run that meets a configuration with many seeds waits until another has stored its own.
func TestFewRunsHaveMuchTextInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := newTexts()
		var held []*draft
		for range cap(all) {
			d := &draft{bytes: lightBytes}
			if !d.waits() {
				t.Fatal("a draft with much text does not wait")
			}
			if err := all.take(t.Context(), d); err != nil || d.waits() {
				t.Fatal("a draft that has one of the texts waits", err)
			}
			held = append(held, d)
		}
		took := make(chan error, 1)
		go func() { took <- all.take(t.Context(), &draft{bytes: lightBytes}) }()
		synctest.Wait()
		select {
		case <-took:
			t.Error("one more is in hand")
		default:
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := all.take(ctx, &draft{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a run that is stopped: %v", err)
		}
		all.give(held[0])
		all.give(&draft{}) // has none
		if err := <-took; err != nil {
			t.Error(err)
		}
	})
}

// TestSubmittingReadsNoJobsThatWait: of a channel that is full, what is new is not read.
func TestSubmittingReadsNoJobsThatWait(t *testing.T) {
	t.Parallel()
	reads := func(n int) int {
		a := newAlone(t)
		a.settings(`{"domain_config_subset_size":1,"max_waiting_per_channel":3}`)
		var all []string
		for i := range n {
			a.domain(host(i))
			all = append(all, string(host(i))+"/defaultconfig")
		}
		number := a.define(runs.Selective, runs.Asked{Name: "some"}, all...)
		a.begin(number)
		h := a.harvester()
		if err := h.Split(t.Context(), number, 1); err != nil {
			t.Fatal(err)
		}
		l := h.lead(t.Context())
		defer l.end()
		for range 2 {
			if err := l.submit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		waits := see(a, func(v catalog.View) ([]catalog.Job, error) { return v.Waiting("FOCUSED", 0, 0, nil) })
		if !slices.IsSortedFunc(waits, func(x, y catalog.Job) int { return int(x.ID) - int(y.ID) }) || len(waits) != 3 || waits[2].ID != 3 {
			t.Fatalf("%d jobs wait", len(waits))
		}
		before := a.reads()
		if err := l.submit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a.reads() - before
	}
	if few, many := reads(5), reads(200); few != many {
		t.Errorf("with 5 jobs %d keys are read, with 200 %d", few, many)
	}
}
