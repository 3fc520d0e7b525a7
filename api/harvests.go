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
	rights "holdfast/catalog/people"
	"holdfast/catalog/runs"
)

// harvests are the operations about harvests, their configurations and runs.
type harvests struct {
	*server
	previews Previews
}

// ByHarvest is the input of an act on a harvest.
type ByHarvest struct {
	Number uint64 `path:"number" doc:"the harvest's number"`
}

func (s harvests) routes(api huma.API) {
	s.readRoutes(api)
	s.changeRoutes(api)
	s.activeRoutes(api)
	s.configurationRoutes(api)
	s.settingsRoutes(api)
	s.previewRoutes(api)
}

// ofHarvest finds the collection of the harvest that a request is about.
func ofHarvest[I any](s *server, number func(*I) uint64) finder {
	return within(func(ctx context.Context, in *I) (catalog.Where, error) {
		h, err := s.harvest(ctx, number(in))
		return inCollections(h.Collection), err
	})
}

// harvest returns a harvest as it is agreed.
func (s *server) harvest(ctx context.Context, number uint64) (h runs.Harvest, err error) {
	look := func(v catalog.View) (err error) { h, err = catalog.RunsIn(v).Harvest(number); return err }
	err = s.Catalog.View(look)
	if errors.Is(err, catalog.ErrNotFound) { // this node may be behind
		if err := s.Catalog.Linear(ctx); err != nil {
			return h, err
		}
		err = s.Catalog.View(look)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		return h, fmt.Errorf("harvest %d: %w", number, ErrNotFound)
	}
	return h, err
}

// HarvestListing is the input of a list of harvests.
type HarvestListing struct {
	Paging
	Search     string `query:"search" maxLength:"200" doc:"list only harvests that have this text in their name, audience or comments"`
	Named      string `query:"named" maxLength:"200" doc:"list only the harvest of this name"`
	Collection string `query:"collection" maxLength:"64" doc:"list only harvests of this collection"`
	Domain     string `query:"domain" maxLength:"300" doc:"list only selective and event harvests that have a configuration of this domain"`
	Kind       string `query:"kind" enum:"selective,event,snapshot" doc:"list only harvests of this kind"`
	State      string `query:"state" enum:"inactive,waiting,splitting,blocked,failed,ended" doc:"list only harvests in this state"`
	Sort       string `query:"sort" enum:"name,changed,next" default:"name" doc:"by name, the latest change first, or the first date first; keep it from page to page"`
}

func (s harvests) readRoutes(api huma.API) {
	const path = "/api/v1/harvests"
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path, id: "harvest-list",
		tag: "harvests", summary: "List the harvests"},
		func(ctx context.Context, in *HarvestListing) (wire.Page[wire.Harvest], error) { return s.list(ctx, in) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path + "/{number}",
		id: "harvest-show", tag: "harvests", summary: "Show a harvest, how it stands, and its last run"},
		func(ctx context.Context, in *ByHarvest) (wire.Harvest, error) { return s.show(ctx, in.Number) })
	type paged struct {
		ByHarvest
		Paging
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path + "/{number}/runs",
		id: "harvest-runs", tag: "harvests", summary: "List the runs of a harvest, the latest first"},
		func(ctx context.Context, in *paged) (wire.Page[wire.HarvestRun], error) {
			return s.runs(ctx, in.Number, in.After, in.Limit)
		})
	type ofRun struct {
		ByHarvest
		Run uint64 `path:"run" doc:"the run's number, from 1"`
		Paging
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path + "/{number}/runs/{run}/jobs",
		id: "harvest-jobs", tag: "harvests", summary: "List the jobs of a run of a harvest, oldest first"},
		func(ctx context.Context, in *ofRun) (wire.Page[wire.Job], error) {
			return s.jobs(ctx, in.Number, in.Run, in.After, in.Limit)
		})
	type dates struct {
		ByHarvest
		Limit int `query:"limit" default:"10" minimum:"1" maximum:"1000" doc:"how many dates are listed"`
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path + "/{number}/dates",
		id: "harvest-dates", tag: "harvests",
		summary: "List the next dates of a harvest; of one that is not active, as if it were activated now"},
		func(ctx context.Context, in *dates) (wire.Page[wire.Date], error) {
			h, err := s.harvest(ctx, in.Number)
			if err != nil {
				return wire.Page[wire.Date]{}, err
			}
			return whole(s.dates(&h, in.Limit))
		})
}

func (s harvests) previewRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/harvests/{number}/preview",
		id: "harvest-preview", tag: "harvests", limit: longTime,
		summary: "Show which jobs a harvest would make if a run began now, and how large they would be"},
		func(ctx context.Context, in *ByHarvest) (wire.HarvestPreview, error) {
			if _, err := s.harvest(ctx, in.Number); err != nil {
				return wire.HarvestPreview{}, err
			}
			p, err := s.previews.Preview(ctx, in.Number)
			p.First = append([]wire.PreviewedJob{}, p.First...)
			return p, err
		})
}

