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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"holdfast/crawler/events"
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
	Earlier  Earlier                   // what earlier jobs archived; default: nothing
	Forget   bool                      // what settings were changed to while the crawl ran; default: that holds
	From     string                    // a checkpoint of this crawl, to start from again; default: as the crawl stands
}

// Crawl is a crawl that was opened. Its methods may be called by several goroutines.
type Crawl struct {
	cfg       Config
	disk      disk.Disk
	log       *slog.Logger
	now       func() time.Time // what the windows of sheets are seen by
	plan      atomic.Pointer[plan]
	changing  sync.Mutex               // of those who change the settings
	treating  sync.Mutex               // of those who have queues treated by them
	windows   atomic.Pointer[[]string] // the windows of sheets that were open when queues were last treated by them
	seeds     []string                 // in normal form
	scope     *scope.Scope
	canon     *scope.Canonicalizer
	known     *knownLinks
	lock      *flock.Flock // keeps others out of the folder
	frontier  *frontier.Frontier
	client    *fetch.Client
	resolver  fetch.Resolver
	jar       *fetch.Jar
	logins    *fetch.Logins
	bandwidth *fetch.Limiter
	limiters  *limiters
	turns     turns
	aside     asideSites
	browsers  *browsers
	servers   *servers
	quotas    *quotas
	files     []*warc.Files
	logs      *report.Logs
	board     *report.Board
	live      *report.Live
	events    *events.Hub
	workers   *workers

	wishes      chan chan struct{} // for a commit; each is closed after it
	uncommitted error              // why nothing can be committed any more; of the one who commits
	damage      Damage             // that New found
	logged      int64              // size of crawl.log at the last commit; of the one who commits
	cookies     struct {           // as they were kept last; of the one who commits
		kept uint64
		at   time.Time
		size int
		due  atomic.Bool
	}

	reporting sync.Mutex // of those who write reports

	mu        sync.Mutex
	state     State
	reason    string
	stats     *report.Stats
	unhanded  map[string]*handover // WARC files not yet given to Finished
	elapsed   time.Duration        // of earlier runs and before the last pause
	since     time.Time            // of running; zero while it does not
	ran       bool
	cut       context.CancelCauseFunc // ends what is in flight
	until     time.Time               // when a pause ends by itself, or what is in flight is cut off
	alarm     *time.Timer             // for that
	holds     [holders]*hold          // why it is paused
	restoreTo string                  // the checkpoint that an operator wants the crawl to be started from
	objects   atomic.Int64

	deaf    bool           // takes no orders any more
	obeying sync.WaitGroup // orders that are carried out
	halted  chan struct{}  // closed when the run is cut off: nothing may be committed any more
}

// Summary is how a run ended.
type Summary struct {
	State      State
	Reason     string // why it ended: "completed", "object-limit", "size-limit", "time-limit", what Stop said, or "unfinished"
	Counters   frontier.Counters
	Elapsed    time.Duration // of all runs, pauses not counted
	Resumable  bool          // New and Run would go on, be it only to hand over files or write reports
	StopLimits bool          // a limit of the job ended it
	Restore    string        // an operator wants the crawl opened again with this as Config.From
	Damage     Damage        // what New found
	Seeds      SeedSummary
}

// ErrRuns reports that another process crawls in the folder.
var ErrRuns = errors.New("another process crawls in this folder")

// New opens the crawl in cfg.Dir, or begins it. What a killed process left is put in order: torn WARC
// files are salvaged, what they hold is accounted for, the logs are cut to match. After an
// error nothing stays open; after ErrRuns the other's crawl is as it was.
func New(cfg Config) (crawl *Crawl, err error) { return newAt(cfg, time.Now) }

// newAt is New with the clock that the windows of sheets are seen by.
func newAt(cfg Config, now func() time.Time) (crawl *Crawl, err error) {
	if err := errors.Join(cfg.Job.Validate(), Check(cfg.Job)); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	c := &Crawl{cfg: cfg, disk: *cfg.Disk, log: cfg.Log, now: now, state: Preparing, unhanded: map[string]*handover{}, known: newKnownLinks(),
		jar: fetch.NewJar(0), logins: fetch.NewLogins(nil), live: report.NewLive(), board: report.NewBoard(stageNames()...), workers: newWorkers(), browsers: newBrowsers(cfg.Dir), halted: make(chan struct{}), wishes: make(chan chan struct{})}
	if err := c.follow(cfg.Job.Settings); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	for _, dir := range []string{"warcs", "logs", "reports", "settings", "state/frontier", "state/spill", "state/checkpoints"} {
		if err := c.disk.MkdirAll(filepath.Join(cfg.Dir, dir)); err != nil {
			return nil, err
		}
	}
	if err := c.lockFolder(); err != nil {
		return nil, err
	}
	if err := c.takeBack(); err != nil {
		return nil, err
	}
	if err := c.openFrontier(); err != nil {
		return nil, err
	}
	bad := c.readSeeds()
	if err := c.openRules(); err != nil {
		return nil, err
	}
	c.openClient()
	if err := c.recover(); err != nil {
		return nil, err
	}
	if err := c.openFiles(); err != nil {
		return nil, err
	}
	return c, c.addSeeds(bad)
}

