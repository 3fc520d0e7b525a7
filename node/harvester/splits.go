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

// room reports whether another run of its kind can be split.
func (s *splits) room(snapshot bool) bool {
	s.Lock()
	defer s.Unlock()
	same, most := 0, othersAtOnce
	if snapshot {
		most = snapshotsAtOnce
	}
	for _, is := range s.under {
		if is == snapshot {
			same++
		}
	}
	return same < most
}

// begin notes that a run is split from now on. It reports false if that is under way, or was tried just now.
func (s *splits) begin(k key, snapshot bool) bool {
	s.Lock()
	defer s.Unlock()
	if _, there := s.under[k]; there || time.Now().Before(s.after[k]) {
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

// foundRun is a run whose jobs are to be made.
type foundRun struct {
	key
	snapshot bool
}

// findRuns finds the runs whose jobs are to be made.
func (l *leading) findRuns() error {
	l.found = l.found[:0]
	return l.cfg.Agreement.View(func(v catalog.View) error {
		view := catalog.RunsIn(v)
		open, err := view.OpenRuns()
		if err != nil {
			return err
		}
		for i := range open {
			h, err := view.Harvest(open[i].Harvest)
			if err != nil {
				return fmt.Errorf("harvest %d, which has an open run: %w", open[i].Harvest, err)
			}
			l.found = append(l.found, foundRun{key{open[i].Harvest, open[i].Number}, h.Kind == runs.Snapshot})
		}
		return nil
	})
}

// split begins to split the runs that were found, as far as there is room, each in a goroutine of its own.
func (l *leading) split() {
	wait := l.found[:0]
	for i, r := range l.found {
		if !l.splits.room(r.snapshot) {
			if wait = append(wait, r); !l.splits.room(!r.snapshot) {
				wait = append(wait, l.found[i+1:]...)
				break
			}
			continue
		}
		if l.splits.begin(r.key, r.snapshot) {
			l.under.Go(func() { l.splitOne(r.key) })
		}
	}
	l.found = wait
}

// splitOne splits a run.
func (l *leading) splitOne(k key) {
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
}