func (s harvests) changeRoutes(api huma.API) {
	const path = "/api/v1/harvests"
	type create struct{ Body wire.HarvestRequest }
	intoCollection := within(func(_ context.Context, in *create) (catalog.Where, error) {
		name, err := s.collectionOr(catalog.CollectionName(in.Body.Collection))
		in.Body.Collection = string(name) // what is decided about is what is done
		return inCollections(name), err
	})
	handle(s.server, api, route{act: rights.KeepHarvest, within: intoCollection, method: http.MethodPost, path: path,
		id: "harvest-create", once: true, tag: "harvests", summary: "Create a harvest, which is not active",
		status: http.StatusCreated},
		func(ctx context.Context, in *create) (wire.Harvest, error) { return s.create(ctx, in.Body) })
	type change struct {
		ByHarvest
		Body wire.HarvestChange
	}
	handle(s.server, api, route{act: rights.KeepHarvest,
		within: ofHarvest(s.server, func(in *change) uint64 { return in.Number }), method: http.MethodPatch,
		path: path + "/{number}", id: "harvest-set", once: true, tag: "harvests",
		summary: "Change a harvest; what is not given stays"},
		func(ctx context.Context, in *change) (wire.Harvest, error) {
			err := s.again(ctx, in.Body.Version != nil, func() error { return s.change(ctx, in.Number, in.Body) })
			return s.after(ctx, in.Number, err)
		})
	type copying struct {
		ByHarvest
		Body wire.HarvestCopying
	}
	handle(s.server, api, route{act: rights.KeepHarvest,
		within: ofHarvest(s.server, func(in *copying) uint64 { return in.Number }), method: http.MethodPost,
		path: path + "/{number}/copy", id: "harvest-copy", once: true, tag: "harvests", status: http.StatusCreated,
		limit: longTime, summary: "Copy a harvest with its configurations; the copy is not active"},
		func(ctx context.Context, in *copying) (wire.Harvest, error) {
			return s.copy(ctx, in.Number, in.Body.Name)
		})
	type removal struct {
		ByHarvest
		Body wire.ReasonRequest
	}
	register(s.server, api, route{act: rights.KeepHarvest,
		within: ofHarvest(s.server, func(in *removal) uint64 { return in.Number }), method: http.MethodPost,
		path: path + "/{number}/delete", id: "harvest-delete", once: true,
		tag: "harvests", status: http.StatusNoContent,
		limit: longTime, summary: "Delete a harvest that is not active and has never run"},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			if err := s.remove(ctx, in.Number, in.Body.Reason); err != nil {
				return nil, err
			}
			return nil, s.Catalog.Linear(ctx)
		})
}

// longTime is for requests that take a decision for each hundred configurations of a harvest.
const longTime = 10 * time.Minute

func (s harvests) activeRoutes(api huma.API) {
	const path = "/api/v1/harvests"
	type activation struct {
		ByHarvest
		Body wire.HarvestActivation
	}
	handle(s.server, api, route{act: rights.KeepHarvest,
		within: ofHarvest(s.server, func(in *activation) uint64 { return in.Number }), method: http.MethodPost,
		path: path + "/{number}/activate", id: "harvest-activate", once: true, tag: "harvests",
		summary: "Activate a harvest: from now on it runs on its dates"},
		func(ctx context.Context, in *activation) (wire.Harvest, error) {
			err := s.again(ctx, in.Body.Version != nil, func() error {
				return s.activate(ctx, in.Number, in.Body.Version)
			})
			return s.after(ctx, in.Number, err)
		})
	type reason struct {
		ByHarvest
		Body wire.ReasonRequest
	}
	handle(s.server, api, route{act: rights.KeepHarvest,
		within: ofHarvest(s.server, func(in *reason) uint64 { return in.Number }), method: http.MethodPost,
		path: path + "/{number}/deactivate", id: "harvest-deactivate", once: true, tag: "harvests",
		summary: "Deactivate a harvest: it does not run any more; jobs that it made stay"},
		func(ctx context.Context, in *reason) (wire.Harvest, error) {
			err := s.decide(ctx, runs.Deactivate, runs.Ref{Number: in.Number, Reason: in.Body.Reason}, nil)
			return s.after(ctx, in.Number, err)
		})
}

// after shows a harvest that was changed.
func (s harvests) after(ctx context.Context, number uint64, err error) (wire.Harvest, error) {
	if err != nil {
		return wire.Harvest{}, err
	}
	return s.show(ctx, number)
}
