package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// What the nodes' quarantines answer with goes to the client as it is.
type (
	NodeQuarantine = wire.NodeQuarantine
	Aside          = wire.Aside
)

// Quarantine is what the nodes have set aside.
type Quarantine interface {
	ListAside(ctx context.Context) ([]NodeQuarantine, error) // of every member, including those that do not answer
	// ShowAside has the node read the bytes. ErrNotFound: they are not there.
	ShowAside(ctx context.Context, node catalog.NodeID, id string) (Aside, error)
	// RestoreAside has the node offer the bytes as the source of the file that they are; a *catalog.Refusal if they are
	// not.
	RestoreAside(ctx context.Context, node catalog.NodeID, id string) error
}

// quarantines are the operations on what nodes have set aside.
type quarantines struct {
	*server
	nodes Quarantine
}

// AsideInput names bytes in the quarantine of a node.
type AsideInput struct {
	ByName
	ID string `path:"id" minLength:"1" maxLength:"218" doc:"the file's name, a dot, and when the bytes were set aside"`
}

type asideRemoval struct {
	AsideInput
	Body wire.AsideRemoval
}

func (s quarantines) routes(api huma.API) {
	at := ofNode(s.server, func(in *AsideInput) string { return in.Name })
	handle(s.server, api, route{act: catalog.LookAtDisks, method: http.MethodGet, path: "/api/v1/quarantine",
		id: "quarantine-list", tag: "files", summary: "List the bytes that the nodes have set aside"},
		func(ctx context.Context, _ *struct{}) (wire.Page[wire.NodeQuarantine], error) {
			return whole(s.nodes.ListAside(ctx))
		})
	handle(s.server, api, route{act: catalog.CheckCopies, within: at, method: http.MethodGet,
		path: "/api/v1/nodes/{name}/quarantine/{id}", id: "quarantine-show", tag: "files", stream: true,
		summary: "Read bytes that a node has set aside, and describe them"},
		func(ctx context.Context, in *AsideInput) (wire.Aside, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return wire.Aside{}, err
			}
			return s.nodes.ShowAside(ctx, catalog.NodeID(node.ID), in.ID)
		})
	register(s.server, api, route{act: catalog.CheckCopies, within: at, method: http.MethodPost,
		path: "/api/v1/nodes/{name}/quarantine/{id}/restore", id: "quarantine-restore", tag: "files", stream: true,
		summary: "Read bytes that a node has set aside; if a file of the archive misses copies and these " +
			"are its bytes, they become its source", status: http.StatusNoContent},
		func(ctx context.Context, in *AsideInput) (*struct{}, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return nil, err
			}
			return nil, s.nodes.RestoreAside(ctx, catalog.NodeID(node.ID), in.ID)
		})
	register(s.server, api, route{act: catalog.EraseFile, method: http.MethodPost, once: true,
		path: "/api/v1/nodes/{name}/quarantine/{id}/delete", id: "quarantine-delete", tag: "files",
		summary: "Ask for the deletion of bytes that a node has set aside. The node reads them, and does it if they " +
			"have the SHA-256 and are not the only ones of a file", status: http.StatusNoContent},
		func(ctx context.Context, in *asideRemoval) (*struct{}, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return nil, err
			}
			wish := agreed.Discard{Node: catalog.NodeID(node.ID), Aside: agreed.AsideName(in.ID),
				Reason: in.Body.Reason}
			if err := wish.SHA256.UnmarshalText([]byte(in.Body.SHA256)); err != nil {
				return nil, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "sha256: "+err.Error())
			}
			return nil, s.decide(ctx, agreed.DiscardAside, wish, nil)
		})
}
