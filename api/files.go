package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// FileRemoval makes a file's entry a tombstone.
type FileRemoval struct {
	SHA256 string `json:"sha256" minLength:"64" maxLength:"64" doc:"the file's, against mistakes"`
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
}

func (s *server) fileRoutes(api huma.API) {
	type list struct {
		Paging
		Prefix string `query:"prefix" maxLength:"200" doc:"of the names"`
	}
	handle(s, api, route{role: catalog.RoleReader, method: http.MethodGet, path: "/api/v1/files", id: "file-list", tag: "files",
		summary: "List the files whose name has the prefix, by name"},
		func(_ context.Context, in *list) (Page[File], error) {
			return s.files(in.Prefix, in.After, in.Limit)
		})
	handle(s, api, route{role: catalog.RoleReader, method: http.MethodGet, path: "/api/v1/files/{name}", id: "file-show", tag: "files",
		summary: "Show a file and its copies"},
		func(_ context.Context, in *ByName) (File, error) {
			f, err := s.file(in.Name)
			if err != nil {
				return File{}, err
			}
			return FileOf(f), nil
		})
	handle(s, api, route{role: catalog.RoleOperator, method: http.MethodPost, path: "/api/v1/files/{name}/verify", id: "file-verify", tag: "files",
		summary: "Re-read every copy of a file where it lies", stream: true},
		func(ctx context.Context, in *ByName) (Page[Verification], error) {
			f, err := s.file(in.Name)
			if err != nil {
				return Page[Verification]{}, err
			}
			return whole(s.Archive.Verify(ctx, f.Name))
		})
	type removal struct {
		ByName
		Body FileRemoval
	}
	register(s, api, route{role: catalog.RoleAdmin, method: http.MethodPost, path: "/api/v1/files/{name}/remove", id: "file-remove", tag: "files",
		summary: "Remove a file: its entry stays as a tombstone, for ever", status: http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			var digest catalog.Digest
			if err := digest.UnmarshalText([]byte(in.Body.SHA256)); err != nil {
				return nil, problem(http.StatusUnprocessableEntity, CodeInvalid, "sha256: "+err.Error())
			}
			return nil, s.propose(ctx, catalog.RemoveFile, catalog.FileRemoval{Name: catalog.FileName(in.Name), SHA256: digest, Reason: in.Body.Reason}, nil)
		})
}

// file returns the file's entry, a tombstone too.
func (s *server) file(name string) (catalog.File, error) {
	var file catalog.File
	err := s.Catalog.View(func(v catalog.View) (err error) {
		if file, err = v.File(catalog.FileName(name)); err != nil {
			return err
		}
		file, err = v.Audited(file)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return catalog.File{}, fmt.Errorf("file %s: %w", name, ErrNotFound)
	}
	return file, err
}

// files returns a page of the files whose names have the prefix.
func (s *server) files(prefix, cursor string, limit int) (Page[File], error) {
	page := Page[File]{Items: []File{}}
	after, err := openCursor(cursor, "f")
	if err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		files, err := v.Files(prefix, catalog.FileName(after), limit+1)
		if err != nil {
			return err
		}
		if len(files) > limit {
			files = files[:limit]
			page.Next = makeCursor("f", string(files[limit-1].Name))
		}
		for _, f := range files {
			if f, err = v.Audited(f); err != nil {
				return err
			}
			page.Items = append(page.Items, FileOf(f))
		}
		return nil
	})
	return page, err
}
