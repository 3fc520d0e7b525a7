package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// LossRequest declares a file lost.
type LossRequest struct {
	ReasonRequest
	Version uint64 `json:"version,omitempty" doc:"of the file's entry as it was shown: the request is refused with 409 when the entry has changed since"`
}

func (s *server) lossRoutes(api huma.API) {
	type loss struct {
		ByName
		Body LossRequest
	}
	type find struct {
		ByName
		Body ReasonRequest
	}
	register(s, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/lost", id: "file-lost", tag: "files",
		summary: "Declare that nobody has a file's bytes any more; every node is asked first", status: http.StatusNoContent, stream: true},
		func(ctx context.Context, in *loss) (*struct{}, error) {
			return nil, s.Losses.Lose(ctx, catalog.FileName(in.Name), in.Body.Version, in.Body.Reason, callerOf(ctx).Actor)
		})
	register(s, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/found", id: "file-found", tag: "files",
		summary: "Take it back that a file is lost: its copies are owed again", status: http.StatusNoContent},
		func(ctx context.Context, in *find) (*struct{}, error) {
			return nil, s.Losses.Undo(ctx, catalog.FileName(in.Name), in.Body.Reason, callerOf(ctx).Actor)
		})
}
