package crawler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"holdfast/crawler/events"
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
	domain   string // which a document counts for
	bytes    int64  // so much
}

// postProcess ends a visit: what was learnt of servers is kept, links that the scope accepts are queued, the URI is finished.
func (w *worker) postProcess(ctx context.Context, v *visit) error {
	if err := w.learn(v); err != nil {
		return err
	}
	u := v.uri
	if forRules(u, v.status) {
		v.links.Links = nil
	}
	forgotten := w.frontier.Forgotten()
	w.found = w.accepted(w.found[:0], u, v.links.Links, &w.link)
	w.tellTraps()
	o := frontier.Outcome{Status: v.status, Kind: kindOf(v.status), Robots: v.status == codePrecluded, Wait: w.politeness(v), Dedup: v.dedup}
	switch {
	case v.exchange != nil && v.exchange.Response != nil:
		o.Fetched, o.Bytes = true, v.exchange.Response.Size()
	case v.answer != nil && v.status == fetch.CodeDNSOK:
		o.Fetched, o.Bytes = true, int64(len(v.answer.Text))
	}
	w.tell(v)
	out := &outcome{line: w.line(v), records: v.records, seed: u.Via == ""}
	if out.seed && redirects(v.status) {
		out.redirect = v.links.Target()
	}
	o.Attach = out
	if o.Fetched && !isPrerequisite(u) {
		if err := w.count(v, &o); err != nil {
			return err
		}
		out.domain, out.bytes = v.subject.Domain(), o.Bytes
	}
	w.endTurn(v) // before another may be given out
	if _, err := w.frontier.Finish(u, o, w.found); err != nil {
		return err
	}
	for i := range w.found {
		w.known.add(w.found[i].URL, forgotten)
	}
	if w.events.Wanted() {
		w.events.Publish(events.Event{Kind: events.URIFinished, URI: u.URL, Status: v.status, Count: o.Bytes})
	}
	w.checkLimits()
	return nil
}

// count takes a document into the limits, the trap heuristics and, for an incremental crawl, its URI's record.
func (w *worker) count(v *visit, o *frontier.Outcome) error {
	w.objects.Add(1)
	if err := w.quotas.add(v.subject.Domain(), o.Bytes); err != nil {
		return err
	}
	w.observe(v)
	if w.base().Incremental && len(v.records) > 0 && v.dedup != frontier.NotModified {
		record, err := json.Marshal(w.capture(v, v.recordID))
		if err != nil {
			return fmt.Errorf("keep the record of %s: %w", v.uri.URL, err)
		}
		o.Record = record
	}
	return nil
}

// line is how the visit stands in the log.
func (w *worker) line(v *visit) report.Line {
	u := v.uri
	line := report.Line{Logged: time.Now(), Status: v.status, Size: -1, URI: u.URL, Path: u.Path, Via: u.Via, Worker: w.number,
		Digest: v.digest, Source: u.Source, Annotations: v.annotations()}
	line.Begin, line.Duration = v.times()
	switch {
	case v.answer != nil && v.status == fetch.CodeDNSOK:
		line.Size, line.MIME = int64(len(v.answer.Text)), "text/dns"
	case v.exchange != nil && v.exchange.Response != nil:
		line.Size, line.MIME = v.exchange.BodySize, v.exchange.Head.Get("Content-Type")
	}
	return line
}

// forRules tells whether a URI was fetched for what it says of robots alone: what a robots.txt redirects to, and the redirect.
func forRules(u *frontier.URI, status int) bool {
	return strings.HasPrefix(u.Key, robotsKey) || isPrerequisite(u) && redirects(status) && !strings.HasPrefix(u.Key, loginKey)
}

func redirects(status int) bool { return status >= 300 && status < 400 }

// maxSeedRedirects is how many redirects from a seed lead to what counts as a seed, too.
const maxSeedRedirects = 5

// admit has the scope be also that of where a seed redirects to, as if that were a seed.
func (c *Crawl) admit(url string) {
	if c.scope.Admit(url) {
		c.frontier.SetValue(valueAdmitted+url, []byte("1"))
	}
}

