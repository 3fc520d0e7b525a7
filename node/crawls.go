package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"holdfast/api"
	shown "holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/crawler/report"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/node/runner"
	"holdfast/node/warrant"
	"holdfast/node/wire"
)

// crawls tells the API how jobs stand, wherever they run.
type crawls struct {
	self     catalog.NodeID
	own      *runner.Runner
	carrier  carrier
	warrants warrant.Warrants
	members  func() []catalog.Member
	log      *slog.Logger
}

// progressLimit is how long another node may take to answer.
const progressLimit = 5 * time.Second

// Progress asks the job's node.
func (c crawls) Progress(ctx context.Context, job catalog.Job) (api.Progress, error) {
	if job.Node == "" {
		return api.Progress{}, fmt.Errorf("job %d has not started: %w", job.ID, api.ErrNotFound)
	}
	if job.Node == c.self {
		return c.serveProgress(ctx, c.self, job.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, progressLimit)
	defer cancel()
	p, err := wire.Ask[api.Progress](ctx, c.warrants.Caller(c.carrier), job.Node, runner.ProgressCall, job.ID)
	if wire.ReasonOf(err) == runner.CodeNotRunning {
		return p, fmt.Errorf("job %d does not run: %w", job.ID, api.ErrNotFound)
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return p, nil
}

// Running asks every member. None is waited for longer than progressLimit.
func (c crawls) Running(ctx context.Context) []api.NodeJobs {
	ctx, cancel := context.WithTimeout(ctx, progressLimit)
	defer cancel()
	own := func(ctx context.Context) ([]api.RunningJob, error) { return c.serveRunning(ctx, c.self, struct{}{}) }
	replies := wire.AskAll(ctx, c.warrants.Caller(c.carrier), c.self, c.members(), runner.RunningCall, struct{}{}, own)
	out := make([]api.NodeJobs, len(replies))
	for i, r := range replies {
		out[i] = api.NodeJobs{Node: r.To.ID, Name: r.To.Name, Jobs: r.Answer, Err: r.Err}
	}
	return out
}

// serveRunning answers another node which jobs crawl here.
func (c crawls) serveRunning(context.Context, catalog.NodeID, struct{}) ([]api.RunningJob, error) {
	jobs := []api.RunningJob{}
	for _, id := range c.own.List() {
		job := api.RunningJob{ID: id, State: string(crawler.Preparing)}
		if p, opened := c.own.Progress(id); opened {
			progress := progressOf(p)
			job.State, job.Reason, job.Progress = string(p.State), p.Reason, &progress
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// serveProgress answers another node how a job stands here.
func (c crawls) serveProgress(_ context.Context, _ catalog.NodeID, id uint64) (api.Progress, error) {
	p, ok := c.own.Progress(id)
	if !ok {
		return api.Progress{}, &wire.Refusal{Code: runner.CodeNotRunning,
			Message: fmt.Sprintf("job %d does not run here", id)}
	}
	return progressOf(p), nil
}

// Log writes the last lines of the job's crawl.log: once it has ended from its metadata file, else from the node that
// runs it.
func (c crawls) Log(ctx context.Context, job catalog.Job, tail int, w io.Writer) error {
	begun := false
	err := c.own.Ended.Use(ctx, &job, func(dir string) error {
		begun = true
		return report.CopyTail(w, filepath.Join(dir, "logs", report.CrawlLog), tail)
	})
	if err == nil || begun && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("metadata file of a job cannot be read; its node is asked", "job", job.ID, "error", err)
	}
	return c.logOf(ctx, job, tail, w)
}

// logOf asks the node that runs the job, or ran it.
func (c crawls) logOf(ctx context.Context, job catalog.Job, tail int, w io.Writer) error {
	if job.Node == "" {
		return fmt.Errorf("job %d has not started: %w", job.ID, api.ErrNotFound)
	}
	if job.Node == c.self {
		err := c.own.WriteLog(job, tail, w)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("job %d: %w: %w", job.ID, api.ErrNotFound, err)
		}
		return err
	}
	token, err := c.warrants.Of(ctx)
	if err != nil {
		return err
	}
	s, err := c.carrier.Open(ctx, job.Node, runner.LogStream)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return runner.FetchLog(ctx, s, runner.LogRequest{Job: job, Tail: tail, Warrant: token}, w)
}

// orderLimit is how long a node may take over an order.
const orderLimit = 10 * time.Minute

// Order gives an order to the node where the job crawls. What is read of a job that has ended comes from its metadata
// file.
func (c crawls) Order(ctx context.Context, job catalog.Job, o act.Order) (reply harvest.Reply, err error) {
	if o.Kept() {
		read := false
		err = c.own.Ended.Use(ctx, &job, func(dir string) error {
			reply, err = crawler.Past(ctx, dir, o)
			read = err == nil || errors.Is(err, harvest.ErrInvalid)
			return err
		})
		if read {
			return reply, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			c.log.Warn("metadata file of a job cannot be read; its node is asked", "job", job.ID, "error", err)
		}
	}
	return c.order(ctx, job, o)
}

// order gives an order to the node where the job crawls, or crawled.
func (c crawls) order(ctx context.Context, job catalog.Job, o act.Order) (harvest.Reply, error) {
	request := runner.OrderRequest{Job: job.ID, Order: o}
	if job.Node == "" || job.Node == c.self {
		reply, err := c.own.Order(ctx, c.self, request)
		return reply, orderError(job.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	reply, err := wire.Ask[harvest.Reply](ctx, c.warrants.Caller(c.carrier), job.Node, runner.OrderCall, request)
	var refusal *catalog.Refusal
	if err != nil && wire.ReasonOf(err) == "" && !errors.As(err, &refusal) {
		return reply, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return reply, orderError(job.ID, err)
}

// orderError turns a node's answer into the API's.
func orderError(job uint64, err error) error {
	switch {
	case err == nil:
		return nil
	case wire.ReasonOf(err) == runner.CodeNotRunning:
		return fmt.Errorf("job %d does not run: %w", job, api.ErrNotFound)
	case wire.ReasonOf(err) == runner.CodeRefused:
		return fmt.Errorf("%w: %s", api.ErrInvalid, wire.MessageOf(err))
	}
	return err
}

// Check tells whether this node's crawl engine understands a job.
func (crawls) Check(job harvest.Job) error { return crawler.Check(job) }

// progressOf translates the crawler's counts.
func progressOf(p crawler.Progress) api.Progress {
	return api.Progress{Discovered: p.Discovered, Queued: p.Queued, Done: p.Succeeded, Failed: p.Failed, Bytes: p.Bytes,
		Rate: p.URIsPerSecond, Seconds: p.Elapsed.Seconds()}
}

// Documents lists what is in the metadata file of a job that has ended.
func (c crawls) Documents(ctx context.Context, job catalog.Job) (out []shown.JobDocument, err error) {
	err = c.own.Ended.Use(ctx, &job, func(dir string) error {
		all, err := runner.Papers(dir)
		for _, p := range all {
			out = append(out, shown.JobDocument{Folder: p.Folder, Name: p.Name, Type: p.Type, Size: p.Size})
		}
		return err
	})
	return out, notThere(err)
}

// Document writes one of them.
func (c crawls) Document(ctx context.Context, job catalog.Job, folder, name string, w io.Writer) error {
	return notThere(c.own.Ended.Use(ctx, &job, func(dir string) error {
		all, err := runner.Papers(dir)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(p runner.Paper) bool { return p.Folder == folder && p.Name == name }) {
			return fmt.Errorf("job %d has no %s/%s in its metadata file: %w", job.ID, folder, name, fs.ErrNotExist)
		}
		return report.CopyTail(w, filepath.Join(dir, folder, name), 0)
	}))
}

// notThere turns fs.ErrNotExist into the API's error.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", api.ErrNotFound, err)
	}
	return err
}
