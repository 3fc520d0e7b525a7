package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

func (s *server) trailRoutes(api huma.API) {
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/trail", id: "trail-list", tag: "trail",
		summary: "The hash-chained audit trail of decisions, oldest first"},
		func(_ context.Context, in *Paging) (Page[Event], error) {
			page := Page[Event]{Items: []Event{}}
			after, _, err := openNumberCursor(in.After, "e")
			if err != nil {
				return Page[Event]{}, err
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
