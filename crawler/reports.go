package crawler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/warc"
)

// info is the provenance in each warcinfo record.
func (c *Crawl) info() []warc.Field {
	s := c.base()
	info := []warc.Field{
		{Name: "software", Value: "Holdfast/1.0"},
		{Name: "hostname", Value: c.cfg.Node},
		{Name: "isPartOf", Value: c.cfg.Job.Name},
		{Name: "robots", Value: string(s.Robots)},
		{Name: "http-header-user-agent", Value: s.Agent()},
	}
	if operator := s.Operator; operator != "" || s.OperatorContact != "" {
		if operator != "" && s.OperatorContact != "" {
			operator += ", "
		}
		info = append(info, warc.Field{Name: "operator", Value: operator + s.OperatorContact})
	}
	if s.From() != "" {
		info = append(info, warc.Field{Name: "http-header-from", Value: s.From()})
	}
	return append(info, c.cfg.Info...)
}

// writeReports writes the reports as they stand at the end of a run.
func (c *Crawl) writeReports(ctx context.Context, s Summary) error {
	for _, name := range report.Names() {
		if err := c.writeReport(ctx, name, s); err != nil {
			return err
		}
	}
	return nil
}

// writeReport writes one report.
func (c *Crawl) writeReport(ctx context.Context, name string, s Summary) error {
	now := time.Now()
	write := map[string]func(io.Writer) error{
		report.OfCrawl:      func(w io.Writer) error { return c.writeCrawl(w, s) },
		report.OfHosts:      c.writeHosts,
		report.OfDomains:    func(w io.Writer) error { return c.writeDomains(ctx, w) },
		report.OfTypes:      func(w io.Writer) error { return report.WriteTypes(w, c.figures()) },
		report.OfStatuses:   func(w io.Writer) error { return report.WriteStatuses(w, c.figures()) },
		report.OfSeeds:      c.writeSeeds,
		report.OfSources:    func(w io.Writer) error { return c.writeSources(ctx, w) },
		report.OfProcessors: func(w io.Writer) error { return c.writeProcessors(w, now) },
		report.OfFrontier:   func(w io.Writer) error { return c.writeFrontier(ctx, w, s, now) },
		report.OfQueues:     func(w io.Writer) error { return c.writeNonempty(ctx, w, now) },
		report.OfTraps:      c.writeTraps,
		report.OfThreads:    func(w io.Writer) error { return report.WriteThreads(w, c.cfg.Job.Name, c.board.Workers(), now) },
	}[name]
	c.reporting.Lock()
	defer c.reporting.Unlock()
	return c.disk.WriteFile(filepath.Join(c.cfg.Dir, "reports", name+report.Suffix), write)
}

// standing is how the crawl stands, as the summary of a run that ended now.
func (c *Crawl) standing() Summary {
	counters := c.frontier.Counters()
	c.mu.Lock()
	defer c.mu.Unlock()
	return Summary{State: c.state, Reason: c.reason, Counters: counters, Elapsed: c.running()}
}

// figures are a copy of the figures for reports.
func (c *Crawl) figures() *report.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats.Clone()
}

// statusOf is what Heritrix calls how a crawl stands or ended.
func statusOf(s Summary) string {
	switch s.State {
	case Preparing:
		return "Preparing"
	case Running:
		return "Running - Active"
	case Paused:
		return "Paused"
	case Stopping:
		return "Stopping"
	}
	return report.ExitStatus(s.Reason, false)
}

