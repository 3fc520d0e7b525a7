// Package crawler runs one job: it fetches what the job's seeds lead to, within its settings, and writes WARC files,
// a crawl log and reports.
//
// Every URI goes through one chain of stages (doc/crawler.md draws it): pre-fetch, fetch, extract, record, post-process. What
// is known of the URI is one value, the visit, that the stages fill in. A crawl may be killed at any moment; opened again it goes on,
// and no URI is lost or recorded twice, except one whose fetch was cut off.
package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// Config is what a crawl needs. Dir and Job must be given.
type Config struct {
	Dir      string                    // gets warcs/ logs/ reports/ state/ settings/
	Job      harvest.Job               // what to crawl
	Prefix   string                    // of WARC file names; default: the job's name
	Node     string                    // last part of WARC file names; default: the host's name
	Info     []warc.Field              // further lines of each warcinfo record: provenance
	Disk     *disk.Disk                // default: the operating system's
	Log      *slog.Logger              // default: none
	Finished func(warc.Finished) error // takes each WARC file that is complete; see Crawl.Run
	Pacer    Pacer                     // keeps it polite together with other crawls; default: it is alone
}

// Crawl is a crawl that was opened. Its methods may be called by several goroutines.
type Crawl struct {
	cfg      Config
	disk     disk.Disk
	log      *slog.Logger
	plan     atomic.Pointer[plan]
	changing sync.Mutex // of those who change the settings
	seeds    []string   // in normal form
	scope    *scope.Scope
	frontier *frontier.Frontier
	client   *fetch.Client
	resolver fetch.Resolver
	servers  *servers
	files    *warc.Files
	crawlLog *report.Log

	uncommitted error // why nothing can be committed any more; of the one who commits

	mu       sync.Mutex
	state    State
	reason   string
	stats    *report.Stats
	unhanded map[string]*handover // WARC files not yet given to Finished
	elapsed  time.Duration        // of earlier runs and before the last pause
	since    time.Time            // of running; zero while it does not
	ran      bool
	kick     chan struct{}
	objects  atomic.Int64
}

// Summary is how a run ended.
type Summary struct {
	State      State
	Reason     string // why it ended: "completed", "object-limit", "size-limit", "time-limit", what Stop said, or "unfinished"
	Counters   frontier.Counters
	Elapsed    time.Duration // of all runs, pauses not counted
	Resumable  bool          // New and Run would go on, be it only to hand over files or write reports
	StopLimits bool          // a limit of the job ended it
}

// New opens the crawl in cfg.Dir, or begins it. What a killed process left is put in order: torn WARC
// files are salvaged, what they hold is accounted for, the log is cut to match. After an
// error nothing stays open.
func New(cfg Config) (crawl *Crawl, err error) {
	if err := cfg.Job.Validate(); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	c := &Crawl{cfg: cfg, disk: *cfg.Disk, log: cfg.Log, state: Preparing, unhanded: map[string]*handover{}, kick: make(chan struct{}, 1)}
	if err := c.follow(cfg.Job.Settings); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	for _, dir := range []string{"warcs", "logs", "reports", "settings", "state/frontier", "state/spill"} {
		if err := c.disk.MkdirAll(filepath.Join(cfg.Dir, dir)); err != nil {
			return nil, err
		}
	}
	c.frontier, err = frontier.Open(frontier.Config{Dir: filepath.Join(cfg.Dir, "state", "frontier"), Resume: cfg.Job.Settings.MinDelay.Std(), Log: c.log})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.recall(), c.writeSettings()); err != nil {
		return nil, err
	}
	bad := c.readSeeds()
	if c.scope, err = scope.New(c.plan.Load().sheets, c.seeds, c.log); err != nil {
		return nil, err
	}
	c.servers = newServers(c.frontier)
	c.resolver = fetch.Resolver{Hosts: "/etc/hosts", Config: "/etc/resolv.conf", Server: c.base().Nameserver, Timeout: 5 * time.Second}
	c.client = fetch.New(fetch.Config{UserAgent: c.base().Agent(), From: c.base().From(), Timeout: c.base().FetchTimeout.Std(),
		Idle: c.base().IdleTimeout.Std(), MaxBody: c.base().MaxDocumentBytes, SpillDir: filepath.Join(cfg.Dir, "state", "spill"),
		Allowed: c.allowed, MaxIdle: 2 * c.base().Workers})
	if err := c.recover(); err != nil {
		return nil, err
	}
	c.files, err = warc.NewFilesOn(c.disk, warc.Format{}, warc.FilesConfig{Dir: filepath.Join(cfg.Dir, "warcs"), Prefix: cfg.Prefix, Node: cfg.Node,
		MaxBytes: c.base().WARCBytes, Compression: warc.Gzip, Level: c.base().WARCLevel, Info: c.info()}, c.fileFinished)
	if err != nil {
		return nil, err
	}
	return c, c.addSeeds(bad)
}

func (cfg *Config) complete() error {
	if cfg.Dir == "" {
		return errors.New("crawl: no folder given")
	}
	if cfg.Disk == nil {
		d := disk.New()
		cfg.Disk = &d
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Prefix == "" {
		cfg.Prefix = cfg.Job.Name
	}
	if cfg.Node == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("name of this machine: %w", err)
		}
		cfg.Node = name
	}
	if cfg.Finished == nil {
		cfg.Finished = func(warc.Finished) error { return nil }
	}
	return nil
}

