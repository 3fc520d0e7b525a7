package node

import (
	"errors"
	"io"
	"path/filepath"

	"holdfast/batch"
	"holdfast/catalog"
	"holdfast/index"
	"holdfast/node/batches"
	"holdfast/node/metadata"
	"holdfast/node/warrant"
	"holdfast/replica"
)

// openBatches opens what drives batches on this node, and works for those that others drive.
func openBatches(n *Node) {
	in := func(name string) string { return filepath.Join(n.cfg.Data, name) }
	near := batches.Nearest{Self: n.id, Place: n.cfg.Replica.Place, Alive: n.alive, Doubted: n.captures.Doubts.Has}
	n.batches = batch.New(batch.Config{Self: n.id, Dir: in("batches"), Work: in("batch-work"), Disk: n.disk,
		Room:     func() (int64, error) { return n.room().Left(n.cfg.Data) },
		Programs: batch.Programs(batch.Tools{Captures: index.Captures, Duplicate: metadata.Duplicate}),
		Catalog:  n.raft, Files: batchFiles{n.store.Open, n.replica}, Nodes: carrier{n.peer},
		Near: near.Order, Duties: batches.Claims{Self: n.id, View: n.raft.View}, Now: n.clocks.Now,
		Limits: batch.Limits{Files: n.cfg.Limits.BatchFiles, Pace: int64(n.cfg.Limits.BatchPace),
			Memory: int64(n.cfg.Limits.BatchMem)},
		Log: n.log.With("room", "batch")})
}

// batchFiles are this node's files as programs read them.
type batchFiles struct {
	open func(catalog.FileName) (*replica.Bytes, error)
	doubting
}

// doubting is what a worker reports about what it reads, and asks about the disks that it reads from.
type doubting interface {
	Doubt(name catalog.FileName)
	Busy() bool
}

// Open opens a file in its shard or in the outbox.
func (f batchFiles) Open(name catalog.FileName) (io.ReadCloser, int64, error) {
	b, err := f.open(name)
	if errors.Is(err, replica.ErrNotHere) {
		return nil, 0, batch.ErrAbsent
	}
	if err != nil {
		return nil, 0, err
	}
	return b, b.Size, nil
}

// batchesOf returns what tells of the batches of all nodes.
func batchesOf(n *Node) batches.All {
	return batches.All{Self: n.id, Own: n.batches, Table: batch.Programs(batch.Tools{}), View: n.raft.View,
		Ask: n.warrants.Caller(carrier{n.peer}), Token: n.warrants.Of,
		Allowed: func(from catalog.NodeID, token string, act catalog.Act, where catalog.Where) error {
			_, err := n.warrants.Check(from, token, warrant.Deed{Act: act, Where: where})
			return err
		}}
}
