// Package crawler runs one job: it fetches what the job's seeds lead to, within its settings, and writes WARC files,
// a crawl log and reports.
//
// Every URI goes through one chain of stages (drawn in doc/crawler.md): pre-fetch, fetch, extract, record,
// post-process. The stages fill in one value per URI, the visit. A crawl may be killed at any moment. When it is
// opened again it continues, and no URI is lost or recorded twice, except one whose fetch was cut off.
//
// This package opens, runs and closes a crawl. The work on a URI, a page, an order or a commit is done in the rooms
// chain, render, control and journal.
package crawler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/control"
	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/journal"
	"holdfast/crawler/plan"
	"holdfast/crawler/render"
	"holdfast/crawler/report"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// Crawl is a crawl that was opened. Its methods may be called by several goroutines.
type Crawl struct {
	cfg       Config
	disk      disk.Disk
	log       *slog.Logger
	unlock    func() error // lets others into the folder
	plan      *plan.Current
	changes   *plan.Changes
	changing  sync.Mutex // held while settings are changed
	treatment *plan.Treatment
	frontier  *frontier.Frontier
	parts     chain.Parts // of the stages
	browsers  *render.Browsers
	crew      *chain.Crew
	files     []*warc.Files
	logs      *report.Logs
	board     *report.Board
	live      *report.Live
	events    *events.Hub
	objects   atomic.Int64 // documents
	journal   *journal.Journal
	damage    Damage // that New found
	course    *control.Course
	orders    *control.Orders
	halted    chan struct{} // closed when the run is cut off; nothing may be committed after that
	seeds     *seeds
	reports   *reports
}

// Summary is how a run ended.
type Summary struct {
	State State
	// Reason is why it ended: "completed", "object-limit", "size-limit", "time-limit", "no-response-timeout",
	// "inactivity-timeout", what Stop said, or "unfinished".
	Reason     string
	Counters   frontier.Counters
	Documents  Documents
	Elapsed    time.Duration // of all runs, pauses not counted
	Resumable  bool          // New and Run have something left to do, even if only to hand over files or write reports
	StopLimits bool          // a limit of the job ended it
	Restore    string        // an operator wants the crawl opened again with this as Config.From
	Damage     Damage        // what New found
	Seeds      SeedSummary
}

// Documents are the documents that came, of all runs and domains: whatever their HTTP status, revisits too, without
// DNS, robots.txt and logins. Statistics says how many of them are of which configuration.
type Documents struct{ Objects, Bytes int64 }

// Damage lists what was found damaged when a crawl was opened.
type Damage = journal.Damage

