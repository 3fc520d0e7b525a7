package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/harvest"
	"holdfast/internal/disk"
)

// checkpointDir is where a crawl's checkpoints are, each a folder.
func checkpointDir(dir string) string { return filepath.Join(dir, "state", "checkpoints") }

// RestoredMark is the file that says that the frontier was taken back to a checkpoint, until the WARC files that were
// written since are set aside.
func RestoredMark(dir string) string { return filepath.Join(dir, "state", "restored") }

func isCheckpointName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$`).MatchString(name)
}

// Checkpoints are those of a crawl in a folder.
type Checkpoints struct {
	Dir  string // the crawl's
	Disk disk.Disk
	Log  *slog.Logger
}

// Take saves the frontier under a name. Whatever is to be in the checkpoint has to be committed first.
func (c *Checkpoints) Take(ctx context.Context, f *frontier.Frontier, name string) error {
	err := f.Checkpoint(ctx, filepath.Join(checkpointDir(c.Dir), name))
	if errors.Is(err, fs.ErrExist) {
		return harvest.Refused("name", name, "a name that no checkpoint of this crawl has yet")
	}
	return err
}

// Name returns the name of a checkpoint: the given one or, without it, one made of the current time.
func (c *Checkpoints) Name(given string) (string, error) {
	if given == "" {
		given = cdx.Timestamp(time.Now())
	}
	if !isCheckpointName(given) {
		return "", harvest.Refused("name", given, "letters, digits, dots, dashes and underscores")
	}
	return given, nil
}

// Check refuses a name that is not a checkpoint's.
func (c *Checkpoints) Check(name string) error {
	if isCheckpointName(name) { // else nothing is read at a path that it makes
		if _, err := frontier.ReadCheckpoint(filepath.Join(checkpointDir(c.Dir), name)); err == nil {
			return nil
		}
	}
	return harvest.Refused("name", name, "a checkpoint of this crawl")
}

// List lists what can be started from again, oldest first.
func (c *Checkpoints) List() (all []harvest.Checkpoint, err error) {
	entries, err := os.ReadDir(checkpointDir(c.Dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(checkpointDir(c.Dir), e.Name())
		info, err := frontier.ReadCheckpoint(dir)
		if err != nil {
			c.Log.Debug("no checkpoint", "name", e.Name(), "error", err)
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

// TakeBack replaces the frontier by a checkpoint. Lines logged since then are kept under another name. A restore that
// a crash interrupted is done again, whatever name says: until its mark is removed, nothing was crawled.
func (c *Checkpoints) TakeBack(name string) error {
	dir := c.Dir
	begun, err := os.ReadFile(RestoredMark(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("check whether a restore was begun: %w", err)
	}
	if name == "" {
		name = strings.TrimSpace(string(begun))
	}
	if name == "" {
		return nil
	}
	if !isCheckpointName(name) {
		return harvest.Refused("checkpoint", name, "a checkpoint of this crawl")
	}
	fresh, now, old := filepath.Join(dir, "state", "frontier.new"), filepath.Join(dir, "state", "frontier"),
		filepath.Join(dir, "state", "frontier.old")
	for _, leftover := range []string{fresh, old} {
		if err := c.Disk.RemoveAll(leftover); err != nil {
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
	if err := c.Disk.WriteFile(RestoredMark(dir), func(w io.Writer) error {
		_, err := io.WriteString(w, name+"\n")
		return err
	}); err != nil {
		return err
	}
	if err := c.Disk.Rename(now, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.Disk.Rename(fresh, now); err != nil {
		return err
	}
	return c.Disk.RemoveAll(old)
}

// keepLogs copies the logs that will be cut to the length that they had at the checkpoint.
func (c *Checkpoints) keepLogs(stamp string) error {
	for _, name := range []string{report.CrawlLog, report.URIErrorsLog, report.RuntimeErrorsLog, report.NonfatalLog} {
		path := filepath.Join(c.Dir, "logs", name)
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keep %s: %w", name, err)
		}
		err = c.Disk.WriteFile(path+"."+stamp, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("keep %s: %w", name, err)
		}
	}
	return nil
}

// takenBack tells whether the frontier was taken back to a checkpoint, and the WARC files were not set aside yet.
func (c *Checkpoints) takenBack() (bool, error) {
	_, err := os.Lstat(RestoredMark(c.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check whether a restore was begun: %w", err)
	}
	return true, nil
}
