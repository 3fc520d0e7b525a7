package harvester

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/runs"
)

// How many runs are split at the same time: snapshots apart, for they take long.
const (
	snapshotsAtOnce = 1
	othersAtOnce    = 4
)

// key names a run of a harvest.
type key struct{ harvest, run uint64 }

// splits are the runs that this leader splits. Its methods may be called at the same time.
type splits struct {
	*sync.Mutex
	under map[key]bool      // whether it is a snapshot's
	after map[key]time.Time // when a run that could not be split is tried again
}

func newSplits() splits { return splits{new(sync.Mutex), map[key]bool{}, map[key]time.Time{}} }

// begin notes that a run is split from now on. It reports false if that is under way, was tried just now, or if too
// many others of its kind are under way.
func (s *splits) begin(k key, snapshot bool) bool {
	s.Lock()
	defer s.Unlock()
	if _, there := s.under[k]; there || time.Now().Before(s.after[k]) {
		return false
	}
	same, most := 0, othersAtOnce
	if snapshot {
		most = snapshotsAtOnce
	}
	for _, is := range s.under {
		if is == snapshot {
			same++
		}
	}
	if same >= most {
		return false
	}
	s.under[k] = snapshot
	return true
}

// end notes that a run is no longer split.
func (s *splits) end(k key, done bool) {
	s.Lock()
	defer s.Unlock()
	delete(s.under, k)
	delete(s.after, k)
	if !done {
		s.after[k] = time.Now().Add(pause)
	}
}

// split begins to split the runs whose jobs are to be made, each in a goroutine of its own.
func (l *leading) split() error {
	var open []runs.Run
	var snapshot []bool
	err := l.cfg.Agreement.View(func(v catalog.View) (err error) {
		view := catalog.RunsIn(v)
		if open, err = view.OpenRuns(); err != nil {
			return err
		}
		for i := range open {
			h, err := view.Harvest(open[i].Harvest)
			if err != nil {
				return fmt.Errorf("harvest %d, which has an open run: %w", open[i].Harvest, err)
			}
			snapshot = append(snapshot, h.Kind == runs.Snapshot)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range open {
		k := key{r.Harvest, r.Number}
		if !l.splits.begin(k, snapshot[i]) {
			continue
		}
		l.under.Go(func() {
			err := l.Split(l.ctx, k.harvest, k.run)
			l.splits.end(k, err == nil)
			l.trouble.settle(k)
			switch {
			case errors.Is(err, errPending):
				l.cfg.Log.Debug("run waits for the results of earlier jobs", "harvest", k.harvest, "run", k.run)
			case err != nil:
				l.trouble.note(k, err)
				l.warn("the jobs of a run are not all made",
					fmt.Errorf("run %d of harvest %d: %w", k.run, k.harvest, err))
			}
			select {
			case l.more <- struct{}{}:
			default:
			}
		})
	}
	return nil
}
