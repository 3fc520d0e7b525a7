// Package runner runs jobs on this node: it claims and crawls them, documents them, brings their harvest into the
// archive, and passes orders to them. Files that an attempt left in its folder are brought in later.
package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/crawler/pace"
	"holdfast/duty"
	"holdfast/harvest"
	"holdfast/index/dedup"
	"holdfast/internal/disk"
	"holdfast/node/wire"
)

// Agreement is the agreed state, and how to propose changes of it.
type Agreement interface {
	View(func(catalog.View) error) error
	Linear(ctx context.Context) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
}

// Archive is where the harvest goes.
type Archive interface {
	// Put lets a finished file of this node enter the archive. When it returns nil the bytes are safe; a catalog that
	// cannot be told now is told later.
	Put(ctx context.Context, path string, as catalog.Addition) error
	// InOutbox reports whether this node keeps the file's bytes until all copies are made; Outbox lists all such.
	InOutbox(name catalog.FileName) bool
	Outbox() ([]catalog.Addition, error)
}

// Config holds the settings of a Runner.
type Config struct {
	Self    catalog.NodeID
	Name    string        // of the node
	Version string        // of the program
	Origin  Origin        // of jobs and documents
	Data    string        // the node's folder; jobs lie in jobs/ there
	Slots   int           // jobs crawled at once
	Lease   time.Duration // how long a job continues without contact to a leader
	Disk    disk.Disk
	Log     *slog.Logger

	Agreement Agreement
	Archive   Archive
	Insist    func(context.Context, catalog.Kind, any) (*catalog.Refusal, error) // proposes until it is decided
	Silent    func() time.Duration                                               // since a leader was heard
	Room      func() (int64, error)                                              // for Data, beside the reserve
	Open      func(catalog.Job) (harvest.Job, error)                             // what a job crawls, with secrets
	Able      func(harvest.Job) error                                            // what this node lacks for a job
	Channels  []string                                                           // of which it takes jobs
	Stale     func(catalog.View) (bool, error)                                   // secrets cannot be opened yet
	Captures  crawler.Captures                                                   // of earlier crawls
	Records   crawler.Records
	Documents *dedup.Cache // of earlier jobs; nil: jobs of harvests are compared with all captures, as others are

	Caller wire.Caller
	Alive  func() map[catalog.NodeID]bool
	News   func() <-chan struct{} // closed when somebody comes or goes
	// Begin notes that an attempt begins; what it returns is called at its end. Nothing is noted if nil.
	Begin func(context.Context, catalog.Job) (context.Context, func(error))
}

// Runner claims jobs for this node's free slots and runs them; after a restart it continues those that it had.
type Runner struct {
	cfg      Config
	log      *slog.Logger
	started  time.Time
	paceHome *pace.Home
	pacer    *pace.Pacer

	mu      sync.Mutex
	slots   int
	running map[uint64]*Attempt
	begun   map[uint64]int    // the attempts begun by this process, until the catalog here shows that they ended
	left    map[string]string // folders of earlier attempts that are not all in the archive, and why
	remains remains
	Tally   Tally // of what crawls here bring

	Ended  *Ended // jobs of any node
	unable unable
	freed  chan struct{} // a job has ended here, or there are more slots
}

// Attempt is one attempt of a job on this node.
type Attempt struct {
	Job   catalog.Job
	Dir   string
	crawl *crawler.Crawl // nil until it is opened
	wish  catalog.JobWish
	by    catalog.Time // when a crawl that is to stop is cut off
	held  string       // why this node pauses it by itself
	out   *programLog

	before *dedup.Set // what the jobs that it continues recorded; nil if it continues none
}

// forget closes what earlier jobs recorded.
func (r *Attempt) forget() {
	if r.before != nil {
		_ = r.before.Close()
	}
}

// leasePoll is how often a running job's lease, its wish, and the room on the disk are looked at beside each change of
// the catalog.
const leasePoll = 500 * time.Millisecond

// lookEvery is how often a node looks for jobs when nothing has changed.
const lookEvery = 5 * time.Second

