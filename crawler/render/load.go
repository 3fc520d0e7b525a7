package render

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
	"holdfast/crawler/chain"
	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// Limits for one page.
const (
	maxDocuments = 3        // times the page itself
	maxAgain     = 20       // times a URI that was fetched before
	maxDecoded   = 64 << 20 // bytes of a body that has to be unpacked
)

// load answers what one page asks for in a browser: from memory, or by fetching it as a URI of the crawl.
type load struct {
	in   *Pages // requests come at once: each takes a set of stages of its own
	page *chain.Visit

	mu        sync.Mutex
	documents int
	sent      string // cookies, the last time that the page was fetched
	failed    error  // why the crawl cannot continue
}

func newLoad(in *Pages, page *chain.Visit) *load { return &load{in: in, page: page, sent: page.Cookie} }

// Answer fetches what the page requests; it returns nil if the crawl does not want it, or it cannot be fetched.
func (p *load) Answer(ctx context.Context, r *browser.Request) *browser.Answer {
	if r.Page {
		return p.document(ctx, r)
	}
	key := memoryKey(r)
	if key == "" {
		return p.get(ctx, r, "")
	}
	for {
		a, other := p.in.Browsers.memory.begin(key)
		switch {
		case a != nil:
			return a
		case other == nil:
			defer p.in.Browsers.memory.end(key)
			return p.get(ctx, r, key)
		}
		select {
		case <-other: // the other request's answer may not have been kept
			if a, still := p.in.Browsers.memory.begin(key); a != nil {
				return a
			} else if still == nil {
				defer p.in.Browsers.memory.end(key)
				return p.get(ctx, r, key)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// document gives the browser the page itself, as it was fetched. One that reloads itself with other cookies, as pages
// do that guard others, is fetched again.
func (p *load) document(ctx context.Context, r *browser.Request) *browser.Answer {
	p.mu.Lock()
	p.documents++
	n := p.documents
	p.mu.Unlock()
	if n > maxDocuments {
		return &browser.Answer{Status: http.StatusNoContent}
	}
	if n > 1 && p.page.Set.Cookies && r.Method == http.MethodGet {
		sends := joinCookies(p.in.Set.Fetch.Cookie(p.page), r.Header.Get("Cookie"))
		p.mu.Lock()
		others := sends != p.sent
		p.sent = sends
		p.mu.Unlock()
		if others {
			if a := p.get(ctx, r, ""); a != nil {
				return a
			}
		}
	}
	a, _, err := answerOf(p.page.Exchange)
	if err != nil {
		return nil
	}
	return a
}

// fail records that the crawl cannot continue.
func (p *load) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

// get fetches one URI for the page and records it.
func (p *load) get(ctx context.Context, r *browser.Request, key string) *browser.Answer {
	stages := p.in.Helper()
	v, err := p.visit(ctx, stages, r)
	if err != nil {
		p.fail(err)
		return nil
	}
	if v == nil {
		return nil
	}
	if v.Exchange == nil || v.Exchange.Response == nil {
		stages.Turn.Release(v)
		return nil
	}
	a, body, err := answerOf(v.Exchange)
	if err != nil {
		stages.Turn.Release(v)
		return nil
	}
	if key != "" && v.Exchange.Truncated == "" {
		if body == nil && a.Size <= maxEach {
			if body, err = io.ReadAll(io.LimitReader(a.Body, a.Size)); err == nil {
				a.Body = bytes.NewReader(body)
			}
		}
		if body != nil || a.Size == 0 {
			p.in.Browsers.memory.keep(key, a.Status, a.Header, body)
		}
	}
	a.Done = v.Exchange.Release
	return a
}

// visit takes a request through the crawl: rules, address, robots.txt, turn, fetch, record. It returns nil if the
// request is not fetched.
func (p *load) visit(ctx context.Context, stages *chain.Set, r *browser.Request) (*chain.Visit, error) {
	v := p.wanted(stages, r)
	if v == nil {
		return nil, nil
	}
	if ok, err := p.allowed(ctx, stages, v, r); !ok || err != nil {
		return nil, err
	}
	r.Waits(true)
	ok, err := p.await(ctx, stages, v)
	r.Waits(false)
	if !ok || err != nil {
		return nil, err
	}
	defer stages.Turn.End(v)
	own, ok, err := p.claim(v, r)
	if !ok || err != nil {
		return nil, err
	}
	if err := p.fetch(ctx, stages, v, r); err != nil {
		return nil, err
	}
	return p.finish(ctx, stages, v, r, own)
}

// wanted is the request as a visit, if the scope and the limits accept it.
func (p *load) wanted(stages *chain.Set, r *browser.Request) *chain.Visit {
	url, err := cdx.Normalize(r.URL)
	if err != nil {
		return nil
	}
	t, err := fetch.ParseTarget(url)
	if err != nil {
		return nil
	}
	set := p.in.Plan.For(t)
	u := p.in.Entries.Entry(url, t, set)
	u.Path, u.Via, u.Source, u.Priority = p.page.URI.Path+string(rune(extract.Embed)), p.page.URI.URL,
		p.page.URI.Source, frontier.Medium
	if r.Method != http.MethodGet {
		u.Key = apart + r.Method + " " + fetch.Digest(r.Body) + " " + url
	}
	v := &chain.Visit{URI: &u, Worker: p.page.Worker, Target: t, Set: set, Detour: true,
		Notes: []string{NoteSubresource},
		Subject: &scope.Subject{URL: url, Path: u.Path, Via: u.Via, Source: u.Source, Queue: u.Queue, Now: time.Now(),
			Settings: set, Unresolved: p.in.Plan.LooksUp(t)}}
	v.Page.ID = p.page.Page.ID
	if to, err := stages.PreFetch.Judge(v); err != nil {
		p.fail(err)
		return nil
	} else if to != chain.Next {
		return nil
	}
	return v
}

// allowed looks up the host's address and its robots.txt; if one is not known yet, it is fetched first. A refused
// request is written to the log.
func (p *load) allowed(ctx context.Context, stages *chain.Set, v *chain.Visit, r *browser.Request) (bool, error) {
	if ok, err := p.locate(ctx, stages, v, r); !ok || err != nil {
		return false, err
	}
	if !stages.PreFetch.JudgeAddresses(v) {
		return false, p.refuse(ctx, stages, v, v.Status)
	}
	if v.Set.Robots != harvest.RobotsIgnore {
		facts, err := p.site(ctx, stages, v, r)
		switch {
		case err != nil || facts == nil:
			return false, err
		case facts.Unreachable && v.Set.Robots != harvest.RobotsCustom:
			return false, p.refuse(ctx, stages, v, chain.CodeNoRobots)
		}
		if precluded, _ := p.in.Scope.Precluded(v.Subject, facts.RulesFor(v.Set.RobotsAgent())); precluded {
			return false, p.refuse(ctx, stages, v, chain.CodePrecluded)
		}
	}
	return true, nil
}

// locate finds the addresses of the visit's host, one of which may be reached.
func (p *load) locate(ctx context.Context, stages *chain.Set, v *chain.Visit, r *browser.Request) (bool, error) {
	if !p.in.Plan.LooksUp(v.Target) {
		return true, nil
	}
	if addr, err := netip.ParseAddr(v.Target.Host); err == nil {
		v.Addrs = []netip.Addr{addr}
	} else {
		name := "dns:" + v.Target.Host
		for v.Addrs == nil {
			facts, err := p.in.Servers.Host(v.Target.Host, time.Now())
			switch {
			case err != nil:
				return false, err
			case facts != nil && len(facts.Addrs) == 0:
				return false, p.refuse(ctx, stages, v, chain.CodeNoDomain)
			case facts != nil:
				v.Addrs = facts.Addrs
				continue
			}
			if ok, err := p.first(ctx, stages, v, name, r); !ok || err != nil {
				return false, err
			}
		}
	}
	for _, a := range v.Addrs {
		if p.in.Plan.Allowed(a) {
			return true, nil
		}
	}
	v.Notes = append(v.Notes, "privateAddress")
	return false, p.refuse(ctx, stages, v, fetch.CodeForbidden)
}

// site returns what the robots.txt of the visit's site says; nil if ctx ended before that is known.
func (p *load) site(ctx context.Context, stages *chain.Set, v *chain.Visit, r *browser.Request) (*hosts.Site, error) {
	for {
		facts, first, err := p.in.Servers.Site(v.Target, time.Now(), false)
		if err != nil || facts != nil {
			return facts, err
		}
		if ok, err := p.first(ctx, stages, v, first, r); !ok || err != nil {
			return nil, err
		}
	}
}

// first fetches what has to be known before v, a prerequisite, or waits a little for another who does.
func (p *load) first(ctx context.Context, stages *chain.Set, v *chain.Visit, url string, r *browser.Request) (bool,
	error) {
	pre := chain.Prerequisite(v.URI, url)
	pre.Priority = frontier.Prerequisite
	if _, done, err := p.in.Frontier.Done(plan.KeyOf(&pre)); err != nil {
		return false, err
	} else if done { // the answer is no longer valid
		if _, err := p.in.Frontier.Force(pre); err != nil {
			return false, err
		}
	}
	u, err := p.in.Frontier.Claim(pre)
	if err != nil {
		return false, err
	}
	if u == nil {
		return chain.Pause(ctx, hosts.TurnPoll), nil
	}
	hop := &chain.Visit{URI: u, Worker: v.Worker, Set: v.Set, Subject: &scope.Subject{URL: url, Path: u.Path,
		Via: u.Via, Source: u.Source, Settings: v.Set}}
	hop.Page.ID = v.Page.ID
	defer stages.Turn.Release(hop)
	if host, ok := strings.CutPrefix(url, "dns:"); ok {
		err = stages.Direct.Lookup(ctx, hop, host)
	} else {
		if hop.Target, err = fetch.ParseTarget(url); err != nil {
			return false, err
		}
		r.Waits(true)
		err = stages.Direct.Fetch(ctx, hop, fetch.Request{Target: hop.Target})
		r.Waits(false)
	}
	if err != nil {
		return false, err
	}
	if ctx.Err() != nil && len(hop.Records) == 0 {
		p.in.Frontier.Return(u, 0)
		return false, nil
	}
	return true, stages.Post.Run(ctx, hop)
}

// refuse ends a URI that is not fetched, unless it has ended already.
func (p *load) refuse(ctx context.Context, stages *chain.Set, v *chain.Visit, status int) error {
	if strings.HasPrefix(v.URI.Key, apart) {
		return nil
	}
	u, err := p.in.Frontier.Claim(*v.URI)
	if err != nil || u == nil {
		return err
	}
	v.URI, v.Status = u, status
	return stages.Post.Run(ctx, v)
}

// claim makes the visit one that the frontier knows to be under way: of the URI itself or, where that was fetched
// before, of another fetch of it. What may be a page that is to be loaded in a browser itself is left alone: own is
// that URI.
func (p *load) claim(v *chain.Visit, r *browser.Request) (own *frontier.URI, ok bool, err error) {
	asked, first, kind := *v.URI, 0, "again"
	if r.Method != http.MethodGet {
		kind = strings.TrimPrefix(v.URI.Key, apart)
	} else if mayBePage(r) && p.in.Scope.InBrowser(v.Subject) {
		itself := asked
		first, own = 1, &itself
	}
	for n := first; n <= maxAgain; n++ {
		if n > 0 {
			v.Page.Again = true
			asked.Key = fmt.Sprintf("%s%s %d %s %s", apart, kind, n, p.page.URI.URL, asked.URL)
		}
		u, err := p.in.Frontier.Claim(asked)
		if err != nil {
			return nil, false, err
		}
		if u != nil {
			// A URI that was queued already keeps how it was found.
			v.URI, v.Subject.Path, v.Subject.Via, v.Subject.Source = u, u.Path, u.Via, u.Source
			return own, true, nil
		}
	}
	return nil, false, nil
}
