package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s cluster) trailRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/trail", id: "trail-list",
		tag:     "trail",
		summary: "The hash-chained audit trail of decisions, oldest first"},
		func(_ context.Context, in *Paging) (wire.Page[wire.Event], error) {
			page := wire.Page[wire.Event]{Items: []wire.Event{}}
			after, _, err := openNumberCursor(in.After, "e")
			if err != nil {
				return wire.Page[wire.Event]{}, err
			}
			err = s.Catalog.View(func(v catalog.View) error {
				events, err := v.Trail(after, in.Limit+1)
				if len(events) > in.Limit {
					events = events[:in.Limit]
					page.Next = makeNumberCursor("e", events[in.Limit-1].Seq)
				}
				for _, e := range events {
					shown := eventOf(e)
					if shown.ActorName, err = catalog.PeopleIn(v).ActorName(e.Actor); err != nil {
						return err
					}
					page.Items = append(page.Items, shown)
				}
				return err
			})
			return page, err
		})
}
