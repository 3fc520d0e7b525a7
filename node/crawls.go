package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/crawler"
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

// Log writes the last lines of the job's crawl.log, from the node that ran it.
func (c crawls) Log(ctx context.Context, job catalog.Job, tail int, w io.Writer) error {
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

// Order gives an order to the node where the job crawls.
func (c crawls) Order(ctx context.Context, job catalog.Job, o act.Order) (harvest.Reply, error) {
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
