package node

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/catalog/runs"
)

// BenchmarkManySchedules has HOLDFAST_HARVESTS harvests (1 000 if it is not set), each with a schedule of its own, become
// due at once on three nodes, and waits until the jobs of all are made. No job is crawled.
func BenchmarkManySchedules(b *testing.B) {
	count := 1000
	if text := os.Getenv("HOLDFAST_HARVESTS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	var early atomic.Bool // no date has come
	cfgs := threeConfigs(b, "")
	for i := range cfgs {
		cfgs[i].Dates = func(now time.Time) time.Time {
			if early.Load() {
				return now.Add(-time.Hour)
			}
			return now
		}
	}
	nodes := startNodes(b, cfgs)
	for _, n := range nodes {
		n.crawls.SetSlots(0)
	}
	m := &manyDomains{b: b, n: nodes[0]}
	m.decide(defined.CreateTemplate, defined.Creation{Name: "default", Text: `{"operator_contact":"web@example.org"}`})
	m.decide(domains.Create, domains.Creation{Name: "d.org", Collection: "web"})
	each := func(do func(number uint64)) {
		var callers sync.WaitGroup
		slots := make(chan struct{}, 64)
		for i := range count {
			slots <- struct{}{}
			callers.Go(func() { do(uint64(i + 1)); <-slots })
		}
		callers.Wait()
	}
	each(func(i uint64) {
		m.decide(defined.CreateSchedule, defined.Creation{Name: fmt.Sprint("s", i), Text: `{"unit":"day","at":"22:00"}`})
		m.decide(runs.Create, runs.Creation{Kind: runs.Selective, Collection: "web",
			Asked: runs.Asked{Name: fmt.Sprint("h", i), Schedule: fmt.Sprint("s", i)}})
	})
	each(func(i uint64) {
		m.decide(runs.AddConfigurations, runs.Listing{Number: i,
			Configurations: []runs.Configuration{{Domain: "d.org", Name: domains.DefaultConfiguration}}})
	})
	for run := uint64(1); b.Loop(); run++ {
		b.StopTimer()
		early.Store(true)
		each(func(i uint64) {
			var h runs.Harvest
			m.decide(runs.Deactivate, runs.Ref{Number: i})
			m.await("the harvest", func(v catalog.View) (err error) { h, err = catalog.RunsIn(v).Harvest(i); return err })
			m.decide(runs.Activate, runs.Activation{Number: i, Version: h.Version,
				Next: catalog.At(time.Now().Add(-time.Minute))})
		})
		b.StartTimer()
		began := time.Now()
		early.Store(false)
		for _, reached := range []struct {
			what string
			is   func(runs.Run) bool
		}{
			{"all-begun-s", func(runs.Run) bool { return true }},
			{"all-made-s", func(r runs.Run) bool { return r.State == runs.Made }},
		} {
			next := uint64(1) // that is not known to have reached it
			m.await(reached.what, func(v catalog.View) error {
				for ; next <= uint64(count); next++ {
					if r, err := catalog.RunsIn(v).Run(next, run); err != nil || !reached.is(r) {
						return errors.Join(err, fmt.Errorf("harvest %d: %s", next, r.State))
					}
				}
				return nil
			})
			b.ReportMetric(time.Since(began).Seconds(), reached.what)
		}
	}
}
