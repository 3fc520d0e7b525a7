package api

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/access"
	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/cdx"
)

// JobIndexes makes indexes of sets of jobs.
type JobIndexes interface {
	// Open returns an index of those of the jobs of which there is something in the archive now, and which they are,
	// in order, and of which of these something is lost. What is closed is the caller's. ErrNoRoom: this node has no
	// room to make it.
	Open(ctx context.Context, kind wire.JobIndexKind, jobs []uint64) (JobIndex, wire.JobIndex, error)
	// Records returns the records of a job whose URLs and media types have a match of the expressions, as a WARC file;
	// nil matches all; those alone that the gate lets pass. ErrNotFound: no metadata file of the job can be read now.
	Records(ctx context.Context, job uint64, url, kind *regexp.Regexp, gate cdx.Gate) (JobIndex, error)
}

// JobIndex is an index of a set of jobs, or records of a job. An error of WriteTo says that not all was written.
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
	Kind    string   `query:"kind" enum:"cdx,full,documents" default:"cdx" doc:"cdx: the lines of the metadata files' CDX; full: crawl.log and CDX together, duplicates where they are stored, as CDXJ; documents: what later jobs are compared with, as JSON"`
	Jobs    []uint64 `query:"job,explode" nullable:"false" maxItems:"1000" doc:"a job's number; given for each job"`
	Harvest uint64   `query:"harvest" maximum:"9007199254740991" doc:"instead of jobs: all jobs of the harvest with this number, at most 1000"`
	Run     uint64   `query:"run" maximum:"9007199254740991" doc:"only the jobs of this run of the harvest"`
}

// mostIndexed is how many jobs one index is made of; mostUnmade, how many runs without all of their jobs it names.
const (
	mostIndexed = 1000
	mostUnmade  = 100
)

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
	s.recordRoutes(api)
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
					wire.IncompleteHeader: header("those of the jobs that the index has of which the metadata " +
						"file of an earlier attempt is lost, with commas; not of documents, which are those of the " +
						"last attempt"),
					wire.UnmadeHeader: header("the runs of the harvest whose jobs are being made, or " +
						"could not all be made, with commas; the first 100 of more"),
				},
				Content: map[string]*huma.MediaType{"application/x-cdx": text, "text/x-cdxj": text,
					"application/x-ndjson": text},
			}}
		}},
		func(ctx context.Context, in *jobIndexQuery) (*huma.StreamResponse, error) {
			asked, unmade, err := s.asked(ctx, in)
			if err == nil {
				err = papers(ctx, s.server)
			}
			if err != nil {
				return nil, err
			}
			kind := wire.JobIndexKind(in.Kind)
			index, of, err := s.indexes.Open(ctx, kind, asked)
			if err != nil {
				return nil, err
			}
			of.Unmade = unmade
			return &huma.StreamResponse{Body: func(hc huma.Context) {
				defer func() { _ = index.Close() }()
				s.send(hc, kind, index, of, asked)
			}}, nil
		})
}

// asked returns the jobs that an index is asked of: those that are given, or those of a harvest or of one of its runs,
// and which of these runs have not all of their jobs.
func (s jobIndexes) asked(ctx context.Context, in *jobIndexQuery) (jobs, unmade []uint64, err error) {
	switch {
	case in.Harvest == 0 && in.Run != 0:
		return nil, nil, refused("run: give the harvest, too")
	case in.Harvest == 0 && len(in.Jobs) == 0:
		return nil, nil, refused("job: give at least one, or a harvest")
	case in.Harvest == 0:
		return in.Jobs, nil, s.known(in.Jobs)
	case len(in.Jobs) > 0:
		return nil, nil, refused("job: not together with harvest")
	}
	if _, err := s.harvest(ctx, in.Harvest); err != nil {
		return nil, nil, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		if jobs, err = jobsOf(v, in.Harvest, in.Run); err == nil {
			unmade, err = unmadeOf(v, in.Harvest, in.Run)
		}
		return err
	})
	return jobs, unmade, err
}

// jobsOf returns the jobs of a harvest, or of one of its runs if that is not 0. It refuses more than mostIndexed.
func jobsOf(v catalog.View, harvest, run uint64) (ids []uint64, err error) {
	if run != 0 {
		if _, err := catalog.RunsIn(v).Run(harvest, run); errors.Is(err, catalog.ErrNotFound) {
			return nil, fmt.Errorf("run %d of harvest %d: %w", run, harvest, ErrNotFound)
		} else if err != nil {
			return nil, err
		}
	}
	for before := uint64(0); ; {
		page, err := v.Search(agreed.Search{Harvest: &harvest, Run: run}, before, mostIndexed+1-len(ids))
		if err != nil {
			return nil, err
		}
		for _, j := range page.Jobs {
			ids = append(ids, j.ID)
		}
		if len(ids) > mostIndexed {
			return nil, refused("harvest: it has more than %d jobs: give a run, or the jobs", mostIndexed)
		}
		if before = page.Next; before == 0 {
			return ids, nil
		}
	}
}

