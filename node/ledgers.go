package node

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"holdfast/catalog"
	"holdfast/node/archive"
	"holdfast/node/backups"
	"holdfast/node/ledgers"
	"holdfast/node/soundness"
	"holdfast/replica"
)

// proving are the parts of a node that look whether the archive is as it was.
type proving struct {
	health  *archive.Health
	ledgers *ledgers.Ledgers
	backups *backups.Backups
	sound   *soundness.Checks
}

// openLedgers opens what makes the ledgers of this node's replica.
func openLedgers(n *Node) (err error) {
	id, err := n.cfg.OwnIdentity()
	if err != nil {
		return err
	}
	bytes := ledgers.Bytes{List: n.store.List,
		Put: func(ctx context.Context, path string, as catalog.Addition) error {
			_, err := n.replica.Put(ctx, path, as, replica.Owned)
			return err
		},
		Open: func(ctx context.Context, name catalog.FileName) (io.ReadCloser, error) {
			return n.replica.OpenRange(ctx, name, 0, -1)
		}}
	n.ledgers, err = ledgers.New(ledgers.Config{Self: n.id, Replica: catalog.ReplicaName(n.cfg.Replica.Name),
		Key:   id.Key,
		Every: time.Duration(n.cfg.Limits.LedgerEvery), First: time.Hour,
		Dir: filepath.Join(n.cfg.Data, "ledgers"), Disk: n.disk,
		Agreement: n.agreed(), Bytes: bytes, Call: carrier{n.peer}, Ask: n.warrants.Caller(carrier{n.peer}),
		Alive: n.alive, Now: n.clocks.Now, Log: n.log.With("room", "ledgers")})
	return err
}
