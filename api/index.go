package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s cluster) indexRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/index", id: "index-status",
		tag:     "index",
		summary: "Show the state of the nodes' indexes"},
		func(ctx context.Context, _ *struct{}) (wire.Page[wire.IndexStatus], error) {
			return whole(s.index.Status(ctx))
		})
	type rebuild struct{ Body wire.IndexRebuild }
	register(s.server, api, route{act: catalog.RebuildIndex,
		within: ofNode(s.server, func(in *rebuild) string { return in.Body.Node }), method: http.MethodPost,
		path: "/api/v1/index/rebuild", id: "index-rebuild", tag: "index",
		summary: "Rebuild the index from the files", status: http.StatusAccepted},
		func(ctx context.Context, in *rebuild) (*struct{}, error) {
			var id catalog.NodeID
			if in.Body.Node != "" {
				node, err := s.node(ctx, in.Body.Node)
				if err != nil {
					return nil, err
				}
				id = catalog.NodeID(node.ID)
			}
			return nil, s.index.Rebuild(ctx, id, in.Body.Reason, callerOf(ctx).Actor)
		})
}
