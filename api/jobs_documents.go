package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// Ended reads the metadata files of jobs that have ended, wherever they lie. ErrNotFound: the job has not ended, or the
// archive has no metadata file of it.
type Ended interface {
	// Documents lists the job's settings, reports and logs.
	Documents(ctx context.Context, job catalog.Job) ([]wire.JobDocument, error)
	// Document writes one of them. Nothing is written unless all of it is as it was stored.
	Document(ctx context.Context, job catalog.Job, folder, name string, w io.Writer) error
}

func (s jobs) documentRoutes(api huma.API) {
	const path = "/api/v1/jobs/{id}/documents"
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path, id: "job-documents", tag: "jobs",
		limit:   orderTime,
		summary: "List the settings, reports and logs of a job that has ended, from its metadata file"},
		func(ctx context.Context, in *ByID) (wire.Page[wire.JobDocument], error) {
			job, _, err := s.job(in.ID)
			if err != nil {
				return wire.Page[wire.JobDocument]{}, err
			}
			return whole(s.ended.Documents(ctx, job))
		})
	type one struct {
		ByID
		Folder string `path:"folder" enum:"settings,reports,logs"`
		Name   string `path:"name" minLength:"1" maxLength:"200"`
		Match  string `query:"match" maxLength:"1000" doc:"return only lines that contain a match of this regular expression"`
	}
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: path + "/{folder}/{name}",
		id: "job-document", tag: "jobs", stream: true, adjust: givesText,
		summary: "Read one of the settings, reports and logs of a job that has ended, from its metadata file"},
		func(ctx context.Context, in *one) (*huma.StreamResponse, error) {
			job, _, err := s.job(in.ID)
			if err == nil {
				err = papers(ctx, s.server)
			}
			if err != nil {
				return nil, err
			}
			return s.text(in.Match, 0, func(w io.Writer) error {
				return s.ended.Document(ctx, job, in.Folder, in.Name, w)
			}, "job", in.ID, "document", in.Folder+"/"+in.Name)
		})
}

// text streams a text: all lines or those that match, and only the last of these if tail is given. An error before the
// first byte is answered as a problem; after it, the connection breaks.
func (s jobs) text(match string, tail int, write func(io.Writer) error, about ...any) (*huma.StreamResponse, error) {
	var expr *regexp.Regexp
	if match != "" {
		var err error
		if expr, err = regexp.Compile(match); err != nil {
			return nil, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "match: "+err.Error())
		}
		if tail > maxMatches {
			return nil, problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
				fmt.Sprintf("tail: with match, at most the last %d lines, or 0 for all", maxMatches))
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		out := &lateWriter{to: &steadyWriter{ResponseWriter: w, control: http.NewResponseController(w)},
			kind: "text/plain; charset=utf-8"}
		var err error
		if expr == nil {
			err = write(out)
		} else {
			lines := &matching{to: out, expr: expr, tail: tail}
			if err = write(lines); err == nil {
				err = lines.end()
			}
		}
		switch {
		case err == nil:
			out.begin()
		case !out.begun:
			s.write(nil, hc, s.explain(err))
		default:
			s.log.Warn("sending a document was cut off", append(about, "error", err)...)
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

// Bounds of what is kept in memory while lines are looked for.
const (
	maxMatches = 1000
	maxLine    = 1 << 20
)

// matching passes on the lines that match; of them only the last ones if it has a tail.
type matching struct {
	to   io.Writer
	expr *regexp.Regexp
	tail int
	rest []byte
	last [][]byte
}

func (m *matching) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		line := p[:i+1]
		if len(m.rest) > 0 {
			line = append(m.rest, line...)
			m.rest = nil
		}
		if err := m.line(line); err != nil {
			return 0, err
		}
		p = p[i+1:]
	}
	if m.rest = append(m.rest, p...); len(m.rest) > maxLine {
		return 0, fmt.Errorf("a line has more than %d bytes", maxLine)
	}
	return n, nil
}

func (m *matching) line(line []byte) error {
	if !m.expr.Match(bytes.TrimSuffix(line, []byte("\n"))) {
		return nil
	}
	if m.tail == 0 {
		_, err := m.to.Write(line)
		return err
	}
	if len(m.last) == m.tail {
		m.last = m.last[1:]
	}
	m.last = append(m.last, bytes.Clone(line))
	return nil
}

// end passes on what is left.
func (m *matching) end() error {
	if len(m.rest) > 0 {
		if err := m.line(m.rest); err != nil {
			return err
		}
	}
	for _, line := range m.last {
		if _, err := m.to.Write(line); err != nil {
			return err
		}
	}
	return nil
}
