package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
)

// orderTime is how long an order may take: deleting URIs and taking a checkpoint go through the whole frontier.
const orderTime = 10 * time.Minute

// orderRoutes are the live control of running crawls.
func (s jobs) orderRoutes(api huma.API) {
	type order struct {
		ByID
		Body harvest.Order
	}
	handle(s.server, api, route{act: catalog.RunJob, within: ofJob(s.server, func(in *order) uint64 { return in.ID }), method: http.MethodPost, path: "/api/v1/jobs/{id}/orders", id: "job-order", tag: "jobs",
		summary: "Control a running crawl: its queues, URIs, seeds, settings, checkpoints", limit: orderTime},
		func(ctx context.Context, in *order) (harvest.Reply, error) {
			job, _, err := s.job(in.ID)
			if err == nil {
				err = mayOrder(callerOf(ctx).Rights, job.Spec.Settings, in.Body)
			}
			if err != nil {
				return harvest.Reply{}, err
			}
			in.Body.By = callerOf(ctx).Actor
			return s.order(ctx, in.ID, in.Body)
		})
	type look struct {
		ByID
		Act     string `path:"act" enum:"live,queues,domains,uris,explain,checkpoints,events,search,report"`
		URL     string `query:"url" doc:"explain: the URI"`
		Path    string `query:"path" doc:"explain: as if the URI had been found by these hops"`
		Via     string `query:"via" doc:"explain: as if the URI had been found in this page"`
		Queue   string `query:"queue" doc:"queues, uris: a regular expression; only queues whose names contain a match"`
		Pattern string `query:"pattern" doc:"domains, uris, search, report: a regular expression; only domains, URIs or lines that contain a match"`
		State   string `query:"state" doc:"queues: only those in this state; domains: stopped lists only those that a limit stopped"`
		Sort    string `query:"sort" doc:"queues: order by name, queued (most URIs first) or spent (highest cost first)"`
		Name    string `query:"name" doc:"report: the report's name, such as hosts"`
		Log     string `query:"log" doc:"search: the log to search; default crawl.log"`
		After   string `query:"after"`
		Limit   int    `query:"limit" minimum:"0" maximum:"10000"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/{id}/crawl/{act}", id: "job-look", tag: "jobs",
		summary: "Look at a crawl. Running: figures, workers, queues, domains, URIs, and why a URI is in or out of the crawl. Running or ended: events, logs, reports, and the outcome of a URI"},
		func(ctx context.Context, in *look) (harvest.Reply, error) {
			return s.order(ctx, in.ID, harvest.Order{Act: harvest.Act(in.Act), URL: in.URL, Path: in.Path, Via: in.Via, Queue: in.Queue,
				Pattern: in.Pattern, State: in.State, Sort: in.Sort, Name: in.Name, Log: in.Log, After: in.After, Limit: in.Limit})
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/settings", id: "settings-list", tag: "jobs",
		summary: "Describe every setting of a crawl"},
		func(context.Context, *struct{}) (wire.Page[harvest.Setting], error) {
			return wire.Page[harvest.Setting]{Items: harvest.Reference()}, nil
		})
}

// order lets the job's crawl carry out an order, on whichever node it runs.
func (s jobs) order(ctx context.Context, id uint64, o harvest.Order) (harvest.Reply, error) {
	if err := o.Validate(); err != nil {
		return harvest.Reply{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	job, _, err := s.job(id)
	if errors.Is(err, ErrNotFound) || err == nil && job.Node == "" { // this node may be behind
		if err := s.Catalog.Linear(ctx); err != nil {
			return harvest.Reply{}, err
		}
		job, _, err = s.job(id)
	}
	if err != nil {
		return harvest.Reply{}, err
	}
	reply, err := s.crawls.Order(ctx, job, o)
	if errors.Is(err, harvest.ErrInvalid) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return reply, err
}

// ActOf returns the act that an order for a job with these settings is: looking at its crawl, controlling it, or letting
// it reach the nodes' own network.
func ActOf(job harvest.Settings, o harvest.Order) catalog.Act {
	switch {
	case o.Reads():
		return catalog.Look
	case mayOrder(nil, job, o) == nil:
		return catalog.RunJob
	}
	return catalog.ReachInside
}

// mayOrder tells whether the order may be given by who has these rights, as far as it lets a crawl reach the nodes' own
// network: by its settings, or by sending further a crawl that may.
func mayOrder(rights []catalog.Right, job harvest.Settings, o harvest.Order) error {
	switch o.Act {
	case harvest.ActSeeds:
		return mayReach(rights, job)
	case harvest.ActChange:
		if err := mayReach(rights, job); err != nil {
			return err
		}
	default:
		return nil
	}
	settings := harvest.DefaultSettings()
	if err := settings.Lay(o.Settings); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return mayReach(rights, settings)
}
