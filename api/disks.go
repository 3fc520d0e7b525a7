package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// OwnDisks are the disks of the node that is asked, and of no other.
type OwnDisks interface {
	Show() (wire.Disks, error)
	// Wish carries out the wish and returns the state of the disks after it. It returns ErrNotFound if the path is
	// not one of them.
	Wish(wish wire.DiskWish, actor string) (wire.Disks, error)
}

func (s cluster) diskRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/disks",
		id: "disk-list", tag: "disks",
		summary: "List this node's disks for files, and the moves between them"},
		func(context.Context, *struct{}) (wire.Disks, error) {
			return s.disks.Show()
		})
	type wish struct{ Body wire.DiskWish }
	handle(s.server, api, route{act: catalog.ChangeNode, within: here[wish](s.server), method: http.MethodPost,
		path: "/api/v1/disks/wish",
		id:   "disk-wish", tag: "disks",
		summary: "Empty one of this node's disks or use it again; pause or resume moves between its disks"},
		func(ctx context.Context, in *wish) (wire.Disks, error) {
			if names := in.Body.Wish == "drain" || in.Body.Wish == "undrain"; names != (in.Body.Path != "") {
				return wire.Disks{}, problem(http.StatusConflict, wire.CodeConflict,
					"a path is given to drain or undrain a disk, and only then")
			}
			return s.disks.Wish(in.Body, callerOf(ctx).Actor)
		})
}
