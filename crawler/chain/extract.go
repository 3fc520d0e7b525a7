package chain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/report"
	"holdfast/harvest"
)

// MaxExtract is how much of a document is looked through for links, unpacked; of a sitemap, how much is held in memory.
const MaxExtract = 10 << 20

// Extract is the stage that finds links. It is one worker's.
type Extract struct {
	logs       *report.Logs
	log        *slog.Logger
	searched   *Searched
	extractors map[extract.Options]*extract.Extractor
}

// NewExtract makes one worker's stage.
func NewExtract(logs *report.Logs, log *slog.Logger, searched *Searched) *Extract {
	return &Extract{logs: logs, log: log, searched: searched, extractors: map[extract.Options]*extract.Extractor{}}
}

// Run finds the links in the fetched document, and those that the page had in the browser.
func (e *Extract) Run(_ context.Context, v *Visit) (Step, error) {
	x := v.Exchange
	if x == nil || x.Status == 304 {
		e.addFound(v)
		return Next, nil
	}
	if v.Retry != nil || x.Response == nil || e.searched.before(v) { // the last answer's links count; these are queued
		return Next, nil
	}
	extractor, err := e.extractor(v.Set)
	if err != nil {
		return Over, err
	}
	doc, done := document(v, extractor)
	defer done()
	if !e.links(v, extractor, doc) {
		clear(e.extractors) // who knows how it was left
		e.addFound(v)
		return Next, nil
	}
	v.Note(v.Links.Annotations()...)
	if noFollow(v) {
		v.Note("nofollow")
		v.Links.Links = redirectsOf(v.Links.Links, x)
	}
	e.addFound(v)
	return Next, nil
}

// document returns what was fetched in the form that extractors take; done releases it.
func document(v *Visit, extractor *extract.Extractor) (doc extract.Document, done func()) {
	x, h, err := v.Exchange, v.Exchange.Head, error(nil)
	done = func() {}
	doc = extract.Document{URL: v.URI.URL, Via: v.referer(),
		Manifest:    strings.HasSuffix(strings.TrimRight(v.URI.Path, "R"), "M"),
		ContentType: h.ContentType(), Location: h.Get("Location"), ContentLocation: h.Get("Content-Location"),
		Refresh: h.Get("Refresh"), Link: h.All("Link"), RobotsTag: h.All("X-Robots-Tag"), Robot: v.Set.RobotsAgent()}
	if x.BodySize <= 0 || !extractor.Wants(doc.ContentType, v.URI.URL, doc.Manifest) {
		return doc, done
	}
	switch doc.Body, err = x.Payload(MaxExtract + 1); {
	case errors.Is(err, fetch.ErrCoding):
		v.Note("untrueCoding")
	case err != nil:
		v.Note("undecodable")
		v.Problem = err
	}
	if len(doc.Body) > MaxExtract {
		doc.Body = doc.Body[:MaxExtract]
		rest := &rest{of: x, from: MaxExtract}
		doc.Rest, done = rest, rest.close
	}
	return doc, done
}

// metaObey is the value of meta_robots that obeys.
const metaObey = "obey"

func noFollow(v *Visit) bool {
	return v.Set.MetaRobots == metaObey && v.Links.Robots&extract.NoFollow != 0
}

// addFound adds the links that the page had in a browser and no extractor found.
func (e *Extract) addFound(v *Visit) {
	if len(v.Page.Found) == 0 || noFollow(v) {
		return
	}
	known := make(map[string]bool, len(v.Links.Links))
	for _, l := range v.Links.Links {
		known[l.URL] = true
	}
	for n, found := range v.Page.Found {
		url, err := cdx.Normalize(found)
		if err != nil || known[url] || n >= v.Set.MaxLinks && v.Set.MaxLinks > 0 {
			continue
		}
		known[url] = true
		v.Links.Links = append(v.Links.Links, extract.Link{URL: url, Hop: extract.Navlink, Context: NoteBrowser})
	}
}

// NoteBrowser annotates a page that was loaded in a browser, and is the context of the links found there.
const NoteBrowser = "browser"

// links finds the links. A fault in an extractor costs the links of one document, not the crawl; it is written to
// runtime-errors.log.
func (e *Extract) links(v *Visit, x *extract.Extractor, doc extract.Document) (ok bool) {
	defer func() {
		if fault := recover(); fault != nil {
			e.log.Error("extractor failed", "uri", v.URI.URL, "fault", fault)
			line := v.Line()
			what := fmt.Sprintf("%v\n%s", fault, debug.Stack())
			e.logs.RuntimeErrors.Add(func(b []byte) []byte { return report.AppendError(b, &line, what) })
			v.Note("err=extractor")
		}
	}()
	v.Links = x.Links(doc)
	for _, bad := range v.Links.Bad {
		wrong := report.URIError{Logged: time.Now(), Found: v.URI.URL, Problem: bad.Problem, Text: bad.Text}
		e.logs.URIErrors.Add(wrong.AppendTo)
	}
	return true
}

// redirectsOf keeps of the links where the response itself leads.
func redirectsOf(links []extract.Link, x *fetch.Exchange) []extract.Link {
	if fetch.Redirects(x.Status) && len(links) > 0 && links[0].Hop == extract.Redirect {
		return links[:1]
	}
	return nil
}

// extractor returns this worker's extractor for the settings.
func (e *Extract) extractor(s *harvest.Settings) (*extract.Extractor, error) {
	types, err := extract.ParseTypes(s.Extractors)
	if err != nil {
		return nil, err
	}
	options := extract.Options{Speculative: s.MaxSpeculativeHops > 0, Forms: true, Types: types, MaxLinks: s.MaxLinks}
	x := e.extractors[options]
	if x == nil {
		x = extract.New(options)
		e.extractors[options] = x
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
