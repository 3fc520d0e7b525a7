package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"holdfast/crawler/events"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// Post ends a visit: it keeps what was learnt about servers, queues the links that the scope accepts, and finishes
// the URI. Each worker has its own.
type Post struct {
	plan     *plan.Current
	frontier *frontier.Frontier
	links    *Links
	scope    *scope.Scope
	servers  *hosts.Servers
	quotas   *hosts.Quotas
	walls    *Walls
	giveBack *GiveBack
	guesses  *hosts.Guesses
	searched *Searched
	turn     *Turn
	logs     *report.Logs
	log      *slog.Logger
	events   *events.Hub
	objects  *atomic.Int64 // documents of the crawl
	limits   func()        // looks whether the crawl has all it may have

	found []frontier.URI // in the visit under way
	link  scope.Subject  // of the links found in it
}

// PostName and PostDoes describe, in reports, the work after the stages.
const (
	PostName = "postProcess"
	PostDoes = "Take in what was learnt, queue links, finish the URI"
)

// Run ends a visit.
func (p *Post) Run(_ context.Context, v *Visit) error {
	if v.Retry != nil {
		p.giveBack.Later(v)
		p.limits()
		return nil
	}
	if err := p.learn(v); err != nil {
		return err
	}
	u := v.URI
	if ForRules(u, v.Status) {
		v.Links.Links = nil
	}
	forgotten := p.frontier.Forgotten()
	p.found = p.links.Accepted(p.found[:0], u, v.Links.Links, &p.link)
	p.tellTraps()
	o := frontier.Outcome{Status: v.Status, Kind: KindOf(v.Status), Robots: v.Status == CodePrecluded,
		Wait: p.turn.Politeness(v), Dedup: v.Dedup}
	var err error
	if p.found, o.Again, err = p.walls.pass(v, p.found); err != nil {
		return err
	}
	switch {
	case v.Exchange != nil && v.Exchange.Response != nil:
		o.Fetched, o.Bytes = true, v.Exchange.Response.Size()
	case v.Answer != nil && v.Status == fetch.CodeDNSOK:
		o.Fetched, o.Bytes = true, int64(len(v.Answer.Text))
	}
	v.tell(p.logs)
	out := &Outcome{Line: v.Line(), Records: v.Records, Seed: u.Via == ""}
	if out.Seed && fetch.Redirects(v.Status) {
		out.Redirect = v.Links.Target()
	}
	o.Attach = out
	if o.Fetched && !IsPrerequisite(u) {
		out.Domain, out.Bytes = p.quotas.Counted(v.Subject), o.Bytes
		if err := p.count(v, out.Domain, &o); err != nil {
			return err
		}
	}
	p.turn.End(v) // before another may be given out
	news, err := p.frontier.Finish(u, o, p.found)
	if err != nil {
		return err
	}
	if v.Status > 0 && v.Answer == nil {
		p.learnGuess(v, news)
		p.searched.done(v)
	}
	p.links.queued(p.found, forgotten)
	if p.events.Wanted() {
		p.events.Publish(events.Event{Kind: events.URIFinished, URI: u.URL, Status: v.Status, Count: o.Bytes})
	}
	p.limits()
	return nil
}

// count takes a document into the limits of the domain that it counts for, the trap heuristics and, for an
// incremental crawl, its URI's record.
func (p *Post) count(v *Visit, domain string, o *frontier.Outcome) error {
	p.objects.Add(1)
	if err := p.quotas.Add(domain, o.Bytes); err != nil {
		return err
	}
	p.observe(v)
	if p.plan.Base().Incremental && len(v.Records) > 0 && v.Dedup != frontier.NotModified {
		record, err := json.Marshal(capture(v, v.recordID))
		if err != nil {
			return fmt.Errorf("keep the record of %s: %w", v.URI.URL, err)
		}
		o.Record = record
	}
	return nil
}

// ForRules reports whether a URI was fetched only as robots rules: a document that a robots.txt redirects to, and
// the redirect.
func ForRules(u *frontier.URI, status int) bool {
	return strings.HasPrefix(u.Key, robotsKey) || IsPrerequisite(u) && fetch.Redirects(status) &&
		!strings.HasPrefix(u.Key, LoginKey)
}

// KindOf sorts a status for the counters.
func KindOf(status int) frontier.Kind {
	switch {
	case status > 0:
		return frontier.Succeeded
	case status == CodePrecluded, status <= -4000 && status > -7000:
		return frontier.Disregarded
	}
	return frontier.Failed
}

// learn stores the answers of prerequisites.
func (p *Post) learn(v *Visit) error {
	switch {
	case v.Answer != nil:
		return p.servers.LearnAnswer(v.Host, v.Answer)
	case v.Detour, v.Target.URL == "", !hosts.IsRobots(v.Target) && !IsPrerequisite(v.URI), v.Status == CodePrecluded:
		return nil
	case v.Exchange == nil && !IsPrerequisite(v.URI):
		return nil // refused before it was asked for
	}
	a := hosts.Answer{Status: v.Status, Once: v.Page.ID != "", Keep: v.Set.RobotsFailure == harvest.RobotsKeep}
	if a.Body, a.Unreadable = v.robotsBody(); a.Unreadable && !IsPrerequisite(v.URI) {
		return nil // a page among others, perhaps cut off: the known rules stay valid
	}
	if fetch.Redirects(v.Status) {
		if t, err := fetch.ParseTarget(v.Links.Target()); err == nil {
			a.Redirect = hosts.AddressOf(t)
		}
	}
	return p.servers.LearnRobots(v.Target, a)
}

// robotsBody is the part of a robots.txt that is read, or that it cannot be.
func (v *Visit) robotsBody() (body []byte, unreadable bool) {
	if v.Exchange == nil || v.Status < 200 || v.Status > 299 {
		return nil, v.Status == http.StatusNotModified
	}
	body, err := v.Exchange.Payload(scope.MaxRobots)
	if unreadable = !hosts.RobotsCount(body, err, v.Exchange.Truncated); v.Exchange.Truncated != "" {
		body = hosts.WholeLines(body)
	}
	return body, unreadable
}

// maxTrapText is how much of a page is read to tell whether it is one of a trap.
const maxTrapText = 256 << 10

// observe shows the document to the trap heuristics. A page's content in a browser may not be in its document, and a
// document that was cut off is incomplete; such pages are not compared.
func (p *Post) observe(v *Visit) {
	if !v.Set.TrapHeuristics || v.Status != 200 || v.Page.ID != "" || v.Exchange == nil || v.Exchange.Truncated != "" {
		return
	}
	p.scope.Observe(v.Subject, scope.Page{
		Text: func() []byte {
			text, err := v.Exchange.Payload(maxTrapText)
			if err != nil && !errors.Is(err, fetch.ErrCoding) {
				return nil
			}
			return text
		},
		Found: func(yield func(string, bool) bool) {
			for i := range p.found {
				if !yield(p.found[i].URL, Embedded(p.found[i].Path)) {
					return
				}
			}
		},
	})
}

// tellTraps reports the forms of URIs that the heuristics begin to reject, so that an operator can overrule them.
func (p *Post) tellTraps() {
	for _, t := range p.scope.Traps().Fresh() {
		p.events.Publish(events.Event{Kind: events.TrapCaught, URI: t.URL, Host: t.Host, Reason: t.What,
			Count: int64(t.Pages)})
		p.log.Warn("URIs like this look like a trap and are rejected from now on; "+
			"a sheet that sets trap_heuristics to false accepts them",
			"uri", t.URL, "trap", t.What, "is", t.Why(), "pages", t.Pages)
	}
}
