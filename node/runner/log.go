package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"holdfast/catalog"
	"holdfast/node/wire"
)

// logLimit is how long another node may take to say which log it wants.
const logLimit = 2 * time.Second

// LogRequest asks for the end of a job's crawl.log.
type LogRequest struct {
	Job     catalog.Job `json:"job"`
	Tail    int         `json:"tail"`
	Warrant string      `json:"warrant,omitempty"`
}

// FetchLog asks on a LogStream for a log, and writes it. It closes the stream.
func FetchLog(ctx context.Context, s net.Conn, r LogRequest, w io.Writer) error {
	defer func() { _ = s.Close() }()
	defer context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })()
	if err := json.NewEncoder(s).Encode(r); err != nil {
		return fmt.Errorf("ask %s for the log of job %d: %w", r.Job.Node, r.Job.ID, err)
	}
	if _, err := io.Copy(w, s); err != nil {
		return fmt.Errorf("read the log of job %d from %s: %w", r.Job.ID, r.Job.Node, err)
	}
	return nil
}

// ServeLog answers one request on a LogStream, if the token that it carries is allowed to.
func (c *Runner) ServeLog(from catalog.NodeID, s net.Conn, allowed func(warrant string) error) {
	defer func() { _ = s.Close() }()
	_ = s.SetReadDeadline(time.Now().Add(logLimit))
	var r LogRequest
	if json.NewDecoder(io.LimitReader(s, wire.MaxMessage)).Decode(&r) != nil {
		return
	}
	if err := allowed(r.Warrant); err != nil {
		c.cfg.Log.Warn("log not sent", "job", r.Job.ID, "to", from, "error", err)
		return
	}
	if err := c.WriteLog(r.Job, r.Tail, s); err != nil {
		c.cfg.Log.Debug("log not sent", "job", r.Job.ID, "error", err)
	}
}
