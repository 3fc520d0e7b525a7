package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/warc"
)

// intake lets the files of this node's jobs enter the archive.
type intake struct {
	self      catalog.NodeID
	archive   Archive
	agreement Agreement
}

func (c *Runner) intake() intake { return intake{c.cfg.Self, c.cfg.Archive, c.cfg.Agreement} }

// enter lets a finished file of a job enter the archive. When it returns nil the bytes are safe in the outbox; a
// catalog that cannot be told now is told later.
func (c intake) enter(ctx context.Context, job catalog.Job, path string, size int64, sum catalog.Digest) error {
	if c.entered(ctx, catalog.FileName(filepath.Base(path))) {
		return nil // before a restart; its bytes are kept for as long as the archive needs them
	}
	return c.archive.Put(ctx, path, catalog.Addition{
		Name: catalog.FileName(filepath.Base(path)), Size: size, SHA256: sum,
		Collection: job.Collection, Source: c.self, Job: job.ID, Attempt: job.Attempt,
	})
}

// bringIn lets everything that the attempt harvested enter the archive: finished files that are not there yet, the
// whole records of files that a failure left open, and the metadata file. It returns the number of files.
func (c *Runner) bringIn(ctx context.Context, r *Attempt, log *slog.Logger) (files int, err error) {
	dir := filepath.Join(r.Dir, "warcs")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("look for the files of job %d: %w", r.Job.ID, err)
	}
	var failed error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasSuffix(path, ".open") {
			saved, err := warc.Salvage(c.cfg.Disk, path)
			if errors.Is(err, warc.ErrNothing) {
				continue
			}
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			log.Warn("file salvaged", "file", saved.Finished.Path, "dropped", saved.Dropped)
			path = saved.Finished.Path
		}
		files++
		failed = errors.Join(failed, c.intake().enter(ctx, r.Job, path, -1, catalog.Digest{}))
	}
	written, err := c.Document(ctx, r)
	return files + written, errors.Join(failed, err)
}

// settle waits until the catalog knows all files of the attempt. Put may return before that, when the cluster could not
// decide: a job that ended then would count as done though nobody can find what it brought, and the cluster might still
// refuse a file. What was refused meanwhile is in the outbox no more; it is put again, for the reason.
func (c intake) settle(ctx context.Context, r *Attempt, log *slog.Logger) error {
	entries, err := os.ReadDir(filepath.Join(r.Dir, "warcs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for the files of job %d: %w", r.Job.ID, err)
	}
	paths := []string{filepath.Join(r.Dir, string(MetadataName(r.Job)))}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".open") { // nothing was to be saved of it
			paths = append(paths, filepath.Join(r.Dir, "warcs", e.Name()))
		}
	}
	for said := false; ; said = true {
		var failed error
		waits := ""
		for _, path := range paths {
			name := catalog.FileName(filepath.Base(path))
			if c.archived(name) {
				continue
			}
			if !c.archive.InOutbox(name) {
				if err := c.enter(ctx, r.Job, path, -1, catalog.Digest{}); err != nil {
					failed = errors.Join(failed, err)
					continue
				}
			}
			waits = string(name)
		}
		if waits == "" {
			return failed
		}
		if !said {
			log.Warn("the job ends when the catalog knows its files", "file", waits)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// enteredLimit is how long a file waits for this node to be sure whether the archive has it already.
const enteredLimit = 3 * time.Second

// entered reports whether the archive has the file, as far as a quorum that answers soon can tell: there is a verified
// copy, or this node's outbox keeps the bytes that it counts on. A name that the archive merely knows is not enough.
func (c intake) entered(ctx context.Context, name catalog.FileName) bool {
	if c.keptSafe(name) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, enteredLimit)
	defer cancel()
	return c.agreement.Linear(ctx) == nil && c.keptSafe(name)
}

func (c intake) keptSafe(name catalog.FileName) (safe bool) {
	err := c.agreement.View(func(v catalog.View) error {
		f, err := v.File(name)
		if err != nil {
			return err
		}
		if f.Removed != 0 {
			safe = true // nobody wants its bytes any longer
			return nil
		}
		holders, err := v.CoveringFile(&f)
		for _, h := range holders {
			safe = safe || !h.Source || h.Node == c.self && c.archive.InOutbox(name)
		}
		return err
	})
	return err == nil && safe
}

// archived reports whether the catalog here knows the name.
func (c intake) archived(name catalog.FileName) bool {
	err := c.agreement.View(func(v catalog.View) error { _, err := v.File(name); return err })
	return err == nil
}