// Check tells whether a job that is valid can be crawled here: its rules and expressions are understood, and what it needs is
// there. The error wraps harvest.ErrInvalid.
func Check(job harvest.Job) error {
	return errors.Join(scope.Check(job.Settings), checkRoutes(&job.Settings), checkBrowser(&job.Settings), checkCookies(job.Settings.FirstCookies))
}

func checkRoutes(s *harvest.Settings) error {
	if _, err := fetch.NewRoutes(s.Proxies, s.SourceAddresses); err != nil {
		return fmt.Errorf("%w: %w", harvest.ErrInvalid, err)
	}
	return nil
}

func checkCookies(text string) error {
	if _, err := fetch.NewJar(0).ImportText([]byte(text), time.Now()); err != nil {
		return fmt.Errorf("%w: first_cookies: %w", harvest.ErrInvalid, err)
	}
	return nil
}

// lockFolder keeps other crawls out of the folder, until close.
func (c *Crawl) lockFolder() error {
	lock := flock.New(filepath.Join(c.cfg.Dir, "state", "lock"))
	free, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", c.cfg.Dir, err)
	}
	if !free {
		return fmt.Errorf("%s: %w", c.cfg.Dir, ErrRuns)
	}
	c.lock = lock
	return nil
}

// openFrontier opens the frontier, and lays over the settings what was changed while the crawl ran before.
func (c *Crawl) openFrontier() (err error) {
	c.frontier, err = frontier.Open(frontier.Config{Dir: filepath.Join(c.cfg.Dir, "state", "frontier"), Policy: c.policy, Log: c.log})
	if err != nil {
		return err
	}
	if err := c.recall(); err != nil {
		return err
	}
	now := c.base()
	c.logins.Set(now.Credentials)
	c.frontier.SetMaxActive(now.MaxActiveQueues)
	c.frontier.Rest(now.MinDelay.Std())
	if err := c.frontier.Values(valueAside, func(name string, _ []byte) error {
		c.aside.add(strings.TrimPrefix(name, valueAside))
		return nil
	}); err != nil {
		return err
	}
	return c.writeSettings()
}

// openRules makes the scope, of settings and seeds and of what was blocked before.
func (c *Crawl) openRules() (err error) {
	if c.scope, err = scope.New(c.plan.Load().sheets, c.seeds, c.log); err != nil {
		return err
	}
	if c.canon, err = scope.NewCanonicalizer(c.base().Canonicalization); err != nil {
		return err
	}
	return c.frontier.Values(valueBlocked, func(name string, _ []byte) error {
		return c.scope.Block(strings.TrimPrefix(name, valueBlocked))
	})
}

// openClient prepares what asks servers.
func (c *Crawl) openClient() {
	s := c.base()
	c.servers = newServers(c.frontier)
	c.quotas = newQuotas(c.frontier)
	c.bandwidth = fetch.NewLimiter(s.Bandwidth)
	c.limiters = newLimiters()
	c.resolver = fetch.Resolver{Hosts: "/etc/hosts", Config: "/etc/resolv.conf", Server: s.Nameserver, Timeout: 5 * time.Second, MaxTTL: s.MaxDNSTTL.Std()}
	c.client = fetch.New(fetch.Config{UserAgent: s.Agent(), From: s.From(), Timeout: s.FetchTimeout.Std(),
		Idle: s.IdleTimeout.Std(), MaxBody: s.MaxDocumentBytes, SpillDir: filepath.Join(c.cfg.Dir, "state", "spill"),
		Allowed: c.allowed, MaxIdle: 2 * s.Workers})
}

