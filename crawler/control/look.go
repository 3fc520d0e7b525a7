package control

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/journal"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// Default lengths of lists, and of the lists shown with live figures.
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

// Look answers orders that only read: the crawl's state, lists, events, logs and reports.
type Look struct {
	Dir      string
	Course   *Course
	Frontier *frontier.Frontier
	Quotas   *hosts.Quotas
	Figures  *journal.Figures
	Rates    *report.Live
	Board    *report.Board
	Logs     *report.Logs
	Events   *events.Hub
}

// live returns the crawl's figures at this moment.
func (l *Look) live() *harvest.Live {
	counters := l.Frontier.Counters()
	out := &harvest.Live{Types: map[string]int64{}, Statuses: map[string]int64{}, QueueStates: map[string]int64{}}
	now := time.Now()
	standing := l.Course.Standing()
	out.State, out.Reason, out.Elapsed = string(standing.State), standing.Reason, harvest.Duration(standing.Elapsed)
	if !standing.Until.IsZero() {
		out.Until = &standing.Until
	}
	types, statuses, discarded := l.Figures.Top(topCounts)
	out.Discarded = discarded.URLs
	for _, t := range types {
		out.Types[t.Type] = t.URLs
	}
	for _, s := range statuses {
		out.Statuses[strconv.Itoa(s.Status)] = s.URLs
	}
	out.Discovered, out.Queued, out.Finished = counters.Discovered, counters.Queued, counters.Finished
	out.Succeeded, out.Failed, out.Disregard, out.Bytes = counters.Succeeded, counters.Failed, counters.Disregarded,
		counters.Bytes
	rates := l.Rates.Rates(now, standing.Elapsed, report.Count{URLs: counters.Succeeded, Bytes: counters.Bytes})
	out.Rate, out.Average, out.ByteRate = rates.URIs, rates.AverageURIs, rates.Bytes
	for state, n := range l.Frontier.Summary().States {
		out.QueueStates[string(state)] = n
	}
	if w, waits := l.Frontier.Waiting(); waits {
		out.Waiting = &harvest.Waiting{Queue: w.Queue, Until: w.Until, Status: w.Status, Queued: w.Queued}
		if w.Status < 0 || w.Status >= 400 {
			out.Waiting.Why = report.StatusText(w.Status)
		}
	}
	for _, h := range l.Rates.Slowest(topHosts) {
		out.Slowest = append(out.Slowest, harvest.SlowHost{Host: h.Host, Mean: harvest.Duration(h.Mean()),
			URIs: h.URLs})
	}
	for _, d := range l.Board.Workers() {
		stage := d.Stage
		if d.URI == "" {
			stage = "idle"
		}
		out.Workers = append(out.Workers, harvest.Worker{Number: d.Worker, Stage: stage, URL: d.URI,
			For: harvest.Duration(now.Sub(d.Since))})
	}
	return out
}

func (l *Look) queues(ctx context.Context, a act.Queues) (out []harvest.Queue, err error) {
	sorts := map[string]frontier.Order{"": frontier.ByRemaining, "queued": frontier.ByRemaining,
		"spent": frontier.BySpent, "name": frontier.ByName}
	sort, ok := sorts[a.Sort]
	if !ok {
		return nil, harvest.Refused("sort", a.Sort, "queued, spent or name")
	}
	states := []frontier.State{"", frontier.Ready, frontier.Snoozed, frontier.Busy, frontier.Empty, frontier.Inactive,
		frontier.Retired, frontier.Frozen}
	if !slices.Contains(states, frontier.State(a.State)) {
		return nil, harvest.Refused("state", a.State, "ready, snoozed, busy, empty, inactive, retired or frozen")
	}
	found, err := l.Frontier.Queues(ctx, frontier.QueueFilter{Pattern: part(a.Queue), State: frontier.State(a.State),
		Sort: sort, Limit: listed(a.Limit)})
	for _, q := range found {
		n := harvest.Queue{Name: q.Name, State: string(q.State), Queued: q.Remaining, InFlight: q.InFlight,
			Spent: q.Spent, Session: q.SessionBudget,
			Total: q.TotalBudget, Precedence: q.Precedence, Bytes: q.Bytes, Fetched: q.URLs}
		if !q.WakeAt.IsZero() {
			wake := q.WakeAt
			n.Wake = &wake
		}
		out = append(out, n)
	}
	return out, err
}

func (l *Look) uris(ctx context.Context, a act.URIs) (out []harvest.QueuedURI, next string, err error) {
	found, next, err := l.Frontier.URIs(ctx, frontier.URIFilter{Queue: part(a.Queue), URI: part(a.Pattern),
		After: a.After, Limit: listed(a.Limit)})
	if errors.Is(err, frontier.ErrCursor) {
		return nil, "", harvest.Refused("after", a.After, "what the page before ended with")
	}
	for _, u := range found {
		out = append(out, harvest.QueuedURI{URL: u.URL, Queue: u.Queue, Path: u.Path, Via: u.Via, Source: u.Source,
			Priority: int(u.Priority), Tries: u.Tries})
	}
	return out, next, err
}

// Domains lists what was fetched of each domain.
func (l *Look) Domains(ctx context.Context, a act.Domains) (out []harvest.DomainCount, next string, err error) {
	if a.State != "" && a.State != harvest.DomainsStopped {
		return nil, "", harvest.Refused("state", a.State, harvest.DomainsStopped+", or nothing")
	}
	pattern, limit := part(a.Pattern), listed(a.Limit)
	err = l.Quotas.Each(ctx, a.After, func(domain string, of scope.Quota) bool {
		if pattern != nil && !pattern.MatchString(domain) || a.State == harvest.DomainsStopped && of.Stopped() == "" {
			return true
		}
		if len(out) == limit {
			next = out[limit-1].Domain
			return false
		}
		out = append(out, harvest.DomainCount{Domain: domain, Objects: of.Objects, Bytes: of.Bytes,
			Stopped: of.Stopped()})
		return true
	})
	return out, next, err
}

// eventsAfter returns events: from memory, and older ones from job.log. It reports that more will come if the crawl
// is going to be started again.
func (l *Look) eventsAfter(a act.Events) (harvest.Reply, error) {
	after, err := eventNumber(a.After)
	if err != nil {
		return harvest.Reply{}, err
	}
	most := listed(a.Limit)
	page := l.Events.Since(after, most)
	if page.Missed {
		if _, err := l.Logs.Job.Flush(); err != nil && !errors.Is(err, os.ErrClosed) {
			return harvest.Reply{}, err
		}
		kept := page.Last + 1 // from where on events are in memory
		if len(page.Events) > 0 {
			kept = page.Events[0].Number
		}
		var older []events.Event
		if older, page.Missed, err = events.Read(jobLog(l.Dir), after, kept, most); err != nil {
			return harvest.Reply{}, err
		}
		page.Events = append(older, page.Events...)
		page.Events = page.Events[:min(most, len(page.Events))]
	}
	again := l.Course.Standing().Restore != "" // told after the page was: it is known before the events end
	page.Ended = page.Ended && !again && (len(page.Events) == 0 || page.Events[len(page.Events)-1].Number == page.Last)
	return eventsReply(page)
}
