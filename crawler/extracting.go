package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/report"
	"holdfast/harvest"
)

// maxExtract is how much of a document is looked through for links, unpacked; of a sitemap, how much is held in memory.
const maxExtract = 10 << 20

// extract finds the links of what was fetched.
func (w *worker) extract(_ context.Context, v *visit) (step, error) {
	x := v.exchange
	if x == nil || x.Status == 304 {
		return next, nil
	}
	h := x.Head
	doc := extract.Document{URL: v.uri.URL, Via: v.referer(), Manifest: strings.HasSuffix(strings.TrimRight(v.uri.Path, "R"), "M"), ContentType: h.Get("Content-Type"),
		Location: h.Get("Location"), ContentLocation: h.Get("Content-Location"), Refresh: h.Get("Refresh"), Link: h.All("Link"), RobotsTag: h.All("X-Robots-Tag"),
		Robot: v.set.RobotsAgent()}
	extractor, err := w.extractor(v.set)
	if err != nil {
		return over, err
	}
	if x.BodySize > 0 && extractor.Wants(doc.ContentType, v.uri.URL, doc.Manifest) {
		switch doc.Body, err = x.Payload(maxExtract + 1); {
		case errors.Is(err, fetch.ErrCoding):
			v.notes = append(v.notes, "untrueCoding")
		case err != nil:
			v.notes = append(v.notes, "undecodable")
			v.problem = err
		}
		if len(doc.Body) > maxExtract {
			doc.Body = doc.Body[:maxExtract]
			rest := &rest{of: x, from: maxExtract}
			defer rest.close()
			doc.Rest = rest
		}
	}
	if !w.links(v, extractor, doc) {
		clear(w.extractors) // who knows how it was left
		return next, nil
	}
	v.notes = append(v.notes, v.links.Annotations()...)
	if v.set.MetaRobots == metaObey && v.links.Robots&extract.NoFollow != 0 {
		v.notes = append(v.notes, "nofollow")
		v.links.Links = redirectsOf(v.links.Links, x)
	}
	return next, nil
}

// links finds the links. A fault in an extractor costs the links of one document, not the crawl: it stands in runtime-errors.log.
func (w *worker) links(v *visit, x *extract.Extractor, doc extract.Document) (ok bool) {
	defer func() {
		if fault := recover(); fault != nil {
			w.log.Error("extractor failed", "uri", v.uri.URL, "fault", fault)
			line := w.line(v)
			what := fmt.Sprintf("%v\n%s", fault, debug.Stack())
			w.logs.RuntimeErrors.Add(func(b []byte) []byte { return report.AppendError(b, &line, what) })
			v.notes = append(v.notes, "err=extractor")
		}
	}()
	v.links = x.Links(doc)
	for _, bad := range v.links.Bad {
		wrong := report.URIError{Logged: time.Now(), Found: v.uri.URL, Problem: bad.Problem, Text: bad.Text}
		w.logs.URIErrors.Add(wrong.AppendTo)
	}
	return true
}

// redirectsOf keeps of the links where the response itself leads.
func redirectsOf(links []extract.Link, x *fetch.Exchange) []extract.Link {
	if redirects(x.Status) && len(links) > 0 && links[0].Hop == extract.Redirect {
		return links[:1]
	}
	return nil
}

// extractor returns this worker's extractor for the settings.
func (w *worker) extractor(s *harvest.Settings) (*extract.Extractor, error) {
	types, err := extract.ParseTypes(s.Extractors)
	if err != nil {
		return nil, err
	}
	options := extract.Options{Speculative: s.MaxSpeculativeHops > 0, Forms: true, Types: types, MaxLinks: s.MaxLinks}
	x := w.extractors[options]
	if x == nil {
		x = extract.New(options)
		w.extractors[options] = x
	}
	return x, nil
}

// rest reads what follows the beginning of a payload. Nothing is opened before it is read.
type rest struct {
	of   *fetch.Exchange
	from int64
	in   io.ReadCloser
}

func (r *rest) Read(p []byte) (int, error) {
	if r.in == nil {
		in, err := r.of.Content()
		if err != nil {
			return 0, err
		}
		r.in = in
		if _, err := io.CopyN(io.Discard, in, r.from); err != nil {
			return 0, err
		}
	}
	return r.in.Read(p)
}

func (r *rest) close() {
	if r.in != nil {
		_ = r.in.Close() // of what is read
	}
}
