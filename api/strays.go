package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s files) strayRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.LookAtDisks, method: http.MethodGet, path: "/api/v1/strays",
		id: "stray-list", tag: "files",
		summary: "List the bytes on the nodes that the archive neither counts on nor asks for"},
		func(ctx context.Context, _ *struct{}) (wire.Page[wire.NodeStrays], error) {
			return whole(s.strays.List(ctx))
		})
}
