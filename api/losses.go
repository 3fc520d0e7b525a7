package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

func (s *server) lossRoutes(api huma.API) {
	type loss struct {
		ByName
		Body ReasonRequest
	}
	register(s, api, route{role: catalog.RoleAdmin, method: http.MethodPost, path: "/api/v1/files/{name}/lost", id: "file-lost", tag: "files",
		summary: "Declare that nobody has a file's bytes any more; every node is asked first", status: http.StatusNoContent, stream: true},
		func(ctx context.Context, in *loss) (*struct{}, error) {
			return nil, s.Losses.Lose(ctx, catalog.FileName(in.Name), in.Body.Reason, callerOf(ctx).Name)
		})
	register(s, api, route{role: catalog.RoleAdmin, method: http.MethodPost, path: "/api/v1/files/{name}/found", id: "file-found", tag: "files",
		summary: "Take it back that a file is lost: its copies are owed again", status: http.StatusNoContent},
		func(ctx context.Context, in *loss) (*struct{}, error) {
			return nil, s.Losses.Undo(ctx, catalog.FileName(in.Name), in.Body.Reason, callerOf(ctx).Name)
		})
}
