package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/runs"
	"holdfast/harvest"
)

// longestJob is the longest time that a snapshot may give its jobs: the most that the setting max_time takes.
const longestJob = 87600 * time.Hour

func (s harvests) create(ctx context.Context, in wire.HarvestRequest) (wire.Harvest, error) {
	asked := runs.Asked{Name: in.Name, Channel: in.Channel, Schedule: in.Schedule, Start: timeOf(in.Start),
		Objects: in.Objects, Bytes: in.Bytes, Earlier: in.Continues, Audience: in.Audience, Comments: in.Comments,
		Fields: fieldsWith(nil, in.Fields)}
	var err error
	if asked.MaxTime, err = secondsOf(in.MaxTime); err != nil {
		return wire.Harvest{}, err
	}
	if err := errors.Join(checkLimitOf("objects", in.Objects), checkLimitOf("bytes", in.Bytes)); err != nil {
		return wire.Harvest{}, err
	}
	var made runs.Harvest
	err = s.decide(ctx, runs.Create, runs.Creation{Kind: runs.Kind(in.Kind),
		Collection: catalog.CollectionName(in.Collection), Asked: asked}, &made)
	return s.after(ctx, made.Number, err)
}

// timeOf is a time as the catalog has it, 0 for none.
func timeOf(t time.Time) catalog.Time {
	if t.IsZero() {
		return 0
	}
	return catalog.At(t)
}

// secondsOf is the longest time of a job as the catalog has it.
func secondsOf(d harvest.Duration) (int64, error) {
	if t := d.Std(); t < 0 || t > longestJob || t%time.Second != 0 {
		return 0, refused("maxTime: given %s, allowed: whole seconds, at most %s; 0 is no limit", t, longestJob)
	}
	return int64(d.Std() / time.Second), nil
}

func checkLimitOf(name string, limit *int64) error {
	if limit != nil && *limit < 0 {
		return refused("%s: given %d, allowed: 0 or more", name, *limit)
	}
	return nil
}

// change changes a harvest as it is now.
func (s harvests) change(ctx context.Context, number uint64, in wire.HarvestChange) error {
	h, err := s.harvest(ctx, number)
	if err != nil {
		return err
	}
	asked, err := askedWith(&h, in)
	if err != nil {
		return err
	}
	c := runs.Change{Number: number, Version: h.Version, Asked: asked}
	if in.Version != nil {
		c.Version = *in.Version
	}
	if h.Active {
		if c.Next, err = s.nextWith(&h, &asked); err != nil {
			return err
		}
	}
	return s.decide(ctx, runs.Set, c, nil)
}