// New returns a runner that runs nothing yet.
func New(cfg Config) *Runner {
	home := pace.NewHome(string(cfg.Self))
	ended := NewEnded(EndedConfig{Dir: filepath.Join(cfg.Data, "ended"), Disk: cfg.Disk, Agreement: cfg.Agreement,
		Records: cfg.Records, Room: cfg.Room, Log: cfg.Log.With("room", "ended")})
	return &Runner{cfg: cfg, Ended: ended, log: cfg.Log.With("room", "crawls"), started: time.Now(), slots: cfg.Slots,
		paceHome: home,
		pacer: pace.New(pace.Config{Self: string(cfg.Self), Home: home, Homes: paceHomes{cfg.Caller},
			Log: cfg.Log.With("room", "pace")}),
		running: map[uint64]*Attempt{}, begun: map[uint64]int{}, unable: unable{why: map[uint64]inability{}},
		remains: remains{more: make(chan struct{}, 1), added: 1}, // an earlier process may have left something
		freed:   make(chan struct{}, 1)}
}

// SetSlots changes how many jobs are crawled at once. Running crawls continue.
func (c *Runner) SetSlots(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slots = n
	signal(c.freed)
}

// Slots returns how many jobs may crawl here at once.
func (c *Runner) Slots() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slots
}

