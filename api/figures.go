package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// What the nodes answer with goes to the client as it is.
type (
	NodeFigures  = wire.NodeFigures
	FigureSeries = wire.FigureSeries
)

// Figures are those that each node keeps of itself.
type Figures interface {
	// Figures returns those of a member, of the last "hour" or "week".
	Figures(ctx context.Context, node catalog.NodeID, span string) (NodeFigures, error)
}

// figures are the operations on them.
type figures struct {
	*server
	nodes Figures
}

type figuresInput struct {
	ByName
	Span string `query:"span" enum:"hour,week" default:"hour" doc:"the last hour by 10 seconds, or the last week by 5 minutes"`
}

func (s figures) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/nodes/{name}/figures",
		id: "node-figures", tag: "nodes", summary: "Show a few figures of a node over the last hour or week"},
		func(ctx context.Context, in *figuresInput) (wire.NodeFigures, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return wire.NodeFigures{}, err
			}
			return s.nodes.Figures(ctx, catalog.NodeID(node.ID), in.Span)
		})
}
