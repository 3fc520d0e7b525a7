package api

import (
	"errors"
	"fmt"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/catalog/runs"
	"holdfast/harvest/schedule"
)

// planOf returns the plan of a schedule in its latest version.
func (s *server) planOf(name string) (*schedule.Plan, error) {
	plan, _, err := s.planAnd(name)
	return plan, err
}

// planAnd returns the plan of a schedule in its latest version, and its zone.
func (s *server) planAnd(name string) (*schedule.Plan, *time.Location, error) {
	var text string
	err := s.Catalog.View(func(v catalog.View) error {
		in := catalog.HarvestsIn(v)
		d, err := in.Definition(defined.Schedule, name)
		if err == nil {
			_, text, err = in.Text(defined.Schedule, name, d.Version)
		}
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("schedule %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return nil, nil, err
	}
	return readPlan(name, text)
}

// readPlan reads the text of a schedule.
func readPlan(name, text string) (*schedule.Plan, *time.Location, error) {
	read, err := schedule.Parse([]byte(text))
	if err != nil {
		return nil, nil, fmt.Errorf("read schedule %s: %w", name, err)
	}
	plan, err := schedule.Compile(read, time.LoadLocation)
	if err != nil {
		return nil, nil, fmt.Errorf("read schedule %s: %w", name, err)
	}
	zone, err := time.LoadLocation(read.Zone)
	if err != nil {
		return nil, nil, fmt.Errorf("read schedule %s: %w", name, err)
	}
	return plan, zone, nil
}

// dates returns the next dates of a harvest.
func (s harvests) dates(h *runs.Harvest, n int) ([]wire.Date, error) {
	now := max(catalog.At(s.now()), h.Start)
	if h.Kind == runs.Snapshot {
		switch {
		case h.Active:
			return []wire.Date{dateOf(h.Next.Std(), time.UTC)}, nil
		case h.Runs > 0:
			return nil, nil
		}
		return []wire.Date{dateOf(now.Std(), time.UTC)}, nil
	}
	plan, zone, err := s.planAnd(h.Schedule)
	if err != nil {
		return nil, err
	}
	if !h.Active {
		return datesFrom(plan, zone, now.Std(), now.Std().Add(-time.Minute), n), nil
	}
	from := h.From().Std()
	return append([]wire.Date{dateOf(h.Next.Std(), zone)}, datesFrom(plan, zone, from, h.Next.Std(), n-1)...), nil
}

// datesFrom returns the first dates after an instant of a harvest that was activated at the start.
func datesFrom(plan *schedule.Plan, zone *time.Location, start, after time.Time, n int) (out []wire.Date) {
	for at, there := plan.Next(start, after); there && len(out) < n; {
		out = append(out, dateOf(at, zone))
		at, there = plan.Next(start, at)
	}
	return out
}

func dateOf(at time.Time, zone *time.Location) wire.Date {
	return wire.Date{At: at.UTC(), Local: at.In(zone).Format("2006-01-02T15:04 MST")}
}
