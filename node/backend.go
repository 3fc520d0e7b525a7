package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/crawler/report"
	"holdfast/node/wire"
	"holdfast/peer"
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
	p, err := askFor[api.Progress](ctx, c.n, job.Node, progressCall, job.ID)
	if remoteCode(err) == "not-running" {
		return p, fmt.Errorf("job %d does not run: %w", job.ID, api.ErrNotFound)
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return p, nil
}

func (n *Node) serveProgress(_ context.Context, _ catalog.NodeID, id uint64) (api.Progress, error) {
	p, ok := n.crawls.progress(id)
	if !ok {
		return api.Progress{}, &peer.RemoteError{Code: "not-running", Message: fmt.Sprintf("job %d does not run here", id)}
	}
	return progressOf(p), nil
}

// logRequest asks for the end of a job's crawl.log.
type logRequest struct {
	Job     catalog.Job `json:"job"`
	Tail    int         `json:"tail"`
	Warrant string      `json:"warrant,omitempty"`
}

// logLimit is how long another node may take to say which log it wants.
const logLimit = 2 * time.Second

// Log writes the last lines of the job's crawl.log, from the node that ran it.
func (c crawlsAPI) Log(ctx context.Context, job catalog.Job, tail int, w io.Writer) error {
	if job.Node == "" {
		return fmt.Errorf("job %d has not begun: %w", job.ID, api.ErrNotFound)
	}
	if job.Node == c.n.id {
		return c.n.writeLog(job, tail, w)
	}
	token, err := c.n.warrants.of(ctx)
	if err != nil {
		return err
	}
	s, err := c.n.peer.Open(ctx, peer.ID(job.Node), logStream)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	defer func() { _ = s.Close() }()
	defer context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })()
	if err := json.NewEncoder(s).Encode(logRequest{job, tail, token}); err != nil {
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
	var r logRequest
	if json.NewDecoder(io.LimitReader(s, peer.MaxMessage)).Decode(&r) != nil {
		return
	}
	if _, err := n.warrants.check(catalog.NodeID(from), r.Warrant, catalog.RoleReader); err != nil {
		n.log.Warn("log not sent", "job", r.Job.ID, "to", from, "error", err)
		return
	}
	if err := n.writeLog(r.Job, r.Tail, s); err != nil {
		n.log.Debug("log not sent", "job", r.Job.ID, "error", err)
	}
}

// writeLog writes the last tail lines of the log, all of them when tail is 0.
func (n *Node) writeLog(job catalog.Job, tail int, w io.Writer) error {
	dir := n.crawls.find(job)
	if dir == "" {
		return fmt.Errorf("job %d has no log on node %s: %w", job.ID, n.cfg.Name, api.ErrNotFound)
	}
	err := report.CopyTail(w, filepath.Join(dir, "logs", report.CrawlLog), tail)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("job %d: %w: %w", job.ID, api.ErrNotFound, err)
	}
	return err
}

// indexAPI tells how the nodes' indexes stand.
type indexAPI struct{ n *Node }

type indexRequest struct {
	Rebuild bool `json:"rebuild,omitempty"`
}

// Status asks every member.
func (x indexAPI) Status(ctx context.Context) ([]api.IndexStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var out []api.IndexStatus
	for _, r := range x.ask(ctx, x.n.known.Load().Members, indexRequest{}) {
		one := r.Answer
		one.Node, one.Name = r.To.ID, r.To.Name
		if r.Err != nil {
			one.Detail = r.Err.Error()
		}
		out = append(out, one)
	}
	return out, nil
}

func (x indexAPI) ask(ctx context.Context, members []catalog.Member,
	r indexRequest) []wire.Reply[catalog.Member, api.IndexStatus] {
	return askAll(ctx, x.n, members, indexCall, r, func(ctx context.Context) (api.IndexStatus, error) {
		return x.n.serveIndex(ctx, x.n.id, r)
	})
}

// Rebuild makes one node, or all, read their files again.
func (x indexAPI) Rebuild(ctx context.Context, node catalog.NodeID, actor string) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for _, m := range x.n.known.Load().Members {
		if node != "" && m.ID != node {
			continue
		}
		x.n.log.Info("index is rebuilt", "node", m.Name, "by", actor)
		if err := x.ask(ctx, []catalog.Member{m}, indexRequest{Rebuild: true})[0].Err; err != nil {
			return fmt.Errorf("%w: rebuild the index of %s: %w", api.ErrUnavailable, m.Name, err)
		}
	}
	return nil
}

func (n *Node) serveIndex(_ context.Context, _ catalog.NodeID, r indexRequest) (api.IndexStatus, error) {
	out := api.IndexStatus{Node: n.id, Name: n.cfg.Name}
	if n.indexer == nil {
		out.Detail = "a checksum replica holds no captures"
		return out, nil
	}
	if r.Rebuild {
		if err := n.indexer.Rebuild(); err != nil {
			return out, err
		}
	}
	s := n.indexer.Status()
	out.Files, out.Captures, out.Pending, out.Rebuilding = s.Files, s.Captures, int64(s.Waiting), s.Building
	out.Detail = strings.Join(append(some("could not be indexed", s.Failed), some("are damaged and indexed as far as they can be read", s.Damaged)...), "; ")
	return out, nil
}

// some says what is wrong with how many files, and names one.
func some(what string, files map[catalog.FileName]string) []string {
	if len(files) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(files)))
	return []string{fmt.Sprintf("%d files %s, among them %s: %s", len(files), what, name, files[name])}
}