// unmadeOf returns the first runs of a harvest whose jobs are not all made, or of these the one that is not 0.
func unmadeOf(v catalog.View, harvest, only uint64) (unmade []uint64, err error) {
	const page = 100
	after := uint64(0)
	if only != 0 {
		after = only - 1
	}
	for {
		of, err := catalog.RunsIn(v).Runs(harvest, after, page)
		if err != nil {
			return nil, err
		}
		for _, r := range of {
			if only != 0 && r.Number != only {
				return unmade, nil
			}
			if after = r.Number; r.State != runs.Made {
				unmade = append(unmade, r.Number)
			}
		}
		if len(of) < page || len(unmade) >= mostUnmade {
			return unmade[:min(len(unmade), mostUnmade)], nil
		}
	}
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
func (s jobIndexes) send(hc huma.Context, kind wire.JobIndexKind, index JobIndex, of wire.JobIndex, asked []uint64) {
	r, w := humago.Unwrap(hc)
	missing := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(asked))), func(id uint64) bool {
		return slices.Contains(of.Jobs, id)
	})
	w.Header().Set(wire.JobsHeader, numbers(of.Jobs))
	w.Header().Set(wire.IncompleteHeader, numbers(of.Incomplete))
	w.Header().Set(wire.MissingHeader, numbers(missing))
	w.Header().Set(wire.UnmadeHeader, numbers(of.Unmade))
	w.Header().Set("Vary", "Accept-Encoding")
	from := io.WriterTo(index)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		from = packed{index}
	}
	s.stream(hc, contentType(kind), from, wire.JobsHeader, wire.MissingHeader, wire.IncompleteHeader,
		wire.UnmadeHeader, "Content-Encoding", "Vary")
}

// stream sends what is written. An error before the first byte is answered as a problem, without the headers that are
// named; after it, what was written is sent, and the connection breaks.
func (s jobIndexes) stream(hc huma.Context, kind string, from io.WriterTo, headers ...string) {
	_, w := humago.Unwrap(hc)
	control := http.NewResponseController(w)
	out := &lateWriter{to: &steadyWriter{ResponseWriter: w, control: control}, kind: kind}
	_, err := from.WriteTo(out)
	switch {
	case err == nil:
		out.begin()
	case !out.begun:
		for _, name := range headers {
			w.Header().Del(name)
		}
		s.write(nil, hc, s.explain(err))
	default:
		s.log.Warn("what was asked of jobs is not sent to its end", "operation", hc.Operation().OperationID,
			"error", err)
		_ = control.Flush()
		panic(http.ErrAbortHandler)
	}
}

// packed compresses what is written.
type packed struct{ from io.WriterTo }

// WriteTo implements io.WriterTo.
func (p packed) WriteTo(to io.Writer) (int64, error) {
	out, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return 0, err
	}
	n, err := p.from.WriteTo(out)
	if err == nil {
		err = out.Close()
	}
	return n, err
}

type jobRecordQuery struct {
	ByID
	URL  string `query:"url" format:"regex" maxLength:"4096" doc:"a regular expression (RE2); records whose URL has a match"`
	Type string `query:"type" format:"regex" maxLength:"4096" doc:"a regular expression (RE2); records whose media type has a match"`
}

func (s jobIndexes) recordRoutes(api huma.API) {
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/jobs/{id}/records",
		id: "job-records", tag: "jobs",
		summary: "Copy records of a job out of its files, by URL and media type, as one WARC file",
		stream:  true,
		adjust: func(op *huma.Operation) {
			op.Responses = map[string]*huma.Response{"200": {
				Description: "A warcinfo record, and the responses, revisits and resources as they are stored, of " +
					"what the caller may see. If some cannot be read, a last record urn:holdfast:unread names them, " +
					"and the connection breaks.",
				Content: map[string]*huma.MediaType{"application/warc": {Schema: &huma.Schema{Type: huma.TypeString,
					Format: "binary"}}}}}
		}},
		func(ctx context.Context, in *jobRecordQuery) (*huma.StreamResponse, error) {
			if err := s.known([]uint64{in.ID}); err != nil {
				return nil, err
			}
			url, err := expression("url", in.URL)
			if err != nil {
				return nil, err
			}
			kind, err := expression("type", in.Type)
			if err != nil {
				return nil, err
			}
			sight, now, err := sightOf(ctx, s.server)
			if err != nil {
				return nil, err
			}
			records, err := s.indexes.Records(ctx, in.ID, url, kind, access.Open{Sight: sight})
			if err != nil {
				return nil, err
			}
			return &huma.StreamResponse{Body: func(hc huma.Context) {
				defer func() { _ = records.Close() }()
				_, w := humago.Unwrap(hc)
				tellUnconfirmed(w.Header(), now)
				s.stream(hc, "application/warc", records)
			}}, nil
		})
}

// expression compiles a parameter; nil stands for one that is not given.
func expression(name, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	found, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
	}
	return found, nil
}

// numbers writes numbers with commas.
func numbers(ids []uint64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatUint(id, 10)
	}
	return strings.Join(texts, ",")
}
