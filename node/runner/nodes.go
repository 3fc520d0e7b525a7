package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
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
	"holdfast/node/wire"
)

// Nodes tells the API how jobs stand, wherever they run, and passes orders to them.
type Nodes struct {
	Self    catalog.NodeID
	Own     *Runner
	Members func() []catalog.Member
	Ask     wire.Caller // asks other nodes in the name of who asks
	Open    func(ctx context.Context, to catalog.NodeID, kind string) (net.Conn, error)
	Token   func(context.Context) (string, error) // of who asks, for a stream
}

// progressLimit is how long another node may take to answer.
const progressLimit = 5 * time.Second

// Progress asks the job's node.
func (n Nodes) Progress(ctx context.Context, job catalog.Job) (api.Progress, error) {
	if job.Node == "" {
		return api.Progress{}, fmt.Errorf("job %d has not started: %w", job.ID, api.ErrNotFound)
	}
	if job.Node == n.Self {
		return n.ServeProgress(ctx, n.Self, job.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, progressLimit)
	defer cancel()
	p, err := wire.Ask[api.Progress](ctx, n.Ask, job.Node, ProgressCall, job.ID)
	if wire.ReasonOf(err) == CodeNotRunning {
		return p, fmt.Errorf("job %d does not run: %w", job.ID, api.ErrNotFound)
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return p, nil
}

// Running asks every member. None is waited for longer than progressLimit.
func (n Nodes) Running(ctx context.Context) []api.NodeJobs {
	ctx, cancel := context.WithTimeout(ctx, progressLimit)
	defer cancel()
	own := func(ctx context.Context) ([]api.RunningJob, error) { return n.ServeRunning(ctx, n.Self, struct{}{}) }
	replies := wire.AskAll(ctx, n.Ask, n.Self, n.Members(), RunningCall, struct{}{}, own)
	out := make([]api.NodeJobs, len(replies))
	for i, r := range replies {
		out[i] = api.NodeJobs{Node: r.To.ID, Name: r.To.Name, Jobs: r.Answer, Err: r.Err}
	}
	return out
}

// ServeRunning answers another node which jobs crawl here.
func (n Nodes) ServeRunning(context.Context, catalog.NodeID, struct{}) ([]api.RunningJob, error) {
	jobs := []api.RunningJob{}
	for _, id := range n.Own.List() {
		job := api.RunningJob{ID: id, State: string(crawler.Preparing)}
		if p, opened := n.Own.Progress(id); opened {
			progress := progressOf(p)
			job.State, job.Reason, job.Progress = string(p.State), p.Reason, &progress
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// ServeProgress answers another node how a job stands here.
func (n Nodes) ServeProgress(_ context.Context, _ catalog.NodeID, id uint64) (api.Progress, error) {
	p, ok := n.Own.Progress(id)
	if !ok {
		return api.Progress{}, &wire.Refusal{Code: CodeNotRunning,
			Message: fmt.Sprintf("job %d does not run here", id)}
	}
	return progressOf(p), nil
}

// Log writes the last lines of the job's crawl.log: once it has ended from its metadata file, else from the node that
// runs it.
func (n Nodes) Log(ctx context.Context, job catalog.Job, tail int, w io.Writer) error {
	begun := false
	err := n.Own.Ended.Use(ctx, &job, func(dir string) error {
		begun = true
		return report.CopyTail(w, filepath.Join(dir, "logs", report.CrawlLog), tail)
	})
	if err == nil || begun && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		n.Own.cfg.Log.Warn("metadata file of a job cannot be read; its node is asked", "job", job.ID, "error", err)
	}
	return n.logOf(ctx, job, tail, w)
}

// logOf asks the node that runs the job, or ran it.
func (n Nodes) logOf(ctx context.Context, job catalog.Job, tail int, w io.Writer) error {
	if job.Node == "" {
		return fmt.Errorf("job %d has not started: %w", job.ID, api.ErrNotFound)
	}
	if job.Node == n.Self {
		err := n.Own.WriteLog(job, tail, w)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("job %d: %w: %w", job.ID, api.ErrNotFound, err)
		}
		return err
	}
	token, err := n.Token(ctx)
	if err != nil {
		return err
	}
	s, err := n.Open(ctx, job.Node, LogStream)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return FetchLog(ctx, s, LogRequest{Job: job, Tail: tail, Warrant: token}, w)
}

// orderLimit is how long a node may take over an order.
const orderLimit = 10 * time.Minute

// Order gives an order to the node where the job crawls. What is read of a job that has ended comes from its metadata
// file.
func (n Nodes) Order(ctx context.Context, job catalog.Job, o act.Order) (reply harvest.Reply, err error) {
	if o.Kept() {
		read := false
		err = n.Own.Ended.Use(ctx, &job, func(dir string) error {
			reply, err = crawler.Past(ctx, dir, o)
			read = err == nil || errors.Is(err, harvest.ErrInvalid)
			return err
		})
		if read {
			return reply, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			n.Own.cfg.Log.Warn("metadata file of a job cannot be read; its node is asked", "job", job.ID, "error", err)
		}
	}
	return n.order(ctx, job, o)
}

// order gives an order to the node where the job crawls, or crawled.
func (n Nodes) order(ctx context.Context, job catalog.Job, o act.Order) (harvest.Reply, error) {
	request := OrderRequest{Job: job.ID, Order: o}
	if job.Node == "" || job.Node == n.Self {
		reply, err := n.Own.Order(ctx, n.Self, request)
		return reply, orderError(job.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	reply, err := wire.Ask[harvest.Reply](ctx, n.Ask, job.Node, OrderCall, request)
	var refusal *catalog.Refusal
	if err != nil && wire.ReasonOf(err) == "" && !errors.As(err, &refusal) {
		return reply, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return reply, orderError(job.ID, err)
}

// ServeOrder carries out an order that another node passes on. by is the actor who gave the order to that node.
func (n Nodes) ServeOrder(ctx context.Context, from catalog.NodeID, by string, r OrderRequest) (harvest.Reply, error) {
	if by != "" && !r.Order.Reads() {
		r.Order.By = by
	}
	return n.Own.Order(ctx, from, r)
}

// Needs returns the act that an order asks for, in the collection of its job. If the collection is not known, the
// caller needs the right for all collections. If the job's settings cannot be read, the caller needs the right to let a
// crawl reach the nodes' own network.
func (n Nodes) Needs(r OrderRequest) (what catalog.Act, where catalog.Where) {
	where.Collections = []catalog.CollectionName{""}
	_ = n.Own.cfg.Agreement.View(func(v catalog.View) error {
		job, err := v.Job(r.Job)
		what, where.Collections[0] = api.ActOf(harvest.Settings{}, r.Order), job.Collection
		if err != nil || r.Order.Reads() {
			return err
		}
		what = catalog.ReachInside
		spec, err := v.Head(&job)
		if err == nil {
			what = api.ActOf(spec.Settings, r.Order)
		}
		return err
	})
	return what, where
}

// orderError turns a node's answer into the API's.
func orderError(job uint64, err error) error {
	switch {
	case err == nil:
		return nil
	case wire.ReasonOf(err) == CodeNotRunning:
		return fmt.Errorf("job %d does not run: %w", job, api.ErrNotFound)
	case wire.ReasonOf(err) == CodeRefused:
		return fmt.Errorf("%w: %s", api.ErrInvalid, wire.MessageOf(err))
	}
	return err
}

// Check tells whether this node's crawl engine understands a job.
func (Nodes) Check(job harvest.Job) error { return crawler.Check(job) }

// progressOf translates the crawler's counts.
func progressOf(p crawler.Progress) api.Progress {
	return api.Progress{Discovered: p.Discovered, Queued: p.Queued, Done: p.Succeeded, Failed: p.Failed, Bytes: p.Bytes,
		Rate: p.URIsPerSecond, Seconds: p.Elapsed.Seconds()}
}

// Documents lists what is in the metadata file of a job that has ended.
func (n Nodes) Documents(ctx context.Context, job catalog.Job) (out []shown.JobDocument, err error) {
	err = n.Own.Ended.Use(ctx, &job, func(dir string) error {
		all, err := Papers(dir)
		for _, p := range all {
			out = append(out, shown.JobDocument{Folder: p.Folder, Name: p.Name, Type: p.Type, Size: p.Size})
		}
		return err
	})
	return out, notThere(err)
}

// Document writes one of them.
func (n Nodes) Document(ctx context.Context, job catalog.Job, folder, name string, w io.Writer) error {
	return notThere(n.Own.Ended.Use(ctx, &job, func(dir string) error {
		all, err := Papers(dir)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(p Paper) bool { return p.Folder == folder && p.Name == name }) {
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
