package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
)

// TrailListing is the input of a list of events.
type TrailListing struct {
	Paging
	Sort    string    `query:"sort" enum:"oldest,newest" default:"oldest" doc:"the oldest or the newest first; keep it from page to page"`
	Actor   string    `query:"actor" maxLength:"200" doc:"list only what was done by this person, program or node: an id, or an actor as in the events"`
	Act     string    `query:"act" maxLength:"64" doc:"list only these acts, such as file.remove"`
	Subject string    `query:"subject" maxLength:"300" doc:"list only what was done to this thing, or to a part of it, as NAME/REPLICA is of the file NAME"`
	From    time.Time `query:"from" doc:"list only what was done at this time or later"`
	Until   time.Time `query:"until" doc:"list only what was done before this time"`
}

// search is what the catalog is asked for.
func (in *TrailListing) search() agree.TrailSearch {
	q := agree.TrailSearch{Newest: in.Sort == "newest", Act: in.Act, Subject: in.Subject}
	if kind, _ := catalog.ParseActor(in.Actor); in.Actor != "" {
		q.Actors = []string{in.Actor}
		if kind == "" {
			for _, kind := range []catalog.ActorKind{catalog.PersonActor, catalog.ProgramActor, catalog.LocalActor} {
				q.Actors = append(q.Actors, string(kind)+":"+in.Actor)
			}
		}
	}
	q.From, q.Until = between(in.From, in.Until)
	return q
}

// between is the time between two moments as the catalog is asked for it; a zero one is not given.
func between(from, until time.Time) (first, end catalog.Time) {
	if !from.IsZero() {
		first = max(catalog.At(from), 0)
	}
	if !until.IsZero() {
		end = max(catalog.At(until), 1) // 0 stands for none
	}
	return first, end
}

func (s cluster) trailRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/trail", id: "trail-list",
		tag: "trail",
		summary: "The hash-chained audit trail of decisions: all, or by actor, act, subject and time. " +
			"A page may be empty and have a next one"},
		func(ctx context.Context, in *TrailListing) (wire.Page[wire.Event], error) { return s.trail(ctx, in) })
}

// trail returns a page of the trail.
func (s cluster) trail(ctx context.Context, in *TrailListing) (wire.Page[wire.Event], error) {
	page := wire.Page[wire.Event]{Items: []wire.Event{}}
	q := in.search()
	at, there, err := openNumberCursor(in.After, "e")
	if err != nil || there && at == 0 && q.Newest { // there is nothing before the first event
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		found, err := v.SearchTrail(q, at, in.Limit)
		if found.Total >= 0 {
			page.Total = &found.Total
		}
		if found.Next != 0 {
			page.Next = makeNumberCursor("e", found.Next)
		}
		for _, e := range found.Events {
			shown := eventOf(e)
			if veiled(ctx, &e) {
				shown.Detail = "for those who keep the access rules"
			}
			if shown.ActorName, err = catalog.PeopleIn(v).ActorName(e.Actor); err != nil {
				return err
			}
			page.Items = append(page.Items, shown)
		}
		return err
	})
	return page, err
}
