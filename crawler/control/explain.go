package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// whence is how a URI came into a crawl, as far as that is known.
type whence struct {
	path, via, source string
	queue             string // "": the one it would be put in
	found             string // where this is known from
	known             string // what the frontier or the log knows of it
	logged            string // its last line in the log
}

// asked is a URI to explain.
type asked struct {
	url       string
	target    fetch.Target
	path, via string // "": as the crawl found it
}

func askedFor(o act.Explain) (a asked, err error) {
	a = asked{path: o.Path, via: o.Via}
	if a.url, err = cdx.Normalize(o.URL); err != nil {
		return a, harvest.Refused("url", o.URL, "a URL")
	}
	if a.target, err = fetch.ParseTarget(a.url); err != nil {
		return a, harvest.Refused("url", o.URL, "an http or https URL")
	}
	return a, nil
}

// Explainer explains what a crawl does with a URI.
type Explainer struct {
	Dir      string
	Plan     *plan.Current
	Scope    *scope.Scope
	Canon    *scope.Canonicalizer
	Frontier *frontier.Frontier
	Servers  *hosts.Servers
	Quotas   *hosts.Quotas
	Logs     *report.Logs
	Board    *report.Board
	Seeds    func() ([]string, error) // all, as given
}

// Explain returns the settings for a URI, the decision of each rule and limit, and the URI's outcome so far. It takes
// the URI's path and parent from the queue, from the fetch under way, or from the log; otherwise it explains the URI
// as a link from a seed of its host. A path or parent given in the order takes precedence.
func (e *Explainer) Explain(ctx context.Context, o act.Explain) (*harvest.Explained, error) {
	a, err := askedFor(o)
	if err != nil {
		return nil, err
	}
	set := e.Plan.For(a.target)
	key := e.Canon.Canonical(a.url)
	w, err := e.whence(ctx, a, key)
	if err != nil {
		return nil, err
	}
	subject := w.subject(a, set)
	if subject.Unresolved = e.Plan.LooksUp(a.target); subject.Unresolved {
		facts, err := e.Servers.Host(a.target.Host, time.Now())
		if err != nil {
			return nil, err
		}
		if facts != nil && len(facts.Addrs) > 0 {
			subject.IP = facts.Addrs[0]
		}
	}
	out := explained(e.Scope, subject, key, w)
	if err := e.limits(out, subject); err != nil {
		return nil, err
	}
	if out.Robots, err = e.robots(a.target, subject); err != nil {
		return nil, err
	}
	out.Settings = e.Plan.Sheets().Explain(e.Plan.Context(a.target))
	return out, nil
}

// whence finds out how the URI known by key came into the crawl.
func (e *Explainer) whence(ctx context.Context, a asked, key string) (w whence, err error) {
	_, status, done, err := e.Frontier.Record(key)
	if err != nil {
		return w, err
	}
	if done {
		w.known = fmt.Sprintf("finished with status %d", status)
		if _, err := e.Logs.Crawl.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
			return w, err
		}
		return w, w.fromLog(ctx, e.Dir, a.url)
	}
	for _, d := range e.Board.Workers() {
		if d.URI == a.url {
			w.known, w.path, w.via, w.found = "under way: "+d.Stage, d.Path, d.Via, "with the worker"
			return w, nil
		}
	}
	u, err := e.Frontier.Queued(key)
	if err != nil {
		return w, err
	}
	if u != nil {
		return whence{path: u.Path, via: u.Via, source: u.Source, queue: u.Queue, found: "in its queue",
			known: "queued"}, nil
	}
	w.known = "new"
	return w, w.suppose(e.Seeds, a.target)
}

// fromLog fills in what the log last says of a URI, if it has a line for it.
func (w *whence) fromLog(ctx context.Context, dir, url string) error {
	found, err := report.Search(ctx, filepath.Join(dir, "logs", report.CrawlLog),
		report.Query{URI: whole(regexp.QuoteMeta(url)), Newest: true, Limit: 1, Scan: maxSearched})
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(found.Hits) == 0 {
		w.found = "not known: crawl.log does not tell, or says so too far back"
		w.path = supposed
		return nil
	}
	if err != nil {
		return err
	}
	line, err := report.ParseLine([]byte(found.Hits[0].Line))
	if err != nil {
		return fmt.Errorf("read the outcome of %s: %w", url, err)
	}
	w.path, w.via, w.source, w.found, w.logged = line.Path, line.Via, line.Source, "in crawl.log", found.Hits[0].Line
	return nil
}

