package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/crawler"
	"holdfast/duty"
	"holdfast/warc"
)

// crawls claims jobs for this node's free slots and runs them; after a restart it goes on with those it had.
type crawls struct {
	n     *Node
	slots int
	log   *slog.Logger

	mu      sync.Mutex
	running map[uint64]*crawling
	begun   map[uint64]int // the attempts begun by this process, until the catalog here shows that they ended
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
const leasePoll = 2 * time.Second

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
	for {
		jobs, err := c.due(ctx)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if c.begin(job) {
				start(job)
			}
		}
		c.heed()
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
		if now.Node != c.n.id || now.Attempt != r.job.Attempt {
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

// problems says which jobs this node holds up, and why.
func (c *crawls) problems() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, r := range c.running {
		if r.held != "" {
			all = append(all, fmt.Sprintf("job %d waits: %s", id, r.held))
		}
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

// run crawls one attempt to its end and tells the catalog. It returns early, leaving all as it is, when ctx ends.
func (c *crawls) run(ctx context.Context, r *crawling) error {
	log := c.log.With("job", r.job.ID, "attempt", r.job.Attempt)
	if r.job.State == catalog.JobSubmitted {
		ref := catalog.JobRef{ID: r.job.ID, Node: c.n.id, Attempt: r.job.Attempt}
		if refusal, err := c.n.insist(ctx, catalog.StartJob, ref); err != nil || refusal != nil {
			return errors.Join(err, refusedError(refusal))
		}
	}
	summary, err := c.crawl(ctx, r, log)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	end := catalog.JobEnd{ID: r.job.ID, Node: c.n.id, Attempt: r.job.Attempt}
	if err != nil {
		log.Error("crawl failed", "error", err)
		end.Failed, end.Reason = true, err.Error()
	}
	end.Stats = statsOf(summary)
	files, err := c.documentation(ctx, r, log)
	if err != nil && ctx.Err() == nil {
		log.Error("metadata file not written", "error", err)
	}
	end.Stats.Files += files
	refusal, err := c.n.insist(ctx, catalog.FinishJob, end)
	if err != nil {
		return err
	}
	if refusal != nil {
		log.Warn("end of job refused", "reason", refusal.Message)
	}
	log.Info("job ended", "objects", end.Stats.Objects, "bytes", end.Stats.Bytes, "stop", end.Stats.StopReason)
	return c.tidy(r.dir)
}

func (c *crawls) crawl(ctx context.Context, r *crawling, log *slog.Logger) (crawler.Summary, error) {
	dir, err := c.folder(r.job)
	if err != nil {
		return crawler.Summary{}, err
	}
	spec := r.job.Spec
	r.dir = dir
	crawl, err := crawler.New(crawler.Config{
		Dir: dir, Job: spec, Prefix: fmt.Sprintf("%d-%s", r.job.ID, fileWord(r.job.Harvest)), Node: c.n.cfg.Name,
		Disk: &c.n.disk, Log: log,
		Finished: func(f warc.Finished) error { return c.enter(ctx, r.job, f) },
	})
	if err != nil {
		return crawler.Summary{}, err
	}
	c.mu.Lock()
	r.crawl = crawl
	c.mu.Unlock()
	c.heed()
	log.Info("job starts", "dir", dir, "harvest", r.job.Harvest)
	return crawl.Run(ctx)
}

// enter puts a finished WARC file into the archive. A catalog that cannot be told now is told later.
func (c *crawls) enter(ctx context.Context, job catalog.Job, f warc.Finished) error {
	_, err := c.n.enter(ctx, f.Path, catalog.Addition{
		Name: catalog.FileName(filepath.Base(f.Path)), Size: f.Size, SHA256: f.SHA256,
		Collection: job.Collection, Source: c.n.id, Job: job.ID, Attempt: job.Attempt,
	})
	return err
}

// folder returns <data>/jobs/<job>_<timestamp>, that of the job if there is one.
func (c *crawls) folder(job catalog.Job) (string, error) {
	base := filepath.Join(c.n.cfg.Data, "jobs")
	if dir := c.find(job); dir != "" {
		return dir, nil
	}
	dir := filepath.Join(base, fmt.Sprintf("%d_%s", job.ID, cdx.Timestamp(job.Started.Std())))
	if job.Started == 0 {
		dir = filepath.Join(base, fmt.Sprintf("%d_%s", job.ID, cdx.Timestamp(job.Created.Std())))
	}
	return dir, c.n.disk.MkdirAll(dir)
}

// find returns the folder of a job on this node, or nothing.
func (c *crawls) find(job catalog.Job) string {
	base := filepath.Join(c.n.cfg.Data, "jobs")
	entries, err := os.ReadDir(base)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if id, _, ok := strings.Cut(e.Name(), "_"); ok && e.IsDir() && id == strconv.FormatUint(job.ID, 10) {
			return filepath.Join(base, e.Name())
		}
	}
	return ""
}

// tidy removes what an ended job no longer needs: its frontier, and its files, which are in the archive.
func (c *crawls) tidy(dir string) error {
	if dir == "" {
		return nil
	}
	return errors.Join(c.n.disk.RemoveAll(filepath.Join(dir, "state")), c.n.disk.RemoveAll(filepath.Join(dir, "warcs")))
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

// fileWord makes a harvest's name fit for a file's name.
func fileWord(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_':
			return r
		}
		return '_'
	}, name)
}

// refusedError returns the refusal as an error, nil when there is none.
func refusedError(r *catalog.Refusal) error {
	if r == nil {
		return nil
	}
	return r
}
