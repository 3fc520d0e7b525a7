package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// overlapCursor is the pattern of the cursor of a list of overlaps.
const overlapCursor = `^(|v-(0|[1-9][0-9]{0,18}))$`

func (s jobs) overlapRoutes(api huma.API) {
	type list struct {
		ByID
		Paging
	}
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/{id}/overlaps",
		id: "job-overlaps", tag: "jobs",
		summary: "List the domains of an unfinished job that other unfinished jobs crawl too; " +
			"a page may have fewer than the limit, or none, and a next page"},
		func(_ context.Context, in *list) (wire.Page[wire.JobOverlap], error) {
			return s.overlaps(in.ID, in.After, in.Limit)
		})
}

// overlaps returns a page of the domains that a job shares with other open ones.
func (s jobs) overlaps(id uint64, cursor string, limit int) (wire.Page[wire.JobOverlap], error) {
	page := wire.Page[wire.JobOverlap]{Items: []wire.JobOverlap{}}
	after, _, err := openNumberCursor(cursor, "v")
	if err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		j, err := v.Job(id)
		if err != nil {
			return err
		}
		all, next, err := v.Overlaps(&j, int(after), limit)
		if next != 0 {
			page.Next = makeNumberCursor("v", uint64(next))
		}
		for _, o := range all {
			page.Items = append(page.Items, wire.JobOverlap{Domain: o.Domain, Jobs: o.Jobs})
		}
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return page, fmt.Errorf("job %d: %w", id, ErrNotFound)
	}
	return page, err
}
