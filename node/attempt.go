package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/catalog"
	"holdfast/cdx"
	"holdfast/crawler"
	"holdfast/replica"
	"holdfast/warc"
)

// run crawls one attempt to its end, lets all that it harvested enter the archive, and tells the catalog. It returns
// early, leaving all as it is, when ctx ends.
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
	end := catalog.JobEnd{ID: r.job.ID, Node: c.n.id, Attempt: r.job.Attempt, Stats: statsOf(summary)}
	if err != nil {
		log.Error("crawl failed", "error", err)
		end.Failed, end.Reason = true, err.Error()
	} else if err := summary.Seeds.Err(); err != nil {
		log.Warn("crawl captured nothing", "reason", err)
		end.Failed, end.Reason = true, err.Error()
	}
	if r.dir != "" {
		end.Stats.Files, err = c.bringIn(ctx, r, log)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			log.Error("not all of the harvest is in the archive yet", "error", err)
			end.Failed, end.Reason = true, strings.TrimPrefix(end.Reason+"; "+err.Error(), "; ")
		}
	}
	refusal, err := c.n.insist(ctx, catalog.FinishJob, end)
	if err != nil {
		return err
	}
	if refusal != nil {
		log.Warn("end of job refused", "reason", refusal.Message)
	}
	log.Info("job ended", "objects", end.Stats.Objects, "bytes", end.Stats.Bytes, "files", end.Stats.Files, "stop", end.Stats.StopReason)
	if end.Failed || r.dir == "" {
		return nil // what is left in the folder is brought in later
	}
	return c.tidy(r)
}

func (c *crawls) crawl(ctx context.Context, r *crawling, log *slog.Logger) (crawler.Summary, error) {
	dir, err := c.folder(r.job)
	if err != nil {
		return crawler.Summary{}, err
	}
	r.dir = dir
	turns := jobPace{c.n.pacer, fmt.Sprintf("%d.%d", r.job.ID, r.job.Attempt)}
	defer c.n.pacer.Leave(turns.job)
	from := ""
	for {
		summary, err := c.crawlFrom(ctx, r, turns, dir, from, log)
		if err != nil || summary.Restore == "" || ctx.Err() != nil {
			return summary, err
		}
		log.Info("job starts from a checkpoint again", "checkpoint", summary.Restore)
		from = summary.Restore
	}
}

