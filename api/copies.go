package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// copyCursor is the pattern of the cursors of a list of copies.
const copyCursor = `^(|k-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`

// CopyListing is the input of a list of copies.
type CopyListing struct {
	Paging
	State   string `query:"state" required:"true" enum:"owed,disputed,corrupt,missing" doc:"owed: required and not verified; disputed: an audit's finding waits for a verdict; corrupt and missing: found so, and not repaired"`
	Replica string `query:"replica" maxLength:"64" doc:"list only copies of this replica"`
}

func (s files) copyRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/copies", id: "copy-list",
		tag: "files",
		summary: "List the copies that something is wrong with. A page may be empty and have a next one. " +
			"Owed and disputed ones are counted"},
		func(_ context.Context, in *CopyListing) (wire.Page[wire.FileCopy], error) { return s.copies(in) })
	s.decisionRoutes(api)
}

// decisionRoutes are for what a person decides about a file's copies, where votes do not.
func (s files) decisionRoutes(api huma.API) {
	type replacement struct {
		ByName
		Body wire.CopyReplacement
	}
	handle(s.server, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/replace",
		id: "file-replace", tag: "files", once: true,
		summary: "Set a replica's bad copy of a file aside, and make it again from a good one"},
		func(ctx context.Context, in *replacement) (wire.File, error) {
			ask := agreed.Replacement{Name: catalog.FileName(in.Name), Replica: catalog.ReplicaName(in.Body.Replica),
				Reason: in.Body.Reason}
			return s.decided(ctx, in.Name, agreed.ReplaceCopy, &ask, digestIn{"sha256", in.Body.SHA256, &ask.SHA256})
		})
	type correction struct {
		ByName
		Body wire.ChecksumCorrection
	}
	handle(s.server, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/checksum",
		id: "file-set-checksum", tag: "files", once: true,
		summary: "Correct a file's SHA-256 in the catalog, to what most of its copies were found to have"},
		func(ctx context.Context, in *correction) (wire.File, error) {
			ask := agreed.Correction{Name: catalog.FileName(in.Name), Reason: in.Body.Reason, Version: in.Body.Version}
			return s.decided(ctx, in.Name, agreed.SetChecksum, &ask, digestIn{"was", in.Body.Was, &ask.Was},
				digestIn{"sha256", in.Body.SHA256, &ask.SHA256})
		})
	type setting struct {
		ByName
		Body wire.CopySetting
	}
	handle(s.server, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/state",
		id: "file-set-state", tag: "files", once: true,
		summary: "Put a replica's copy of a file back to owed, so that it is made again"},
		func(ctx context.Context, in *setting) (wire.File, error) {
			ask := agreed.CopySetting{Name: catalog.FileName(in.Name), Replica: catalog.ReplicaName(in.Body.Replica),
				State: catalog.StoreState(in.Body.State), Reason: in.Body.Reason, Version: in.Body.Version}
			return s.decided(ctx, in.Name, agreed.SetCopyState, &ask, digestIn{"sha256", in.Body.SHA256, &ask.SHA256})
		})
}

// digestIn is a SHA-256 in a request, and where it goes.
type digestIn struct {
	field, text string
	to          *catalog.Digest
}

// decided decides about a file, and returns how it is then. ask has its digests when all of them are read.
func (s files) decided(ctx context.Context, name string, kind catalog.Kind, ask any,
	digests ...digestIn) (wire.File, error) {
	for _, d := range digests {
		if err := d.to.UnmarshalText([]byte(d.text)); err != nil {
			return wire.File{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, d.field+": "+err.Error())
		}
	}
	if err := s.decide(ctx, kind, ask, nil); err != nil {
		return wire.File{}, err
	}
	return s.shown(name)
}

// copies returns a page of copies.
func (s files) copies(in *CopyListing) (wire.Page[wire.FileCopy], error) {
	page := wire.Page[wire.FileCopy]{Items: []wire.FileCopy{}}
	after, err := openCursor(in.After, "k")
	if err != nil {
		return page, err
	}
	q := agreed.CopySearch{Fault: agreed.CopyFault(in.State), Replica: catalog.ReplicaName(in.Replica)}
	err = s.Catalog.View(func(v catalog.View) error {
		found, err := v.Copies(q, after, in.Limit)
		if found.Total >= 0 {
			page.Total = &found.Total
		}
		if found.Next != "" {
			page.Next = makeCursor("k", found.Next)
		}
		for i := range found.Copies {
			one := &found.Copies[i]
			f, err := show(v, one.File)
			if err != nil {
				return err
			}
			for _, c := range f.Copies {
				if c.Replica == string(one.Replica) {
					page.Items = append(page.Items, wire.FileCopy{File: f.Name, Size: f.Size, SHA256: f.SHA256,
						Shard: f.Shard, Collection: f.Collection, Job: f.Job, Copy: c})
				}
			}
		}
		return err
	})
	return page, err
}
