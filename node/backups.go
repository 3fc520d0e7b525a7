package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/seal"
	"holdfast/node/backups"
	"holdfast/node/config"
	"holdfast/node/membership"
	"holdfast/node/soundness"
	"holdfast/raft"
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

// CatalogCheck is what a check of a whole catalog looked at and found.
type CatalogCheck struct {
	catalog.Checked
	Index    uint64
	Cluster  catalog.Cluster
	Members  []string
	Problems []string // the first of them
	Found    int64    // all
}

// mostProblems is how many findings of a check are kept.
const mostProblems = 100

// note keeps what was found.
func (c *CatalogCheck) note(key, what string) {
	if c.Found++; c.Found <= mostProblems {
		c.Problems = append(c.Problems, key+": "+what)
	}
}

// VerifyBackup restores a backup aside, into the folder dir, which it leaves empty, and checks all that is in it. The
// error says why it cannot be restored; what is wrong with its content is found.
func VerifyBackup(ctx context.Context, file io.Reader, key seal.Key, dir string, d disk.Disk, log *slog.Logger) (
	head backups.Head, out CatalogCheck, err error) {
	err = backups.Open(file, key, func(h backups.Head, plain io.Reader) error {
		head = h
		return raft.Aside(dir, d, plain, log, func(index uint64, v catalog.View) error {
			out.Index = index
			return checkOf(ctx, v, h, &out)
		})
	})
	return head, out, errors.Join(err, d.RemoveAll(dir))
}

// checkOf checks a catalog, and compares it with the head of its backup.
func checkOf(ctx context.Context, v catalog.View, h backups.Head, out *CatalogCheck) (err error) {
	if out.Cluster, err = catalog.Known(v); err != nil {
		return err
	}
	if err := sameAsHead(out.Cluster, out.Index, h); err != nil {
		return err
	}
	members, err := v.Members()
	if err != nil {
		return err
	}
	for _, m := range members {
		out.Members = append(out.Members, m.Name)
	}
	out.Checked, err = catalog.Check(v, ctx.Err, out.note)
	return err
}

func sameAsHead(c catalog.Cluster, index uint64, h backups.Head) error {
	if c.ID != h.Cluster || c.Epoch != h.Epoch || c.Level != h.Level || index != h.Index {
		return fmt.Errorf("%w: its head says cluster %s, epoch %d, level %d, index %d; in it are %s, %d, %d, %d",
			backups.ErrDamaged, h.Cluster, h.Epoch, h.Level, h.Index, c.ID, c.Epoch, c.Level, index)
	}
	return nil
}

// RestoreBackup makes the configured node the only member of the cluster that was backed up, in a new epoch. See
// membership.Restore. Before anything is written, open is read once to its end to check the backup as VerifyBackup
// does; it is called twice.
func RestoreBackup(ctx context.Context, cfg config.Config, open func() (io.ReadCloser, error), key seal.Key,
	log *slog.Logger) (catalog.Cluster, error) {
	folder := folderOf(cfg, log)
	return membership.Restore(folder, membership.Restoration{Reason: "restored from a backup", Now: time.Now(),
		Put: func(dir string, self catalog.NodeID, next membership.Next) error {
			if err := verified(ctx, dir, open, key, folder.PrivateDisk(), log); err != nil {
				return err
			}
			file, err := open()
			if err != nil {
				return err
			}
			defer file.Close()
			return backups.Open(file, key, func(h backups.Head, plain io.Reader) error {
				to := raftConfig(cfg, self)
				to.Dir = dir
				return raft.Restore(to, folder.PrivateDisk(), plain, log, next)
			})
		}})
}

// ErrUnsound reports a backup whose content contradicts itself.
var ErrUnsound = errors.New("the catalog in the backup contradicts itself; see holdfast catalog verify-backup")

// verified checks a backup aside, in a folder beside dir.
func verified(ctx context.Context, dir string, open func() (io.ReadCloser, error), key seal.Key, d disk.Disk,
	log *slog.Logger) error {
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	_, out, err := VerifyBackup(ctx, file, key, dir+".aside", d, log)
	if err == nil && out.Found > 0 {
		err = fmt.Errorf("%w: %s, and %d more", ErrUnsound, out.Problems[0], out.Found-1)
	}
	return err
}
