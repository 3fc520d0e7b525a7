package web

import (
	"context"
	"errors"
	"strconv"

	"holdfast/api/wire"
	"holdfast/client"
)

func showHarvests(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "harvest")
	out := &listed[wire.Harvest]{}
	q := client.HarvestQuery{Search: v.query.Get("search"), Kind: v.query.Get("kind"), Domain: v.query.Get("domain"),
		State: wire.HarvestState(v.query.Get("state"))}
	v.ask(ctx, "web.harvests", soon, func(ctx context.Context) error {
		return out.set(v.api.Harvests().Page(ctx, q, v.at()))
	})
	v.wait()
	return out, nil
}

// shownDates is how many of its next dates the page of a harvest lists.
const shownDates = 5

// harvestPage is what the page of a harvest shows.
type harvestPage struct {
	Harvest *wire.Harvest           `json:"harvest"`
	Dates   []wire.Date             `json:"dates"` // of one that is not active, as if it were activated now
	Runs    listed[wire.HarvestRun] `json:"runs"`
}

func showHarvest(ctx context.Context, v *visit) (any, error) {
	id, err := strconv.ParseUint(v.given["number"], 10, 53)
	if err != nil {
		return nil, wire.ErrNotFound
	}
	p := &harvestPage{}
	v.about = strconv.FormatUint(id, 10)
	missing := askShownHarvest(ctx, v, id, &p.Harvest)
	v.ask(ctx, "web.next-dates", soon, func(ctx context.Context) (err error) {
		p.Dates, err = v.api.Harvests().Dates(ctx, id, shownDates)
		return here(err)
	})
	v.ask(ctx, "web.runs", soon, func(ctx context.Context) error {
		return here(p.Runs.set(v.api.Harvests().RunsPage(ctx, id, v.at())))
	})
	v.wait()
	if p.Harvest != nil {
		v.about = p.Harvest.Name
		offerHarvest(v, p.Harvest)
	}
	return p, *missing
}

// offerHarvest names what can be done with a harvest as it stands.
func offerHarvest(v *visit, h *wire.Harvest) {
	if h.Removing {
		return
	}
	active := h.State == wire.HarvestWaiting || h.State == wire.HarvestSplitting || h.State == wire.HarvestBlocked
	if active {
		v.offer("harvests", h.Number, "deactivate")
	} else {
		v.offer("harvests", h.Number, "activate")
	}
	v.offer("harvests", h.Number, "edit")
	v.offer("harvests", h.Number, "copy")
	if h.Kind != "snapshot" {
		v.offer("harvests", h.Number, "add")
	}
	if h.Kind == "event" {
		v.offer("harvests", h.Number, "seeds")
	}
	if !active && h.Runs == 0 {
		v.offer("harvests", h.Number, "delete")
	}
}

// previewPage is what a harvest would do if a run began now.
type previewPage struct {
	Harvest *wire.Harvest        `json:"harvest"`
	Preview *wire.HarvestPreview `json:"preview"`
}

func (p *previewPage) lines() (items any, next string, read bool) {
	if p.Preview == nil {
		return []wire.PreviewedJob{}, "", false
	}
	return p.Preview.First, "", true
}

// First are the jobs that are listed.
func (p *previewPage) First() []wire.PreviewedJob {
	return p.Preview.First[:min(len(p.Preview.First), onePage)]
}

// More reports whether there are jobs that are not listed.
func (p *previewPage) More() bool { return p.Preview.Jobs > int64(len(p.First())) }

func showPreview(ctx context.Context, v *visit) (any, error) {
	id, err := v.id("number")
	if err != nil {
		return nil, err
	}
	p := &previewPage{}
	v.about = strconv.FormatUint(id, 10)
	missing := askShownHarvest(ctx, v, id, &p.Harvest)
	v.ask(ctx, "web.preview", later, func(ctx context.Context) error {
		preview, err := v.api.Harvests().Preview(ctx, id)
		if err == nil {
			p.Preview = &preview
		}
		return here(err)
	})
	v.wait()
	if p.Harvest != nil {
		v.about = p.Harvest.Name
		offerHarvest(v, p.Harvest)
	}
	return p, *missing
}

// askShownHarvest asks for a harvest that a page is about. What it returns is an error, after wait, if there is none.
func askShownHarvest(ctx context.Context, v *visit, id uint64, to **wire.Harvest) *error {
	missing := new(error)
	v.ask(ctx, "web.harvest", soon, func(ctx context.Context) error {
		h, err := v.api.Harvests().Show(ctx, id)
		if errors.Is(err, wire.ErrNotFound) {
			*missing = err
			return nil
		} else if err == nil {
			*to = &h
		}
		return err
	})
	return missing
}

// configurationsPage is which configurations a harvest has.
type configurationsPage struct {
	Harvest *wire.Harvest                     `json:"harvest"`
	List    listed[wire.HarvestConfiguration] `json:"configurations"`
}

func (p *configurationsPage) lines() (items any, next string, read bool) { return p.List.lines() }

func showConfigurations(ctx context.Context, v *visit) (any, error) {
	id, err := v.id("number")
	if err != nil {
		return nil, err
	}
	p := &configurationsPage{}
	v.about = strconv.FormatUint(id, 10)
	missing := askShownHarvest(ctx, v, id, &p.Harvest)
	v.ask(ctx, "web.configurations", soon, func(ctx context.Context) error {
		return here(p.List.set(v.api.Harvests().ConfigurationsPage(ctx, id, v.at())))
	})
	v.wait()
	if p.Harvest != nil {
		v.about = p.Harvest.Name
		v.offer("harvests", id, "add")
		v.offer("harvests", id, "remove")
	}
	return p, *missing
}

func showDomains(ctx context.Context, v *visit) (any, error) {
	v.offer("new", "domain")
	out := &listed[wire.Domain]{}
	v.ask(ctx, "web.domains", soon, func(ctx context.Context) error {
		return out.set(v.api.Domains().Page(ctx, v.query.Get("prefix"), v.at()))
	})
	v.wait()
	return out, nil
}

// domainPage is what the page of a domain shows.
type domainPage struct {
	Domain  *wire.Domain               `json:"domain"`
	History listed[wire.DomainHistory] `json:"history"`
}

func showDomain(ctx context.Context, v *visit) (any, error) {
	name := v.given["name"]
	v.about = name
	p := &domainPage{}
	var missing error
	v.ask(ctx, "web.domain", soon, func(ctx context.Context) error {
		d, err := v.api.Domains().Show(ctx, name)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			p.Domain = &d
		}
		return err
	})
	v.ask(ctx, "web.part-history", soon, func(ctx context.Context) error {
		return here(p.History.set(v.api.Domains().HistoryPage(ctx, name, v.at())))
	})
	v.wait()
	if p.Domain != nil && !p.Domain.Removing {
		for _, what := range []string{"edit", "configure", "seeds", "traps", "alias", "remove"} {
			v.offer("domains", name, what)
		}
	}
	return p, missing
}
