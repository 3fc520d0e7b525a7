package harvester

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/runs"
)

// size is how much there is to split in a run.
type size int

const (
	small  size = iota // so few configurations that one look has all
	large              // more
	entire             // a snapshot: all domains
	sizes
)

// sizeOf is how large a run of the harvest is.
func sizeOf(h *runs.Harvest) size {
	switch {
	case h.Kind == runs.Snapshot:
		return entire
	case h.Configurations > walkPage:
		return large
	}
	return small
}

// most is how many runs of the size are split at the same time: each size apart, for larger ones take longer.
func (of size) most() int {
	return [sizes]int{small: 32, large: 4, entire: 1}[of]
}

// key names a run of a harvest.
type key struct{ harvest, run uint64 }

// splits are the runs that this leader splits. Its methods may be called at the same time.
type splits struct {
	*sync.Mutex
	under map[key]size
	count [sizes]int        // of these
	after map[key]time.Time // when a run that could not be split is tried again
}

func newSplits() splits {
	return splits{Mutex: new(sync.Mutex), under: map[key]size{}, after: map[key]time.Time{}}
}

// room reports whether another run of the size can be split.
func (s *splits) room(of size) bool {
	s.Lock()
	defer s.Unlock()
	return s.count[of] < of.most()
}

// begin notes that a run is split from now on. It reports false if that is under way, or was tried just now.
func (s *splits) begin(k key, of size) bool {
	s.Lock()
	defer s.Unlock()
	if _, there := s.under[k]; there || time.Now().Before(s.after[k]) {
		return false
	}
	s.under[k] = of
	s.count[of]++
	return true
}

// end notes that a run is no longer split.
func (s *splits) end(k key, done bool) {
	s.Lock()
	defer s.Unlock()
	s.count[s.under[k]]--
	delete(s.under, k)
	delete(s.after, k)
	if !done {
		s.after[k] = time.Now().Add(pause)
	}
}

// findRuns finds the runs whose jobs are to be made.
func (l *leading) findRuns() error {
	for of := range l.found {
		l.found[of] = l.found[of][:0]
	}
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
			of := sizeOf(&h)
			l.found[of] = append(l.found[of], key{open[i].Harvest, open[i].Number})
		}
		return nil
	})
}

// split begins to split the runs that were found, as far as there is room, each in a goroutine of its own.
func (l *leading) split() {
	for of, found := range l.found {
		of := size(of)
		for len(found) > 0 && l.splits.room(of) {
			k := found[0]
			if found = found[1:]; l.splits.begin(k, of) {
				l.under.Go(func() { l.splitOne(k) })
			}
		}
		l.found[of] = found
	}
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
