package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/events"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/harvest"
)

// checkpointDir is where a crawl's checkpoints are, each a folder; restoredMark is there from when the frontier was taken back to one
// until the WARC files written since are set aside.
func checkpointDir(dir string) string { return filepath.Join(dir, "state", "checkpoints") }
func restoredMark(dir string) string  { return filepath.Join(dir, "state", "restored") }

func isCheckpointName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$`).MatchString(name)
}

// checkpoint keeps the crawl as it stands at a commit, to be started from again.
func (c *Crawl) checkpoint(ctx context.Context, name string) error {
	if name == "" {
		name = cdx.Timestamp(time.Now())
	}
	if !isCheckpointName(name) {
		return refused("name", name, "letters, digits, dots, dashes and underscores")
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	err := c.frontier.Checkpoint(ctx, filepath.Join(checkpointDir(c.cfg.Dir), name))
	if errors.Is(err, fs.ErrExist) {
		return refused("name", name, "a name that no checkpoint of this crawl has yet")
	}
	if err != nil {
		return err
	}
	c.note(report.NoteCheckpoint+name, "")
	c.publish(events.Event{Kind: events.Checkpoint, Name: name})
	return nil
}

// checkpoints lists what can be started from again, oldest first.
func (c *Crawl) checkpoints() (all []harvest.Checkpoint, err error) {
	entries, err := os.ReadDir(checkpointDir(c.cfg.Dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(checkpointDir(c.cfg.Dir), e.Name())
		info, err := frontier.ReadCheckpoint(dir)
		if err != nil {
			c.log.Debug("no checkpoint", "name", e.Name(), "error", err)
			continue
		}
		n := harvest.Checkpoint{Name: e.Name(), Taken: info.Time, Queued: info.Counters.Queued}
		files, err := os.ReadDir(dir)
		for _, f := range files {
			if stat, err := f.Info(); err == nil {
				n.Bytes += stat.Size()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("list checkpoint %s: %w", e.Name(), err)
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b harvest.Checkpoint) int { return a.Taken.Compare(b.Taken) })
	return all, nil
}

// restore asks for the crawl to be started again from a checkpoint: it stops, and its Summary says so to whoever runs it.
func (c *Crawl) restore(name, by string) error {
	if !isCheckpointName(name) { // before anything is read at a path that it makes
		return refused("name", name, "a checkpoint of this crawl")
	}
	if _, err := frontier.ReadCheckpoint(filepath.Join(checkpointDir(c.cfg.Dir), name)); err != nil {
		return refused("name", name, "a checkpoint of this crawl")
	}
	c.mu.Lock()
	c.restoreTo = name
	c.mu.Unlock()
	c.stopFor("restored from checkpoint "+name, 0, by)
	return nil
}

// takeBack puts the checkpoint Config.From in place of the frontier. What was logged since is kept under another name. What
// a crash broke off is begun anew, whatever Config.From says: until the mark is gone, nothing was crawled.
func (c *Crawl) takeBack() error {
	name, dir := c.cfg.From, c.cfg.Dir
	begun, err := os.ReadFile(restoredMark(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look whether the crawl was taken back: %w", err)
	}
	if name == "" {
		name = strings.TrimSpace(string(begun))
	}
	if name == "" {
		return nil
	}
	if !isCheckpointName(name) {
		return refused("checkpoint", name, "a checkpoint of this crawl")
	}
	fresh, now, old := filepath.Join(dir, "state", "frontier.new"), filepath.Join(dir, "state", "frontier"), filepath.Join(dir, "state", "frontier.old")
	for _, leftover := range []string{fresh, old} {
		if err := c.disk.RemoveAll(leftover); err != nil {
			return err
		}
	}
	if err := frontier.Restore(context.Background(), filepath.Join(checkpointDir(dir), name), fresh); err != nil {
		return fmt.Errorf("start from checkpoint %s: %w", name, err)
	}
	if begun == nil {
		if err := c.keepLogs(cdx.Timestamp(time.Now())); err != nil {
			return err
		}
	}
	if err := c.disk.WriteFile(restoredMark(dir), func(w io.Writer) error {
		_, err := io.WriteString(w, name+"\n")
		return err
	}); err != nil {
		return err
	}
	if err := c.disk.Rename(now, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.disk.Rename(fresh, now); err != nil {
		return err
	}
	return c.disk.RemoveAll(old)
}

// keepLogs copies the logs that will be cut to what they had at the checkpoint.
func (c *Crawl) keepLogs(stamp string) error {
	for _, name := range []string{report.CrawlLog, report.URIErrorsLog, report.RuntimeErrorsLog, report.NonfatalLog} {
		path := filepath.Join(c.cfg.Dir, "logs", name)
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep %s: %w", name, err)
		}
		err = c.disk.WriteFile(path+"."+stamp, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("keep %s: %w", name, err)
		}
	}
	return nil
}

// setAside takes what is in the WARC files as it is, after the frontier was taken back to a checkpoint: what was fetched since is kept,
// but the crawl does not know of it.
func (c *Crawl) setAside(files []string) error {
	if back, err := c.takenBack(); err != nil || !back {
		return err
	}
	for _, path := range files {
		stat, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("set %s aside: %w", filepath.Base(path), err)
		}
		c.frontier.SetValue(valueWARC+filepath.Base(path), accounted{end: stat.Size()}.bytes())
	}
	if err := c.commit(); err != nil {
		return err
	}
	c.log.Info("crawl starts from a checkpoint", "files kept", len(files))
	return c.disk.Remove(restoredMark(c.cfg.Dir))
}

// leaveDamaged takes damaged files as mended, after the frontier was taken back to a checkpoint: what was lost with them was queued again
// before that, or is not known any more.
func (c *Crawl) leaveDamaged() error {
	if back, err := c.takenBack(); err != nil || !back {
		return err
	}
	paths, err := c.damagedFiles()
	for _, path := range paths {
		c.frontier.SetValue(valueMended+filepath.Base(path), []byte("1"))
	}
	return err
}

// takenBack tells whether the frontier was taken back to a checkpoint, and the WARC files were not set aside yet.
func (c *Crawl) takenBack() (bool, error) {
	_, err := os.Lstat(restoredMark(c.cfg.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether the crawl was taken back: %w", err)
	}
	return true, nil
}
