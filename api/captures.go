package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/access"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/cdx"
)

func captureOf(c cdx.Capture) wire.Capture {
	return wire.Capture{
		Key: c.Key, Timestamp: c.Timestamp, URL: c.URL, MIME: c.MIME, Status: c.Status, Digest: c.Digest,
		Redirect: c.Redirect,
		File:     c.File, Offset: c.Offset, Length: c.Length, RefersURL: c.Refers.URL,
		RefersTimestamp: c.Refers.Timestamp,
	}
}

// captureQuery is a query as parameters.
type captureQuery struct {
	URL      string   `query:"url" required:"true" maxLength:"8192" doc:"a URL; *.host stands for a domain, url* for a prefix"`
	Match    string   `query:"match" enum:"exact,prefix,host,domain" doc:"default: follows from how the URL is written"`
	From     string   `query:"from" maxLength:"14" doc:"timestamp of 4 to 14 digits"`
	To       string   `query:"to" maxLength:"14"`
	Sort     string   `query:"sort" enum:"reverse,closest"`
	Closest  string   `query:"closest" maxLength:"14"`
	Limit    int      `query:"limit" minimum:"0" doc:"show at most this many; 0 shows all"`
	Filters  []string `query:"filter,explode" maxItems:"20" doc:"[!][=|~]field:text; all must hold"`
	Collapse int      `query:"collapse" minimum:"0" maximum:"14" doc:"of captures whose timestamps agree in this many first digits, keep only the first; 0 keeps all"`
}

func (in *captureQuery) query() cdx.Query {
	q := cdx.Query{
		URL: in.URL, Match: cdx.Scope(in.Match), From: in.From, To: in.To, Sort: cdx.Sort(in.Sort), Closest: in.Closest,
		Limit: in.Limit, Filters: in.Filters, Collapse: in.Collapse,
	}
	if q.Match == "" {
		q.URL, q.Match = cdx.Pattern(in.URL)
	}
	return q
}

func (s captures) routes(api huma.API) {
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/captures",
		id: "capture-list", tag: "captures",
		summary: "Find captures by URL and time: JSON, one capture a line, in the order of the index", stream: true,
		adjust: func(op *huma.Operation) {
			one := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.Capture](), true, "Capture")
			op.Responses = map[string]*huma.Response{"200": {
				Description: "One capture a line as it is found. A last line with \"incomplete\" names shards that " +
					"no node answered for.",
				Content: map[string]*huma.MediaType{"application/x-ndjson": {Schema: one}},
			}}
		}},
		func(ctx context.Context, in *captureQuery) (*huma.StreamResponse, error) {
			query := in.query()
			if _, err := query.Compile(); err != nil {
				return nil, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
			}
			sight, now, err := sightOf(ctx, s.server)
			if err != nil {
				return nil, err
			}
			query.Gate = access.Listed{Sight: sight}
			next, stop := iter.Pull2(s.captures.Query(ctx, query))
			// pulled before the answer begins, so that a failure is an error and not an empty list
			first, err, more := next()
			var incomplete *cdx.Incomplete
			if more && err != nil && !errors.As(err, &incomplete) {
				stop()
				return nil, err
			}
			return &huma.StreamResponse{Body: func(hc huma.Context) {
				defer stop()
				_, w := humago.Unwrap(hc)
				tellUnconfirmed(w.Header(), now)
				s.sendCaptures(hc, sight, next, first, err, more)
			}}, nil
		})
}

// sendCaptures writes the captures, one per line, and at the end the shards that could not be asked.
// A revisit does not name a capture that is excluded.
func (s captures) sendCaptures(hc huma.Context, sight *access.Sight,
	next func() (cdx.Capture, error, bool), c cdx.Capture, err error, more bool) {
	_, w := humago.Unwrap(hc)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	out := json.NewEncoder(&steadyWriter{ResponseWriter: w, control: http.NewResponseController(w)})
	out.SetEscapeHTML(false)
	for ; more; c, err, more = next() {
		if c.Refers.URL != "" && !refersTo(sight, c.Refers) {
			c.Refers = cdx.Refers{}
		}
		line := captureOf(c)
		var incomplete *cdx.Incomplete
		switch {
		case errors.As(err, &incomplete):
			line = wire.Capture{Incomplete: incomplete.Shards}
		case err != nil:
			line = wire.Capture{Failed: s.explain(fmt.Errorf("captures: %w", err)).Detail}
		}
		if out.Encode(line) != nil || err != nil {
			return
		}
	}
}

// refersTo reports whether the caller may know of what a revisit refers to.
func refersTo(sight *access.Sight, to cdx.Refers) bool {
	key, err := cdx.Key(to.URL)
	if err != nil {
		return !sight.Closes("", "\xff")
	}
	return access.Listed{Sight: sight}.Passes(&cdx.Capture{Key: key, Timestamp: to.Timestamp})
}
