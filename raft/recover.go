package raft

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

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
	cfg, p, err = p.with(cfg, d)
	if err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	s, err := openStorage(cfg, d, p, log, func(error) {})
	if err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.state.store().applied.Load() == 0 {
		return 0, errors.New("recover the cluster: this node has no agreed state")
	}
	if err := s.hasRoom(); err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	if err := s.replay(); err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	if epoch, err = s.agreed.epoch(); err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	term, err := s.wal.GetUint64([]byte(termKey))
	if err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	epoch++
	body, err := json.Marshal(catalog.EpochChange{Epoch: epoch, Reason: reason})
	if err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	raise := catalog.Command{
		Version: 1, Kind: catalog.RaiseEpoch, At: catalog.At(time.Now()), Actor: string(cfg.Self), Body: body,
	}
	if err := s.impose(raise, term+1); err != nil {
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	if err := s.agree(); err != nil { // the log ends before the state now
		return 0, fmt.Errorf("recover the cluster: %w", err)
	}
	return epoch, nil
}