// supposed is the path of a URI of which nobody knows how it would be found: a link.
const supposed = "L"

// suppose takes a URI that is not a seed for a link on a seed: of its host, else of its domain, else the first.
func (w *whence) suppose(seeds func() ([]string, error), t fetch.Target) error {
	all, err := seeds()
	if err != nil {
		return err
	}
	domain := func(url string) string {
		subject := scope.Subject{URL: url}
		return subject.Domain()
	}
	best := 0
	w.path, w.found = supposed, "supposed: a link"
	for _, given := range all {
		seed, err := fetch.ParseTarget(given)
		if normal, wrong := cdx.Normalize(given); wrong == nil {
			seed, err = fetch.ParseTarget(normal)
		}
		if err != nil {
			continue
		}
		near := 1
		switch {
		case seed.URL == t.URL:
			w.path, w.via, w.source, w.found = "", "", seed.URL, "a seed"
			return nil
		case seed.Authority == t.Authority:
			near = 3
		case domain(seed.URL) == domain(t.URL):
			near = 2
		}
		if near > best {
			best = near
			w.via, w.source, w.found = seed.URL, seed.URL, "supposed: a link on the seed "+seed.URL
		}
	}
	return nil
}

// subject is the URI to be judged.
func (w *whence) subject(a asked, set *harvest.Settings) *scope.Subject {
	if a.path != "" || a.via != "" {
		w.path, w.via, w.found = a.path, a.via, "as asked"
	}
	return &scope.Subject{URL: a.url, Path: w.path, Via: w.via, Source: w.source, Queue: w.queue, Now: time.Now(),
		Settings: set}
}

// explained returns a scope's decision about a URI.
func explained(s *scope.Scope, subject *scope.Subject, key string, w whence) *harvest.Explained {
	verdict := s.Judge(subject)
	out := &harvest.Explained{URL: subject.URL, Canonical: key, Known: w.known, Found: w.found, Path: w.path,
		Via: w.via, Source: w.source, Logged: w.logged,
		Queue: w.queue, Decision: "accept", DecidedBy: verdict.Rule, Status: verdict.Status}
	if out.Queue == "" {
		out.Queue = scope.QueueName(subject.Settings, subject.Authority(), subject.Domain)
	}
	if !verdict.Accepted() {
		out.Decision = "reject"
	}
	for _, word := range s.Explain(subject) {
		out.Words = append(out.Words, harvest.Word{Rule: word.Rule, Decision: word.Decision.String(), Why: word.Why})
	}
	return out
}

// limits describes how close the URI's domain is to its limits, and rejects the URI if a limit is reached.
func (e *Explainer) limits(out *harvest.Explained, subject *scope.Subject) error {
	domain := e.Quotas.Counted(subject)
	q, limits, err := e.Quotas.Of(domain, subject.Settings)
	if err != nil {
		return err
	}
	out.Limits = fmt.Sprintf("%s has %d documents, %d bytes", domain, q.Objects, q.Bytes)
	if verdict := q.Verdict(limits); !verdict.Accepted() && !strings.HasSuffix(subject.Path, "P") {
		out.Limits += "; its limit " + verdict.Rule + " is reached"
		if out.Decision == "accept" {
			out.Decision, out.DecidedBy, out.Status = "reject", verdict.Rule, verdict.Status
		}
	}
	return nil
}

// robots returns what the site's robots.txt says about a URI, as far as it is known.
func (e *Explainer) robots(t fetch.Target, subject *scope.Subject) (string, error) {
	if subject.Settings.Robots == harvest.RobotsIgnore {
		return "ignored", nil
	}
	facts, _, err := e.Servers.Site(t, time.Now(), false)
	if err != nil || facts == nil {
		return "not known yet", err
	}
	precluded, why := e.Scope.Precluded(subject, facts.RulesFor(subject.Settings.RobotsAgent()))
	if precluded {
		return "forbids it: " + why, nil
	}
	return "allows it", nil
}
