package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/ingest"
)

// ingesting is the agreed state for lists of domains. It does not wait until this node shows each decision: there are
// many, and the answers say all.
type ingesting struct{ agreed }

// Propose has a command decided.
func (a ingesting) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	if err := a.raft.Room(); err != nil {
		return catalog.Result{}, fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	result, err := a.raft.Propose(ctx, kind, body, actor)
	return result, quorum(err)
}

func (n *Node) openIngests() {
	dir := filepath.Join(n.cfg.Data, "ingest")
	n.ingests = ingest.New(ingest.Config{Self: n.id, Dir: dir, Disk: n.disk, Agree: ingesting{n.agreed()},
		Room: func() (int64, error) { return n.room().Left(n.cfg.Data) }, Now: time.Now,
		Log: n.log.With("room", "ingest")})
}
