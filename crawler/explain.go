package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/fetch"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// whence is how a URI came into a crawl, as far as that is known.
type whence struct {
	path, via, source string
	queue             string // "": the one it would be put in
	found             string // where this is known from
	known             string // what the crawl knows of it
	logged            string // its last line in the log
}

// asked is a URI to explain.
type asked struct {
	url       string
	target    fetch.Target
	path, via string // "": as the crawl found it
}

func askedFor(o harvest.Order) (a asked, err error) {
	a = asked{path: o.Path, via: o.Via}
	if a.url, err = cdx.Normalize(o.URL); err != nil {
		return a, refused("url", o.URL, "a URL")
	}
	if a.target, err = fetch.ParseTarget(a.url); err != nil {
		return a, refused("url", o.URL, "an http or https URL")
	}
	return a, nil
}

// Explain tells which settings hold for a URI, what each rule and limit says to it, and what became of it. How it was found is known from
// where it is queued or under way, or from the log; else the answer is about a link that a seed of its host has. What is asked for instead
// counts before that.
func (c *Crawl) Explain(ctx context.Context, o harvest.Order) (*harvest.Explained, error) {
	a, err := askedFor(o)
	if err != nil {
		return nil, err
	}
	set := c.settingsOf(a.target)
	key := c.canon.Canonical(a.url)
	w, err := c.whence(ctx, a, key)
	if err != nil {
		return nil, err
	}
	subject := w.subject(a, set)
	if subject.Unresolved = c.looksUp(a.target); subject.Unresolved {
		facts, err := c.servers.host(a.target.Host, time.Now())
		if err != nil {
			return nil, err
		}
		if facts != nil && len(facts.Addrs) > 0 {
			subject.IP = facts.Addrs[0]
		}
	}
	out := explained(c.scope, subject, key, w)
	if err := c.explainLimits(out, subject); err != nil {
		return nil, err
	}
	if out.Robots, err = c.explainRobots(a.target, subject); err != nil {
		return nil, err
	}
	out.Settings = c.plan.Load().sheets.Explain(c.contextOf(a.target))
	return out, nil
}

// whence finds out how the URI known by key came into the crawl.
func (c *Crawl) whence(ctx context.Context, a asked, key string) (w whence, err error) {
	_, status, done, err := c.frontier.Record(key)
	if err != nil {
		return w, err
	}
	if done {
		w.known = fmt.Sprintf("finished with status %d", status)
		if _, err := c.logs.Crawl.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
			return w, err
		}
		return w, w.fromLog(ctx, c.cfg.Dir, a.url)
	}
	for _, d := range c.board.Workers() {
		if d.URI == a.url {
			w.known, w.path, w.via, w.found = "under way: "+d.Stage, d.Path, d.Via, "with the worker"
			return w, nil
		}
	}
	u, err := c.frontier.Queued(key)
	if err != nil {
		return w, err
	}
	if u != nil {
		return whence{path: u.Path, via: u.Via, source: u.Source, queue: u.Queue, found: "in its queue", known: "queued"}, nil
	}
	w.known = "new"
	return w, w.suppose(c.allSeeds, a.target)
}

// fromLog takes in what the log says of a URI last, where it says anything.
func (w *whence) fromLog(ctx context.Context, dir, url string) error {
	found, err := report.Search(ctx, filepath.Join(dir, "logs", report.CrawlLog), report.Query{URI: whole(regexp.QuoteMeta(url)), Newest: true, Limit: 1, Scan: maxSearched})
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
		return fmt.Errorf("read what became of %s: %w", url, err)
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
	return &scope.Subject{URL: a.url, Path: w.path, Via: w.via, Source: w.source, Queue: w.queue, Now: time.Now(), Settings: set}
}

// explained is what a scope says to a URI.
func explained(s *scope.Scope, subject *scope.Subject, key string, w whence) *harvest.Explained {
	verdict := s.Judge(subject)
	out := &harvest.Explained{URL: subject.URL, Canonical: key, Known: w.known, Found: w.found, Path: w.path, Via: w.via, Source: w.source, Logged: w.logged,
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

// explainLimits tells how the URI's domain stands to its limits, and that one of them turns the URI away.
func (c *Crawl) explainLimits(out *harvest.Explained, subject *scope.Subject) error {
	q, err := c.quotas.of(subject.Domain())
	if err != nil {
		return err
	}
	out.Limits = fmt.Sprintf("%s has %d documents, %d bytes", subject.Domain(), q.Objects, q.Bytes)
	if verdict := q.Verdict(subject.Settings); !verdict.Accepted() && !strings.HasSuffix(subject.Path, "P") {
		out.Limits += "; its limit " + verdict.Rule + " is reached"
		if out.Decision == "accept" {
			out.Decision, out.DecidedBy, out.Status = "reject", verdict.Rule, verdict.Status
		}
	}
	return nil
}

// explainPast explains a URI by what a crawl that is not open left in its folder. What robots.txt files said, and how its domains stood,
// is not looked up.
func explainPast(ctx context.Context, dir string, o harvest.Order) (*harvest.Explained, error) {
	a, err := askedFor(o)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "settings", "job.json"))
	if err != nil {
		return nil, fmt.Errorf("read the settings of the crawl: %w", err)
	}
	job := harvest.Job{}
	if err := json.Unmarshal(data, &job); err != nil {
		return nil, fmt.Errorf("read the settings of the crawl in %s: %w", dir, err)
	}
	for i, r := range job.Settings.Proxies { // who asks there makes no difference here
		job.Settings.Proxies[i].Via = strings.Replace(r.Via, harvest.Redaction+"@", "", 1)
	}
	p, err := newPlan(job.Settings)
	if err != nil {
		return nil, err
	}
	seeds, _ := normalSeeds(job.Seeds)
	c := &Crawl{now: time.Now}
	c.plan.Store(p)
	if c.scope, err = scope.New(p.sheets, seeds, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	if c.canon, err = scope.NewCanonicalizer(job.Settings.Canonicalization); err != nil {
		return nil, err
	}
	var w whence
	if err := w.fromLog(ctx, dir, a.url); err != nil {
		return nil, err
	}
	if w.known = "finished, the crawl is over"; w.logged == "" {
		w.known = "not in crawl.log; the crawl is over"
		if err := w.suppose(func() ([]string, error) { return job.Seeds, nil }, a.target); err != nil {
			return nil, err
		}
	}
	subject := w.subject(a, c.settingsOf(a.target))
	subject.Unresolved = c.looksUp(a.target)
	out := explained(c.scope, subject, c.canon.Canonical(a.url), w)
	if line := strings.Fields(w.logged); len(line) > 1 {
		out.Known = "finished with status " + line[1] + "; the crawl is over"
	}
	out.Settings = p.sheets.Explain(c.contextOf(a.target))
	return out, nil
}
