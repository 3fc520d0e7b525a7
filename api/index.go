package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// IndexRebuild asks that an index be built anew from the files.
type IndexRebuild struct {
	Node string `json:"node,omitempty" doc:"name or id; default: every node"`
}

func (s *server) indexRoutes(api huma.API) {
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/index", id: "index-status", tag: "index",
		summary: "How the nodes' indexes stand"},
		func(ctx context.Context, _ *struct{}) (Page[IndexStatus], error) {
			return whole(s.Index.Status(ctx))
		})
	type rebuild struct{ Body IndexRebuild }
	register(s, api, route{act: catalog.RebuildIndex, within: ofNode(s, func(in *rebuild) string { return in.Body.Node }), method: http.MethodPost, path: "/api/v1/index/rebuild", id: "index-rebuild", tag: "index",
		summary: "Build the index anew from the files", status: http.StatusAccepted},
		func(ctx context.Context, in *rebuild) (*struct{}, error) {
			var id catalog.NodeID
			if in.Body.Node != "" {
				node, err := s.node(ctx, in.Body.Node)
				if err != nil {
					return nil, err
				}
				id = node.ID
			}
			return nil, s.Index.Rebuild(ctx, id, callerOf(ctx).Actor)
		})
}
