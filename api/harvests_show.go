package api

import (
	"context"
	"fmt"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	"holdfast/catalog/runs"
	"holdfast/harvest"
)

// show shows a harvest with its last run.
func (s harvests) show(ctx context.Context, number uint64) (out wire.Harvest, err error) {
	h, err := s.harvest(ctx, number)
	if err != nil {
		return out, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		seen, err := s.look(v)
		if err != nil {
			return err
		}
		if h, err = seen.in.Harvest(number); err != nil {
			return err
		}
		out, err = seen.shown(&h)
		return err
	})
	return out, err
}

// look is what the states of harvests follow from.
type look struct {
	v      catalog.View
	in     runs.View
	now    catalog.Time
	fields []kept.Field
	served map[string]bool // channels that a node serves
}

func (s harvests) look(v catalog.View) (l look, err error) {
	l = look{v: v, in: catalog.RunsIn(v), served: map[string]bool{}}
	if l.now, err = catalog.PeopleIn(v).Now(catalog.At(s.now())); err != nil {
		return l, err
	}
	if l.fields, err = catalog.DomainsIn(v).Fields(kept.OfHarvests); err != nil {
		return l, err
	}
	channels, err := catalog.HarvestsIn(v).Channels()
	for _, c := range channels {
		if l.served[c.Name], err = v.Serving(c.Name); err != nil {
			return l, err
		}
	}
	return l, err
}

// state says how a harvest stands, and returns its last run.
func (l look) state(h *runs.Harvest) (wire.HarvestState, *runs.Run, error) {
	var last *runs.Run
	if h.Runs > 0 {
		r, err := l.in.Run(h.Number, h.Runs)
		if err != nil {
			return "", nil, fmt.Errorf("run %d of harvest %d: %w", h.Runs, h.Number, err)
		}
		last = &r
	}
	switch {
	case last != nil && last.State == runs.Splitting:
		return wire.HarvestSplitting, last, nil
	case h.Active && h.Next <= l.now && !l.served[h.JobChannel()]:
		return wire.HarvestBlocked, last, nil
	case h.Active:
		return wire.HarvestWaiting, last, nil
	case h.Error != "":
		return wire.HarvestFailed, last, nil
	case h.Ended:
		return wire.HarvestEnded, last, nil
	}
	return wire.HarvestInactive, last, nil
}

// shown is how the API shows a harvest.
func (l look) shown(h *runs.Harvest) (wire.Harvest, error) {
	out := wire.Harvest{Number: h.Number, Name: h.Name, Kind: string(h.Kind), Collection: string(h.Collection),
		Version: h.Version, Created: std(h.Created), Changed: std(h.Changed), Channel: h.JobChannel(),
		Schedule: h.Schedule, Start: std(h.Start), Next: std(h.Next), HarvestLimits: wire.HarvestLimits{
			Objects: limitFrom(h.Objects), Bytes: limitFrom(h.Bytes), Continues: h.Earlier,
			MaxTime: harvest.Duration(time.Duration(h.MaxTime) * time.Second)},
		Audience: h.Audience, Comments: h.Comments, Configurations: h.Configurations,
		Runs: h.Runs, Skipped: h.Skipped, Error: h.Error, Detail: h.Detail, Removing: h.Removing}
	for _, v := range h.Fields {
		if out.Fields == nil {
			out.Fields = map[string]string{}
		}
		out.Fields[v.Name] = v.Value
	}
	for _, f := range l.fields {
		if _, has := out.Fields[f.Name]; f.Mandatory && !has {
			out.Missing = append(out.Missing, f.Name)
		}
	}
	var last *runs.Run
	var err error
	if out.State, last, err = l.state(h); err != nil {
		return out, err
	}
	if last != nil {
		run, err := runOf(l.v, h, last)
		if err != nil {
			return out, err
		}
		out.LastRun = &run
	}
	out.ChangedBy, err = catalog.PeopleIn(l.v).ActorName(h.By)
	return out, err
}

// runOf is how the API shows a run.
func runOf(v catalog.View, h *runs.Harvest, r *runs.Run) (wire.HarvestRun, error) {
	out := wire.HarvestRun{Number: r.Number, State: string(r.State), Date: std(r.Date), Begun: std(r.Begun),
		Ended: std(r.Ended), Jobs: r.Jobs, Configurations: r.Configurations, LeftOut: r.LeftOut,
		There: r.There, Busy: r.Busy, Gone: r.Gone,
		Error: r.Error, Detail: r.Detail}
	for _, c := range r.GoneNames {
		out.GoneNames = append(out.GoneNames, wire.HarvestConfiguration{Domain: string(c.Domain),
			Configuration: c.Name})
	}
	var err error
	if r.State == runs.Splitting {
		if out.Waits, err = runWaits(v, h); err != nil {
			return out, err
		}
	}
	out.Brought, err = broughtBy(v, h, r.Number)
	return out, err
}

// broughtBy is how the API shows what a run brought; nil if nothing is known of it.
func broughtBy(v catalog.View, h *runs.Harvest, run uint64) (*wire.RunBrought, error) {
	in := catalog.HistoryIn(v)
	sum, whole, err := in.Sum(h.Number, run)
	if err != nil || sum.Jobs == 0 {
		return nil, err
	}
	out := &wire.RunBrought{Whole: whole, Jobs: sum.Jobs, Configurations: sum.Configurations, Objects: sum.Objects,
		Bytes: sum.Bytes, Limited: sum.Limited, Silent: sum.Silent}
	usual, known, err := in.Usual(h.Number, run)
	if known && err == nil {
		out.Usual = &wire.RunUsual{Runs: usual.Runs, Objects: usual.Objects, Bytes: usual.Bytes,
			Differs: whole && usual.Differs(sum)}
	}
	return out, err
}

// runWaits says what has to happen before the jobs of a run can be made, or "".
func runWaits(v catalog.View, h *runs.Harvest) (string, error) {
	earlier, err := catalog.RunsIn(v).Unfinished(h.Earlier)
	if err != nil {
		return "", fmt.Errorf("the snapshots that harvest %d continues: %w", h.Number, err)
	}
	if earlier != 0 {
		return fmt.Sprintf("until all jobs of snapshot %d have ended, which it continues", earlier), nil
	}
	pending, err := catalog.HistoryIn(v).PendingHistory()
	if err != nil || !pending {
		return "", err
	}
	return "until what earlier jobs brought is in the history", nil
}
