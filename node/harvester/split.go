package harvester

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/harvest/split"
	"holdfast/internal/sorter"
)

// errPending reports that the results of jobs that have ended are not all known yet.
var errPending = errors.New("results of earlier jobs are still being gathered")

// errMoved reports that another leader has made jobs of the run meanwhile.
var errMoved = errors.New("the run has other jobs by now")

// Split makes the jobs of a run that is open, and ends the run. What others have made of it is kept. After an error it
// can be done again, by any leader.
func (h *Harvester) Split(ctx context.Context, harvest, run uint64) error {
	s := &splitting{cfg: &h.cfg, key: key{harvest, run}, texts: h.texts}
	for {
		again, err := s.pass(ctx)
		var bad *broken
		switch {
		case errors.As(err, &bad):
			return s.fail(ctx, bad)
		case err != nil:
			return err
		case !again:
			return s.end(ctx)
		}
	}
}

// splitting makes the jobs of one run.
type splitting struct {
	cfg *Config
	key key
	*material

	texts texts
	room  int    // bytes of memory for sorting
	last  uint64 // the run's last job
	made  uint64 // how many jobs the run has
	ended bool   // the run is not open any more

	storing storing

	configurations int64 // in all jobs of the run
	leftOut        map[split.Reason]int64
	busy           int64 // configurations whose domain is in an open job of another run
	changed        bool  // a configuration is another one than when it was sorted
	gone           int64
	goneNames      []runs.Configuration
}

// Bounds of the memory that sorting takes.
const (
	leastRoom = 64 << 10
	mostRoom  = 64 << 20
	perName   = 300 // bytes
)

// pass makes jobs of all configurations that no job of the run has. It is to be done again if some were changed
// meanwhile.
func (s *splitting) pass(ctx context.Context) (again bool, err error) {
	if err := s.cfg.Agreement.Linear(ctx); err != nil {
		return false, err
	}
	if err := s.begin(); err != nil || s.ended {
		return false, err
	}
	if err := s.drop(ctx); err != nil {
		return false, err
	}
	had, err := s.taken(s.last)
	if err != nil {
		return false, err
	}
	defer had.close()
	open, err := s.cfg.busy(s.material)
	if err != nil {
		return false, err
	}
	defer open.close()
	w := &walk{material: s.material, past: s.cfg.History, taken: had, sorted: sorter.New(s.cfg.Dir, s.room),
		busy: open, leftOut: map[split.Reason]int64{}}
	defer func() { _ = w.sorted.Close() }() // nameless temporary files
	if err := w.all(ctx, s.cfg.Agreement); err != nil {
		return false, err
	}
	s.configurations, s.leftOut, s.busy, s.changed = had.count, w.leftOut, open.count, false
	err = divided(s.material, w.sorted, func(job *split.Job) error { return s.job(ctx, job) })
	if unstored := s.storing.wait(); unstored != nil {
		return false, unstored // whatever else there is comes up again
	}
	return s.changed, err
}

// divided makes jobs of sorted configurations.
func divided(m *material, sorted *sorter.Sorter, take func(*split.Job) error) error {
	b := split.NewBuilder(m.split, m.snapshot())
	each := func(done []*split.Job) error {
		for _, job := range done {
			if err := take(job); err != nil {
				return err
			}
		}
		return nil
	}
	for entry, err := range sorted.Sorted() {
		if err != nil {
			return fmt.Errorf("sort configurations: %w", err)
		}
		c, err := split.ParseKey(entry)
		if err != nil {
			return err
		}
		done, err := b.Add(c)
		if err == nil {
			err = each(done)
		}
		if err != nil {
			return err
		}
	}
	return each(b.End())
}

