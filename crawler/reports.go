package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/control"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/journal"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/internal/disk"
)

// reports writes the reports of a crawl.
type reports struct {
	dir, job string // the crawl's folder, the job's name
	disk     disk.Disk
	frontier *frontier.Frontier
	quotas   *hosts.Quotas
	scope    *scope.Scope
	guesses  *hosts.Guesses
	figures  *journal.Figures
	course   *control.Course
	board    *report.Board
	seeds    *seeds
	domains  *scope.Domains
	settings func() *harvest.Settings

	mu sync.Mutex // held while reports are written
}

func newReports(c *Crawl) *reports {
	return &reports{dir: c.cfg.Dir, job: c.cfg.Job.Name, disk: c.disk, frontier: c.frontier, quotas: c.parts.Quotas,
		scope: c.parts.Scope, guesses: c.parts.Guesses, figures: c.journal.Figures, course: c.course,
		board: c.board, seeds: c.seeds, domains: c.parts.Domains, settings: c.plan.Base}
}

// writeAll writes the reports at the end of a run.
func (r *reports) writeAll(ctx context.Context, s Summary) error {
	for _, name := range report.Names() {
		if name == report.OfConfigurations && len(r.domains.Configurations()) == 0 {
			continue
		}
		if err := r.write(ctx, name, s); err != nil {
			return err
		}
	}
	return nil
}

// write writes one report.
func (r *reports) write(ctx context.Context, name string, s Summary) error {
	now := time.Now()
	write := map[string]func(io.Writer) error{
		report.OfCrawl:   func(w io.Writer) error { return r.writeCrawl(w, s) },
		report.OfHosts:   r.writeHosts,
		report.OfDomains: func(w io.Writer) error { return r.writeDomains(ctx, w) },
		report.OfConfigurations: func(w io.Writer) error {
			return r.writeConfigurations(ctx, w, s.Reason)
		},
		report.OfTypes:      func(w io.Writer) error { return report.WriteTypes(w, r.figures.Clone()) },
		report.OfStatuses:   func(w io.Writer) error { return report.WriteStatuses(w, r.figures.Clone()) },
		report.OfSeeds:      r.writeSeeds,
		report.OfSources:    func(w io.Writer) error { return r.writeSources(ctx, w) },
		report.OfProcessors: func(w io.Writer) error { return r.writeProcessors(w, now) },
		report.OfFrontier:   func(w io.Writer) error { return r.writeFrontier(ctx, w, s, now) },
		report.OfQueues:     func(w io.Writer) error { return r.writeNonempty(ctx, w, now) },
		report.OfTraps:      r.writeTraps,
		report.OfGuesses:    r.writeGuesses,
		report.OfThreads:    func(w io.Writer) error { return report.WriteThreads(w, r.job, r.board.Workers(), now) },
	}[name]
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.disk.WriteFile(filepath.Join(r.dir, "reports", name+report.Suffix), write)
}

// writeNow writes a report of the crawl as it is now, as if it had ended.
func (r *reports) writeNow(ctx context.Context, name string) error {
	at := r.course.Standing()
	return r.write(ctx, name, Summary{State: at.State, Reason: at.Reason, Elapsed: at.Elapsed,
		Counters: r.frontier.Counters()})
}

// statusOf returns Heritrix's name for the state or the end of a crawl.
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
func (r *reports) writeCrawl(w io.Writer, s Summary) error {
	hosts := 0
	var all report.Captures
	if err := r.frontier.Hosts(func(name string, h frontier.Host, _ int) {
		if name != frontier.Lookups { // which Heritrix does not count either
			hosts++
		}
		one := captured(h)
		for _, n := range [][2]*report.Count{{&all.Novel, &one.Novel}, {&all.DupByHash, &one.DupByHash},
			{&all.NotModified, &one.NotModified}} {
			n[0].URLs, n[0].Bytes = n[0].URLs+n[1].URLs, n[0].Bytes+n[1].Bytes
		}
	}); err != nil {
		return err
	}
	seeds, crawled, err := r.seeds.ends()
	if err != nil {
		return err
	}
	n := s.Counters
	return report.WriteCrawl(w, report.Crawl{Name: r.job, Status: statusOf(s), Reason: s.Reason, Elapsed: s.Elapsed,
		Captures:     all,
		SeedsCrawled: crawled, SeedsNotCrawled: len(seeds) - crawled, Hosts: hosts, Discovered: n.Discovered,
		Queued: n.Queued, Succeeded: n.Succeeded, Failed: n.Failed, Disregarded: n.Disregarded, Bytes: n.Bytes,
		Discarded: r.figures.Clone().Discard})
}

