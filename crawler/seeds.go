package crawler

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/events"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
)

// readSeeds brings the seeds into normal form and returns those that are no URLs of the web.
func (c *Crawl) readSeeds() (bad []string) {
	c.seeds, bad = normalSeeds(c.cfg.Job.Seeds)
	return bad
}

func normalSeeds(given []string) (seeds, bad []string) {
	for _, seed := range given {
		url, err := cdx.Normalize(seed)
		if err == nil {
			_, err = fetch.ParseTarget(url)
		}
		if err != nil {
			bad = append(bad, seed)
			continue
		}
		seeds = append(seeds, url)
	}
	return seeds, bad
}

// addSeeds queues the seeds that the frontier does not know, and logs the bad ones. In a new crawl these have the first queues.
func (c *Crawl) addSeeds(bad []string) error {
	if err := c.firstPolicy(); err != nil {
		return err
	}
	if _, err := c.queueSeeds(c.seeds, bad, false); err != nil {
		return err
	}
	return c.commit()
}

// queueSeeds queues seeds and returns how many that changed. Those that are known already are only taken again by force.
func (c *Crawl) queueSeeds(seeds, bad []string, force bool) (n int64, err error) {
	for _, seed := range bad {
		c.log.Info("seed is no URL of the web", "seed", seed)
		u, err := c.frontier.Claim(frontier.URI{URL: seed, Source: seed, Queue: "malformed"})
		if err != nil {
			return n, err
		}
		if u == nil {
			continue
		}
		wrong := report.URIError{Logged: time.Now(), Problem: "no URL of the web", Text: seed}
		c.logs.URIErrors.Add(wrong.AppendTo)
		line := report.Line{Logged: time.Now(), Status: fetch.CodeUnfetchable, Size: -1, URI: seed, Source: seed, Annotations: []string{"malformedSeed"}}
		o := &outcome{line: line, seed: true}
		if _, err := c.frontier.Finish(u, frontier.Outcome{Status: line.Status, Kind: frontier.Failed, Attach: o}, nil); err != nil {
			return n, err
		}
	}
	for _, seed := range seeds {
		t, err := fetch.ParseTarget(seed)
		if err != nil {
			return n, err
		}
		u := c.entry(seed, t, c.settingsOf(t))
		u.Source, u.Priority = seed, frontier.High
		add := c.frontier.Add
		if force {
			add = c.frontier.Force
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

// AddSeeds adds seeds to a crawl that runs: they widen the scope and are fetched, also if they were before. It returns how many
// were queued; what is no URL of the web is logged as such.
func (c *Crawl) AddSeeds(given []string, by string) (int64, error) {
	seeds, bad := normalSeeds(given)
	for _, seed := range seeds {
		c.scope.Admit(seed)
		c.frontier.SetValue(valueAdmitted+seed, []byte("1"))
		c.frontier.SetValue(valueAdded+seed, []byte("1"))
	}
	for _, seed := range bad {
		c.frontier.SetValue(valueAdded+seed, []byte("1"))
	}
	n, err := c.queueSeeds(seeds, bad, true)
	if err == nil {
		c.publish(events.Event{Kind: events.SeedsAdded, Count: n, By: by})
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

// Err is ErrNothing with the first seed and why it was not captured, when none was.
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
	return fmt.Errorf("%w: %s", ErrNothing, first)
}

// maxMissed is how many seeds that were not captured a summary names.
const maxMissed = 10

func (c *Crawl) seedSummary() (s SeedSummary, err error) {
	seeds, crawled, err := c.seedEnds()
	s.Total, s.Captured = len(seeds), crawled
	for _, seed := range seeds {
		if seed.Status <= 0 && len(s.Missed) < maxMissed {
			s.Missed = append(s.Missed, seed)
		}
	}
	return s, err
}

// allSeeds are the job's seeds as given, and those added while it ran.
func (c *Crawl) allSeeds() ([]string, error) {
	all := append([]string(nil), c.cfg.Job.Seeds...)
	have := map[string]bool{}
	for _, seed := range append(all, c.seeds...) {
		have[seed] = true
	}
	err := c.frontier.Values(valueAdded, func(name string, _ []byte) error {
		if seed := strings.TrimPrefix(name, valueAdded); !have[seed] {
			all = append(all, seed)
		}
		return nil
	})
	return all, err
}
