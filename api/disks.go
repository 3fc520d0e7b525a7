package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// OwnDisks are the disks of the node that is asked, and of no other.
type OwnDisks interface {
	Show() (wire.Disks, error)
	// Wish carries out the wish and returns the state of the disks after it. It returns ErrNotFound if the path is
	// not one of them.
	Wish(wish wire.DiskWish, actor string) (wire.Disks, error)
	// Replacing says what it would do to replace the disk at the path by another, and which disk that is. It returns
	// ErrNotFound if the path is not one of them, and a refusal if it cannot be replaced so.
	Replacing(path, by string) (which string, effects []string, err error)
}

// confirmsReplacing describes that replacing a disk is asked for twice.
func confirmsReplacing(op *huma.Operation) {
	op.Errors = append(op.Errors, http.StatusPreconditionRequired)
	op.Description += " Replacing a disk without confirm is refused with 428, whose errors say what it would do and " +
		"give the value of confirm."
}

func (s cluster) diskRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/disks",
		id: "disk-list", tag: "disks",
		summary: "List this node's disks for files, and the moves between them"},
		func(context.Context, *struct{}) (wire.Disks, error) {
			return s.disks.Show()
		})
	type wish struct{ Body wire.DiskWish }
	handle(s.server, api, route{act: catalog.ChangeNode, within: here[wish](s.server), method: http.MethodPost,
		path: "/api/v1/disks/wish", limit: soleTime,
		id: "disk-wish", tag: "disks", adjust: confirmsReplacing,
		summary: "Empty one of this node's disks or use it again; make a new one ready, or replace one; pause or " +
			"resume moves"},
		func(ctx context.Context, in *wish) (wire.Disks, error) {
			if all := in.Body.Wish == "pause" || in.Body.Wish == "resume"; all == (in.Body.Path != "") {
				return wire.Disks{}, problem(http.StatusConflict, wire.CodeConflict,
					"a path is given to drain, undrain, add or replace a disk, and only then")
			}
			replace := in.Body.Wish == "replace"
			if replace != (in.Body.By != "") {
				return wire.Disks{}, problem(http.StatusConflict, wire.CodeConflict,
					"the path of a new disk is given to replace one, and only then")
			}
			if replace {
				which, effects, err := s.disks.Replacing(in.Body.Path, in.Body.By)
				if err != nil {
					return wire.Disks{}, err
				}
				if err := confirmed(in.Body.Confirm, "replace disk", in.Body.Path, which, effects); err != nil {
					return wire.Disks{}, err
				}
			}
			return s.disks.Wish(in.Body, callerOf(ctx).Actor)
		})
}
