package crawler

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/browser"
	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/warc"
)

// pagePart is what a visit is to a page in a browser.
type pagePart struct {
	id       string            // the page's, which all records of it bear
	seat     bool              // the visit may use a browser
	rendered *browser.Rendered // what became of the page
	again    bool              // the URI may have been recorded before in this crawl
	own      *frontier.URI     // as which the frontier is to know it, if it proves to be no page
}

// Annotations of pages in a browser.
const (
	noteBrowser     = "browser"       // it was loaded
	noteTimedOut    = "browserTime"   // and did not become quiet in its time
	noteFailed      = "browserFailed" // it could not be: it is recorded as any other document
	noteSubresource = "subresource"   // a page asked for it
)

// apart begins the keys of what is fetched for a page beside the URI's own entry in the frontier.
const apart = "browser "

// seatWait is how long a page waits before it asks for a browser again.
const seatWait = time.Second

// browserSeat makes sure that a page for the browser is only fetched when there is one for it.
func (w *worker) browserSeat(_ context.Context, v *visit) (step, error) {
	switch {
	case v.host != "" || isPrerequisite(v.uri):
		return next, nil
	case strings.HasPrefix(v.uri.Key, apart): // left over from a page that was not finished: that is loaded again
		return again, w.drop(v.uri)
	case embedded(v.uri.Path) || !w.scope.InBrowser(v.subject):
		return next, nil
	case !w.browsers.reserve(w.base().Workers):
		w.frontier.Return(v.uri, seatWait)
		return again, nil
	}
	v.part.seat = true
	return next, nil
}

// embedded tells whether a URI was found as a part of another, which is no page.
func embedded(path string) bool {
	return strings.HasSuffix(strings.TrimRight(path, string(rune(extract.Redirect))), string(rune(extract.Embed)))
}

// isPage tells whether what was fetched is a document that a browser shows.
func isPage(x *fetch.Exchange) bool {
	kind := x.Head.MediaType()
	return x.Status >= 200 && x.Status <= 299 && x.BodySize > 0 && (kind == "text/html" || kind == "application/xhtml+xml")
}

// browse loads a page that was fetched in a browser, to which the bytes fetched are given, and all else that it asks for. A
// browser that fails costs what it would have found; the page is recorded as it was fetched.
func (w *worker) browse(ctx context.Context, v *visit) (step, error) {
	if !v.part.seat || !isPage(v.exchange) {
		return next, nil
	}
	v.part.again = true // a page may have asked for it before
	v.part.id = strings.TrimSuffix(strings.TrimPrefix(warc.NewID(), "<urn:uuid:"), ">")
	w.endTurn(v) // what the page asks for takes turns of its own
	load := newPageLoad(w, v)
	one, err := w.browsers.take(ctx, browser.Config{UserAgent: v.set.Agent(), MaxMemory: w.base().BrowserMemory, Log: w.log})
	if err == nil {
		v.part.rendered, err = one.Load(ctx, browser.Page{URL: v.uri.URL, Web: load, Time: v.set.BrowserTime.Std(), Quiet: v.set.BrowserQuiet.Std(),
			Screenshot: v.set.BrowserScreenshot})
		if err != nil {
			one.Close()
		} else {
			w.browsers.give(one)
		}
	}
	if load.failed != nil {
		return over, load.failed
	}
	switch killed := errors.Is(context.Cause(ctx), errKilled); {
	case err == nil && v.part.rendered.TimedOut:
		v.notes = append(v.notes, noteBrowser, noteTimedOut)
	case err == nil:
		v.notes = append(v.notes, noteBrowser)
	case ctx.Err() != nil && !killed:
		w.frontier.Return(v.uri, 0)
		return again, nil
	default:
		w.log.Warn("page could not be loaded in a browser", "uri", v.uri.URL, "error", err)
		v.problem = err
		v.notes = append(v.notes, noteFailed)
	}
	return next, nil
}

// extractPage finds the links of what was fetched, and those that the page had in the browser.
func (w *worker) extractPage(ctx context.Context, v *visit) (step, error) {
	to, err := w.extract(ctx, v)
	r := v.part.rendered
	if to != next || err != nil || r == nil || v.set.MetaRobots == metaObey && v.links.Robots&extract.NoFollow != 0 {
		return to, err
	}
	known := make(map[string]bool, len(v.links.Links))
	for _, l := range v.links.Links {
		known[l.URL] = true
	}
	found := r.Links
	if r.Left != "" {
		found = append(found, browser.Link{URL: r.Left})
	}
	for n, l := range found {
		url, err := cdx.Normalize(l.URL)
		if err != nil || known[url] || n >= v.set.MaxLinks && v.set.MaxLinks > 0 {
			continue
		}
		known[url] = true
		v.links.Links = append(v.links.Links, extract.Link{URL: url, Hop: extract.Navlink, Context: noteBrowser})
	}
	return next, nil
}

// renderedDrafts are the page's picture and text, under the names that Browsertrix gives them.
func (v *visit) renderedDrafts(concurrent string) (drafts []warc.Draft) {
	r := v.part.rendered
	if r == nil {
		return nil
	}
	add := func(name, kind string, block []byte) {
		if len(block) > 0 {
			drafts = append(drafts, warc.Draft{Type: warc.TypeResource, TargetURI: "urn:" + name + ":" + v.uri.URL, ContentType: kind, Date: time.Now(),
				Fields: []warc.Field{{Name: "WARC-Concurrent-To", Value: concurrent}}, Block: bytes.NewReader(block), Size: int64(len(block))})
		}
	}
	add("fullPage", "image/png", r.Screenshot)
	add("text", "text/plain; charset=utf-8", []byte(r.Text))
	return drafts
}

// markPage writes the page that records belong to into them.
func (v *visit) markPage(drafts []warc.Draft) {
	if v.part.id == "" {
		return
	}
	for i := range drafts {
		drafts[i].Fields = append(drafts[i].Fields, warc.Field{Name: "WARC-Page-ID", Value: v.part.id})
	}
}

// recordedBefore is this crawl's own record of the same content, of a URI that is fetched once more.
func (w *worker) recordedBefore(v *visit) (*Capture, error) {
	found, err := w.seen(v.digest)
	if err != nil || found == nil {
		return nil, err
	}
	v.dedup, v.subject.Identical = frontier.Duplicate, true
	v.duplicates("digest", found)
	return found, nil
}
