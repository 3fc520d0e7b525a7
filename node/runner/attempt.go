package runner

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

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
	"holdfast/cdx"
	"holdfast/crawler"
	"holdfast/crawler/chain"
	"holdfast/harvest"
	"holdfast/internal/trace"
	"holdfast/warc"
)

// noted runs an attempt, and has that noted.
func (c *Runner) noted(ctx context.Context, r *Attempt) error {
	if c.cfg.Begin == nil {
		return c.run(ctx, r)
	}
	ctx, done := c.cfg.Begin(ctx, r.Job)
	err := c.run(ctx, r)
	done(err)
	return err
}

// run crawls one attempt to its end, lets all that it harvested enter the archive, and tells the catalog. It returns
// early, leaving all as it is, when ctx ends.
func (c *Runner) run(ctx context.Context, r *Attempt) error {
	log := slog.New(r.out.handler(c.log.Handler())).With("job", r.Job.ID, "attempt", r.Job.Attempt)
	defer func() { _ = r.out.end() }()
	defer r.forget()
	if r.Job.State == catalog.JobSubmitted {
		ref := catalog.JobRef{ID: r.Job.ID, Node: c.cfg.Self, Attempt: r.Job.Attempt}
		if refusal, err := c.cfg.Insist(ctx, catalog.StartJob, ref); err != nil || refusal != nil {
			return errors.Join(err, refusedError(refusal))
		}
	}
	crawling, span := trace.Part(ctx, "crawl")
	summary, err := c.crawl(crawling, r, log)
	span.End(err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ended := err == nil // else its reports may be older than what it brought
	var files int
	var uploading error
	if err != nil {
		log.Error("crawl failed", "error", err)
	} else if err = summary.Seeds.Err(); err != nil {
		log.Warn("crawl captured nothing", "reason", err)
	}
	if r.Dir != "" {
		if failed := c.keepOutcome(r, summary, err); failed != nil {
			log.Warn("how the crawl ended is not documented", "error", failed)
		}
		entering, span := trace.Part(ctx, "enter the archive")
		if files, uploading = c.bringIn(entering, r, log); uploading == nil {
			uploading = c.intake().settle(entering, r, log)
		}
		span.Note(trace.Attribute{Key: "holdfast.files", Value: files})
		span.End(uploading)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if uploading != nil {
			log.Error("not all of the harvest is in the archive yet", "error", uploading)
		}
	}
	level, levelErr := levelOf(c.cfg.Agreement) // by now: the files may have taken long
	if levelErr != nil {
		return levelErr
	}
	end := catalog.JobEnd{ID: r.Job.ID, Node: c.cfg.Self, Attempt: r.Job.Attempt, Stats: statsOf(summary, level)}
	end.Stats.Files = files
	blame(&end, level, err, uploading)
	if ended {
		if err := c.tell(ctx, r, &end, log); err != nil {
			return err
		}
	}
	refusal, err := c.cfg.Insist(ctx, catalog.FinishJob, end)
	if err != nil {
		return err
	}
	if refusal != nil {
		log.Warn("end of job refused", "reason", refusal.Message)
	}
	log.Info("job ended", "objects", end.Stats.Objects, "bytes", end.Stats.Bytes, "files", end.Stats.Files,
		"stop", end.Stats.StopReason)
	if end.Failed || r.Dir == "" {
		return nil // the remains in the folder are brought in later
	}
	return c.Tidy(r)
}

// levelOf is the cluster's level.
func levelOf(agreement Agreement) (int, error) {
	var cluster catalog.Cluster
	err := agreement.View(func(v catalog.View) (err error) { cluster, err = v.Cluster(); return err })
	if err != nil {
		return 0, fmt.Errorf("read the cluster's level: %w", err)
	}
	return cluster.Level, nil
}

// blame says in an attempt's end what was wrong with the crawl, and with bringing its files in. Before level 4 the
// catalog has one text for both.
func blame(end *catalog.JobEnd, level int, crawling, uploading error) {
	end.Failed = crawling != nil || uploading != nil
	if level >= jobs.LevelOfParts {
		end.HarvestError, end.UploadError = faultOf(crawling), faultOf(uploading)
		return
	}
	for _, err := range []error{crawling, uploading} {
		if err != nil {
			end.Reason = strings.TrimPrefix(end.Reason+"; "+err.Error(), "; ")
		}
	}
}

// faultOf is an error in a few words, its first line, and in full.
func faultOf(err error) *jobs.Fault {
	if err == nil {
		return nil
	}
	short, _, _ := strings.Cut(err.Error(), "\n")
	short = agree.Clip(short, 200)
	return &jobs.Fault{Short: short, Detail: agree.Clip(err.Error(), 4000)}
}

func (c *Runner) crawl(ctx context.Context, r *Attempt, log *slog.Logger) (crawler.Summary, error) {
	dir, err := c.folder(r.Job)
	if err != nil {
		return crawler.Summary{}, err
	}
	r.Dir = dir
	from, earlier, err := c.prepare(ctx, r, log)
	if err != nil {
		return crawler.Summary{}, err
	}
	turns := jobPace{c.pacer, fmt.Sprintf("%d.%d", r.Job.ID, r.Job.Attempt)}
	defer c.pacer.Leave(turns.job)
	defer func() { r.out.changes(from.given, dir) }()
	info := from.info(c.cfg.Origin.Address, r.Job)
	checkpoint := ""
	for {
		summary, err := c.crawlFrom(ctx, r, crawler.Config{Pacer: turns, Earlier: earlier, From: checkpoint, Info: info,
			Log: log})
		if err != nil || summary.Restore == "" || ctx.Err() != nil {
			return summary, err
		}
		log.Info("job starts from a checkpoint again", "checkpoint", summary.Restore)
		checkpoint = summary.Restore
	}
}

// prepare begins the attempt's program log, opens what earlier jobs recorded, and keeps what the job was made from in
// its folder.
func (c *Runner) prepare(ctx context.Context, r *Attempt,
	log *slog.Logger) (from made, earlier chain.Earlier, err error) {
	if err := r.out.begin(c.cfg.Disk, r.Dir); err != nil {
		return from, nil, err
	}
	r.out.introduce(c.cfg.Version, c.cfg.Name)
	r.out.say("job %d, attempt %d, harvest %q, collection %s", r.Job.ID, r.Job.Attempt, r.Job.Harvest, r.Job.Collection)
	if from, err = c.cfg.definition(r.Job); err != nil {
		return from, nil, err
	}
	if earlier, err = c.cfg.lookBack(ctx, r, &from, log); err != nil {
		return from, nil, err
	}
	return from, earlier, errors.Join(r.out.settings(from.given), from.keep(c.cfg.Disk, r.Dir))
}

// crawlFrom continues the crawl in the folder, or starts it from a checkpoint.
func (c *Runner) crawlFrom(ctx context.Context, r *Attempt, cfg crawler.Config) (crawler.Summary, error) {
	spec, err := c.cfg.Open(r.Job)
	if err != nil {
		return crawler.Summary{}, err
	}
	cfg.Dir, cfg.Job, cfg.Prefix, cfg.Node, cfg.Disk = r.Dir, spec, prefix(r.Job), c.cfg.Name, &c.cfg.Disk
	cfg.Finished = func(f warc.Finished) error { return c.intake().enter(ctx, r.Job, f.Path, f.Size, f.SHA256) }
	crawl, err := crawler.New(cfg)
	if err != nil {
		return crawler.Summary{}, err
	}
	c.mu.Lock()
	r.crawl = crawl
	c.mu.Unlock()
	c.Tally.begin(crawl)
	defer c.Tally.end(crawl)
	c.heed()
	cfg.Log.Info("job starts", "dir", r.Dir, "harvest", r.Job.Harvest)
	return crawl.Run(ctx)
}

// AttemptPath is where a job's folder tells whose it is.
func AttemptPath(dir string) string { return filepath.Join(dir, "settings", "attempt.json") }

// TidiedPath is there once all of a job's folder is in the archive.
func TidiedPath(dir string) string { return filepath.Join(dir, "settings", "archived") }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// folder returns the folder of the job's present attempt, <data>/jobs/<job>_<timestamp>; it is made if it does not
// exist.
func (c *Runner) folder(job catalog.Job) (string, error) {
	if dir := c.find(job); dir != "" {
		return dir, nil
	}
	at := max(job.Started, job.Submitted, job.Created).Std()
	dir := filepath.Join(c.cfg.Data, "jobs", fmt.Sprintf("%d_%s", job.ID, cdx.Timestamp(at)))
	if _, err := os.Lstat(dir); err == nil { // an earlier attempt's
		dir += fmt.Sprintf("-%d", job.Attempt)
	}
	kept := job // what lies in settings/ enters the archive
	if len(job.Spec) > 0 {
		spec, err := redacted(job.Spec)
		if err != nil {
			return "", fmt.Errorf("read job %d: %w", job.ID, err)
		}
		kept.Spec = spec
	}
	if err := c.cfg.Disk.MkdirAll(filepath.Join(dir, "settings")); err != nil {
		return "", err
	}
	note := func(w io.Writer) error { return json.NewEncoder(w).Encode(kept) }
	return dir, c.cfg.Disk.WriteFile(AttemptPath(dir), note)
}

// redacted is the spec of a job from before level 4 without secrets; that of others is in settings/job.json alone.
func redacted(text []byte) ([]byte, error) {
	spec, err := harvest.ParseStoredJob(text)
	if err != nil {
		return nil, err
	}
	spec.Settings = spec.Settings.Redacted()
	return json.Marshal(spec)
}

// find returns the folder of the job's present attempt on this node, or nothing.
func (c *Runner) find(job catalog.Job) string {
	dirs, err := filepath.Glob(filepath.Join(c.cfg.Data, "jobs", fmt.Sprintf("%d_*", job.ID)))
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
	text, err := os.ReadFile(AttemptPath(dir))
	if err == nil {
		err = json.Unmarshal(text, &job)
	}
	return job, err
}

// Tidy removes what an attempt no longer needs once its harvest is in the archive: the frontier, and the second names
// of its files. A file that the archive does not know, and will not know soon, stays.
func (c *Runner) Tidy(r *Attempt) error {
	waiting := map[catalog.FileName]bool{}
	outbox, err := c.cfg.Archive.Outbox()
	if err != nil {
		return err
	}
	for _, a := range outbox {
		waiting[a.Name] = true
	}
	entries, err := os.ReadDir(filepath.Join(r.Dir, "warcs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tidy job %d: %w", r.Job.ID, err)
	}
	names := []catalog.FileName{}
	if exists(filepath.Join(r.Dir, string(MetadataName(r.Job)))) {
		names = append(names, MetadataName(r.Job))
	}
	for _, e := range entries {
		names = append(names, catalog.FileName(e.Name()))
	}
	for _, name := range names {
		if !waiting[name] && !c.intake().archived(name) {
			return fmt.Errorf("tidy job %d: %s is not in the archive; its folder stays", r.Job.ID, name)
		}
	}
	for _, e := range entries {
		if err := c.cfg.Disk.Remove(filepath.Join(r.Dir, "warcs", e.Name())); err != nil {
			return err
		}
	}
	for _, left := range []string{"state", string(MetadataName(r.Job))} {
		if err := c.cfg.Disk.RemoveAll(filepath.Join(r.Dir, left)); err != nil {
			return err
		}
	}
	return c.cfg.Disk.WriteFile(TidiedPath(r.Dir), func(io.Writer) error { return nil })
}

// refusedError returns the refusal as an error, nil if there is none.
func refusedError(r *catalog.Refusal) error {
	if r == nil {
		return nil
	}
	return r
}
