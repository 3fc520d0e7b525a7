package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	"holdfast/catalog/runs"
)

// harvestCursor is the pattern of the cursor of a list of harvests, runCursor that of a list of runs, and ofCursor that
// of a list of a harvest's configurations.
const (
	harvestCursor = `^(|[ncd]-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`
	runCursor     = `^(|r-(0|[1-9][0-9]{0,18}))$`
	ofCursor      = `^(|o-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`
)

// list returns a page of harvests.
func (s harvests) list(ctx context.Context, in *HarvestListing) (wire.Page[wire.Harvest], error) {
	page := wire.Page[wire.Harvest]{Items: []wire.Harvest{}}
	var domain kept.Name
	if in.Domain != "" {
		d, err := s.domain(ctx, in.Domain)
		if err != nil {
			return page, err
		}
		domain = d.Name
	}
	err := s.Catalog.View(func(v catalog.View) error {
		l, err := s.look(v)
		if err != nil {
			return err
		}
		all, err := l.chosen(in, domain)
		if err != nil {
			return err
		}
		places, next, err := (&Listing{in.Paging, in.Search, in.Sort}).pageOf(len(all), func(i int) entry {
			h := &all[i]
			return entry{name: h.Name, comment: h.Audience + "\n" + h.Comments, changed: h.Changed, next: h.Next}
		})
		page.Next = next
		for _, i := range places {
			shown, err := l.shown(&all[i])
			if err != nil {
				return err
			}
			page.Items = append(page.Items, shown)
		}
		return err
	})
	return page, err
}

// chosen returns the harvests that a list is about.
func (l look) chosen(in *HarvestListing, domain kept.Name) ([]runs.Harvest, error) {
	var all []runs.Harvest
	var err error
	if in.Named != "" {
		one, lacking := l.in.HarvestNamed(in.Named)
		if all, err = []runs.Harvest{one}, lacking; errors.Is(err, catalog.ErrNotFound) {
			return nil, nil
		}
	} else {
		all, err = l.in.Harvests(0, 0)
	}
	if err != nil {
		return nil, err
	}
	having := map[uint64]bool{}
	if domain != "" {
		numbers, err := l.in.HarvestsOf(domain, 0)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			having[n] = true
		}
	}
	all = slices.DeleteFunc(all, func(h runs.Harvest) bool {
		if err != nil {
			return true
		}
		if in.Collection != "" && string(h.Collection) != in.Collection || in.Kind != "" && string(h.Kind) != in.Kind ||
			domain != "" && !having[h.Number] {
			return true
		}
		var state wire.HarvestState
		if in.State != "" {
			state, _, err = l.state(&h)
		}
		return string(state) != in.State
	})
	return all, err
}

// runs returns a page of a harvest's runs, the latest first.
func (s harvests) runs(ctx context.Context, number uint64, cursor string,
	limit int) (wire.Page[wire.HarvestRun], error) {
	page := wire.Page[wire.HarvestRun]{Items: []wire.HarvestRun{}}
	before, there, err := openNumberCursor(cursor, "r")
	if err != nil {
		return page, err
	}
	h, err := s.harvest(ctx, number)
	if err != nil {
		return page, err
	}
	run := h.Runs
	if there {
		run = min(run, max(before, 1)-1)
	}
	err = s.Catalog.View(func(v catalog.View) error {
		for ; run > 0 && len(page.Items) < limit; run-- {
			r, err := catalog.RunsIn(v).Run(number, run)
			if err != nil {
				return fmt.Errorf("run %d of harvest %d: %w", run, number, err)
			}
			shown, err := runOf(v, &h, &r)
			if err != nil {
				return err
			}
			page.Items = append(page.Items, shown)
		}
		return nil
	})
	if run > 0 {
		page.Next = makeNumberCursor("r", run+1)
	}
	return page, err
}

// configurations returns a page of a harvest's configurations, by domain.
func (s harvests) configurations(ctx context.Context, number uint64, cursor string,
	limit int) (wire.Page[wire.HarvestConfiguration], error) {
	page := wire.Page[wire.HarvestConfiguration]{Items: []wire.HarvestConfiguration{}}
	position, err := openCursor(cursor, "o")
	if err != nil {
		return page, err
	}
	if _, err := s.harvest(ctx, number); err != nil {
		return page, err
	}
	domain, name, _ := strings.Cut(position, "/")
	err = s.Catalog.View(func(v catalog.View) error {
		after := runs.Configuration{Domain: kept.Name(domain), Name: name}
		all, err := catalog.RunsIn(v).Configurations(number, after, limit+1)
		if len(all) > limit {
			all = all[:limit]
			last := all[limit-1]
			page.Next = makeCursor("o", string(last.Domain)+"/"+last.Name)
		}
		for _, c := range all {
			page.Items = append(page.Items, wire.HarvestConfiguration{Domain: string(c.Domain), Configuration: c.Name})
		}
		return err
	})
	return page, err
}

// jobs lists the jobs of a run, by number.
func (s harvests) jobs(ctx context.Context, number, run uint64, after string, limit int) (wire.Page[wire.Job], error) {
	page := wire.Page[wire.Job]{Items: []wire.Job{}}
	last, _, err := openNumberCursor(after, "j")
	if err != nil {
		return page, err
	}
	if _, err := s.harvest(ctx, number); err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		if _, err := catalog.RunsIn(v).Run(number, run); err != nil {
			if errors.Is(err, catalog.ErrNotFound) {
				err = fmt.Errorf("run %d of harvest %d: %w", run, number, ErrNotFound)
			}
			return err
		}
		names, err := nodeNames(v)
		if err != nil {
			return err
		}
		all, err := v.JobsOfRun(number, run, last, limit+1)
		if len(all) > limit {
			all = all[:limit]
			page.Next = makeNumberCursor("j", all[limit-1].ID)
		}
		for _, j := range all {
			page.Items = append(page.Items, jobOf(j, names))
		}
		return err
	})
	return page, err
}
