package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/history"
	agreed "holdfast/catalog/jobs"
)

// Patterns of the cursors of a domain's history and of a job's statistics.
const (
	historyCursor    = `^(|h-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`
	statisticsCursor = `^(|s-(0|[1-9][0-9]{0,18}))$`
)

func (s domains) historyRoutes(api huma.API) {
	type list struct {
		ByDomain
		Paging
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domains/{name}/history",
		id: "domain-history", tag: "domains",
		summary: "List what jobs brought for a domain, the newest first"},
		func(ctx context.Context, in *list) (wire.Page[wire.DomainHistory], error) {
			d, err := s.domain(ctx, in.Name)
			if err != nil {
				return wire.Page[wire.DomainHistory]{}, err
			}
			return s.historyOf(string(d.Name), in.After, in.Limit)
		})
}

// historyOf returns a page of a domain's history.
func (s domains) historyOf(name, cursor string, limit int) (wire.Page[wire.DomainHistory], error) {
	page := wire.Page[wire.DomainHistory]{Items: []wire.DomainHistory{}}
	after, err := openCursor(cursor, "h")
	if err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		lines, err := catalog.HistoryIn(v).OfDomain(name, after, limit+1)
		if len(lines) > limit {
			lines = lines[:limit]
			page.Next = makeCursor("h", lines[limit-1].Cursor)
		}
		for i := range lines {
			page.Items = append(page.Items, historyLine(&lines[i]))
		}
		return err
	})
	return page, err
}

func historyLine(l *history.Line) wire.DomainHistory {
	return wire.DomainHistory{Job: l.Job, HarvestID: l.Harvest, Run: l.Run, Harvest: l.Name,
		Received: std(l.Received), Statistic: statisticOf(&l.Statistic)}
}

// statisticOf is how the API shows what a job brought for a configuration.
func statisticOf(x *agreed.Statistic) wire.Statistic {
	return wire.Statistic{Domain: x.Domain, Configuration: x.Name, Objects: x.Objects, Bytes: x.Bytes, Stop: x.Stop,
		MaxObjects: limitFrom(x.MaxObjects), MaxBytes: limitFrom(x.MaxBytes)}
}

func (s jobs) statisticRoutes(api huma.API) {
	type list struct {
		ByID
		Paging
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/{id}/statistics",
		id: "job-statistics", tag: "jobs",
		summary: "List what a job that has ended brought for each configuration, by domain"},
		func(_ context.Context, in *list) (wire.Page[wire.Statistic], error) {
			return s.statistics(in.ID, in.After, in.Limit)
		})
}

// statistics returns a page of a job's statistics.
func (s jobs) statistics(id uint64, cursor string, limit int) (wire.Page[wire.Statistic], error) {
	page := wire.Page[wire.Statistic]{Items: []wire.Statistic{}}
	after, _, err := openNumberCursor(cursor, "s")
	if err != nil {
		return page, err
	}
	const most = agreed.MaxChunks * agreed.StatisticsInChunk
	err = s.Catalog.View(func(v catalog.View) error {
		after := int(min(after, most))
		all, err := catalog.HistoryIn(v).OfJob(id, after, limit+1)
		if len(all) > limit {
			all = all[:limit]
			page.Next = makeNumberCursor("s", uint64(after+limit))
		}
		for i := range all {
			shown := statisticOf(&all[i])
			if err == nil && shown.Domain != "" {
				shown.Best, err = bestOf(v, id, &all[i])
			}
			page.Items = append(page.Items, shown)
		}
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return page, fmt.Errorf("job %d: %w", id, ErrNotFound)
	}
	return page, err
}

// bestOf is the best harvest of a configuration, unless it is that of the job itself.
func bestOf(v catalog.View, job uint64, x *agreed.Statistic) (*wire.BestHarvest, error) {
	best, err := catalog.HistoryIn(v).Best(x.Domain, x.Name)
	if err != nil || best.Job == 0 || best.Job == job {
		return nil, err
	}
	return &wire.BestHarvest{Job: best.Job, Received: std(best.At), Completed: best.Completed, Objects: best.Objects,
		Bytes: best.Bytes}, nil
}
