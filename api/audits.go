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
	handle(s, api, route{role: catalog.RoleReader, method: http.MethodGet, path: "/api/v1/audits", id: "audit-list", tag: "audits",
		summary: "List the audits, newest first"},
		func(ctx context.Context, _ *struct{}) (Page[Audit], error) {
			return whole(s.Audits.List(ctx))
		})
	type start struct{ Body AuditRequest }
	handle(s, api, route{role: catalog.RoleOperator, method: http.MethodPost, path: "/api/v1/audits", id: "audit-run", tag: "audits",
		summary: "Read all copies again and compare them with the catalog", status: http.StatusCreated},
		func(ctx context.Context, in *start) (Audit, error) {
			if name := in.Body.Replica; name != "" {
				if _, err := s.replica(string(name)); err != nil {
					return Audit{}, err
				}
			}
			return s.Audits.Start(ctx, in.Body.Replica, callerOf(ctx).Name)
		})
	handle(s, api, route{role: catalog.RoleReader, method: http.MethodGet, path: "/api/v1/audits/{name}", id: "audit-show", tag: "audits",
		summary: "Show an audit and how far each node is"},
		func(ctx context.Context, in *ByName) (Audit, error) {
			return s.Audits.Show(ctx, in.Name)
		})
	type wish struct {
		ByName
		Body wishBody
	}
	handle(s, api, route{role: catalog.RoleOperator, method: http.MethodPost, path: "/api/v1/audits/{name}/wish", id: "audit-wish", tag: "audits",
		summary: "Pause an audit, let it run on, or stop it"},
		func(ctx context.Context, in *wish) (Audit, error) {
			return s.Audits.Wish(ctx, in.Name, in.Body.wish(), in.Body.Reason, callerOf(ctx).Name)
		})
}
