package web

import (
	"context"
	"errors"
	"strconv"

	"holdfast/api/wire"
	"holdfast/client"
)

func showHarvests(ctx context.Context, v *visit) (any, error) {
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
	var missing error
	v.about = strconv.FormatUint(id, 10)
	v.ask(ctx, "web.harvest", soon, func(ctx context.Context) error {
		h, err := v.api.Harvests().Show(ctx, id)
		if errors.Is(err, wire.ErrNotFound) {
			missing = err
			return nil
		} else if err == nil {
			p.Harvest = &h
		}
		return err
	})
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
	}
	return p, missing
}

func showDomains(ctx context.Context, v *visit) (any, error) {
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
	return p, missing
}