// accepted appends the links that belong to the crawl as URIs to queue, except such as are known to be in the frontier. The subject is for it to use.
func (c *Crawl) accepted(out []frontier.URI, u *frontier.URI, links []extract.Link, subject *scope.Subject) []frontier.URI {
	var paths [256]string
	sheets, forgotten := c.plan.Load().sheets, c.frontier.Forgotten()
	*subject = scope.Subject{Via: u.URL, Source: u.Source, Now: time.Now(), Unresolved: true}
	for _, l := range links {
		if l.Hop == extract.Redirect && strings.Trim(u.Path, "R") == "" && len(u.Path) < maxSeedRedirects {
			c.admit(l.URL)
		}
		if l.Hop != extract.Redirect && c.known.has(l.URL, forgotten) {
			continue // to decide on it would change nothing: it is queued or finished
		}
		path := paths[l.Hop]
		if path == "" {
			path = u.Path + string(rune(l.Hop))
			paths[l.Hop] = path
		}
		subject.URL, subject.Path, subject.Settings = l.URL, path, sheets.Base()
		var t fetch.Target
		var err error
		if !sheets.Empty() {
			if t, err = fetch.ParseTarget(l.URL); err != nil {
				continue
			}
			subject.Settings = sheets.For(c.contextOf(t))
		}
		if !c.scope.Decide(subject).Accepted() {
			continue
		}
		if t.URL == "" {
			if t, err = fetch.ParseTarget(l.URL); err != nil {
				continue
			}
		}
		n := c.entry(l.URL, t, subject.Settings)
		n.Path, n.Via, n.Source, n.Priority = path, u.URL, u.Source, frontier.Normal
		switch l.Hop {
		case extract.Embed:
			n.Priority = frontier.Medium
		case extract.Redirect:
			n.Priority = frontier.High
		}
		if l.Hop == extract.Redirect && n.Key != "" && n.Key == keyOf(u) {
			n.Key = l.URL // a site that adds www or a session to its own address is not lost
		}
		out = append(out, n)
	}
	return out
}

// keyOf is what a URI is known by.
func keyOf(u *frontier.URI) string {
	if u.Key != "" {
		return u.Key
	}
	return u.URL
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
func (w *worker) learn(v *visit) error {
	switch {
	case v.answer != nil:
		return w.servers.learnAnswer(v.host, v.answer)
	case v.detour, v.target.URL == "", !isRobots(v.target) && !isPrerequisite(v.uri), v.status == codePrecluded:
		return nil
	case v.exchange == nil && !isPrerequisite(v.uri):
		return nil // refused before it was asked for
	}
	a := answer{status: v.status, once: v.part.id != ""}
	a.body, a.unreadable = v.robotsBody()
	if redirects(v.status) {
		if t, err := fetch.ParseTarget(v.links.Target()); err == nil {
			a.redirect = addressOf(t)
		}
	}
	return w.servers.learnRobots(v.target, a)
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

// fetchNow takes a visit through fetching, extraction and recording at once, with the request's target, method and form. It waits for
// nothing but its turn at the host.
func (w *worker) fetchNow(ctx context.Context, v *visit, r fetch.Request) error {
	if addr, err := netip.ParseAddr(v.target.Host); err == nil {
		v.addrs = []netip.Addr{addr}
	} else if v.addrs == nil && w.plan.Load().routes.Way(v.target.Host).Proxy == nil {
		a := w.resolver.Lookup(ctx, v.target.Host)
		v.addrs = a.Addrs
		if len(a.Addrs) == 0 {
			v.status = codeNoDomain
			return nil
		}
	}
	for {
		ok, wait := w.turn(v)
		if ok {
			break
		}
		if !pause(ctx, wait) {
			return nil
		}
	}
	full, err := w.request(ctx, v)
	if err != nil {
		return err
	}
	full.Method, full.Form, full.Referer = r.Method, r.Form, ""
	x := w.client.Fetch(ctx, full)
	v.exchange, v.status, v.notes = x, x.Status, append(v.notes, x.Notes...)
	if x.Status <= 0 {
		return nil
	}
	if v.set.Cookies {
		w.jar.Store(v.target, x.Head, time.Now())
	}
	if _, err := w.extract(ctx, v); err != nil {
		return err
	}
	_, err = w.record(ctx, v)
	return err
}
