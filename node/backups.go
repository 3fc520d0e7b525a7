package node

import (
	"context"
	"fmt"
	"time"

	"holdfast/node/backups"
	"holdfast/node/config"
	"holdfast/node/soundness"
)

// openBackups makes what backs up the catalog on this node.
func openBackups(n *Node) error {
	var key []byte
	if text := n.cfg.Backups.Key; text != "" {
		var err error
		if key, err = backups.ParsePublic(text); err != nil {
			return fmt.Errorf("%w: backup-key: %w", config.ErrConfig, err)
		}
	}
	n.backups = backups.New(backups.Config{Self: n.id, Member: n.cfg.Name, Dir: n.cfg.Backups.Folder, Key: key,
		Every: time.Duration(n.cfg.Backups.Every), Keep: n.cfg.Backups.Keep, Disk: n.disk,
		Pin: func() (backups.Pinned, uint64, uint64, error) {
			p, err := n.raft.Pin()
			if err != nil {
				return nil, 0, 0, err
			}
			return p, p.Index, p.Term, nil
		},
		Cluster: func() string { return n.roster.Known().Cluster.ID }, Linear: n.agreed().Linear, Now: time.Now,
		Log: n.log.With("room", "backups")})
	return nil
}

// openChecks makes what checks the catalog of this node, and has the others check theirs.
func openChecks(n *Node) {
	n.sound = soundness.New(soundness.Config{Self: n.id, View: n.raft.View, Linear: n.agreed().Linear,
		Ask: n.warrants.Caller(carrier{n.peer}), Log: n.log.With("room", "soundness"),
		Pin: func(ctx context.Context, window time.Duration, most int) (map[uint64]soundness.Pinned, error) {
			all, err := n.raft.Boundaries(ctx, window, most)
			out := make(map[uint64]soundness.Pinned, len(all))
			for _, p := range all {
				out[p.Index] = p
			}
			return out, err
		}})
}
