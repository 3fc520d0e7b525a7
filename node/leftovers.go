package node

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"holdfast/catalog"
)

// leftovers brings in what earlier attempts left in their folders: those that another node took over while this one was
// away, those that failed, and those whose end was told just before a crash. It works beside the crawls until it is
// done or ctx ends.
func (c *crawls) leftovers(ctx context.Context, under *sync.WaitGroup) {
	dirs, err := filepath.Glob(filepath.Join(c.n.cfg.Data, "jobs", "*_*"))
	if err != nil || len(dirs) == 0 {
		return
	}
	under.Go(func() {
		for c.n.raft.Linear(ctx) != nil { // whose attempt is the present one must be known for sure
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryPause):
			}
		}
		for _, dir := range dirs {
			if err := c.leftover(ctx, dir); err != nil && ctx.Err() == nil {
				c.log.Error("what an earlier attempt left is not all in the archive", "dir", dir, "error", err)
			}
		}
	})
}

// leftover brings in one folder, unless it is that of an attempt under way here or nothing is left in it.
func (c *crawls) leftover(ctx context.Context, dir string) error {
	if exists(tidiedPath(dir)) || !exists(attemptPath(dir)) {
		return nil
	}
	had, err := readAttempt(dir)
	if err != nil {
		return fmt.Errorf("read %s: %w", attemptPath(dir), err)
	}
	var now catalog.Job
	err = c.n.raft.View(func(v catalog.View) (err error) { now, err = v.Job(had.ID); return err })
	if err != nil {
		return err
	}
	ended := now.State != catalog.JobSubmitted && now.State != catalog.JobStarted
	if now.Attempt == had.Attempt && now.Node == c.n.id && !ended {
		return nil
	}
	r := &crawling{job: had, dir: dir}
	log := c.log.With("job", had.ID, "attempt", had.Attempt)
	files, err := c.bringIn(ctx, r, log)
	if err != nil {
		return err
	}
	log.Info("what an earlier attempt left is in the archive", "dir", dir, "files", files)
	return c.tidy(r)
}
