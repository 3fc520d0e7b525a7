package harvester

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/harvests"
	"holdfast/catalog/runs"
	"holdfast/duty"
	"holdfast/harvest/schedule"
)

// atOnce is how many commands are proposed at the same time.
const atOnce = 16

// dispatch begins a run of each harvest that is due.
func (l *leading) dispatch(ctx context.Context) error {
	now := l.cfg.Now()
	var due []runs.Beginning
	var waiting []runs.Harvest
	var unread error
	err := l.cfg.Agreement.View(func(v catalog.View) error {
		all, err := duty.HarvestsDue(v, now)
		if err != nil {
			return err
		}
		waiting = all.Waiting
		for i := range all.Due {
			b, err := l.beginning(v, &all.Due[i], now)
			if err != nil { // keeps no other harvest back
				unread = errors.Join(unread, err)
				continue
			}
			due = append(due, b)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("find harvests that are due: %w", err)
	}
	l.say(waiting)
	begun := together(len(due), func(i int) error {
		r, err := l.cfg.Agreement.Propose(ctx, runs.BeginRun, due[i], string(l.cfg.Self))
		if err == nil && r.Refusal != nil {
			err = r.Refusal
		}
		if err != nil {
			return fmt.Errorf("begin the run of harvest %d: %w", due[i].Number, err)
		}
		l.cfg.Log.Info("harvest begins", "harvest", due[i].Number, "skipped", due[i].Skipped)
		return nil
	})
	return errors.Join(unread, begun)
}

// say logs of each harvest once that it waits for a channel.
func (l *leading) say(waiting []runs.Harvest) {
	now := make(map[uint64]bool, len(waiting))
	for i := range waiting {
		h := &waiting[i]
		if now[h.Number] = true; !l.waiting[h.Number] {
			l.cfg.Log.Warn("harvest waits: no node that crawls serves its channel", "harvest", h.Number,
				"channel", h.JobChannel())
		}
	}
	l.waiting = now
}

// beginning works out what follows the date of a harvest. If its schedule cannot be read, the run has no next date, and
// fails when it is split.
func (l *leading) beginning(v catalog.View, h *runs.Harvest, now time.Time) (runs.Beginning, error) {
	b := runs.Beginning{Number: h.Number, Date: h.Next}
	if h.Kind == runs.Snapshot {
		return b, nil
	}
	texts := catalog.HarvestsIn(v)
	d, err := texts.Definition(harvests.Schedule, h.Schedule)
	if err == nil {
		_, b.Schedule, err = texts.Text(harvests.Schedule, d.Name, d.Version)
	}
	if err != nil {
		return b, fmt.Errorf("schedule %s of harvest %d: %w", h.Schedule, h.Number, err)
	}
	plan, err := compiled(b.Schedule, l.cfg.Zones)
	if err != nil {
		return b, nil // the split says why
	}
	next := plan.Due(h.From().Std(), h.Next.Std(), now)
	if b.Skipped = uint64(next.Skipped); !next.Ended {
		b.Next = catalog.At(next.Next)
	}
	return b, nil
}

func compiled(text string, zones schedule.Zones) (*schedule.Plan, error) {
	s, err := schedule.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return schedule.Compile(s, zones)
}

// submit submits new jobs of harvests.
func (l *leading) submit(ctx context.Context) error {
	var due []catalog.JobRef
	err := l.cfg.Agreement.View(func(v catalog.View) error {
		s, err := splitSettings(v)
		if err == nil {
			due, err = duty.Submits(v, int(s.MaxWaitingPerChannel))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("find jobs to submit: %w", err)
	}
	return together(len(due), func(i int) error {
		r, err := l.cfg.Agreement.Propose(ctx, catalog.SubmitJob, due[i], string(l.cfg.Self))
		if err == nil && r.Refusal != nil {
			err = r.Refusal
		}
		if err != nil {
			return fmt.Errorf("submit job %d: %w", due[i].ID, err)
		}
		return nil
	})
}

// together does n things, several at a time, and returns the first errors.
func together(n int, do func(i int) error) error {
	var all sync.WaitGroup
	slots, failed := make(chan struct{}, atOnce), make([]error, n)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			failed[i] = do(i)
		})
	}
	all.Wait()
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	return errors.Join(failed[:min(3, len(failed))]...)
}
