package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/node/lookup"
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
}

// progressLimit is how long another node may take to answer.
const progressLimit = 5 * time.Second

// Progress asks the job's node.
func (c crawls) Progress(ctx context.Context, job catalog.Job) (api.Progress, error) {
	if job.Node == "" {
		return api.Progress{}, fmt.Errorf("job %d has not begun: %w", job.ID, api.ErrNotFound)
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
		return fmt.Errorf("job %d has not begun: %w", job.ID, api.ErrNotFound)
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

// indexes tells the API how the nodes' indexes stand.
type indexes struct {
	self    catalog.NodeID
	name    string          // of this node
	own     *lookup.Indexer // nil on a node of a checksum replica
	members func() []catalog.Member
	ask     wire.Caller // asks other nodes in the name of who asks
	log     *slog.Logger
}

// indexLimit is how long another node may take to answer.
const indexLimit = 5 * time.Second

type indexRequest struct {
	Rebuild bool `json:"rebuild,omitempty"`
}

// Status asks every member.
func (x indexes) Status(ctx context.Context) ([]api.IndexStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, indexLimit)
	defer cancel()
	var out []api.IndexStatus
	for _, r := range x.askAll(ctx, x.members(), indexRequest{}) {
		one := r.Answer
		one.Node, one.Name = string(r.To.ID), r.To.Name
		if r.Err != nil {
			one.Detail = r.Err.Error()
		}
		out = append(out, one)
	}
	return out, nil
}

func (x indexes) askAll(ctx context.Context, members []catalog.Member,
	r indexRequest) []wire.Reply[catalog.Member, api.IndexStatus] {
	own := func(ctx context.Context) (api.IndexStatus, error) { return x.serve(ctx, x.self, r) }
	return wire.AskAll(ctx, x.ask, x.self, members, indexCall, r, own)
}

// Rebuild makes one node, or all, read their files again.
func (x indexes) Rebuild(ctx context.Context, node catalog.NodeID, actor string) error {
	ctx, cancel := context.WithTimeout(ctx, indexLimit)
	defer cancel()
	for _, m := range x.members() {
		if node != "" && m.ID != node {
			continue
		}
		x.log.Info("index is rebuilt", "node", m.Name, "by", actor)
		if err := x.askAll(ctx, []catalog.Member{m}, indexRequest{Rebuild: true})[0].Err; err != nil {
			return fmt.Errorf("%w: rebuild the index of %s: %w", api.ErrUnavailable, m.Name, err)
		}
	}
	return nil
}

// serve answers another node about the index here.
func (x indexes) serve(_ context.Context, _ catalog.NodeID, r indexRequest) (api.IndexStatus, error) {
	out := api.IndexStatus{Node: string(x.self), Name: x.name}
	if x.own == nil {
		out.Detail = "a checksum replica holds no captures"
		return out, nil
	}
	if r.Rebuild {
		if err := x.own.Rebuild(); err != nil {
			return out, err
		}
	}
	s := x.own.Status()
	out.Files, out.Captures, out.Pending, out.Rebuilding = s.Files, s.Captures, int64(s.Waiting), s.Building
	failed := some("could not be indexed", s.Failed)
	damaged := some("are damaged and indexed as far as they can be read", s.Damaged)
	out.Detail = strings.Join(append(failed, damaged...), "; ")
	return out, nil
}

// some says how many files have a fault, and names one.
func some(what string, files map[catalog.FileName]string) []string {
	if len(files) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(files)))
	return []string{fmt.Sprintf("%d files %s, among them %s: %s", len(files), what, name, files[name])}
}
