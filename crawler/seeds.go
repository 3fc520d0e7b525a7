package crawler

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/events"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/journal"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
)

// valueAdded begins the names of the frontier's values that say which seeds were added while the crawl ran.
const valueAdded = "added/"

// seeds are the seeds of the job, and those added while it runs.
type seeds struct {
	given       []string // by the job
	normal, bad []string // in normal form, and those that are not web URLs
	plan        *plan.Current
	frontier    *frontier.Frontier
	entries     *plan.Entries
	logs        *report.Logs
	log         *slog.Logger
	journal     *journal.Journal
}

func newSeeds(given []string) *seeds {
	s := &seeds{given: given}
	s.normal, s.bad = plan.Seeds(given)
	return s
}

// queue queues seeds and returns how many were added. Seeds that are known already are queued again only by force.
func (s *seeds) queue(normal, bad []string, force bool) (n int64, err error) {
	for _, seed := range bad {
		s.log.Info("seed is not a web URL", "seed", seed)
		u, err := s.frontier.Claim(frontier.URI{URL: seed, Source: seed, Queue: "malformed"})
		if err != nil {
			return n, err
		}
		if u == nil {
			continue
		}
		wrong := report.URIError{Logged: time.Now(), Problem: "no URL of the web", Text: seed}
		s.logs.URIErrors.Add(wrong.AppendTo)
		line := report.Line{Logged: time.Now(), Status: fetch.CodeUnfetchable, Size: -1, URI: seed, Source: seed,
			Annotations: []string{"malformedSeed"}}
		o := &chain.Outcome{Line: line, Seed: true}
		ended := frontier.Outcome{Status: line.Status, Kind: frontier.Failed, Attach: o}
		if _, err := s.frontier.Finish(u, ended, nil); err != nil {
			return n, err
		}
	}
	for _, seed := range normal {
		t, err := fetch.ParseTarget(seed)
		if err != nil {
			return n, err
		}
		u := s.entries.Entry(seed, t, s.plan.For(t))
		u.Source, u.Priority = seed, frontier.High
		add := s.frontier.Add
		if force {
			add = s.frontier.Force
		}
		added, err := add(u)
		if err != nil {
			return n, err
		}
		if added {
			n++
		}
	}
	return n, nil
}

// AddSeeds adds seeds to a running crawl: they widen the scope and are fetched, even if they were fetched before. It
// returns how many were queued. Seeds that are not web URLs are logged as such.
func (c *Crawl) AddSeeds(given []string, by string) (int64, error) {
	normal, bad := plan.Seeds(given)
	for _, seed := range normal {
		c.parts.Scope.Admit(seed)
		c.frontier.SetValue(chain.ValueAdmitted+seed, []byte("1"))
		c.frontier.SetValue(valueAdded+seed, []byte("1"))
	}
	for _, seed := range bad {
		c.frontier.SetValue(valueAdded+seed, []byte("1"))
	}
	n, err := c.seeds.queue(normal, bad, true)
	if err == nil {
		c.events.Publish(events.Event{Kind: events.SeedsAdded, Count: n, By: by})
	}
	return n, err
}

// SeedSummary tells how the seeds ended.
type SeedSummary struct {
	Total, Captured int
	Missed          []report.Seed // that were not captured, the first of them
}

// ErrNothing reports a crawl that captured none of its seeds.
var ErrNothing = errors.New("no seed was captured")

// Nothing reports whether no seed was captured.
func (s SeedSummary) Nothing() bool { return s.Total > 0 && s.Captured == 0 }

// Err is ErrNothing with the seeds and why they were not captured, when none was: the first in the first line, and one
// line for each other that is named.
func (s SeedSummary) Err() error {
	switch {
	case !s.Nothing():
		return nil
	case len(s.Missed) == 0:
		return ErrNothing
	}
	first := fmt.Sprintf("%.200s: %s", s.Missed[0].URL, report.StatusText(s.Missed[0].Status))
	if s.Total > 1 {
		first += fmt.Sprintf("; %d seeds in all", s.Total)
	}
	for _, m := range s.Missed[1:] {
		first += fmt.Sprintf("\n%.200s: %s", m.URL, report.StatusText(m.Status))
	}
	return fmt.Errorf("%w: %s", ErrNothing, first)
}

// maxMissed is how many seeds that were not captured a summary names.
const maxMissed = 10

func (s *seeds) summary() (sum SeedSummary, err error) {
	ended, crawled, err := s.ends()
	sum.Total, sum.Captured = len(ended), crawled
	for _, seed := range ended {
		if seed.Status <= 0 && len(sum.Missed) < maxMissed {
			sum.Missed = append(sum.Missed, seed)
		}
	}
	return sum, err
}

// ends tells how each seed ended.
func (s *seeds) ends() (ended []report.Seed, crawled int, err error) {
	all, err := s.all()
	if err != nil {
		return nil, 0, err
	}
	for _, given := range all {
		url := given
		if normal, _ := plan.Seeds([]string{given}); len(normal) > 0 {
			url = normal[0]
		}
		end, err := s.journal.SeedEnd(url)
		if err != nil {
			return nil, 0, err
		}
		seed := report.Seed{URL: url}
		if end != nil {
			seed.Status, seed.Redirect = end.Status, end.Redirect
		}
		if seed.Status > 0 {
			crawled++
		}
		ended = append(ended, seed)
	}
	return ended, crawled, nil
}

// all are the job's seeds as given, and those added while it ran.
func (s *seeds) all() ([]string, error) {
	all := append([]string(nil), s.given...)
	have := map[string]bool{}
	for _, seed := range append(all, s.normal...) {
		have[seed] = true
	}
	err := s.frontier.Values(valueAdded, func(name string, _ []byte) error {
		if seed := strings.TrimPrefix(name, valueAdded); !have[seed] {
			all = append(all, seed)
		}
		return nil
	})
	return all, err
}