// openFiles prepares the writers of WARC files.
func (c *Crawl) openFiles() error {
	s := c.base()
	for i := range s.WARCWriters {
		node := c.cfg.Node
		if i > 0 { // no two writers may come upon the same name
			node = fmt.Sprintf("%s~%d", node, i+1)
		}
		f, err := warc.NewFiles(c.disk, warc.FilesConfig{Dir: filepath.Join(c.cfg.Dir, "warcs"), Prefix: c.cfg.Prefix, Node: node,
			MaxBytes: s.WARCBytes, Compression: warc.Gzip, Level: s.WARCLevel, Info: c.info()}, c.fileFinished)
		if err != nil {
			return err
		}
		c.files = append(c.files, f)
	}
	return nil
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
	job.Settings = c.base().Redacted()
	data, err := json.MarshalIndent(job, "", "  ")
	if err != nil {
		return fmt.Errorf("write settings of job %s: %w", c.cfg.Job.Name, err)
	}
	return c.disk.WriteFile(filepath.Join(c.cfg.Dir, "settings", "job.json"), func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
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
	context.AfterFunc(ctx, func() { close(c.halted) })

	committed := make(chan struct{})
	workersDone := make(chan struct{})
	go func() {
		defer close(committed)
		if err := c.commitLoop(workersDone); err != nil {
			cancel(err)
		}
	}()
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	var watched sync.WaitGroup
	watched.Go(func() { c.watchTime(workersDone) })
	watched.Go(func() { c.watchDisk(workersDone) })
	watched.Go(func() { c.watchProgress(workersDone) })
	watched.Go(func() {
		if err := c.watchWindows(watching, workersDone); err != nil {
			cancel(err)
		}
	})
	c.mu.Lock()
	c.cut = cancel
	c.mu.Unlock()

	c.publish(events.Event{Kind: events.Started})
	if err := c.repolicy(ctx); err != nil {
		cancel(err)
	}
	for more := true; more; more = c.hasMore(ctx) {
		c.workers.run(ctx, c.base().Workers, func(idle context.Context, number int) {
			if err := c.work(ctx, idle, number); err != nil {
				cancel(err)
			}
		})
		c.mu.Lock()
		c.deaf = true
		c.mu.Unlock()
		c.obeying.Wait() // with commits, which orders may wait for
	}
	close(workersDone)
	<-committed
	unwatch() // they wait for no further commit
	watched.Wait()
	failure := context.Cause(ctx)
	if errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded) {
		failure = nil
	}
	return c.end(given, failure)
}

// hasMore tells whether an order brought something to do while the workers ended, and has the crawl take orders again then.
func (c *Crawl) hasMore(ctx context.Context) bool {
	queues := c.frontier.Summary()
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.state == Stopping || queues.Queues == queues.States[frontier.Empty]+queues.States[frontier.Retired] {
		return false
	}
	c.deaf = false
	return true
}

// work is one worker: it takes URIs through the chain until there are none, or idle ends.
func (c *Crawl) work(ctx, idle context.Context, number int) error {
	w := newWorker(c, number)
	defer w.place.Leave()
	for {
		u, err := c.frontier.Next(idle)
		switch {
		case errors.Is(err, frontier.ErrEmpty), errors.Is(err, frontier.ErrStopped), err != nil && idle.Err() != nil:
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
	for _, f := range c.files {
		failed(f.Close())
	}
	failed(c.commit())
	failed(c.handOverAll(ctx))
	failed(c.commit()) // that files were handed over
	c.files = nil
	counters := c.frontier.Counters()
	c.mu.Lock()
	c.setAlarm(0, nil)
	c.setState(Finished)
	if c.reason == "" {
		c.reason = "unfinished"
		if counters.Queued == 0 && failure == nil {
			c.reason = "completed"
		}
	}
	c.note(report.NoteEnded, report.ExitStatus(c.reason, failure != nil))
	c.publish(events.Event{Kind: events.Finished, Reason: c.reason})
	s := Summary{State: c.state, Reason: c.reason, Counters: counters, Elapsed: c.elapsed,
		Resumable: counters.Queued > 0 || len(c.unhanded) > 0, Damage: c.damage,
		Restore: c.restoreTo, StopLimits: c.reason == reasonObjects || c.reason == reasonBytes || c.reason == reasonTime}
	c.mu.Unlock()
	if failure == nil {
		s.Seeds, failure = c.seedSummary()
	}
	if failure == nil {
		failure = c.writeReports(context.WithoutCancel(ctx), s)
	}
	failure = errors.Join(failure, c.close())
	s.Resumable = s.Resumable || failure != nil
	return s, failure
}

// close closes what is open.
func (c *Crawl) close() error {
	var errs []error
	errs = append(errs, c.browsers.close())
	if c.client != nil {
		c.client.Close()
	}
	for _, f := range c.files {
		errs = append(errs, f.Close())
	}
	if c.events != nil {
		c.events.Close()
	}
	if c.logs != nil {
		errs = append(errs, c.logs.Close())
	}
	if c.frontier != nil {
		errs = append(errs, c.frontier.Close())
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Close())
	}
	return errors.Join(errs...)
}
