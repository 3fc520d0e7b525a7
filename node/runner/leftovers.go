package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
)

// retryPause is the pause between tries of an act that must not be lost.
const retryPause = 2 * time.Second

// leftoverEvery is the pause between two looks for files that ended attempts have left in their folders.
const leftoverEvery = 10 * time.Minute

// leftovers brings in the files that ended attempts left in their folders: attempts that another node took over while
// this one was away, attempts that failed (because there was no room, for example), and attempts whose end was
// recorded just before a crash. What cannot be brought in is tried again. It works beside the crawls until ctx ends.
func (c *Runner) leftovers(ctx context.Context) {
	for ctx.Err() == nil {
		upTo := c.remains.now()
		c.BringLeftovers(ctx)
		c.remains.looked(upTo)
		signal(c.freed)
		select {
		case <-ctx.Done():
		case <-time.After(leftoverEvery):
		case <-c.remains.more:
		}
	}
}

// remains counts attempts that left something in their folders. While it is not looked at, this node claims no jobs:
// what was harvested comes before what may be. Something that cannot be brought in holds up nothing after that.
type remains struct {
	mu           sync.Mutex
	added, known int
	more         chan struct{} // something was added
}

func (r *remains) add() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added++
	signal(r.more)
}

// now is how many there are; looked tells that those were looked at, and some reports whether there are more.
func (r *remains) now() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.added
}

func (r *remains) looked(upTo int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = max(r.known, upTo)
}

func (r *remains) some() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.added > r.known
}

// BringLeftovers looks at each folder once, and records the faults of folders whose files are not all in the archive.
func (c *Runner) BringLeftovers(ctx context.Context) {
	dirs, err := filepath.Glob(filepath.Join(c.cfg.Data, "jobs", "*_*"))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		return exists(TidiedPath(dir)) || !exists(AttemptPath(dir))
	})
	if err != nil || len(dirs) == 0 {
		c.setLeft(nil)
		return
	}
	for c.cfg.Agreement.Linear(ctx) != nil { // whose attempt is the present one must be known for sure
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryPause):
		}
	}
	left := map[string]string{}
	for _, dir := range dirs {
		if err := c.leftover(ctx, dir); err != nil && ctx.Err() == nil {
			left[dir] = err.Error()
		}
	}
	c.setLeft(left)
}

// setLeft keeps which folders are not all in the archive, and logs those of which that is news.
func (c *Runner) setLeft(left map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for dir, why := range left {
		if c.left[dir] != why {
			c.log.Error("what an earlier attempt left is not all in the archive", "dir", dir, "error", why)
		}
	}
	c.left = left
}

// leftover brings in one folder, unless its attempt is under way here. A job that the catalog does not know, because
// the cluster was recovered from a state before it, is over.
func (c *Runner) leftover(ctx context.Context, dir string) error {
	had, err := readAttempt(dir)
	if err != nil {
		return fmt.Errorf("read %s: %w", AttemptPath(dir), err)
	}
	c.mu.Lock()
	r := c.running[had.ID]
	c.mu.Unlock()
	if r != nil && sameAttempt(r.Job, had) {
		return nil
	}
	var now catalog.Job
	err = c.cfg.Agreement.View(func(v catalog.View) (err error) { now, err = v.Job(had.ID); return err })
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	ended := now.State != catalog.JobSubmitted && now.State != catalog.JobStarted
	if sameAttempt(now, had) && now.Node == c.cfg.Self && !ended {
		return nil
	}
	r = &Attempt{Job: had, Dir: dir, out: &programLog{}}
	if !exists(filepath.Join(dir, string(MetadataName(had)))) {
		if err := r.out.begin(c.cfg.Disk, dir); err != nil {
			return err
		}
		r.out.introduce(c.cfg.Version, c.cfg.Name)
		r.out.say("what attempt %d of job %d left is brought into the archive", had.Attempt, had.ID)
	}
	defer func() { _ = r.out.end() }()
	log := slog.New(r.out.handler(c.log.Handler())).With("job", had.ID, "attempt", had.Attempt)
	files, err := c.bringIn(ctx, r, log)
	if err != nil {
		return err
	}
	log.Info("what an earlier attempt left is in the archive", "dir", dir, "files", files)
	return c.Tidy(r)
}

// sameAttempt reports whether both are the same attempt of the same job. Numbers that were given after the state from
// which a cluster was recovered are given again: the time of its creation tells such a job from the one before.
func sameAttempt(a, b catalog.Job) bool {
	return a.ID == b.ID && a.Attempt == b.Attempt && a.Created == b.Created
}
