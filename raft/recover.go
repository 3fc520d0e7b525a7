package raft

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// Recover makes this node the only voter of a cluster whose majority is lost for good, and raises the epoch, so that
// the lost nodes are refused if they come back. The node must not be running. Everything in its log counts as
// committed. It returns the new epoch.
func Recover(cfg Config, d disk.Disk, reason string, log *slog.Logger) (epoch uint64, err error) {
	return recoverNode(cfg, d, reason, log, parts{})
}

func recoverNode(cfg Config, d disk.Disk, reason string, log *slog.Logger, p parts) (epoch uint64, err error) {
	n, err := open(cfg, d, nil, nil, log, p)
	if err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if n.state.store().applied.Load() == 0 {
		return 0, errors.New("recover the cluster: this node has no agreed state")
	}
	if err := n.Room(); err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	if err := n.replay(); err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	if err := n.state.view(func(r reader) (err error) { epoch, err = n.machine.Epoch(r); return err }); err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	term, err := n.wal.GetUint64([]byte(termKey))
	if err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	epoch++
	body, err := json.Marshal(catalog.EpochChange{Epoch: epoch, Reason: reason})
	if err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	raise := catalog.Command{Version: 1, Kind: catalog.RaiseEpoch, At: catalog.At(time.Now()), Actor: string(cfg.Self), Body: body}
	if err := n.impose(raise, term+1); err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	if err := n.agree(n.state.step); err != nil { // the log ends before the state now
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	return epoch, nil
}

// replay applies everything in the log that the state lacks.
func (n *Node) replay() error {
	last, err := n.wal.LastIndex()
	if err != nil {
		return fmt.Errorf("read the raft log: %w", err)
	}
	st := n.state.store()
	for next := max(st.applied.Load(), st.marked()) + 1; next <= last; {
		var batch []*hraft.Log
		top := min(last, next+maxEntries-1)
		term := uint64(0)
		for ; next <= top; next++ {
			entry := new(hraft.Log)
			if err := n.wal.GetLog(next, entry); err != nil {
				return fmt.Errorf("read the raft log at index %d: %w", next, err)
			}
			if entry.Type == hraft.LogCommand || entry.Type == hraft.LogConfiguration {
				batch = append(batch, entry)
			}
			term = entry.Term
		}
		if len(batch) > 0 {
			n.fsm.ApplyBatch(batch)
		}
		if err := n.fsm.failure(); err != nil {
			return err
		}
		if err := st.mark(top, term); err != nil {
			return err
		}
	}
	return nil
}
