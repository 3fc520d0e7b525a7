package node

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/duty"
)

// crawls claims jobs for this node's free slots and runs them; after a restart it goes on with those it had.
type crawls struct {
	n     *Node
	slots int
	log   *slog.Logger

	mu      sync.Mutex
	running map[uint64]*crawling
	begun   map[uint64]int    // the attempts begun by this process, until the catalog here shows that they ended
	left    map[string]string // folders of earlier attempts that are not all in the archive, and why
}

// crawling is one attempt of a job on this node.
type crawling struct {
	job   catalog.Job
	dir   string
	crawl *crawler.Crawl // nil until it is opened
	wish  catalog.JobWish
	held  string // why this node pauses it by itself
}

// leasePoll is how often a running job's lease, its wish, and the room on the disk are looked at beside each change of
// the catalog.
const leasePoll = 500 * time.Millisecond

func newCrawls(n *Node) *crawls {
	return &crawls{n: n, slots: n.cfg.Limits.Crawls, log: n.log.With("room", "crawls"), running: map[uint64]*crawling{}, begun: map[uint64]int{}}
}

// Run works until ctx ends; the crawls under way are then paused where they are, to be resumed by the next Run.
func (c *crawls) Run(ctx context.Context) error {
	watch := c.n.raft.Watch(catalog.PrefixJobs)
	defer watch.Close()
	tick := time.NewTicker(leasePoll)
	defer tick.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	start := func(job catalog.Job) {
		r := &crawling{job: job}
		c.mu.Lock()
		c.running[job.ID] = r
		c.mu.Unlock()
		under.Go(func() {
			if err := c.run(ctx, r); err != nil && ctx.Err() == nil {
				c.log.Error("job failed", "job", job.ID, "attempt", job.Attempt, "error", err)
			}
			c.mu.Lock()
			delete(c.running, job.ID)
			c.mu.Unlock()
		})
	}
	under.Go(func() { c.leftovers(ctx) })
	for {
		c.heed()
		jobs, err := c.due(ctx)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if c.begin(job) {
				start(job)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-watch.C:
		case <-tick.C:
		}
	}
}

// due returns the jobs to start now: this node's own that do not run here yet, then newly claimed ones.
func (c *crawls) due(ctx context.Context) ([]catalog.Job, error) {
	var mine []catalog.Job
	var claims []catalog.JobRef
	err := c.n.raft.View(func(v catalog.View) (err error) {
		if mine, err = duty.Running(v, c.n.id); err != nil {
			return err
		}
		if err = c.forget(v.Job); err != nil {
			return err
		}
		c.mu.Lock()
		free := c.slots - len(c.running)
		c.mu.Unlock()
		if c.noRoom() != "" {
			free = 0
		}
		if stale, err := c.n.vault.stale(v); err != nil || stale {
			return err // what is sealed to the key that the catalog shows, this node cannot open
		}
		claims, err = duty.Claims(v, c.n.id, free, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for jobs: %w", err)
	}
	var out []catalog.Job
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
			continue // an earlier attempt of it has not ended here
		}
		result, err := c.n.raft.Propose(ctx, catalog.ClaimJob, claim, string(c.n.id))
		if err != nil || result.Refusal != nil {
			continue // another node won, or nobody can decide now
		}
		job, err := decodeJob(result)
		if err != nil {
			return nil, err
		}
		out = append(out, job)
	}
	return out, nil
}

// begin reports whether the job's attempt was not begun by this process before, and notes that it is now. The catalog
// here lags behind the leader's: a job that was just claimed may still look free, one that just ended may look open.
func (c *crawls) begin(job catalog.Job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun[job.ID] >= job.Attempt {
		return false
	}
	c.begun[job.ID] = job.Attempt
	return true
}

// forget drops what begin has noted of attempts that the catalog here shows as ended.
func (c *crawls) forget(job func(uint64) (catalog.Job, error)) error {
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
func (c *crawls) heed() {
	held := c.noRoom()
	c.mu.Lock()
	defer c.mu.Unlock()
	if silent, _ := c.n.raft.Heard(); silent > time.Duration(c.n.cfg.Limits.Lease) {
		held = "no leader was heard for as long as the job's lease"
	}
	for id, r := range c.running {
		if r.crawl == nil {
			continue
		}
		var now catalog.Job
		err := c.n.raft.View(func(v catalog.View) (err error) { now, err = v.Job(id); return err })
		if err != nil {
			continue
		}
		if now.Attempt < r.job.Attempt {
			continue // the catalog here does not show the claim yet
		}
		if now.Node != c.n.id || now.Attempt > r.job.Attempt {
			r.crawl.Stop("the job was given to another attempt")
			continue
		}
		if now.Wish != r.wish || held != r.held {
			r.wish, r.held = now.Wish, held
			r.obey(now.WishReason)
			if held != "" {
				c.log.Warn("job waits", "job", id, "why", held)
			}
		}
	}
}

// noRoom says that the disk of the crawls' folders has no room beside the reserve, or nothing.
func (c *crawls) noRoom() string {
	room, err := c.n.room(c.n.cfg.Data)
	if err != nil {
		return err.Error()
	}
	if room <= 0 {
		return "there is no room beside the reserve on the disk of " + c.n.cfg.Data
	}
	return ""
}

// problems says which jobs this node holds up, which harvests are not all in the archive, and why.
func (c *crawls) problems() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, r := range c.running {
		if r.held != "" {
			all = append(all, fmt.Sprintf("job %d waits: %s", id, r.held))
			continue
		}
		if r.crawl == nil || r.wish != catalog.WishRun {
			continue
		}
		if p := r.crawl.Progress(); p.State == crawler.Paused { // by itself, or by an order to the crawl alone
			all = append(all, fmt.Sprintf("job %d is paused: %s", id, p.Reason))
		}
	}
	for dir, why := range c.left {
		all = append(all, fmt.Sprintf("not all of %s is in the archive: %s", dir, why))
	}
	slices.Sort(all)
	return all
}

func (r *crawling) obey(reason string) {
	switch {
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

// list returns the ids of the jobs that crawl here.
func (c *crawls) list() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []uint64{}
	for id := range c.running {
		out = append(out, id)
	}
	return out
}

// progress returns how a job stands that crawls here.
func (c *crawls) progress(id uint64) (crawler.Progress, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.running[id]
	if r == nil || r.crawl == nil {
		return crawler.Progress{}, false
	}
	return r.crawl.Progress(), true
}
