package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

func (s files) routes(api huma.API) {
	s.entryRoutes(api)
	s.contentRoutes(api)
	s.lossRoutes(api)
	s.strayRoutes(api)
	s.copyRoutes(api)
	s.restoreRoutes(api)
}

// verification is the input of file-verify.
type verification struct {
	ByName
	Replicas []string `query:"replica,explode" maxItems:"100" doc:"read only the copies of these replicas; default: all copies"`
}

func (s files) entryRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/files", id: "file-list",
		tag:     "files",
		summary: "List files by name: all, or by collection, job and state. A page may be empty and have a next one"},
		func(ctx context.Context, in *FileListing) (wire.Page[wire.File], error) { return s.list(ctx, in) })
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/files/{name}",
		id: "file-show", tag: "files",
		summary: "Show a file and its copies"},
		func(_ context.Context, in *ByName) (wire.File, error) {
			return s.shown(in.Name)
		})
	handle(s.server, api, route{act: catalog.CheckCopies, within: ofReplicas(s.server, replicasToVerify(s.server)),
		method: http.MethodPost, path: "/api/v1/files/{name}/verify", id: "file-verify", tag: "files",
		summary: "Read the copies of a file, each on its own node, and compare them with the file's SHA-256",
		stream:  true},
		func(ctx context.Context, in *verification) (wire.Page[wire.Verification], error) {
			f, err := s.file(in.Name)
			if err != nil {
				return wire.Page[wire.Verification]{}, err
			}
			for _, name := range in.Replicas {
				if !slices.ContainsFunc(f.Copies, func(c catalog.Copy) bool { return string(c.Replica) == name }) {
					return wire.Page[wire.Verification]{}, fmt.Errorf("copy of %s in replica %s: %w", f.Name, name,
						ErrNotFound)
				}
			}
			return whole(s.archive.Verify(ctx, f.Name, kindOf[catalog.ReplicaName](in.Replicas)))
		})
	type removal struct {
		ByName
		Body wire.FileRemoval
	}
	register(s.server, api, route{act: catalog.EraseFile, method: http.MethodPost, path: "/api/v1/files/{name}/remove",
		id: "file-remove", tag: "files", adjust: twice,
		summary: "Remove a file: it is no longer given out. Its copies are deleted when it can no longer be restored",
		status:  http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			var digest catalog.Digest
			if err := digest.UnmarshalText([]byte(in.Body.SHA256)); err != nil {
				return nil, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "sha256: "+err.Error())
			}
			var f catalog.File
			var version uint64
			var days int
			err := s.look(in.Name, func(v catalog.View, found catalog.File) (err error) {
				f = found
				if version, err = catalog.EntryMark(v, found); err == nil {
					days, err = agreed.RemovalDaysIn(v.Reader)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			if f.RemovedAt() == 0 && f.SHA256 == digest {
				if err := confirmed(in.Body.Confirm, "remove file", in.Name, f.SHA256.String(),
					effectsOfFileRemoval(f, days)); err != nil {
					return nil, err
				}
			}
			removal := catalog.FileRemoval{Name: f.Name, SHA256: digest, Reason: in.Body.Reason, Version: version}
			return nil, s.propose(ctx, catalog.RemoveFile, removal, nil)
		})
}

// file returns the file's entry, a tombstone too.
func (s *server) file(name string) (file catalog.File, err error) {
	err = s.look(name, func(v catalog.View, f catalog.File) (err error) { file, err = v.Audited(f); return err })
	return file, err
}

// shown returns the file's entry as the API shows it.
func (s *server) shown(name string) (out wire.File, err error) {
	err = s.look(name, func(v catalog.View, f catalog.File) (err error) { out, err = show(v, f); return err })
	return out, err
}

// look calls see with a file's entry.
func (s *server) look(name string, see func(catalog.View, catalog.File) error) error {
	err := s.Catalog.View(func(v catalog.View) error {
		f, err := v.File(catalog.FileName(name))
		if err != nil {
			return err
		}
		return see(v, f)
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return fmt.Errorf("file %s: %w", name, ErrNotFound)
	}
	return err
}

// show returns an entry with the audits' findings about its copies. A copy counts as verified only if a member
// answers for it: not while a lost node's shards are given up, nor after a recovery before its node has compared its
// copies.
func show(v catalog.View, f catalog.File) (wire.File, error) {
	audited, err := v.Audited(f)
	if err != nil {
		return wire.File{}, err
	}
	passed := map[catalog.ReplicaName]catalog.Time{}
	for _, c := range f.Copies {
		at, err := v.Passed(c.Replica, f.Name.Shard())
		if err != nil {
			return wire.File{}, err
		}
		passed[c.Replica] = at
	}
	out := fileOf(audited, func(r catalog.ReplicaName) catalog.Time { return passed[r] })
	if f.RemovedBy != "" {
		if out.RemoverName, err = catalog.PeopleIn(v).ActorName(f.RemovedBy); err != nil {
			return wire.File{}, err
		}
	}
	for i := range out.Copies {
		shown, c := &out.Copies[i], &f.Copies[i]
		if !c.Good() || c.Surplus {
			continue
		}
		keeper, err := v.Keeper(&f, c)
		if err != nil {
			return wire.File{}, err
		}
		if shown.Node = string(keeper); keeper == "" { // nobody answers for it now
			shown.Node, shown.Verified, out.Complete = string(c.Node), time.Time{}, false
			shown.FileList, shown.Checksum = wire.NoFileListStatus, wire.ChecksumUnknown
			continue
		}
		if shown.Away, err = v.CopyAway(&f, c); err != nil {
			return wire.File{}, err
		}
	}
	return out, nil
}
