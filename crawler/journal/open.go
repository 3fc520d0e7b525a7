package journal

import (
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/events"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
	"holdfast/crawler/report"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// Config holds what a journal and the recovery of a crawl need. All fields must be set.
type Config struct {
	Dir         string // the crawl's
	Disk        disk.Disk
	Plan        *plan.Current
	Entries     *plan.Entries
	Frontier    *frontier.Frontier
	Links       *chain.Links
	Dedup       *chain.Dedup
	Servers     *hosts.Servers
	Quotas      *hosts.Quotas
	Jar         *fetch.Jar
	Objects     *atomic.Int64 // counts documents
	Logs        *report.Logs
	Logged      int64 // size of crawl.log at the last commit, as OpenLogs tells
	Live        *report.Live
	Events      *events.Hub
	Log         *slog.Logger
	Checkpoints *Checkpoints
	Finished    func(warc.Finished) error // takes each WARC file that is complete
	Elapsed     func() time.Duration      // that the crawl has run
	Idle        func() bool               // no worker works
	Cookies     string                    // the first ones
}

// OpenLogs opens the logs as they were at the last commit, and tells the size of crawl.log then.
func OpenLogs(d disk.Disk, dir string, f *frontier.Frontier) (logs *report.Logs, logged int64, err error) {
	text, err := f.Value(valueLog)
	if err != nil {
		return nil, 0, err
	}
	sizes, err := report.ParseSizes(string(text))
	if err != nil {
		return nil, 0, err
	}
	logs, err = report.OpenLogs(d, filepath.Join(dir, "logs"), sizes)
	return logs, sizes.Crawl, err
}

// Open opens the journal as of the last commit. Before anything is crawled, Recovery.Run is to be called.
func Open(cfg Config) (*Journal, *Recovery, error) {
	figures, err := loadFigures(cfg.Frontier)
	if err != nil {
		return nil, nil, err
	}
	cfg.Objects.Store(figures.stats.Objects)
	cookies := NewCookies(cfg.Jar, cfg.Frontier)
	if err := cookies.load(cfg.Cookies); err != nil {
		return nil, nil, err
	}
	handover := NewHandover(cfg.Finished, cfg.Frontier, cfg.Events, cfg.Log)
	j := &Journal{Handover: handover, Figures: figures, Cookies: cookies, plan: cfg.Plan, frontier: cfg.Frontier,
		quotas: cfg.Quotas, logs: cfg.Logs, live: cfg.Live, events: cfg.Events, log: cfg.Log, elapsed: cfg.Elapsed,
		idle: cfg.Idle, wishes: make(chan chan struct{}), logged: cfg.Logged}
	replay := &Replay{plan: cfg.Plan, entries: cfg.Entries, frontier: cfg.Frontier, links: cfg.Links,
		walls: &chain.Walls{Frontier: cfg.Frontier, Jar: cfg.Jar, Plan: cfg.Plan, Log: cfg.Log}, dedup: cfg.Dedup,
		servers: cfg.Servers, quotas: cfg.Quotas, jar: cfg.Jar, objects: cfg.Objects}
	r := &Recovery{dir: cfg.Dir, disk: cfg.Disk, frontier: cfg.Frontier, journal: j, checkpoints: cfg.Checkpoints,
		replay: replay, log: cfg.Log}
	return j, r, nil
}