// Run crawls until the frontier is empty, a limit is reached, Stop is called or ctx ends. In all those cases it
// returns nil. An error means that the crawl cannot continue, for example because the disk is full, or that files
// were not taken. When Run returns, everything is closed. A crawl runs once; to continue it, open it again.
//
// Config.Finished is called for each WARC file that is complete, once all its records are accounted for or the run
// ends, even with an error. If it fails for a file, it is called again for that file: later, at the end of the run,
// and when the crawl is opened again. It may see a file twice.
func (c *Crawl) Run(ctx context.Context) (Summary, error) {
	given := ctx
	c.lookAtWindows() // before anything is fetched
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !c.course.Begin(cancel) {
		return Summary{}, errors.New("this crawl was run before: open it again to continue it")
	}
	context.AfterFunc(ctx, func() { close(c.halted) })
	c.journal.Begin()

	committed := make(chan struct{})
	workersDone := make(chan struct{})
	go func() {
		defer close(committed)
		if err := c.journal.Loop(workersDone); err != nil {
			cancel(err)
		}
	}()
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	watched := c.watch(watching, workersDone, cancel)

	c.events.Publish(events.Event{Kind: events.Started})
	if err := c.treatment.Apply(ctx); err != nil {
		cancel(err)
	}
	for more := true; more; more = c.hasMore(ctx) {
		c.crew.Run(ctx, c.plan.Base().Workers, func(idle context.Context, number int) {
			if err := c.work(ctx, idle, number); err != nil {
				cancel(err)
			}
		})
		c.orders.Gate.Close() // with commits, which orders may wait for
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

// hasMore tells whether an order brought something to do while the workers ended, and has the crawl take orders again
// then.
func (c *Crawl) hasMore(ctx context.Context) bool {
	queues := c.frontier.Summary()
	if ctx.Err() != nil || c.course.Standing().State == Stopping ||
		queues.Queues == queues.States[frontier.Empty]+queues.States[frontier.Retired] {
		return false
	}
	c.orders.Gate.Reopen()
	return true
}

// work is one worker: it takes URIs through the chain until there are none, or idle ends.
func (c *Crawl) work(ctx, idle context.Context, number int) error {
	w := c.worker(number)
	defer w.Place.Leave()
	for {
		u, err := c.frontier.Next(idle)
		switch {
		case errors.Is(err, frontier.ErrEmpty), errors.Is(err, frontier.ErrStopped), err != nil && idle.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if err := w.Visit(ctx, u); err != nil {
			return fmt.Errorf("crawl %s: %w", u.URL, err)
		}
	}
}

// worker makes a worker with stages of its own.
func (c *Crawl) worker(number int) *chain.Worker {
	files := c.files[number%len(c.files)]
	set := c.parts.Set(files)
	pages := &render.Pages{Browsers: c.browsers, Plan: c.plan, Entries: c.parts.Entries, Frontier: c.frontier,
		Scope: c.parts.Scope, Servers: c.parts.Servers, Guesses: c.parts.Guesses, Log: c.log, Set: set,
		Helper: func() *chain.Set { return c.parts.Set(files) }}
	return &chain.Worker{Number: number, Place: c.board.Worker(number), Crew: c.crew, Plan: c.plan, Set: set,
		Stages: set.Chain(pages.Seat, pages.Browse)}
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
	failed(c.keepTraps())
	failed(c.journal.Commit())
	failed(c.journal.Handover.All(ctx))
	failed(c.journal.Commit()) // that files were handed over
	c.files = nil
	counters := c.frontier.Counters()
	at := c.course.Finish(counters.Queued == 0 && failure == nil, failure != nil)
	s := Summary{State: at.State, Reason: at.Reason, Counters: counters, Elapsed: at.Elapsed, Damage: c.damage,
		Resumable: counters.Queued > 0 || c.journal.Handover.Waiting() > 0, Restore: at.Restore,
		StopLimits: slices.Contains([]string{reasonObjects, reasonBytes, reasonTime, control.ReasonNoResponse,
			control.ReasonInactivity}, at.Reason)}
	sum, err := c.reports.documents(context.WithoutCancel(ctx))
	failed(err)
	s.Documents = sum
	if failure == nil {
		s.Seeds, failure = c.seeds.summary()
	}
	if failure == nil {
		failure = c.reports.writeAll(context.WithoutCancel(ctx), s)
	}
	failure = errors.Join(failure, c.close())
	s.Resumable = s.Resumable || failure != nil
	return s, failure
}

// close closes everything that is open.
func (c *Crawl) close() error {
	var errs []error
	errs = append(errs, c.browsers.Close())
	if c.parts.Client != nil {
		c.parts.Client.Close()
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
	if c.unlock != nil {
		errs = append(errs, c.unlock())
	}
	return errors.Join(errs...)
}

// Obey carries out a valid order while the crawl runs. An order that cannot be carried out is refused with
// harvest.ErrInvalid. An order that changes something is carried out completely, or until the crawl ends, even if ctx
// ends earlier.
func (c *Crawl) Obey(ctx context.Context, o act.Order) (harvest.Reply, error) {
	return c.orders.Obey(ctx, o)
}

// Past carries out an order that only reads (events, search, report, explain) from the folder of a crawl that is not
// open. Other orders are refused with harvest.ErrInvalid. If the folder is not a crawl's, the error is
// fs.ErrNotExist.
func Past(ctx context.Context, dir string, o act.Order) (harvest.Reply, error) {
	return control.Past(ctx, dir, o)
}
