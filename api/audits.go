package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s audits) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/audits", id: "audit-list",
		tag:     "audits",
		summary: "List the audits, newest first"},
		func(ctx context.Context, _ *struct{}) (wire.Page[wire.Audit], error) {
			return whole(s.audits.List(ctx))
		})
	type start struct{ Body wire.AuditRequest }
	replicasAsked := func(_ context.Context, in *start) (out []catalog.ReplicaName, err error) {
		if name := in.Body.Replica; name != "" {
			_, err = s.replica(name)
			out = append(out, catalog.ReplicaName(name))
		}
		return out, err
	}
	handle(s.server, api, route{act: catalog.CheckCopies, within: ofReplicas(s.server, replicasAsked),
		method: http.MethodPost, path: "/api/v1/audits", id: "audit-run", tag: "audits",
		summary: "Read all copies and compare them with the catalog", status: http.StatusCreated},
		func(ctx context.Context, in *start) (wire.Audit, error) {
			return s.audits.Start(ctx, catalog.ReplicaName(in.Body.Replica), callerOf(ctx).Actor)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/audits/{name}",
		id: "audit-show", tag: "audits",
		summary: "Show an audit and the progress of each node"},
		func(ctx context.Context, in *ByName) (wire.Audit, error) {
			return s.audits.Show(ctx, in.Name)
		})
	type wish struct {
		ByName
		Body wire.WishBody
	}
	replicasOfAudit := func(ctx context.Context, in *wish) ([]catalog.ReplicaName, error) {
		a, err := s.audits.Show(ctx, in.Name)
		return kindOf[catalog.ReplicaName](a.Replicas), err
	}
	handle(s.server, api, route{act: catalog.CheckCopies, within: ofReplicas(s.server, replicasOfAudit),
		method: http.MethodPost, path: "/api/v1/audits/{name}/wish", id: "audit-wish", tag: "audits",
		summary: "Pause, resume or stop an audit"},
		func(ctx context.Context, in *wish) (wire.Audit, error) {
			return s.audits.Wish(ctx, in.Name, wishOf(in.Body.Wish), in.Body.Reason, callerOf(ctx).Actor)
		})
}
