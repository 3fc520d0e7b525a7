//go:build slow

package node

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/catalog/runs"
)

// TestThreeNodesHarvestByTheClock has three nodes harvest a site every hour, and every three hours, by a clock by which
// an hour takes a second. The leader is stopped and started meanwhile. Each harvest ran as often as defined, less the
// dates that were counted as skipped, and each of its runs has the configuration once.
func TestThreeNodesHarvestByTheClock(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<html>welcome to "+r.URL.Path)
	}))
	t.Cleanup(site.Close)
	began := time.Now()
	clock := func(now time.Time) time.Time {
		fast := began.Add(-1000 * time.Hour).Add(now.Sub(began) * 3600)
		if fast.After(now) {
			return now
		}
		return fast
	}
	cfgs := threeConfigs(t, "")
	for i := range cfgs {
		cfgs[i].Dates = clock
	}
	nodes := startNodes(t, cfgs)
	defineConfiguration(t, nodes[0], site.URL+"/", "")
	first := clock(time.Now()).Truncate(time.Hour).Add(time.Hour)
	dates := []uint64{5, 2}
	for i, every := range []int{1, 3} {
		name := fmt.Sprintf("every-%d", every)
		decided(t, nodes[0], defined.CreateSchedule, defined.Creation{Name: name,
			Text: fmt.Sprintf(`{"unit":"hour","every":%d,"times":%d}`, every, dates[i])})
		defineHarvest(t, nodes[0], runs.Asked{Name: name, Schedule: name}, uint64(i+1), first)
	}
	eventually(t, "all nodes know of the harvests", func() error {
		for _, n := range nodes {
			if err := n.raft.Linear(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	eventually(t, "a second run", func() error {
		if h := harvestOf(t, nodes[1], 1); h.Runs < 2 {
			return fmt.Errorf("%d runs", h.Runs)
		}
		return nil
	})
	leader := slices.IndexFunc(nodes, func(n running) bool { return n.raft.IsLeader() })
	if leader >= 0 {
		nodes[leader].halt(t)
		nodes[leader] = start(t, cfgs[leader])
	}
	for i, times := range dates {
		eventually(t, "the last date passes", func() error {
			if h := harvestOf(t, nodes[1], uint64(i+1)); !h.Ended {
				return fmt.Errorf("%s is due at %v", h.Name, h.Next.Std())
			}
			return nil
		})
		h := harvestOf(t, nodes[1], uint64(i+1))
		if h.Runs+h.Skipped != times {
			t.Errorf("%s ran %d times, and %d dates were skipped, of %d", h.Name, h.Runs, h.Skipped, times)
		}
		for run := range h.Runs {
			eventually(t, "the run is harvested", func() error { return harvestedOnce(nodes[1], h.Number, run+1) })
		}
	}
}

// harvestOf is a harvest as the node sees it.
func harvestOf(t *testing.T, n running, number uint64) (h runs.Harvest) {
	t.Helper()
	err := n.raft.View(func(v catalog.View) (err error) { h, err = catalog.RunsIn(v).Harvest(number); return err })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// harvestedOnce checks that a run has one job, which is done, and brought one document for one configuration.
func harvestedOnce(n running, number, run uint64) error {
	return n.raft.View(func(v catalog.View) error {
		r, err := catalog.RunsIn(v).Run(number, run)
		if err != nil || r.State != runs.Made {
			return errors.Join(err, fmt.Errorf("run %d is %s", run, r.State))
		}
		all, err := v.JobsOfRun(number, run, 0, 2)
		if err != nil || len(all) != 1 || all[0].State != catalog.JobDone {
			return errors.Join(err, fmt.Errorf("run %d has jobs %+v", run, all))
		}
		brought, err := v.Statistics(&all[0], 0, 3)
		if err != nil || len(brought) == 0 || brought[0].Name != "quick" || brought[0].Objects != 1 {
			return errors.Join(err, fmt.Errorf("run %d brought %+v", run, brought))
		}
		return nil
	})
}
