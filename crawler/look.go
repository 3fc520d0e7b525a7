package crawler

import (
	"context"
	"errors"
	"slices"
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

// explainRobots tells what the site's robots.txt says to a URI, as far as it is known.
func (c *Crawl) explainRobots(t fetch.Target, subject *scope.Subject) (string, error) {
	if subject.Settings.Robots == harvest.RobotsIgnore {
		return "ignored", nil
	}
	facts, _, err := c.servers.site(t, time.Now(), false)
	if err != nil || facts == nil {
		return "not known yet", err
	}
	precluded, why := c.scope.Precluded(subject, facts.rulesFor(subject.Settings.RobotsAgent()))
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
	out.Discarded = c.stats.Discard.URLs
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
	states := []frontier.State{"", frontier.Ready, frontier.Snoozed, frontier.Busy, frontier.Empty, frontier.Inactive, frontier.Retired, frontier.Frozen}
	if !slices.Contains(states, frontier.State(o.State)) {
		return nil, refused("state", o.State, "ready, snoozed, busy, empty, inactive, retired or frozen")
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
	if errors.Is(err, frontier.ErrCursor) {
		return nil, "", refused("after", o.After, "what the page before ended with")
	}
	for _, u := range found {
		out = append(out, harvest.QueuedURI{URL: u.URL, Queue: u.Queue, Path: u.Path, Via: u.Via, Source: u.Source, Priority: int(u.Priority), Tries: u.Tries})
	}
	return out, next, err
}
