// Package render loads pages of a crawl in a browser. It has the pool of browsers and the stages that send a page
// there, and it answers what the page requests by fetching it as a URI of the crawl.
package render

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"time"

	"holdfast/crawler/browser"
	"holdfast/crawler/chain"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/warc"
)

// Annotations of pages in a browser.
const (
	NoteTimedOut    = "browserTime"   // and did not become quiet in its time
	NoteFailed      = "browserFailed" // it could not be: it is recorded as any other document
	NoteSubresource = "subresource"   // a page asked for it
)

// apart begins the keys of resources that are fetched for a page besides the URI's own entry in the frontier.
const apart = "browser "

// seatWait is how long a page waits before it asks for a browser again.
const seatWait = time.Second

// Pages are the stages of one worker for pages in a browser.
type Pages struct {
	Browsers *Browsers
	Plan     *plan.Current
	Entries  *plan.Entries
	Frontier *frontier.Frontier
	Scope    *scope.Scope
	Servers  *hosts.Servers
	Guesses  *hosts.Guesses
	Log      *slog.Logger
	Set      *chain.Set        // of the worker
	Helper   func() *chain.Set // for one request of a page, which may come while others are under way
}

// Seat makes sure that a page for the browser is only fetched when there is one for it.
func (p *Pages) Seat(_ context.Context, v *chain.Visit) (chain.Step, error) {
	switch {
	case v.Host != "" || chain.IsPrerequisite(v.URI):
		return chain.Next, nil
	case strings.HasPrefix(v.URI.Key, apart): // left over from a page that was not finished: that is loaded again
		return chain.Again, p.Set.GiveBack.Drop(v.URI)
	case chain.Embedded(v.URI.Path) || !p.Scope.InBrowser(v.Subject):
		return chain.Next, nil
	case !p.Browsers.reserve(p.Plan.Base().Workers):
		p.Frontier.Return(v.URI, seatWait)
		return chain.Again, nil
	}
	v.Page.Leave = p.Browsers.leave
	return chain.Next, nil
}

// isPage reports whether the fetched document is one that a browser shows.
func isPage(x *fetch.Exchange) bool {
	kind := x.Head.MediaType()
	return x.Status >= 200 && x.Status <= 299 && x.BodySize > 0 &&
		(kind == "text/html" || kind == "application/xhtml+xml")
}

// Browse loads a fetched page in a browser, which gets the fetched bytes and everything that the page requests. If
// the browser fails, only its findings are lost; the page is recorded as it was fetched.
func (p *Pages) Browse(ctx context.Context, v *chain.Visit) (chain.Step, error) {
	if v.Page.Leave == nil || v.Retry != nil || !isPage(v.Exchange) {
		return chain.Next, nil
	}
	host, digest := plan.AuthorityOf(v.Target), v.Exchange.Response.PayloadDigest()
	if chain.IsGuess(v.URI) && p.Guesses.Known(host, digest, v.URI.URL) {
		v.Note(chain.NoteSame)
		return chain.Next, nil
	}
	if v.Exchange.Status == 200 && v.Exchange.Truncated == "" {
		p.Guesses.Page(host, digest, v.URI.URL) // now: guesses that its scripts lead to may come while it is loaded
	}
	v.Page.Again = true // a page may have asked for it before
	v.Page.ID = strings.TrimSuffix(strings.TrimPrefix(warc.NewID(), "<urn:uuid:"), ">")
	p.Set.Turn.End(v) // the page's requests take turns of their own
	load := newLoad(p, v)
	one, err := p.Browsers.take(ctx, browser.Config{UserAgent: v.Set.Agent(), MaxMemory: p.Plan.Base().BrowserMemory,
		Log: p.Log})
	timedOut := false
	if err == nil {
		var shown *browser.Rendered
		shown, err = one.Load(ctx, browser.Page{URL: v.URI.URL, Web: load, Time: v.Set.BrowserTime.Std(),
			Quiet: v.Set.BrowserQuiet.Std(), Screenshot: v.Set.BrowserScreenshot})
		if err != nil {
			one.Close()
		} else {
			p.Browsers.give(one)
		}
		if shown != nil {
			take(v, shown)
			timedOut = shown.TimedOut
		}
	}
	if load.failed != nil {
		return chain.Over, load.failed
	}
	switch {
	case err == nil && timedOut:
		v.Note(chain.NoteBrowser, NoteTimedOut)
	case err == nil:
		v.Note(chain.NoteBrowser)
	case ctx.Err() != nil && !chain.Killed(ctx):
		p.Frontier.Return(v.URI, 0)
		return chain.Again, nil
	default:
		p.Log.Warn("page could not be loaded in a browser", "uri", v.URI.URL, "error", err)
		v.Problem = err
		v.Note(NoteFailed)
	}
	return chain.Next, nil
}

// take adds what the browser showed to the visit, so that it is recorded and its links are followed.
func take(v *chain.Visit, shown *browser.Rendered) {
	for _, l := range shown.Links {
		v.Page.Found = append(v.Page.Found, l.URL)
	}
	if shown.Left != "" {
		v.Page.Found = append(v.Page.Found, shown.Left)
	}
	v.Page.Drafts = func(concurrent string) []warc.Draft { return drafts(v.URI.URL, shown, concurrent) }
}

// drafts are the page's picture and text, under the names that Browsertrix gives them.
func drafts(url string, shown *browser.Rendered, concurrent string) (drafts []warc.Draft) {
	add := func(name, kind string, block []byte) {
		if len(block) > 0 {
			drafts = append(drafts, warc.Draft{Type: warc.TypeResource, TargetURI: "urn:" + name + ":" + url,
				ContentType: kind,
				Date:        time.Now(), Fields: []warc.Field{{Name: "WARC-Concurrent-To", Value: concurrent}},
				Block: bytes.NewReader(block), Size: int64(len(block))})
		}
	}
	add("fullPage", "image/png", shown.Screenshot)
	add("text", "text/plain; charset=utf-8", []byte(shown.Text))
	return drafts
}