// writeCrawl writes the crawl report.
func (c *Crawl) writeCrawl(w io.Writer, s Summary) error {
	hosts := 0
	var all report.Captures
	if err := c.frontier.Hosts(func(name string, h frontier.Host, _ int) {
		if name != frontier.Lookups { // which Heritrix does not count either
			hosts++
		}
		one := captured(h)
		for _, n := range [][2]*report.Count{{&all.Novel, &one.Novel}, {&all.DupByHash, &one.DupByHash}, {&all.NotModified, &one.NotModified}} {
			n[0].URLs, n[0].Bytes = n[0].URLs+n[1].URLs, n[0].Bytes+n[1].Bytes
		}
	}); err != nil {
		return err
	}
	seeds, crawled, err := c.seedEnds()
	if err != nil {
		return err
	}
	n := s.Counters
	return report.WriteCrawl(w, report.Crawl{Name: c.cfg.Job.Name, Status: statusOf(s), Reason: s.Reason, Elapsed: s.Elapsed, Captures: all,
		SeedsCrawled: crawled, SeedsNotCrawled: len(seeds) - crawled, Hosts: hosts, Discovered: n.Discovered, Queued: n.Queued,
		Succeeded: n.Succeeded, Failed: n.Failed, Disregarded: n.Disregarded, Bytes: n.Bytes, Discarded: c.figures().Discard})
}

// writeSeeds writes the seeds report.
func (c *Crawl) writeSeeds(w io.Writer) error {
	seeds, _, err := c.seedEnds()
	if err != nil {
		return err
	}
	return report.WriteSeeds(w, seeds)
}

// writeHosts writes the hosts report.
func (c *Crawl) writeHosts(w io.Writer) error {
	var failed error
	err := report.WriteHosts(w, func(yield func(report.Host) bool) {
		on := true
		failed = c.frontier.Hosts(func(name string, h frontier.Host, remaining int) {
			on = on && yield(report.Host{Name: name, URLs: h.URLs, Bytes: h.Bytes, Robots: h.Robots, Remaining: int64(remaining), Captures: captured(h)})
		})
	})
	return errors.Join(err, failed)
}

// captured tells what was recorded of a host, and how.
func captured(h frontier.Host) report.Captures {
	return report.Captures{Novel: report.Count{URLs: h.NovelURLs, Bytes: h.NovelBytes}, DupByHash: report.Count{URLs: h.DuplicateURLs, Bytes: h.DuplicateBytes},
		NotModified: report.Count{URLs: h.NotModifiedURLs, Bytes: h.NotModifiedBytes}}
}

// writeSources writes the source report, from the log.
func (c *Crawl) writeSources(ctx context.Context, w io.Writer) (err error) {
	f, err := os.Open(filepath.Join(c.cfg.Dir, "logs", report.CrawlLog))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read crawl.log for the source report: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return report.WriteSources(ctx, w, f, filepath.Join(c.cfg.Dir, "state", "spill"))
}

func (c *Crawl) writeProcessors(w io.Writer, now time.Time) error {
	does := map[string]string{postProcess: "Take in what was learnt, queue links, finish the URI"}
	for _, s := range stages() {
		does[s.name] = s.does
	}
	var all []report.Processor
	for _, s := range c.board.Stages() {
		all = append(all, report.Processor{StageCount: s, Function: does[s.Stage]})
	}
	return report.WriteProcessors(w, "Crawl", all, now)
}

// How many queues the frontier's summary names: the longest, and so many in each state.
const (
	longest      = 10
	namedQueues  = 2000
	longestSpare = 1000 // sorted so seldom
)

// frontierSummary is how the frontier stands, with its queues as of the last commit.
func (c *Crawl) frontierSummary(ctx context.Context, s Summary) (report.FrontierSummary, error) {
	n, f := s.Counters, c.frontier.Summary()
	out := report.FrontierSummary{Job: c.cfg.Job.Name, State: frontierState(s.State), Discovered: n.Discovered, Queued: n.Queued, Finished: n.Finished, Succeeded: n.Succeeded,
		Failed: n.Failed, Ignore: n.Disregarded, Included: n.Discovered, InProcess: f.States[frontier.Busy], Ready: f.States[frontier.Ready],
		Snoozed: f.States[frontier.Snoozed], Retired: f.States[frontier.Retired], Frozen: f.States[frontier.Frozen], Exhausted: f.States[frontier.Empty],
		Inactive: map[int]int64{}, Queues: map[report.QueueState][]report.Queue{}}
	shorten := func() {
		slices.SortStableFunc(out.Longest, func(a, b report.Queue) int { return cmp.Compare(b.Count, a.Count) })
		out.Longest = out.Longest[:min(longest, len(out.Longest))]
	}
	err := c.frontier.Nonempty(ctx, func(info frontier.QueueInfo) bool {
		q := reportQueue(info)
		if q.State == report.Inactive {
			out.Inactive[q.Precedence]++
		}
		if named := out.Queues[q.State]; len(named) < namedQueues {
			out.Queues[q.State] = append(named, q)
		}
		if out.Longest = append(out.Longest, q); len(out.Longest) > longestSpare {
			shorten()
		}
		return true
	})
	shorten()
	return out, err
}