func (c *Crawl) writeSettings() error {
	job := c.cfg.Job
	job.Settings = *c.base()
	data, err := json.MarshalIndent(job, "", "  ")
	if err != nil {
		return fmt.Errorf("write settings of job %s: %w", c.cfg.Job.Name, err)
	}
	return c.disk.WriteFile(filepath.Join(c.cfg.Dir, "settings", "job.json"), func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// readSeeds brings the seeds into normal form and returns those that are no URLs of the web.
func (c *Crawl) readSeeds() (bad []string) {
	for _, seed := range c.cfg.Job.Seeds {
		url, err := cdx.Normalize(seed)
		if err == nil {
			_, err = fetch.ParseTarget(url)
		}
		if err != nil {
			bad = append(bad, seed)
			continue
		}
		c.seeds = append(c.seeds, url)
	}
	return bad
}

// addSeeds queues the seeds that the frontier does not know, and logs the bad ones.
func (c *Crawl) addSeeds(bad []string) error {
	for _, seed := range bad {
		c.log.Info("seed is no URL of the web", "seed", seed)
		u, err := c.frontier.Claim(frontier.URI{URL: seed, Source: seed, Queue: "malformed"})
		if err != nil {
			return err
		}
		if u == nil {
			continue
		}
		line := report.Line{Logged: time.Now(), Status: fetch.CodeUnfetchable, Size: -1, URI: seed, Source: seed, Annotations: []string{"malformedSeed"}}
		o := &outcome{line: line, seed: true}
		if _, err := c.frontier.Finish(u, frontier.Outcome{Status: line.Status, Kind: frontier.Failed, Attach: o}, nil); err != nil {
			return err
		}
	}
	for _, seed := range c.seeds {
		t, err := fetch.ParseTarget(seed)
		if err != nil {
			return err
		}
		if _, err := c.frontier.Add(frontier.URI{URL: seed, Source: seed, Queue: t.Authority, Priority: frontier.High}); err != nil {
			return err
		}
	}
	return c.commit()
}

// allowed tells whether an address may be reached.
func (c *Crawl) allowed(addr netip.Addr) bool {
	if c.base().OperatorContact == "" && !addr.Unmap().IsLoopback() {
		return false
	}
	return c.base().AllowPrivate || fetch.Public(addr)
}

// Run crawls until the frontier is empty, a limit is reached, Stop is called or ctx ends. It returns nil in all
// those cases; an error means that the crawl cannot go on, as when the disk is full, or that files were not taken.
// When Run returns all is closed. A crawl runs once; to go on with it, open it again.
//
// Config.Finished is called for each WARC file that is complete, once all in it is accounted for or the run ends, be
// it with an error. A file for which it fails is given to it again: later, at the end of the run, and
// when the crawl is opened again, as after a crash. It may see a file twice.
func (c *Crawl) Run(ctx context.Context) (Summary, error) {
	c.mu.Lock()
	if c.ran {
		c.mu.Unlock()
		return Summary{}, errors.New("crawl ran already")
	}
	c.ran = true
	if c.state == Preparing {
		c.setState(Running)
	}
	c.mu.Unlock()
	given := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	committed := make(chan struct{})
	workersDone := make(chan struct{})
	go func() {
		defer close(committed)
		if err := c.commitLoop(workersDone); err != nil {
			cancel(err)
		}
	}()
	watched := make(chan struct{})
	go func() { defer close(watched); c.watchTime(workersDone) }()

	var workers sync.WaitGroup
	for i := range c.base().Workers {
		workers.Go(func() {
			if err := c.work(ctx, i+1); err != nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	close(workersDone)
	<-committed
	<-watched
	failure := context.Cause(ctx)
	if errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded) {
		failure = nil
	}
	return c.end(given, failure)
}

// work is one worker: it takes URIs through the chain until there are none.
func (c *Crawl) work(ctx context.Context, number int) error {
	w := newWorker(c, number)
	for {
		u, err := c.frontier.Next(ctx)
		switch {
		case errors.Is(err, frontier.ErrEmpty), errors.Is(err, frontier.ErrStopped), ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if err := w.visit(ctx, u); err != nil {
			return fmt.Errorf("crawl %s: %w", u.URL, err)
		}
	}
}

// end finishes files, commits, hands over and writes the reports, after a failure as far as that can be done.
func (c *Crawl) end(ctx context.Context, failure error) (Summary, error) {
	failed := func(err error) {
		if err != nil && !errors.Is(failure, err) {
			failure = errors.Join(failure, err)
		}
	}
	failed(c.files.Close())
	failed(c.commit())
	failed(c.handOverAll(ctx))
	failed(c.commit()) // that files were handed over
	c.files = nil
	counters := c.frontier.Counters()
	c.mu.Lock()
	c.setState(Finished)
	if c.reason == "" {
		c.reason = "unfinished"
		if counters.Queued == 0 && failure == nil {
			c.reason = "completed"
		}
	}
	s := Summary{State: c.state, Reason: c.reason, Counters: counters, Elapsed: c.elapsed,
		Resumable:  counters.Queued > 0 || len(c.unhanded) > 0,
		StopLimits: c.reason == reasonObjects || c.reason == reasonBytes || c.reason == reasonTime}
	c.mu.Unlock()
	if failure == nil {
		failure = c.writeReports(s)
	}
	failure = errors.Join(failure, c.close())
	s.Resumable = s.Resumable || failure != nil
	return s, failure
}

// close closes what is open.
func (c *Crawl) close() error {
	var errs []error
	if c.client != nil {
		c.client.Close()
	}
	if c.files != nil {
		errs = append(errs, c.files.Close())
	}
	if c.crawlLog != nil {
		errs = append(errs, c.crawlLog.Close())
	}
	if c.frontier != nil {
		errs = append(errs, c.frontier.Close())
	}
	return errors.Join(errs...)
}