// begin reads what the run is made of.
func (s *splitting) begin() error {
	return s.cfg.Agreement.View(func(v catalog.View) error {
		view := catalog.RunsIn(v)
		r, err := view.Run(s.key.harvest, s.key.run)
		if err != nil {
			return err
		}
		h, err := view.Harvest(s.key.harvest)
		if err != nil {
			return err
		}
		s.ended = r.State != runs.Splitting
		made, err := v.Run(s.key.harvest, s.key.run)
		if err != nil && !errors.Is(err, agree.ErrNotFound) {
			return err
		}
		s.last, s.made = made.Last, made.Jobs
		if err := s.waits(v, &h); err != nil {
			return err
		}
		if h.Kind != runs.Snapshot {
			if _, err := compiled(r.Schedule, s.cfg.Zones); err != nil {
				return breaks(err, "the schedule %s cannot be used", r.Definition.Schedule)
			}
		}
		if s.material, err = gather(v, h, r); err != nil {
			return err
		}
		n := h.Configurations
		if s.snapshot() {
			if n, err = catalog.DomainsIn(v).Count(h.Collection); err != nil {
				return err
			}
		}
		s.room = int(min(max(n*perName, leastRoom), mostRoom))
		return nil
	})
}

// waits returns errPending if what earlier jobs have brought is not all known.
func (s *splitting) waits(v catalog.View, h *runs.Harvest) error {
	pending, err := s.cfg.History.Pending(v)
	if err != nil {
		return fmt.Errorf("results of earlier jobs: %w", err)
	}
	earlier, err := catalog.RunsIn(v).Unfinished(h.Earlier)
	if err != nil {
		return fmt.Errorf("the snapshots that harvest %d continues: %w", h.Number, err)
	}
	if pending || earlier != 0 {
		return errPending
	}
	return nil
}

// drop removes a job that was not made whole, in chunks. What it had is made into jobs again.
func (s *splitting) drop(ctx context.Context) error {
	for {
		var open uint64
		err := s.cfg.Agreement.View(func(v catalog.View) error {
			made, err := v.Run(s.key.harvest, s.key.run)
			if errors.Is(err, agree.ErrNotFound) {
				return nil
			}
			s.last, s.made, open = made.Last, made.Jobs, made.Open
			return err
		})
		if err != nil || open == 0 {
			return err
		}
		if _, err := s.propose(ctx, jobs.DropJob, catalog.JobRef{ID: open}); err != nil {
			return err
		}
		if err := s.cfg.Agreement.Linear(ctx); err != nil {
			return err
		}
	}
}

// propose has a command decided. A refusal means that the run is not as it was.
func (s *splitting) propose(ctx context.Context, kind catalog.Kind, body any) (json.RawMessage, error) {
	r, err := s.cfg.Agreement.Propose(ctx, kind, body, string(s.cfg.Self))
	if err == nil && r.Refusal != nil {
		err = fmt.Errorf("%w: %w", errMoved, r.Refusal)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return r.Value, nil
}

// end ends the run.
func (s *splitting) end(ctx context.Context) error {
	if s.ended {
		return nil
	}
	b := runs.Ending{Number: s.key.harvest, Run: s.key.run, Jobs: s.made, Configurations: s.configurations,
		Busy: s.busy, Gone: s.missing(), GoneNames: s.goneNames}
	for reason, n := range s.leftOut {
		if b.LeftOut == nil {
			b.LeftOut = map[string]int64{}
		}
		b.LeftOut[string(reason)] = n
	}
	if _, err := s.propose(ctx, runs.EndRun, b); err != nil {
		return err
	}
	s.cfg.Log.Info("jobs of a harvest are made", "harvest", b.Number, "run", b.Run, "jobs", b.Jobs,
		"configurations", b.Configurations, "gone", b.Gone, "busy", b.Busy)
	return nil
}

// missing is how many configurations were there when the run began and are not any more. Which these were is known only
// of those that this leader lost.
func (s *splitting) missing() int64 {
	rest := s.run.There - s.configurations
	for _, n := range s.leftOut {
		rest -= n
	}
	return max(s.gone, rest)
}

// fail ends the run with an error, which deactivates the harvest. Jobs that were made stay.
func (s *splitting) fail(ctx context.Context, bad *broken) error {
	if err := s.drop(ctx); err != nil {
		return err
	}
	b := runs.Ending{Number: s.key.harvest, Run: s.key.run, Jobs: s.made, Configurations: s.configurations,
		Gone: s.gone, GoneNames: s.goneNames, Error: bad.reason, Detail: bad.err.Error()}
	if _, err := s.propose(ctx, runs.EndRun, b); err != nil {
		return err
	}
	s.cfg.Log.Error("harvest is deactivated", "harvest", b.Number, "run", b.Run, "reason", bad.reason,
		"error", bad.err)
	return nil
}