// writeSeeds writes the seeds report.
func (r *reports) writeSeeds(w io.Writer) error {
	seeds, _, err := r.seeds.ends()
	if err != nil {
		return err
	}
	return report.WriteSeeds(w, seeds)
}

// writeHosts writes the hosts report.
func (r *reports) writeHosts(w io.Writer) error {
	var failed error
	err := report.WriteHosts(w, func(yield func(report.Host) bool) {
		on := true
		failed = r.frontier.Hosts(func(name string, h frontier.Host, remaining int) {
			on = on && yield(report.Host{Name: name, URLs: h.URLs, Bytes: h.Bytes, Robots: h.Robots,
				Remaining: int64(remaining), Captures: captured(h)})
		})
	})
	return errors.Join(err, failed)
}

// captured describes what was recorded of a host, and how.
func captured(h frontier.Host) report.Captures {
	return report.Captures{Novel: report.Count{URLs: h.NovelURLs, Bytes: h.NovelBytes},
		DupByHash:   report.Count{URLs: h.DuplicateURLs, Bytes: h.DuplicateBytes},
		NotModified: report.Count{URLs: h.NotModifiedURLs, Bytes: h.NotModifiedBytes}}
}

// writeSources writes the source report, from the log.
func (r *reports) writeSources(ctx context.Context, w io.Writer) (err error) {
	f, err := os.Open(filepath.Join(r.dir, "logs", report.CrawlLog))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read crawl.log for the source report: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return report.WriteSources(ctx, w, f, filepath.Join(r.dir, "state", "spill"))
}

func (r *reports) writeProcessors(w io.Writer, now time.Time) error {
	does := map[string]string{chain.PostName: chain.PostDoes}
	for _, s := range chain.Stages() {
		does[s.Name] = s.Does
	}
	var all []report.Processor
	for _, s := range r.board.Stages() {
		all = append(all, report.Processor{StageCount: s, Function: does[s.Stage]})
	}
	return report.WriteProcessors(w, "Crawl", all, now)
}

// writeDomains writes the domains report.
func (r *reports) writeDomains(ctx context.Context, w io.Writer) error {
	var failed error
	all := iter.Seq[report.Domain](func(yield func(report.Domain) bool) {
		failed = r.quotas.Each(ctx, "", func(domain string, of scope.Quota) bool {
			return yield(report.Domain{Name: domain, Objects: of.Objects, Bytes: of.Bytes, Stopped: of.Stopped()})
		})
	})
	if err := report.WriteDomains(w, all); err != nil {
		return err
	}
	return failed
}

// writeTraps writes the traps report.
func (r *reports) writeTraps(w io.Writer) error {
	forms, others := r.scope.Traps().All()
	lines := make([]report.Trap, len(forms))
	for i, t := range forms {
		lines[i] = report.Trap{Away: t.Away, Pages: t.Pages, Name: t.What, Host: t.Host, URL: t.URL, Since: t.Since}
	}
	return report.WriteTraps(w, lines, others)
}

// writeGuesses writes the report of guesses.
func (r *reports) writeGuesses(w io.Writer) error {
	all := r.guesses.All()
	lines := make([]report.Guess, len(all))
	for i, g := range all {
		lines[i] = report.Guess{Found: g.Found, Missed: g.Missed, Rested: g.Rested, Rests: g.Rests(), Host: g.Host,
			Kind: g.Kind}
	}
	return report.WriteGuesses(w, lines)
}
