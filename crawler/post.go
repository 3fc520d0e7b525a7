package crawler

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/warc"
)

// outcome is what the commit needs to know of a URI that is finished.
type outcome struct {
	line     report.Line
	records  []warc.Position
	seed     bool
	redirect string // a seed's
}

// postProcess ends a visit: what was learnt of servers is kept, links that the scope accepts are queued, the URI is finished.
func (w *worker) postProcess(ctx context.Context, v *visit) error {
	if err := w.learn(ctx, v); err != nil {
		return err
	}
	u := v.uri
	w.found = w.accepted(w.found[:0], u, v.links.Links)
	o := frontier.Outcome{Status: v.status, Kind: kindOf(v.status), Robots: v.status == codePrecluded, Wait: w.politeness(v)}
	line := report.Line{Logged: time.Now(), Status: v.status, Size: -1, URI: u.URL, Path: u.Path, Via: u.Via, Worker: w.number,
		Digest: v.digest, Source: u.Source, Annotations: v.annotations()}
	line.Begin, line.Duration = v.times()
	switch {
	case v.answer != nil && v.status == fetch.CodeDNSOK:
		line.Size, line.MIME = int64(len(v.answer.Text)), "text/dns"
	case v.exchange != nil && v.exchange.Response != nil:
		line.Size, line.MIME = v.exchange.BodySize, v.exchange.Head.Get("Content-Type")
		o.Fetched, o.Bytes = true, v.exchange.Response.Size()
	}
	out := &outcome{line: line, records: v.records, seed: u.Via == ""}
	if out.seed && redirects(v.status) {
		out.redirect = v.links.Target()
	}
	o.Attach = out
	if o.Fetched && !isPrerequisite(u) {
		w.objects.Add(1)
	}
	if _, err := w.frontier.Finish(u, o, w.found); err != nil {
		return err
	}
	w.checkLimits()
	return nil
}

func redirects(status int) bool { return status >= 300 && status < 400 }

// maxSeedRedirects is how many redirects from a seed lead to what counts as a seed, too.
const maxSeedRedirects = 5

// admit widens the scope by where a seed redirects to, as if that were a seed.
func (c *Crawl) admit(url string) {
	if c.scope.Admit(url) {
		c.frontier.SetValue(valueAdmitted+url, []byte("1"))
	}
}

// accepted appends the links that belong to the crawl as URIs to queue.
func (c *Crawl) accepted(out []frontier.URI, u *frontier.URI, links []extract.Link) []frontier.URI {
	var paths [256]string
	subject := scope.Subject{Via: u.URL, Source: u.Source, Now: time.Now()}
	for _, l := range links {
		if l.Hop == extract.Redirect && strings.Trim(u.Path, "R") == "" && len(u.Path) < maxSeedRedirects {
			c.admit(l.URL)
		}
		path := paths[l.Hop]
		if path == "" {
			path = u.Path + string(rune(l.Hop))
			paths[l.Hop] = path
		}
		subject.URL, subject.Path = l.URL, path
		if !c.scope.Decide(&subject).Accepted() {
			continue
		}
		t, err := fetch.ParseTarget(l.URL)
		if err != nil {
			continue
		}
		priority := byte(frontier.Normal)
		switch l.Hop {
		case extract.Embed:
			priority = frontier.Medium
		case extract.Redirect:
			priority = frontier.High
		}
		out = append(out, frontier.URI{URL: l.URL, Path: path, Via: u.URL, Source: u.Source, Queue: t.Authority, Priority: priority})
	}
	return out
}

// kindOf sorts a status for the counters.
func kindOf(status int) frontier.Kind {
	switch {
	case status > 0:
		return frontier.Succeeded
	case status == codePrecluded, status <= -4000 && status > -7000:
		return frontier.Disregarded
	}
	return frontier.Failed
}

// learn takes in the answers of prerequisites.
func (w *worker) learn(ctx context.Context, v *visit) error {
	switch {
	case v.answer != nil:
		return w.servers.learnAnswer(v.host, v.answer)
	case v.target.URL == "" || !isRobots(v.target) || v.status == codePrecluded:
		return nil
	case v.exchange == nil && !isPrerequisite(v.uri):
		return nil // refused before it was asked for
	}
	status, body := v.status, v.robotsBody()
	if to := v.links.Target(); redirects(status) && to != "" {
		var err error
		status, body, err = w.followRobots(ctx, v, to)
		if err != nil || ctx.Err() != nil {
			return err // cut off, nothing is learnt: it will be asked again
		}
	}
	return w.servers.learnSite(v.target.Scheme, v.target.Authority, status, body)
}

// maxRobotsRedirects is how many redirects of a robots.txt are followed (RFC 9309 asks for five).
const maxRobotsRedirects = 5

// followRobots fetches what a robots.txt redirects to, at once and each as a URI of its own. Where that cannot
// be had, the answer is 404: the site has no rules.
func (w *worker) followRobots(ctx context.Context, v *visit, url string) (status int, body []byte, err error) {
	const none = 404
	from, wait := v.uri, w.politeness(v)
	for range maxRobotsRedirects {
		if !pause(ctx, wait) {
			return none, nil, nil
		}
		t, err := fetch.ParseTarget(url)
		if err != nil {
			return none, nil, nil
		}
		u, err := w.frontier.Claim(frontier.URI{URL: url, Path: from.Path + "R", Via: from.URL, Source: from.Source, Queue: t.Authority, Priority: frontier.Prerequisite})
		if err != nil || u == nil {
			return none, nil, err
		}
		hop := &visit{uri: u, target: t, set: w.settingsOf(t)}
		url = ""
		err = w.fetchNow(ctx, hop)
		if ctx.Err() != nil && len(hop.records) == 0 {
			w.frontier.Return(u, 0)
			return none, nil, err
		}
		if err == nil {
			wait = w.politeness(hop)
			status, body = hop.status, append([]byte(nil), hop.robotsBody()...)
			if redirects(status) {
				url = hop.links.Target()
			}
			hop.target = fetch.Target{URL: t.URL, Path: "redirected"} // its answer is for the site that sent us here
			hop.links.Links = nil
			err = w.postProcess(ctx, hop)
		}
		w.endTurn(hop)
		if hop.exchange != nil {
			hop.exchange.Release()
		}
		if err != nil || url == "" {
			return max(status, 0), body, err
		}
		from = u
	}
	return none, nil, nil
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fetchNow takes a visit through fetching, extraction and recording without waiting for anything.
func (w *worker) fetchNow(ctx context.Context, v *visit) error {
	if addr, err := netip.ParseAddr(v.target.Host); err == nil {
		v.addrs = []netip.Addr{addr}
	} else {
		a := w.resolver.Lookup(ctx, v.target.Host)
		v.addrs = a.Addrs
		if len(a.Addrs) == 0 {
			v.status = codeNoDomain
			return nil
		}
	}
	for {
		to, wait := w.turn(v)
		if to {
			break
		}
		if !pause(ctx, wait) {
			return nil
		}
	}
	x := w.client.Fetch(ctx, fetch.Request{Target: v.target, Addrs: v.addrs})
	v.exchange, v.status, v.notes = x, x.Status, append(v.notes, x.Notes...)
	if x.Status <= 0 {
		return nil
	}
	if _, err := w.extract(ctx, v); err != nil {
		return err
	}
	_, err := w.record(ctx, v)
	return err
}