// crawlFrom crawls in the folder as the crawl stands there, or from a checkpoint.
func (c *crawls) crawlFrom(ctx context.Context, r *crawling, turns jobPace, dir, from string, log *slog.Logger) (crawler.Summary, error) {
	spec, err := c.n.vault.open(r.job)
	if err != nil {
		return crawler.Summary{}, err
	}
	crawl, err := crawler.New(crawler.Config{
		Dir: dir, Job: spec, Prefix: fmt.Sprintf("%d-%s", r.job.ID, fileWord(r.job.Harvest)), Node: c.n.cfg.Name,
		Disk: &c.n.disk, Log: log, Pacer: turns, Earlier: crawler.Archived{Captures: c.n.captures, Records: replayRecords{c.n}, Log: log}, From: from,
		Finished: func(f warc.Finished) error { return c.enter(ctx, r.job, f.Path, f.Size, f.SHA256) },
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

// enter lets a finished file of a job enter the archive. When it returns nil the bytes are safe in the outbox; a
// catalog that cannot be told now is told later.
func (c *crawls) enter(ctx context.Context, job catalog.Job, path string, size int64, sum catalog.Digest) error {
	if c.n.entered(ctx, catalog.FileName(filepath.Base(path))) {
		return nil // before a restart; its bytes are kept for as long as the archive needs them
	}
	_, err := c.n.enter(ctx, path, catalog.Addition{
		Name: catalog.FileName(filepath.Base(path)), Size: size, SHA256: sum,
		Collection: job.Collection, Source: c.n.id, Job: job.ID, Attempt: job.Attempt,
	})
	if errors.Is(err, replica.ErrPending) {
		c.log.Info("file waits for the catalog", "file", filepath.Base(path), "job", job.ID)
		return nil
	}
	return err
}

// bringIn lets everything that the attempt harvested enter the archive: finished files that are not there yet, the
// whole records of files that a failure left open, and the metadata file. It returns the number of files.
func (c *crawls) bringIn(ctx context.Context, r *crawling, log *slog.Logger) (files int, err error) {
	dir := filepath.Join(r.dir, "warcs")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("look for the files of job %d: %w", r.job.ID, err)
	}
	var failed error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasSuffix(path, ".open") {
			saved, err := warc.Salvage(c.n.disk, path)
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
		failed = errors.Join(failed, c.enter(ctx, r.job, path, -1, catalog.Digest{}))
	}
	written, err := c.documentation(ctx, r)
	return files + written, errors.Join(failed, err)
}

// enteredLimit is how long a file waits for this node to be sure whether the archive has it already.
const enteredLimit = 3 * time.Second

// entered reports whether the archive has the file, as far as a quorum that answers soon can tell: there is a verified
// copy, or this node's outbox keeps the bytes that it counts on. A name that the archive merely knows is not enough.
func (n *Node) entered(ctx context.Context, name catalog.FileName) bool {
	if n.keptSafe(name) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, enteredLimit)
	defer cancel()
	return n.raft.Linear(ctx) == nil && n.keptSafe(name)
}

func (n *Node) keptSafe(name catalog.FileName) (safe bool) {
	err := n.raft.View(func(v catalog.View) error {
		f, err := v.File(name)
		if err != nil {
			return err
		}
		if f.Removed != 0 {
			safe = true // nobody wants its bytes any more
			return nil
		}
		holders, err := v.CoveringFile(&f)
		for _, h := range holders {
			safe = safe || !h.Source || h.Node == n.id && n.store.InOutbox(name)
		}
		return err
	})
	return err == nil && safe
}

// archived reports whether the catalog here knows the name.
func (n *Node) archived(name catalog.FileName) bool {
	err := n.raft.View(func(v catalog.View) error { _, err := v.File(name); return err })
	return err == nil
}

// attemptPath is where a job's folder tells whose it is; tidiedPath is there once all of it is in the archive.
func attemptPath(dir string) string { return filepath.Join(dir, "settings", "attempt.json") }
func tidiedPath(dir string) string  { return filepath.Join(dir, "settings", "archived") }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// folder returns the folder of the job's present attempt, <data>/jobs/<job>_<timestamp>, which is made if there is none.
func (c *crawls) folder(job catalog.Job) (string, error) {
	if dir := c.find(job); dir != "" {
		return dir, nil
	}
	at := max(job.Started, job.Submitted, job.Created).Std()
	dir := filepath.Join(c.n.cfg.Data, "jobs", fmt.Sprintf("%d_%s", job.ID, cdx.Timestamp(at)))
	if _, err := os.Lstat(dir); err == nil { // an earlier attempt's
		dir += fmt.Sprintf("-%d", job.Attempt)
	}
	kept := job // what lies in settings/ enters the archive
	kept.Spec.Settings = job.Spec.Settings.Redacted()
	if err := c.n.disk.MkdirAll(filepath.Join(dir, "settings")); err != nil {
		return "", err
	}
	return dir, c.n.disk.WriteFile(attemptPath(dir), func(w io.Writer) error { return json.NewEncoder(w).Encode(kept) })
}

// find returns the folder of the job's present attempt on this node, or nothing.
func (c *crawls) find(job catalog.Job) string {
	dirs, err := filepath.Glob(filepath.Join(c.n.cfg.Data, "jobs", fmt.Sprintf("%d_*", job.ID)))
	if err != nil {
		return ""
	}
	for _, dir := range dirs {
		if had, err := readAttempt(dir); err == nil && sameAttempt(had, job) {
			return dir
		}
	}
	return ""
}

func readAttempt(dir string) (job catalog.Job, err error) {
	text, err := os.ReadFile(attemptPath(dir))
	if err == nil {
		err = json.Unmarshal(text, &job)
	}
	return job, err
}

// tidy removes what an attempt no longer needs once its harvest is in the archive: the frontier, and the second names of
// its files. A file that the archive does not know, and is not about to, stays.
func (c *crawls) tidy(r *crawling) error {
	waiting := map[catalog.FileName]bool{}
	outbox, err := c.n.store.Outbox()
	if err != nil {
		return err
	}
	for _, a := range outbox {
		waiting[a.Name] = true
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, "warcs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tidy job %d: %w", r.job.ID, err)
	}
	names := []catalog.FileName{}
	if exists(filepath.Join(r.dir, string(metadataName(r.job)))) {
		names = append(names, metadataName(r.job))
	}
	for _, e := range entries {
		names = append(names, catalog.FileName(e.Name()))
	}
	for _, name := range names {
		if !waiting[name] && !c.n.archived(name) {
			return fmt.Errorf("tidy job %d: %s is not in the archive; its folder stays", r.job.ID, name)
		}
	}
	for _, e := range entries {
		if err := c.n.disk.Remove(filepath.Join(r.dir, "warcs", e.Name())); err != nil {
			return err
		}
	}
	for _, left := range []string{"state", string(metadataName(r.job))} {
		if err := c.n.disk.RemoveAll(filepath.Join(r.dir, left)); err != nil {
			return err
		}
	}
	return c.n.disk.WriteFile(tidiedPath(r.dir), func(io.Writer) error { return nil })
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
