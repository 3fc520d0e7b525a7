package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// AuditRequest asks for an audit.
type AuditRequest struct {
	Replica catalog.ReplicaName `json:"replica,omitempty" doc:"default: every replica"`
}

func (s *server) auditRoutes(api huma.API) {
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/audits", id: "audit-list", tag: "audits",
		summary: "List the audits, newest first"},
		func(ctx context.Context, _ *struct{}) (Page[Audit], error) {
			return whole(s.Audits.List(ctx))
		})
	type start struct{ Body AuditRequest }
	replicasAsked := func(_ context.Context, in *start) (out []catalog.ReplicaName, err error) {
		if name := in.Body.Replica; name != "" {
			_, err = s.replica(string(name))
			out = append(out, name)
		}
		return out, err
	}
	handle(s, api, route{act: catalog.CheckCopies, within: ofReplicas(s, replicasAsked), method: http.MethodPost, path: "/api/v1/audits", id: "audit-run", tag: "audits",
		summary: "Read all copies again and compare them with the catalog", status: http.StatusCreated},
		func(ctx context.Context, in *start) (Audit, error) {
			return s.Audits.Start(ctx, in.Body.Replica, callerOf(ctx).Actor)
		})
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/audits/{name}", id: "audit-show", tag: "audits",
		summary: "Show an audit and how far each node is"},
		func(ctx context.Context, in *ByName) (Audit, error) {
			return s.Audits.Show(ctx, in.Name)
		})
	type wish struct {
		ByName
		Body wishBody
	}
	replicasOfAudit := func(ctx context.Context, in *wish) ([]catalog.ReplicaName, error) {
		a, err := s.Audits.Show(ctx, in.Name)
		return a.Replicas, err
	}
	handle(s, api, route{act: catalog.CheckCopies, within: ofReplicas(s, replicasOfAudit), method: http.MethodPost, path: "/api/v1/audits/{name}/wish", id: "audit-wish", tag: "audits",
		summary: "Pause an audit, let it run on, or stop it"},
		func(ctx context.Context, in *wish) (Audit, error) {
			return s.Audits.Wish(ctx, in.Name, in.Body.wish(), in.Body.Reason, callerOf(ctx).Actor)
		})
}
