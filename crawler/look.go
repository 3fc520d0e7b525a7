package crawler

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"time"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// How much is listed where nothing is said, and of what is told beside.
const (
	defaultListed = 100
	topCounts     = 20
	topHosts      = 10
)

func listed(limit int) int {
	if limit == 0 {
		return defaultListed
	}
	return min(limit, harvest.MaxListed)
}

func explained(url, path, via string, s *harvest.Settings) *scope.Subject {
	return &scope.Subject{URL: url, Path: path, Via: via, Now: time.Now(), Settings: s}
}

// explainRobots tells what the site's robots.txt says to a URI, as far as it is known.
func (c *Crawl) explainRobots(t fetch.Target, subject *scope.Subject) (string, error) {
	if subject.Settings.Robots == harvest.RobotsIgnore {
		return "ignored", nil
	}
	facts, err := c.servers.site(t.Scheme, t.Authority, time.Now())
	if err != nil || facts == nil {
		return "not known yet", err
	}
	precluded, why := c.scope.Precluded(subject, facts.rules)
	if precluded {
		return "forbids it: " + why, nil
	}
	return "allows it", nil
}

// liveFigures are how the crawl stands this moment.
func (c *Crawl) liveFigures() *harvest.Live {
	counters := c.frontier.Counters()
	now := time.Now()
	out := &harvest.Live{Types: map[string]int64{}, Statuses: map[string]int64{}, QueueStates: map[string]int64{}}
	c.mu.Lock()
	elapsed := c.running()
	out.State, out.Reason, out.Elapsed = string(c.state), c.reason, harvest.Duration(elapsed)
	if !c.until.IsZero() {
		until := c.until
		out.Until = &until
	}
	types, _ := c.stats.TopTypes(topCounts)
	statuses, _ := c.stats.TopStatuses(topCounts)
	c.mu.Unlock()
	for _, t := range types {
		out.Types[t.Type] = t.URLs
	}
	for _, s := range statuses {
		out.Statuses[strconv.Itoa(s.Status)] = s.URLs
	}
	out.Discovered, out.Queued, out.Finished = counters.Discovered, counters.Queued, counters.Finished
	out.Succeeded, out.Failed, out.Disregard, out.Bytes = counters.Succeeded, counters.Failed, counters.Disregarded, counters.Bytes
	rates := c.live.Rates(now, elapsed, report.Count{URLs: counters.Succeeded, Bytes: counters.Bytes})
	out.Rate, out.Average, out.ByteRate = rates.URIs, rates.AverageURIs, rates.Bytes
	for state, n := range c.frontier.Summary().States {
		out.QueueStates[string(state)] = n
	}
	for _, h := range c.live.Slowest(topHosts) {
		out.Slowest = append(out.Slowest, harvest.SlowHost{Host: h.Host, Mean: harvest.Duration(h.Mean()), URIs: h.URLs})
	}
	for _, d := range c.board.Workers() {
		stage := d.Stage
		if d.URI == "" {
			stage = "idle"
		}
		out.Workers = append(out.Workers, harvest.Worker{Number: d.Worker, Stage: stage, URL: d.URI, For: harvest.Duration(now.Sub(d.Since))})
	}
	return out
}

func (c *Crawl) queues(ctx context.Context, o harvest.Order) (out []harvest.Queue, err error) {
	sorts := map[string]frontier.Order{"": frontier.ByRemaining, "queued": frontier.ByRemaining, "spent": frontier.BySpent, "name": frontier.ByName}
	sort, ok := sorts[o.Sort]
	if !ok {
		return nil, refused("sort", o.Sort, "queued, spent or name")
	}
	found, err := c.frontier.Queues(ctx, frontier.QueueFilter{Pattern: part(o.Queue), State: frontier.State(o.State), Sort: sort, Limit: listed(o.Limit)})
	for _, q := range found {
		n := harvest.Queue{Name: q.Name, State: string(q.State), Queued: q.Remaining, InFlight: q.InFlight, Spent: q.Spent, Session: q.SessionBudget,
			Total: q.TotalBudget, Precedence: q.Precedence, Bytes: q.Bytes, Fetched: q.URLs}
		if !q.WakeAt.IsZero() {
			wake := q.WakeAt
			n.Wake = &wake
		}
		out = append(out, n)
	}
	return out, err
}

func (c *Crawl) uris(ctx context.Context, o harvest.Order) (out []harvest.QueuedURI, next string, err error) {
	found, next, err := c.frontier.URIs(ctx, frontier.URIFilter{Queue: part(o.Queue), URI: part(o.Pattern), After: o.After, Limit: listed(o.Limit)})
	for _, u := range found {
		out = append(out, harvest.QueuedURI{URL: u.URL, Queue: u.Queue, Path: u.Path, Via: u.Via, Source: u.Source, Priority: int(u.Priority), Tries: u.Tries})
	}
	return out, next, err
}

func (c *Crawl) eventsAfter(after string, limit int) (out []json.RawMessage, next string, err error) {
	number := uint64(0)
	if after != "" {
		if number, err = strconv.ParseUint(after, 10, 64); err != nil {
			return nil, "", refused("after", after, "the number of an event")
		}
	}
	page := c.events.Since(number, listed(limit))
	for _, e := range page.Events {
		data, err := json.Marshal(e)
		if err != nil {
			return nil, "", err
		}
		out, next = append(out, data), strconv.FormatUint(e.Number, 10)
	}
	return out, next, nil
}

// maxSearched is how much of a log one search reads.
const maxSearched = 256 << 20

// search looks through a log, from its end.
func (c *Crawl) search(ctx context.Context, o harvest.Order) (lines []string, next string, err error) {
	name := o.Log
	switch name {
	case "":
		name = report.CrawlLog
	case report.CrawlLog, report.URIErrorsLog, report.RuntimeErrorsLog, report.NonfatalLog, report.ProgressLog, report.AlertsLog, report.JobLog:
	default:
		return nil, "", refused("log", name, "crawl.log, uri-errors.log, runtime-errors.log, nonfatal-errors.log, progress-statistics.log, alerts.log or job.log")
	}
	q := report.Query{Expr: part(o.Pattern), Newest: true, Limit: listed(o.Limit), Scan: maxSearched}
	if o.After != "" {
		if q.After, err = strconv.ParseInt(o.After, 10, 64); err != nil {
			return nil, "", refused("after", o.After, "what the page before ended with")
		}
	}
	answer, err := report.Search(ctx, filepath.Join(c.cfg.Dir, "logs", name), q)
	if err != nil {
		return nil, "", err
	}
	for _, h := range answer.Hits {
		lines = append(lines, h.Line)
	}
	if answer.Next >= 0 {
		next = strconv.FormatInt(answer.Next, 10)
	}
	return lines, next, nil
}
