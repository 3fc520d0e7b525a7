package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/crawler/report"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/node/wire"
)

// The kinds of requests to other nodes. They are on the wire and keep their meaning.
const (
	OrderCall    = "job.order"
	ProgressCall = "job.progress"
	RunningCall  = "job.running"
	LogStream    = "job.log"
	PaceCall     = "pace"
)

// OrderRequest gives an order to the job's node.
type OrderRequest struct {
	Job   uint64    `json:"job"`
	Order act.Order `json:"order"`
}

// Codes with which a node answers a request that it does not carry out.
const (
	CodeNotRunning = "not-running"
	CodeRefused    = "refused"
)

// Order lets a crawl of this node carry out an order. An order that is not carried out is answered with a
// *wire.Refusal.
func (c *Runner) Order(ctx context.Context, from catalog.NodeID, r OrderRequest) (harvest.Reply, error) {
	var job catalog.Job
	err := c.cfg.Agreement.View(func(v catalog.View) (err error) { job, err = v.Job(r.Job); return err })
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return harvest.Reply{}, err
	}
	if from != c.cfg.Self && job.Node != "" && job.Node != c.cfg.Self {
		return harvest.Reply{}, &wire.Refusal{Code: CodeNotRunning,
			Message: fmt.Sprintf("job %d is not this node's", r.Job)}
	}
	job.ID = r.Job
	return c.obey(ctx, job, r.Order)
}

// obey carries out an order for a job as the catalog has it. If the crawl is not running, orders that only read are
// answered from its folder.
func (c *Runner) obey(ctx context.Context, job catalog.Job, o act.Order) (reply harvest.Reply, err error) {
	crawl, dir := c.under(job.ID), ""
	if crawl == nil && o.Kept() {
		dir = c.find(job)
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
		return reply, &wire.Refusal{Code: CodeRefused, Message: err.Error()}
	case errors.Is(err, fs.ErrNotExist) && (crawl == nil || o.Kept()): // or it is not written yet
		return reply, &wire.Refusal{Code: CodeNotRunning, Message: fmt.Sprintf("job %d does not run here", job.ID)}
	}
	if job.State == catalog.JobSubmitted || job.State == catalog.JobStarted {
		reply.Ended = false // another run may follow
	}
	return reply, err
}

// under returns the crawl of a job that runs here, or nil.
func (c *Runner) under(job uint64) *crawler.Crawl {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.running[job]; r != nil {
		return r.crawl
	}
	return nil
}

// WriteLog writes the last tail lines of the job's crawl.log, all of them when tail is 0. fs.ErrNotExist when it has
// none here.
func (c *Runner) WriteLog(job catalog.Job, tail int, w io.Writer) error {
	dir := c.find(job)
	if dir == "" {
		return fmt.Errorf("job %d has no log on node %s: %w", job.ID, c.cfg.Name, fs.ErrNotExist)
	}
	return report.CopyTail(w, filepath.Join(dir, "logs", report.CrawlLog), tail)
}
