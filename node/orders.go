package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/peer"
)

// orderLimit is how long a node may take over an order.
const orderLimit = 10 * time.Minute

// orderRequest gives an order to the job's node.
type orderRequest struct {
	Job   uint64        `json:"job"`
	Order harvest.Order `json:"order"`
}

// Codes of what a node answers to an order that it does not carry out.
const (
	codeNotRunning = "not-running"
	codeRefused    = "refused"
)

// Order gives it to the node where the job crawls.
func (c crawlsAPI) Order(ctx context.Context, job catalog.Job, o harvest.Order) (harvest.Reply, error) {
	request := orderRequest{job.ID, o}
	if job.Node == "" || job.Node == c.n.id {
		reply, err := c.n.serveOrder(ctx, c.n.id, request)
		return reply, orderError(job.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	reply, err := askFor[harvest.Reply](ctx, c.n, job.Node, orderCall, request)
	var refusal *catalog.Refusal
	if err != nil && remoteCode(err) == "" && !errors.As(err, &refusal) {
		return reply, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return reply, orderError(job.ID, err)
}

// orderError turns a node's answer into the API's.
func orderError(job uint64, err error) error {
	var remote *peer.RemoteError
	switch {
	case err == nil:
		return nil
	case remoteCode(err) == codeNotRunning:
		return fmt.Errorf("job %d does not run: %w", job, api.ErrNotFound)
	case remoteCode(err) == codeRefused && errors.As(err, &remote):
		return fmt.Errorf("%w: %s", api.ErrInvalid, remote.Message)
	}
	return err
}

// serveOrder lets a crawl of this node carry out an order.
func (n *Node) serveOrder(ctx context.Context, from catalog.NodeID, r orderRequest) (harvest.Reply, error) {
	var job catalog.Job
	err := n.raft.View(func(v catalog.View) (err error) { job, err = v.Job(r.Job); return err })
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return harvest.Reply{}, err
	}
	if from != n.id && job.Node != "" && job.Node != n.id {
		return harvest.Reply{}, &peer.RemoteError{Code: codeNotRunning, Message: fmt.Sprintf("job %d is not this node's", r.Job)}
	}
	job.ID = r.Job
	return n.obey(ctx, job, r.Order)
}

// obey carries out an order for a job as the catalog has it. What an order reads of a crawl that does not run is in its folder.
func (n *Node) obey(ctx context.Context, job catalog.Job, o harvest.Order) (reply harvest.Reply, err error) {
	crawl, dir := n.crawls.under(job.ID), ""
	if crawl == nil && o.Kept() {
		dir = n.crawls.find(job)
	}
	switch {
	case crawl != nil:
		reply, err = crawl.Obey(ctx, o)
	case dir != "":
		reply, err = crawler.Past(ctx, dir, o)
	default:
		err = fs.ErrNotExist
	}
	switch {
	case errors.Is(err, harvest.ErrInvalid):
		return reply, &peer.RemoteError{Code: codeRefused, Message: err.Error()}
	case errors.Is(err, fs.ErrNotExist) && (crawl == nil || o.Kept()): // or it is not written yet
		return reply, &peer.RemoteError{Code: codeNotRunning, Message: fmt.Sprintf("job %d does not run here", job.ID)}
	}
	reply.Ended = reply.Ended && job.State != catalog.JobSubmitted && job.State != catalog.JobStarted // else another run may follow
	return reply, err
}

// Check tells whether this node's crawl engine understands a job.
func (crawlsAPI) Check(job harvest.Job) error { return crawler.Check(job) }

// under returns the crawl of a job that runs here, or nil.
func (c *crawls) under(job uint64) *crawler.Crawl {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.running[job]; r != nil {
		return r.crawl
	}
	return nil
}