// frontierState is what Heritrix calls the state of a frontier.
func frontierState(s State) string {
	switch s {
	case Preparing, Paused:
		return "PAUSE"
	case Running:
		return "RUN"
	}
	return "FINISH"
}

// reportStates are the reports' words for the states of queues.
func reportStates() map[frontier.State]report.QueueState {
	return map[frontier.State]report.QueueState{frontier.Busy: report.InProcess, frontier.Ready: report.Ready, frontier.Snoozed: report.Snoozed,
		frontier.Inactive: report.Inactive, frontier.Retired: report.Retired, frontier.Frozen: report.Frozen, frontier.Empty: report.Exhausted}
}

func reportQueue(q frontier.QueueInfo) report.Queue {
	budget := q.TotalBudget
	if budget == 0 {
		budget = -1
	}
	return report.Queue{Name: q.Name, State: reportStates()[q.State], Precedence: q.Precedence, Count: q.Remaining, Enqueued: q.Remaining + q.URLs + q.Failed + q.Disregarded,
		SessionBalance: q.SessionBudget - q.SessionSpent, Spent: q.Spent, Budget: budget, Wakes: q.WakeAt, Succeeded: q.URLs, Responses: q.URLs,
		Bytes: q.Bytes, SuccessBytes: q.Bytes, Failed: q.Failed, Disregarded: q.Disregarded, Robots: q.Robots, NonResponses: q.Unanswered, LastSuccess: q.LastSuccess}
}

func (c *Crawl) writeFrontier(ctx context.Context, w io.Writer, s Summary, now time.Time) error {
	f, err := c.frontierSummary(ctx, s)
	if err != nil {
		return err
	}
	return report.WriteFrontierSummary(w, f, now)
}

func (c *Crawl) writeNonempty(ctx context.Context, w io.Writer, now time.Time) error {
	var failed error
	err := report.WriteFrontierNonempty(w, func(state report.QueueState) iter.Seq[report.Queue] {
		return func(yield func(report.Queue) bool) {
			err := c.frontier.Nonempty(ctx, func(q frontier.QueueInfo) bool {
				r := reportQueue(q)
				return r.State != state || yield(r)
			})
			failed = errors.Join(failed, err)
		}
	}, now)
	return errors.Join(err, failed)
}

// seedEnds tells how each seed ended.
func (c *Crawl) seedEnds() (seeds []report.Seed, crawled int, err error) {
	all, err := c.allSeeds()
	if err != nil {
		return nil, 0, err
	}
	for _, given := range all {
		url := given
		if normal, err := cdx.Normalize(given); err == nil {
			if _, err := fetch.ParseTarget(normal); err == nil {
				url = normal
			}
		}
		end, err := c.seedEnd(url)
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
		seeds = append(seeds, seed)
	}
	return seeds, crawled, nil
}

func (c *Crawl) seedEnd(url string) (*seedEnd, error) {
	data, err := c.frontier.Value(valueSeed + url)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	end := &seedEnd{}
	if err := json.Unmarshal(data, end); err != nil {
		return nil, fmt.Errorf("read how seed %s ended: %w", url, err)
	}
	return end, nil
}
