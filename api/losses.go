package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

func (s files) lossRoutes(api huma.API) {
	type loss struct {
		ByName
		Body wire.LossRequest
	}
	type find struct {
		ByName
		Body wire.ReasonRequest
	}
	register(s.server, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/lost",
		id: "file-lost", tag: "files",
		summary: "Declare a file lost: no node has its bytes any more. Every node is asked first",
		status:  http.StatusNoContent, stream: true},
		func(ctx context.Context, in *loss) (*struct{}, error) {
			return nil, s.losses.Lose(ctx, catalog.FileName(in.Name), in.Body.Version, in.Body.Reason,
				callerOf(ctx).Actor)
		})
	register(s.server, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/found",
		id: "file-found", tag: "files",
		summary: "Withdraw the declaration that a file is lost: its copies are made again",
		status:  http.StatusNoContent},
		func(ctx context.Context, in *find) (*struct{}, error) {
			return nil, s.losses.Undo(ctx, catalog.FileName(in.Name), in.Body.Reason, callerOf(ctx).Actor)
		})
}
