package crawler

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/browser"
	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// Bounds of what one page is given.
const (
	maxDocuments = 3        // times the page itself
	maxAgain     = 20       // times a URI that was fetched before
	maxDecoded   = 64 << 20 // bytes of a body that has to be unpacked
)

// pageLoad answers what one page asks for in a browser: from memory, or by fetching it as a URI of the crawl.
type pageLoad struct {
	w    *worker // of the page: only its Crawl and number are used, as requests come at once
	page *visit

	mu        sync.Mutex
	documents int
	failed    error // why the crawl cannot go on
}

func newPageLoad(w *worker, page *visit) *pageLoad { return &pageLoad{w: w, page: page} }

// Answer gets what the page asks for; nil where the crawl does not want it, or it is not to be had.
func (p *pageLoad) Answer(ctx context.Context, r *browser.Request) *browser.Answer {
	if r.Page {
		return p.document()
	}
	key := memoryKey(r)
	if key == "" {
		return p.get(ctx, r, "")
	}
	for {
		a, other := p.w.browsers.memory.begin(key)
		switch {
		case a != nil:
			return a
		case other == nil:
			defer p.w.browsers.memory.end(key)
			return p.get(ctx, r, key)
		}
		select {
		case <-other: // what it got may not be kept
			if a, still := p.w.browsers.memory.begin(key); a != nil {
				return a
			} else if still == nil {
				defer p.w.browsers.memory.end(key)
				return p.get(ctx, r, key)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// document gives the browser the page itself, as it was fetched.
func (p *pageLoad) document() *browser.Answer {
	p.mu.Lock()
	p.documents++
	n := p.documents
	p.mu.Unlock()
	if n > maxDocuments {
		return &browser.Answer{Status: http.StatusNoContent}
	}
	a, _, err := answerOf(p.page.exchange)
	if err != nil {
		return nil
	}
	return a
}

// fail notes that the crawl cannot go on.
func (p *pageLoad) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

// get fetches one URI for the page and records it.
func (p *pageLoad) get(ctx context.Context, r *browser.Request, key string) *browser.Answer {
	w := newHelper(p.w)
	v, err := p.visit(ctx, w, r)
	if err != nil {
		p.fail(err)
		return nil
	}
	if v == nil {
		return nil
	}
	if v.exchange == nil || v.exchange.Response == nil {
		w.release(v)
		return nil
	}
	a, body, err := answerOf(v.exchange)
	if err != nil {
		w.release(v)
		return nil
	}
	if key != "" && v.exchange.Truncated == "" {
		if body == nil && a.Size <= maxEach {
			if body, err = io.ReadAll(io.LimitReader(a.Body, a.Size)); err == nil {
				a.Body = bytes.NewReader(body)
			}
		}
		if body != nil || a.Size == 0 {
			w.browsers.memory.keep(key, a.Status, a.Header, body)
		}
	}
	a.Done = v.exchange.Release
	return a
}

// newHelper makes a worker for one request of a page, which may come while others are under way.
func newHelper(of *worker) *worker {
	return &worker{Crawl: of.Crawl, number: of.number, place: of.place, extractors: map[extract.Options]*extract.Extractor{}}
}

// visit takes a request through the crawl: rules, address, robots.txt, turn, fetch, record. It returns nil for what is not fetched.
func (p *pageLoad) visit(ctx context.Context, w *worker, r *browser.Request) (*visit, error) {
	v := p.wanted(w, r)
	if v == nil {
		return nil, nil
	}
	if ok, err := p.allowed(ctx, w, v, r); !ok || err != nil {
		return nil, err
	}
	r.Waits(true)
	ok, err := p.await(ctx, w, v)
	r.Waits(false)
	if !ok || err != nil {
		return nil, err
	}
	defer w.endTurn(v)
	if ok, err := p.claim(w, v, r); !ok || err != nil {
		return nil, err
	}
	if err := p.fetch(ctx, w, v, r); err != nil {
		return nil, err
	}
	return p.finish(ctx, w, v, r)
}

// wanted is the request as a visit, if the scope and the limits accept it.
func (p *pageLoad) wanted(w *worker, r *browser.Request) *visit {
	url, err := cdx.Normalize(r.URL)
	if err != nil {
		return nil
	}
	t, err := fetch.ParseTarget(url)
	if err != nil {
		return nil
	}
	set := w.settingsOf(t)
	u := w.entry(url, t, set)
	u.Path, u.Via, u.Source, u.Priority = p.page.uri.Path+string(rune(extract.Embed)), p.page.uri.URL, p.page.uri.Source, frontier.Medium
	if r.Method != http.MethodGet {
		u.Key = apart + r.Method + " " + fetch.Digest(r.Body) + " " + url
	}
	v := &visit{uri: &u, target: t, set: set, detour: true, notes: []string{noteSubresource},
		subject: &scope.Subject{URL: url, Path: u.Path, Via: u.Via, Source: u.Source, Queue: u.Queue, Now: time.Now(), Settings: set, Unresolved: w.looksUp(t)}}
	v.part.id = p.page.part.id
	if to, err := w.judge(v); err != nil {
		p.fail(err)
		return nil
	} else if to != next {
		return nil
	}
	return v
}

// allowed finds the host's address and asks its robots.txt; what is not known yet is fetched first. What is refused stands in the log.
func (p *pageLoad) allowed(ctx context.Context, w *worker, v *visit, r *browser.Request) (bool, error) {
	if ok, err := p.locate(ctx, w, v, r); !ok || err != nil {
		return false, err
	}
	if !w.judgeAddresses(v) {
		return false, p.refuse(ctx, w, v, v.status)
	}
	if v.set.Robots != harvest.RobotsIgnore {
		facts, err := p.site(ctx, w, v, r)
		switch {
		case err != nil || facts == nil:
			return false, err
		case facts.Unreachable && v.set.Robots != harvest.RobotsCustom:
			return false, p.refuse(ctx, w, v, codeNoRobots)
		}
		if precluded, _ := w.scope.Precluded(v.subject, facts.rulesFor(v.set.RobotsAgent())); precluded {
			return false, p.refuse(ctx, w, v, codePrecluded)
		}
	}
	return true, nil
}

// locate finds the addresses of the visit's host, one of which may be reached.
func (p *pageLoad) locate(ctx context.Context, w *worker, v *visit, r *browser.Request) (bool, error) {
	if !w.looksUp(v.target) {
		return true, nil
	}
	if addr, err := netip.ParseAddr(v.target.Host); err == nil {
		v.addrs = []netip.Addr{addr}
	} else {
		name := "dns:" + v.target.Host
		for v.addrs == nil {
			facts, err := w.servers.host(v.target.Host, time.Now())
			switch {
			case err != nil:
				return false, err
			case facts != nil && len(facts.Addrs) == 0:
				return false, p.refuse(ctx, w, v, codeNoDomain)
			case facts != nil:
				v.addrs = facts.Addrs
				continue
			}
			if ok, err := p.first(ctx, w, v, name, r); !ok || err != nil {
				return false, err
			}
		}
	}
	for _, a := range v.addrs {
		if w.Crawl.allowed(a) {
			return true, nil
		}
	}
	v.notes = append(v.notes, "privateAddress")
	return false, p.refuse(ctx, w, v, fetch.CodeForbidden)
}

// site is what the robots.txt of the visit's site says; nil where ctx ended before that is known.
func (p *pageLoad) site(ctx context.Context, w *worker, v *visit, r *browser.Request) (*siteFacts, error) {
	for {
		facts, first, err := w.servers.site(v.target, time.Now(), false)
		if err != nil || facts != nil {
			return facts, err
		}
		if ok, err := p.first(ctx, w, v, first, r); !ok || err != nil {
			return nil, err
		}
	}
}

// first fetches what has to be known before v, a prerequisite, or waits a little for another who does.
func (p *pageLoad) first(ctx context.Context, w *worker, v *visit, url string, r *browser.Request) (bool, error) {
	pre := w.prerequisite(v.uri, url)
	pre.Priority = frontier.Prerequisite
	if _, done, err := w.frontier.Done(keyOf(&pre)); err != nil {
		return false, err
	} else if done { // what it said does not hold any more
		if _, err := w.frontier.Force(pre); err != nil {
			return false, err
		}
	}
	u, err := w.frontier.Claim(pre)
	if err != nil {
		return false, err
	}
	if u == nil {
		return pause(ctx, turnPoll), nil
	}
	hop := &visit{uri: u, set: v.set, subject: &scope.Subject{URL: url, Path: u.Path, Via: u.Via, Source: u.Source, Settings: v.set}}
	hop.part.id = v.part.id
	defer w.release(hop)
	if host, ok := strings.CutPrefix(url, "dns:"); ok {
		hop.host = host
		a := w.resolver.Lookup(ctx, host)
		hop.answer, hop.status = &a, a.Code
		if ctx.Err() == nil && a.Code == fetch.CodeDNSOK {
			_, err = w.record(ctx, hop)
		}
	} else {
		if hop.target, err = fetch.ParseTarget(url); err != nil {
			return false, err
		}
		r.Waits(true)
		err = w.fetchNow(ctx, hop, fetch.Request{Target: hop.target})
		r.Waits(false)
	}
	if err != nil {
		return false, err
	}
	if ctx.Err() != nil && len(hop.records) == 0 {
		w.frontier.Return(u, 0)
		return false, nil
	}
	return true, w.postProcess(ctx, hop)
}

// refuse ends a URI that is not fetched, unless it has ended already.
func (p *pageLoad) refuse(ctx context.Context, w *worker, v *visit, status int) error {
	if strings.HasPrefix(v.uri.Key, apart) {
		return nil
	}
	u, err := w.frontier.Claim(*v.uri)
	if err != nil || u == nil {
		return err
	}
	v.uri, v.status = u, status
	return w.postProcess(ctx, v)
}

// claim makes the visit one that the frontier knows to be under way: of the URI itself or, where that was fetched before, of another
// fetch of it. What may be a page that is to be loaded in a browser itself is left alone.
func (p *pageLoad) claim(w *worker, v *visit, r *browser.Request) (bool, error) {
	asked, first, kind := *v.uri, 0, "again"
	if r.Method != http.MethodGet {
		kind = strings.TrimPrefix(v.uri.Key, apart)
	} else if mayBePage(r) && w.scope.InBrowser(v.subject) {
		own := asked
		first, v.part.own = 1, &own
	}
	for n := first; n <= maxAgain; n++ {
		if n > 0 {
			v.part.again = true
			asked.Key = fmt.Sprintf("%s%s %d %s %s", apart, kind, n, p.page.uri.URL, asked.URL)
		}
		u, err := w.frontier.Claim(asked)
		if err != nil {
			return false, err
		}
		if u != nil {
			// A URI that was queued already keeps how it was found.
			v.uri, v.subject.Path, v.subject.Via, v.subject.Source = u, u.Path, u.Via, u.Source
			return true, nil
		}
	}
	return false, nil
}
