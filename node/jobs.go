package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/node/runner"
	"holdfast/node/wire"
	"holdfast/peer"
	"holdfast/replica"
)

// crawlsAPI tells how jobs stand, wherever they run.
type crawlsAPI struct{ n *Node }

// Progress asks the job's node.
func (c crawlsAPI) Progress(ctx context.Context, job catalog.Job) (api.Progress, error) {
	if job.Node == "" {
		return api.Progress{}, fmt.Errorf("job %d has not begun: %w", job.ID, api.ErrNotFound)
	}
	if job.Node == c.n.id {
		return c.n.serveProgress(ctx, c.n.id, job.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	p, err := askFor[api.Progress](ctx, c.n, job.Node, runner.ProgressCall, job.ID)
	if remoteCode(err) == runner.CodeNotRunning {
		return p, fmt.Errorf("job %d does not run: %w", job.ID, api.ErrNotFound)
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return p, nil
}

func (n *Node) serveProgress(_ context.Context, _ catalog.NodeID, id uint64) (api.Progress, error) {
	p, ok := n.crawls.Progress(id)
	if !ok {
		return api.Progress{}, &wire.Refusal{Code: runner.CodeNotRunning,
			Message: fmt.Sprintf("job %d does not run here", id)}
	}
	return progressOf(p), nil
}

// logLimit is how long another node may take to say which log it wants.
const logLimit = 2 * time.Second

// Log writes the last lines of the job's crawl.log, from the node that ran it.
func (c crawlsAPI) Log(ctx context.Context, job catalog.Job, tail int, w io.Writer) error {
	if job.Node == "" {
		return fmt.Errorf("job %d has not begun: %w", job.ID, api.ErrNotFound)
	}
	if job.Node == c.n.id {
		err := c.n.crawls.WriteLog(job, tail, w)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("job %d: %w: %w", job.ID, api.ErrNotFound, err)
		}
		return err
	}
	token, err := c.n.warrants.of(ctx)
	if err != nil {
		return err
	}
	s, err := c.n.peer.Open(ctx, peer.ID(job.Node), runner.LogStream)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	defer func() { _ = s.Close() }()
	defer context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })()
	if err := json.NewEncoder(s).Encode(runner.LogRequest{Job: job, Tail: tail, Warrant: token}); err != nil {
		return fmt.Errorf("ask %s for the log of job %d: %w", job.Node, job.ID, err)
	}
	if _, err := io.Copy(w, s); err != nil {
		return fmt.Errorf("read the log of job %d from %s: %w", job.ID, job.Node, err)
	}
	return nil
}

func (n *Node) serveLog(_ context.Context, from peer.ID, s net.Conn) {
	defer func() { _ = s.Close() }()
	_ = s.SetReadDeadline(time.Now().Add(logLimit))
	var r runner.LogRequest
	if json.NewDecoder(io.LimitReader(s, peer.MaxMessage)).Decode(&r) != nil {
		return
	}
	if _, err := n.warrants.check(catalog.NodeID(from), r.Warrant, deed{act: catalog.Look}); err != nil {
		n.log.Warn("log not sent", "job", r.Job.ID, "to", from, "error", err)
		return
	}
	if err := n.crawls.WriteLog(r.Job, r.Tail, s); err != nil {
		n.log.Debug("log not sent", "job", r.Job.ID, "error", err)
	}
}

// orderLimit is how long a node may take over an order.
const orderLimit = 10 * time.Minute

// Order gives an order to the node where the job crawls.
func (c crawlsAPI) Order(ctx context.Context, job catalog.Job, o harvest.Order) (harvest.Reply, error) {
	request := runner.OrderRequest{Job: job.ID, Order: o}
	if job.Node == "" || job.Node == c.n.id {
		reply, err := c.n.crawls.Order(ctx, c.n.id, request)
		return reply, orderError(job.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	reply, err := askFor[harvest.Reply](ctx, c.n, job.Node, runner.OrderCall, request)
	var refusal *catalog.Refusal
	if err != nil && remoteCode(err) == "" && !errors.As(err, &refusal) {
		return reply, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return reply, orderError(job.ID, err)
}

// orderError turns a node's answer into the API's.
func orderError(job uint64, err error) error {
	switch {
	case err == nil:
		return nil
	case remoteCode(err) == runner.CodeNotRunning:
		return fmt.Errorf("job %d does not run: %w", job, api.ErrNotFound)
	case remoteCode(err) == runner.CodeRefused:
		return fmt.Errorf("%w: %s", api.ErrInvalid, remoteMessage(err))
	}
	return err
}

// Check tells whether this node's crawl engine understands a job.
func (crawlsAPI) Check(job harvest.Job) error { return crawler.Check(job) }

// progressOf translates what the crawler counts.
func progressOf(p crawler.Progress) api.Progress {
	return api.Progress{Discovered: p.Discovered, Queued: p.Queued, Done: p.Succeeded, Failed: p.Failed, Bytes: p.Bytes,
		Rate: p.URIsPerSecond, Seconds: p.Elapsed.Seconds()}
}

// harvested is where the runner's files enter the archive.
type harvested struct {
	*replica.Store
	replica *replica.Replica
	log     *slog.Logger
}

func (h harvested) Put(ctx context.Context, path string, as catalog.Addition) error {
	_, err := h.replica.Put(ctx, path, as, replica.Owned)
	if errors.Is(err, replica.ErrPending) {
		h.log.Info("file waits for the catalog", "file", as.Name, "job", as.Job)
		return nil
	}
	return err
}

func (n *Node) openRunner() {
	n.crawls = runner.New(runner.Config{Self: n.id, Name: n.cfg.Name, Version: Version(), Data: n.cfg.Data,
		Slots: n.cfg.Limits.Crawls, Lease: time.Duration(n.cfg.Limits.Lease), Disk: n.disk, Log: n.log,
		Agreement: n.raft, Archive: harvested{n.store, n.replica, n.log}, Insist: n.insist,
		Silent: func() time.Duration { silent, _ := n.raft.Heard(); return silent },
		Room:   func() (int64, error) { return n.room(n.cfg.Data) },
		Open:   n.vault.Open, Stale: n.vault.Stale, Captures: n.captures, Records: replayRecords{n.replica},
		Caller: carrier{n.peer}, Alive: n.alive, News: n.changed.C})
}
