package batch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"holdfast/internal/disk"
)

// openLimit is how long a node may take to accept a stream.
const openLimit = 10 * time.Second

// ask has a node process files, and keeps what it makes of them. An error of the node wraps errNode.
func (p *piece) ask(ctx context.Context, out *disk.File, a asking) error {
	t := task{Batch: p.b.ID, Term: p.b.Term, Files: a.files, Left: p.progress.left(p.b.Limits.Output)}
	take := func(o outcome, body io.Reader) error { return p.take(out, a.node, a.files, o, body) }
	if a.node == p.d.cfg.Self {
		err := p.d.work.work(ctx, a.node, t, take)
		if err == nil && p.anyOpen(a) {
			err = fmt.Errorf("%w: it has not answered for all files", errNode)
		}
		return err
	}
	opening, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	s, err := p.d.cfg.Nodes.Open(opening, a.node, TaskStream)
	if err != nil {
		return fmt.Errorf("%w: %w", errNode, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
	defer func() { stop(); _ = s.Close() }()
	if err := json.NewEncoder(s).Encode(t); err != nil {
		return fmt.Errorf("%w: %w", errNode, err)
	}
	in := bufio.NewReaderSize(s, 64<<10)
	for {
		o, err := receive(in)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", errNode, err)
		case o.Error != "":
			return fmt.Errorf("%w: %s", errNode, o.Error)
		case o.End && p.anyOpen(a):
			return fmt.Errorf("%w: it has not answered for all files", errNode)
		case o.End:
			return nil
		}
		if err := take(o, in); err != nil {
			return err
		}
	}
}

// anyOpen reports whether the node has left a file out.
func (p *piece) anyOpen(a asking) bool {
	for _, name := range a.files {
		if w := p.open[name]; w != nil && !w.tried[a.node] {
			return true
		}
	}
	return false
}
