package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	rights "holdfast/catalog/people"
)

// What the nodes answer with goes to the client as it is.
type (
	CatalogCheck = wire.CatalogCheck
	NodeCheck    = wire.NodeCheck
)

// CatalogChecks have all nodes check their catalogs.
type CatalogChecks interface {
	Begin(ctx context.Context) (CatalogCheck, error)
	State(ctx context.Context) (CatalogCheck, error)
	Stop(ctx context.Context) (CatalogCheck, error)
}

// checks are the operations on them.
type checks struct {
	*server
	nodes CatalogChecks
}

func (s checks) routes(api huma.API) {
	for _, r := range []struct {
		method, path, id, summary string
		do                        func(CatalogChecks, context.Context) (CatalogCheck, error)
	}{
		{http.MethodPost, "/api/v1/catalog/check", "catalog-check-run", "Have every node check its own catalog, " +
			"of one " +
			"index; catalog-check tells when that is done", CatalogChecks.Begin},
		{http.MethodGet, "/api/v1/catalog/check", "catalog-check", "Tell how the check of the catalog stands on " +
			"every " +
			"node; nodes that do not answer are named", CatalogChecks.State},
		{http.MethodPost, "/api/v1/catalog/check/stop", "catalog-check-stop", "Stop the checks of the catalog " +
			"on every " +
			"node", CatalogChecks.Stop},
	} {
		handle(s.server, api, route{act: rights.BackUp, method: r.method, path: r.path, id: r.id, tag: "catalog",
			summary: r.summary},
			func(ctx context.Context, _ *struct{}) (wire.CatalogCheck, error) { return r.do(s.nodes, ctx) })
	}
}