// askedWith is what is said of a harvest with some of it changed.
func askedWith(h *runs.Harvest, in wire.HarvestChange) (runs.Asked, error) {
	a := h.Asked
	for to, from := range map[*string]*string{&a.Name: in.Name, &a.Channel: in.Channel, &a.Schedule: in.Schedule,
		&a.Audience: in.Audience, &a.Comments: in.Comments} {
		if from != nil {
			*to = *from
		}
	}
	if in.Fields != nil {
		a.Fields = fieldsWith(h.Fields, in.Fields)
	}
	for _, one := range []struct {
		name   string
		given  bool
		change func() error
		clear  func()
	}{
		{"start", in.Start != nil, func() error { a.Start = timeOf(*in.Start); return nil }, func() { a.Start = 0 }},
		{"objects", in.Objects != nil,
			func() error { a.Objects = in.Objects; return checkLimitOf("objects", a.Objects) },
			func() { a.Objects = nil }},
		{"bytes", in.Bytes != nil, func() error { a.Bytes = in.Bytes; return checkLimitOf("bytes", a.Bytes) },
			func() { a.Bytes = nil }},
		{"maxTime", in.MaxTime != nil, func() (err error) { a.MaxTime, err = secondsOf(*in.MaxTime); return err },
			func() { a.MaxTime = 0 }},
		{"continues", in.Continues != nil, func() error { a.Earlier = *in.Continues; return nil },
			func() { a.Earlier = 0 }},
	} {
		without := slices.Contains(in.Clear, one.name)
		switch {
		case one.given && without:
			return a, refused("clear: %s is given a value too", one.name)
		case without:
			one.clear()
		case one.given:
			if err := one.change(); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

// nextWith is the next date of an active harvest of which something else is said now. The date stays unless the
// schedule or the start is another one.
func (s harvests) nextWith(h *runs.Harvest, asked *runs.Asked) (catalog.Time, error) {
	now := catalog.At(s.now())
	switch {
	case asked.Schedule == h.Schedule && asked.Start == h.Start:
		return h.Next, nil
	case h.Kind == runs.Snapshot:
		return max(now, asked.Start), nil
	}
	plan, err := s.planOf(asked.Schedule)
	if err != nil {
		return 0, err
	}
	from := max(h.Since, asked.Start)
	next, there := plan.Next(from.Std(), max(now, from).Std().Add(-time.Millisecond))
	if !there {
		return 0, refused("schedule %s: it has no date after %s", asked.Schedule, max(now, from).Std().UTC().
			Format(time.RFC3339))
	}
	return catalog.At(next), nil
}

func (s harvests) activate(ctx context.Context, number uint64, version *uint64) error {
	h, err := s.harvest(ctx, number)
	if err != nil {
		return err
	}
	b := runs.Activation{Number: number, Version: h.Version, Next: max(catalog.At(s.now()), h.Start)}
	if version != nil {
		b.Version = *version
	}
	if h.Kind != runs.Snapshot && !h.Active {
		plan, err := s.planOf(h.Schedule)
		if err != nil {
			return err
		}
		first, err := plan.First(b.Next.Std())
		if err != nil {
			return refused("schedule %s: %s", h.Schedule, err)
		}
		b.Next = catalog.At(first)
	}
	return s.decide(ctx, runs.Activate, b, nil)
}

// remove removes a harvest, some of its configurations with each decision.
func (s harvests) remove(ctx context.Context, number uint64, reason string) (err error) {
	for left := true; err == nil && left; {
		err = s.propose(ctx, runs.Remove, runs.Ref{Number: number, Reason: reason}, &left)
	}
	return err
}

// copy makes a harvest of which the same is said, with the same configurations. If it cannot have them all, nothing of
// it stays.
func (s harvests) copy(ctx context.Context, from uint64, name string) (wire.Harvest, error) {
	h, err := s.harvest(ctx, from)
	if err != nil {
		return wire.Harvest{}, err
	}
	asked := h.Asked
	asked.Name = name
	var made runs.Harvest
	err = s.decide(ctx, runs.Create, runs.Creation{Kind: h.Kind, Collection: h.Collection, Asked: asked}, &made)
	if err != nil {
		return wire.Harvest{}, err
	}
	if err := s.copyConfigurations(ctx, from, made.Number); err != nil {
		if undone := s.remove(ctx, made.Number, "it could not be made a whole copy"); undone != nil {
			return wire.Harvest{}, fmt.Errorf("harvest %d is only a part of a copy: delete it: %w", made.Number,
				errors.Join(err, undone))
		}
		return wire.Harvest{}, err
	}
	return s.after(ctx, made.Number, s.Catalog.Linear(ctx))
}

func (s harvests) copyConfigurations(ctx context.Context, from, to uint64) error {
	for last := (runs.Configuration{}); ; {
		var some []runs.Configuration
		err := s.Catalog.View(func(v catalog.View) (err error) {
			some, err = catalog.RunsIn(v).Configurations(from, last, maxConfigurations)
			return err
		})
		if err != nil || len(some) == 0 {
			return err
		}
		err = s.propose(ctx, runs.AddConfigurations, runs.Listing{Number: to, Configurations: some}, nil)
		if err != nil {
			return err
		}
		last = some[len(some)-1]
	}
}

// maxConfigurations is how many configurations a harvest gets with one decision.
const maxConfigurations = 100

// configure gives a harvest configurations, or takes them away.
func (s harvests) configure(ctx context.Context, kind catalog.Kind, number uint64,
	in []wire.HarvestConfiguration) error {
	b := runs.Listing{Number: number}
	for i, c := range in {
		d, err := s.domain(ctx, c.Domain)
		if err != nil {
			return placed(err, fmt.Sprintf("configurations[%d]", i))
		}
		name := c.Configuration
		if name == "" {
			name = d.DefaultName()
		}
		b.Configurations = append(b.Configurations, runs.Configuration{Domain: d.Name, Name: name})
	}
	return s.decide(ctx, kind, b, nil)
}

// placed says at which place of a request something was that is not there.
func placed(err error, place string) error {
	var p *huma.ErrorModel
	if errors.As(err, &p) || errors.Is(err, ErrNotFound) {
		return problem(http.StatusNotFound, wire.CodeNotFound, place+": "+err.Error())
	}
	return err
}
