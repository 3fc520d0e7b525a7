package api

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// JobIndexes makes indexes of sets of jobs.
type JobIndexes interface {
	// Open returns an index of those of the jobs of which there is something in the archive now, and which they are,
	// in order. What is closed is the caller's. ErrNoRoom: this node has no room to make it.
	Open(ctx context.Context, kind wire.JobIndexKind, jobs []uint64) (JobIndex, []uint64, error)
}

// JobIndex is an index of a set of jobs. An error of WriteTo says that not all was written.
type JobIndex interface {
	io.WriterTo
	io.Closer
}

// jobIndexes are the operations about them.
type jobIndexes struct {
	*server
	indexes JobIndexes
}

type jobIndexQuery struct {
	Kind string   `query:"kind" enum:"cdx,full,documents" default:"cdx" doc:"cdx: the lines of the metadata files' CDX; full: crawl.log and CDX together, duplicates where they are stored, as CDXJ; documents: what later jobs are compared with, as JSON"`
	Jobs []uint64 `query:"job,explode" required:"true" minItems:"1" maxItems:"1000" doc:"a job's number; given for each job"`
}

// contentType is that of a kind of index.
func contentType(kind wire.JobIndexKind) string {
	switch kind {
	case wire.JobIndexFull:
		return "text/x-cdxj; charset=utf-8"
	case wire.JobIndexDocuments:
		return "application/x-ndjson"
	}
	return "application/x-cdx"
}

func (s jobIndexes) routes(api huma.API) {
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	header := func(what string) *huma.Param {
		return &huma.Param{Description: what, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/index",
		id: "job-index", tag: "jobs",
		summary: "One index of several jobs, made of their metadata files: lines in the order of their bytes",
		stream:  true,
		adjust: func(op *huma.Operation) {
			op.Responses = map[string]*huma.Response{"200": {
				Description: "The lines. The connection breaks if they are not all. " +
					"Compressed, if the request accepts gzip.",
				Headers: map[string]*huma.Param{
					wire.JobsHeader:    header("the jobs that the index has, with commas"),
					wire.MissingHeader: header("the jobs of which no metadata file can be read now, with commas"),
				},
				Content: map[string]*huma.MediaType{"application/x-cdx": text, "text/x-cdxj": text,
					"application/x-ndjson": text},
			}}
		}},
		func(ctx context.Context, in *jobIndexQuery) (*huma.StreamResponse, error) {
			if err := s.known(in.Jobs); err != nil {
				return nil, err
			}
			kind := wire.JobIndexKind(in.Kind)
			index, used, err := s.indexes.Open(ctx, kind, in.Jobs)
			if err != nil {
				return nil, err
			}
			return &huma.StreamResponse{Body: func(hc huma.Context) {
				defer func() { _ = index.Close() }()
				s.send(hc, kind, index, used, in.Jobs)
			}}, nil
		})
}

// known refuses jobs that do not exist.
func (s jobIndexes) known(ids []uint64) error {
	return s.Catalog.View(func(v catalog.View) error {
		for _, id := range ids {
			if _, err := v.Job(id); errors.Is(err, catalog.ErrNotFound) {
				return fmt.Errorf("job %d: %w", id, ErrNotFound)
			} else if err != nil {
				return err
			}
		}
		return nil
	})
}

// send streams an index. An error before the first byte is answered as a problem; after it, the connection breaks.
func (s jobIndexes) send(hc huma.Context, kind wire.JobIndexKind, index JobIndex, used, asked []uint64) {
	r, w := humago.Unwrap(hc)
	out := &lateWriter{to: &steadyWriter{ResponseWriter: w, control: http.NewResponseController(w)},
		kind: contentType(kind)}
	missing := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(asked))), func(id uint64) bool {
		return slices.Contains(used, id)
	})
	w.Header().Set(wire.JobsHeader, numbers(used))
	w.Header().Set(wire.MissingHeader, numbers(missing))
	w.Header().Set("Vary", "Accept-Encoding")
	var to io.Writer = out
	end := func() error { out.begin(); return nil }
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		packed, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // the level is one that there is
		to, end = packed, packed.Close
	}
	_, err := index.WriteTo(to)
	if err == nil {
		err = end()
	}
	switch {
	case err == nil:
	case !out.begun:
		for _, name := range []string{wire.JobsHeader, wire.MissingHeader, "Content-Encoding", "Vary"} {
			w.Header().Del(name)
		}
		s.write(nil, hc, s.explain(err))
	default:
		s.log.Warn("index of jobs not sent to its end", "jobs", used, "error", err)
		panic(http.ErrAbortHandler)
	}
}

// numbers writes numbers with commas.
func numbers(ids []uint64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatUint(id, 10)
	}
	return strings.Join(texts, ",")
}