// signal wakes who waits for the channel, at the next time that he does.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run works until ctx ends. Crawls under way are then paused where they are, and resumed by the next Run. changed
// reports changes of jobs.
func (c *Runner) Run(ctx context.Context, changed <-chan struct{}) error {
	tick := time.NewTicker(leasePoll)
	defer tick.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	start := func(job catalog.Job) {
		r := &Attempt{Job: job, out: &programLog{}}
		c.mu.Lock()
		c.running[job.ID] = r
		c.mu.Unlock()
		under.Go(func() {
			if err := c.noted(ctx, r); err != nil && ctx.Err() == nil {
				c.log.Error("job failed", "job", job.ID, "attempt", job.Attempt, "error", err)
			}
			c.mu.Lock()
			delete(c.running, job.ID)
			c.mu.Unlock()
			if r.Dir != "" && !exists(TidiedPath(r.Dir)) {
				c.remains.add()
			}
			signal(c.freed)
		})
	}
	under.Go(func() { c.leftovers(ctx) })
	look, looked := true, time.Time{}
	for {
		c.heed()
		if look || time.Since(looked) >= lookEvery {
			jobs, again, err := c.due(ctx)
			if err != nil {
				return err
			}
			look, looked = again, time.Now()
			for _, job := range jobs {
				if c.begin(job) {
					start(job)
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			look = true
		case <-c.freed:
			look = true
		case <-tick.C:
		}
	}
}

// due returns the jobs to start now: this node's own that do not run here yet, then newly claimed ones. It is to be
// asked again soon when a claim could not be decided, or an attempt that ended here is still in the way.
func (c *Runner) due(ctx context.Context) (out []catalog.Job, again bool, err error) {
	var mine []catalog.Job
	var claims []catalog.JobRef
	err = c.cfg.Agreement.View(func(v catalog.View) (err error) {
		if mine, err = duty.Running(v, c.cfg.Self); err != nil {
			return err
		}
		if err = c.forget(v.Job); err != nil {
			return err
		}
		c.mu.Lock()
		free := c.slots - len(c.running)
		c.mu.Unlock()
		if c.noRoom() != "" || c.remains.some() {
			free = 0 // dormant, or what earlier attempts left comes first
		}
		if stale, err := c.cfg.Stale(v); err != nil || stale {
			return err // this node cannot open what is sealed to the key in the catalog
		}
		claims, err = duty.Claims(v, duty.Claimant{Self: c.cfg.Self, Free: free, Channels: c.cfg.Channels,
			Skip: c.unable.known, Able: func(j *catalog.Job) bool { return c.able(v, j) }})
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("look for jobs: %w", err)
	}
	for _, job := range mine {
		c.mu.Lock()
		_, runs := c.running[job.ID]
		c.mu.Unlock()
		if !runs {
			out = append(out, job)
		}
	}
	for _, claim := range claims {
		c.mu.Lock()
		_, runs := c.running[claim.ID]
		c.mu.Unlock()
		if runs {
			again = true
			continue // an earlier attempt of it has not ended here
		}
		result, err := c.cfg.Agreement.Propose(ctx, catalog.ClaimJob, claim, string(c.cfg.Self))
		if err != nil || result.Refusal != nil {
			again = true
			continue // another node won, or nobody can decide now
		}
		var job catalog.Job
		if err := json.Unmarshal(result.Value, &job); err != nil {
			return nil, false, fmt.Errorf("read the job that was claimed: %w", err)
		}
		out = append(out, job)
	}
	return out, again, nil
}

// begin reports whether the job's attempt was not begun by this process before, and notes that it is now. The catalog
// here lags behind the leader's: a job that was just claimed may still look free, one that just ended may look open.
func (c *Runner) begin(job catalog.Job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun[job.ID] >= job.Attempt {
		return false
	}
	c.begun[job.ID] = job.Attempt
	return true
}

// forget drops what begin has noted of attempts that the catalog here shows as ended.
func (c *Runner) forget(job func(uint64) (catalog.Job, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, attempt := range c.begun {
		if c.running[id] != nil {
			continue
		}
		now, err := job(id)
		if err != nil {
			return err
		}
		if now.Attempt > attempt || now.State != catalog.JobSubmitted && now.State != catalog.JobStarted {
			delete(c.begun, id)
		}
	}
	return nil
}

// heed carries the catalog's wishes and the lease to the running crawls.
func (c *Runner) heed() {
	held := c.noRoom()
	c.mu.Lock()
	defer c.mu.Unlock()
	if silent := c.cfg.Silent(); silent > c.cfg.Lease {
		held = "no leader was heard for as long as the job's lease"
	}
	for id, r := range c.running {
		if r.crawl == nil {
			continue
		}
		var now catalog.Job
		err := c.cfg.Agreement.View(func(v catalog.View) (err error) { now, err = v.Job(id); return err })
		if err != nil {
			continue
		}
		if now.Attempt < r.Job.Attempt {
			continue // the catalog here does not show the claim yet
		}
		if now.Node != c.cfg.Self || now.Attempt > r.Job.Attempt {
			r.crawl.Stop("the job was given to another attempt")
			continue
		}
		if now.Wish != r.wish || now.WishBy != r.by || held != r.held {
			r.wish, r.by, r.held = now.Wish, now.WishBy, held
			r.obey(now.WishReason)
			if held != "" {
				c.log.Warn("job waits", "job", id, "why", held)
			}
		}
	}
}

// noRoom says that the disk of the crawls' folders has no room beside the reserve, or nothing.
func (c *Runner) noRoom() string {
	room, err := c.cfg.Room()
	if err != nil {
		return err.Error()
	}
	if room <= 0 {
		return "there is no room beside the reserve on the disk of " + c.cfg.Data
	}
	return ""
}

// Alerts says which jobs this node holds up, which harvests are not all in the archive, and why.
func (c *Runner) Alerts() (all []alert.Alert) {
	dormant := c.noRoom()
	c.mu.Lock()
	defer c.mu.Unlock()
	if dormant != "" && c.slots > 0 {
		all = append(all, alert.New(alert.NodeDormant, "", "reason", dormant))
	}
	for id, r := range c.running {
		if r.held != "" {
			all = append(all, alert.New(alert.JobHeld, alert.Number(id), "reason", r.held))
			continue
		}
		if r.crawl == nil || r.wish != catalog.WishRun {
			continue
		}
		if p := r.crawl.Progress(); p.State == crawler.Paused { // by itself, or by an order to the crawl alone
			all = append(all, alert.New(alert.JobPaused, alert.Number(id), "reason", p.Reason))
		}
	}
	for dir, why := range c.left {
		all = append(all, alert.New(alert.NotArchived, dir, "reason", why))
	}
	all = append(all, c.unable.alerts()...)
	slices.SortFunc(all, func(a, b alert.Alert) int { return strings.Compare(a.Key(), b.Key()) })
	return all
}

func (r *Attempt) obey(reason string) {
	switch {
	case r.wish == catalog.WishStop && r.by != 0:
		r.crawl.StopWithin(reason, max(time.Until(r.by.Std()), time.Second))
	case r.wish == catalog.WishStop:
		r.crawl.Stop(reason)
	case r.wish == catalog.WishPause:
		r.crawl.Pause(reason)
	case r.held != "":
		r.crawl.Pause(r.held)
	default:
		r.crawl.Resume()
	}
}

// List returns the ids of the jobs that crawl here.
func (c *Runner) List() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []uint64{}
	for id := range c.running {
		out = append(out, id)
	}
	return out
}

// Progress returns the progress of a job that crawls here.
func (c *Runner) Progress(id uint64) (crawler.Progress, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.running[id]
	if r == nil || r.crawl == nil {
		return crawler.Progress{}, false
	}
	return r.crawl.Progress(), true
}
