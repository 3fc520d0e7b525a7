package duty

import (
	"fmt"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/catalog/runs"
)

const (
	runsTold   = catalog.Day // for how long a run is told that differs from others
	runsLooked = 1000        // runs that ended lately that are compared
	runsShown  = 20          // of which it is told
)

// RunsUnusual says which runs that ended within the last day brought less or more than is usual: of runs before, or of
// single configurations. How many more there are is told, too.
func RunsUnusual(view catalog.View, now time.Time) (out []alert.Alert, err error) {
	v := catalog.HistoryIn(view)
	all, err := v.LastRuns(catalog.At(now)-runsTold, runsLooked+1)
	if err != nil {
		return nil, err
	}
	told, more := 0, max(0, len(all)-runsLooked)
	for _, r := range all[:min(len(all), runsLooked)] {
		some, err := runUnusual(view, r.Harvest, r.Run)
		if err != nil {
			return out, fmt.Errorf("run %d of harvest %d: %w", r.Run, r.Harvest, err)
		}
		switch {
		case len(some) == 0:
		case told == runsShown:
			more++
		default:
			out, told = append(out, some...), told+1
		}
	}
	if more > 0 {
		out = append(out, alert.New(alert.MoreRunsUnusual, "", "runs", alert.Number(more)))
	}
	return out, nil
}

// runUnusual says how a run differs from what is usual, once all of it is there.
func runUnusual(view catalog.View, harvest, run uint64) (out []alert.Alert, err error) {
	v := catalog.HistoryIn(view)
	sum, whole, err := v.Sum(harvest, run)
	if err != nil || !whole {
		return nil, err
	}
	h, err := catalog.RunsIn(view).Harvest(harvest)
	if err != nil {
		return nil, err
	}
	told := func(kind alert.Kind, pairs ...string) {
		out = append(out, alert.New(kind, alert.Number(harvest)+"/"+alert.Number(run),
			append(pairs, "name", string(h.Name), "harvest", alert.Number(harvest), "run", alert.Number(run))...))
	}
	if sum.Limited > 0 {
		told(alert.RunLimited, "configurations", alert.Number(sum.Limited))
	}
	if sum.Silent > 0 {
		told(alert.RunSilent, "configurations", alert.Number(sum.Silent))
	}
	if h.Kind == runs.Snapshot {
		return out, nil // it runs once
	}
	usual, known, err := v.Usual(harvest, run)
	if err == nil && known && usual.Differs(sum) {
		told(alert.RunUnusual, "objects", alert.Number(sum.Objects), "bytes", alert.Number(sum.Bytes),
			"usual-objects", alert.Number(usual.Objects), "usual-bytes", alert.Number(usual.Bytes))
	}
	return out, err
}
