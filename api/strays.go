package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// Adoption says which stray becomes a file of the archive, or its source.
type Adoption struct {
	Name       catalog.FileName
	Collection catalog.CollectionName // of a file that the catalog does not know
	SHA256     catalog.Digest         // zero: whatever it is
}

// StrayInput names bytes on a node that nobody asks for.
type StrayInput struct {
	ByName
	File string `path:"file" minLength:"1" maxLength:"200"`
}

type adoptInput struct {
	StrayInput
	Body wire.Adoption
}

type asideInput struct {
	StrayInput
	Body wire.ReasonRequest
}

// ofAdoption finds the place of the node, and the collection of a new file.
func (s files) ofAdoption() finder {
	return within(func(ctx context.Context, in *adoptInput) (catalog.Where, error) {
		n, err := s.node(ctx, in.Name)
		where := atPlaces(n.Place)
		if in.Body.Collection != "" {
			where.Collections = []catalog.CollectionName{catalog.CollectionName(in.Body.Collection)}
		}
		return where, err
	})
}

func (s files) adopt(ctx context.Context, in *adoptInput) (wire.File, error) {
	node, err := s.node(ctx, in.Name)
	if err != nil {
		return wire.File{}, err
	}
	a := Adoption{Name: catalog.FileName(in.File), Collection: catalog.CollectionName(in.Body.Collection)}
	if err := a.SHA256.UnmarshalText([]byte(in.Body.SHA256)); err != nil && in.Body.SHA256 != "" {
		return wire.File{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "sha256: "+err.Error())
	}
	if err := a.Name.Check(); err != nil {
		return wire.File{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	if _, err := s.file(in.File); errors.Is(err, ErrNotFound) && a.Collection != "" {
		if err := s.kept(a.Collection); err != nil {
			return wire.File{}, err
		}
	}
	if err := s.strays.Adopt(ctx, catalog.NodeID(node.ID), a, callerOf(ctx).Actor); err != nil {
		return wire.File{}, err
	}
	if err := s.Catalog.Linear(ctx); err != nil { // the node may know more than this one
		return wire.File{}, err
	}
	return s.shown(in.File)
}

func (s files) strayRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.LookAtDisks, method: http.MethodGet, path: "/api/v1/strays",
		id: "stray-list", tag: "files",
		summary: "List the strays: bytes on the nodes that are not counted as a copy of any file"},
		func(ctx context.Context, _ *struct{}) (wire.Page[wire.NodeStrays], error) {
			return whole(s.strays.List(ctx))
		})
	handle(s.server, api, route{act: catalog.CheckCopies, within: s.ofAdoption(), method: http.MethodPost,
		path: "/api/v1/nodes/{name}/strays/{file}/adopt", id: "stray-adopt", tag: "files", stream: true,
		summary: "Read a stray on a node, and take its bytes into the archive: as the source of the " +
			"file that they are, or as a new file of a collection"}, s.adopt)
	register(s.server, api, route{act: catalog.CheckCopies,
		within: ofNode(s.server, func(in *asideInput) string { return in.Name }), method: http.MethodPost,
		path: "/api/v1/nodes/{name}/strays/{file}/set-aside", id: "stray-set-aside", tag: "files",
		summary: "Move a stray to the quarantine of its node", status: http.StatusNoContent},
		func(ctx context.Context, in *asideInput) (*struct{}, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return nil, err
			}
			return nil, s.strays.SetAside(ctx, catalog.NodeID(node.ID), catalog.FileName(in.File), in.Body.Reason,
				callerOf(ctx).Actor)
		})
}
