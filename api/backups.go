package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/api/wire"
	rights "holdfast/catalog/people"
)

// What a node answers with goes to the client as it is.
type (
	CatalogBackups = wire.CatalogBackups
	CatalogBackup  = wire.CatalogBackup
	BackupState    = wire.BackupState
)

// Backups are this node's backups of the catalog.
type Backups interface {
	// Send writes an encrypted backup of the state as it is now, after it has called named.
	Send(ctx context.Context, w io.Writer, named func(name string, size int64)) error
	// State says which scheduled backups there are.
	State(ctx context.Context) (CatalogBackups, error)
}

// backups are the operations on them.
type backups struct {
	*server
	own Backups
}

func (s backups) routes(api huma.API) {
	handle(s.server, api, route{act: rights.BackUp, method: http.MethodGet, path: "/api/v1/catalog/backups",
		id: "backup-list", tag: "catalog", summary: "List the scheduled backups of the catalog that this node keeps"},
		func(ctx context.Context, _ *struct{}) (wire.CatalogBackups, error) { return s.own.State(ctx) })
	binary := map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString,
		Format: "binary"}}}
	register(s.server, api, route{act: rights.BackUp, method: http.MethodGet, path: "/api/v1/catalog/backup",
		id: "backup-get", tag: "catalog", stream: true,
		summary: "Get a backup of the catalog as it is now on this node, encrypted to the node's backup-key",
		adjust: func(op *huma.Operation) {
			op.Responses = map[string]*huma.Response{"200": {Description: "The backup; the name of its file is in " +
				"Content-Disposition", Content: binary}}
		}}, s.download)
}

// download sends a backup. A failure before the first byte is a problem; after it, the connection breaks.
func (s backups) download(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		out := &lateWriter{to: &steadyWriter{ResponseWriter: w, control: http.NewResponseController(w)},
			kind: "application/octet-stream"}
		err := s.own.Send(ctx, out, func(name string, size int64) {
			w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
			w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		})
		switch {
		case err == nil:
			out.begin()
		case !out.begun:
			w.Header().Del("Content-Disposition")
			w.Header().Del("Content-Length")
			s.write(nil, hc, s.explain(err))
		default:
			s.log.Warn("sending a backup of the catalog was cut off", "error", err)
			panic(http.ErrAbortHandler)
		}
	}}, nil
}
