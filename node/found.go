package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/seal"
	"holdfast/node/backups"
	"holdfast/node/config"
	"holdfast/node/membership"
	"holdfast/peer"
	"holdfast/raft"
)

// Init founds a cluster whose first member is the configured node. When it returns nil the founding is agreed and on
// stable storage, and the node can be started. It returns the new cluster's record. One that was cut off may be
// repeated.
func Init(ctx context.Context, cfg config.Config, log *slog.Logger) (catalog.Cluster, error) {
	return membership.Init(ctx, folderOf(cfg, log), catalog.Level, log)
}

// Join makes the configured node a member, by a token that a member made. See membership.Join.
func Join(ctx context.Context, cfg config.Config, text string, log *slog.Logger) (catalog.Cluster, error) {
	return membership.Join(ctx, folderOf(cfg, log), text, log)
}

// Recover makes the configured node the only voter of its cluster under a higher epoch, when the majority of voters
// is lost for good. The node must be stopped. Members of the older epoch are refused from then on.
func Recover(_ context.Context, cfg config.Config, reason string, log *slog.Logger) (catalog.Cluster, error) {
	return membership.Recover(folderOf(cfg, log), reason)
}

// VerifyBackup restores a backup aside, into the folder dir, which it leaves empty, and checks all that is in it. The
// error says why it cannot be restored; what is wrong with its content is found.
func VerifyBackup(ctx context.Context, file io.Reader, key seal.Key, dir string, d disk.Disk, log *slog.Logger) (
	backups.Head, backups.Content, error) {
	head, out, err := backups.Verify(ctx, file, key,
		func(plain io.Reader, see func(index uint64, v catalog.View) error) error {
			return raft.Aside(dir, d, plain, log, see)
		})
	return head, out, errors.Join(err, d.RemoveAll(dir))
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

// verified checks a backup aside, in a folder beside dir.
func verified(ctx context.Context, dir string, open func() (io.ReadCloser, error), key seal.Key, d disk.Disk,
	log *slog.Logger) error {
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	_, out, err := VerifyBackup(ctx, file, key, dir+".aside", d, log)
	if err != nil {
		return err
	}
	return out.Err()
}

// folderOf returns the folder of a stopped node, with the state that it has agreed on.
func folderOf(cfg config.Config, log *slog.Logger) membership.Folder {
	f := membership.Folder{Config: cfg}
	f.State = state{cfg, f.PrivateDisk(), log}
	return f
}

// state is the agreed state of a stopped node, opened for the length of each call.
type state struct {
	cfg  config.Config
	disk disk.Disk
	log  *slog.Logger
}

// Found makes the command the first entry of a cluster's log.
func (s state) Found(ctx context.Context, self catalog.NodeID, first catalog.Command) error {
	r, err := s.open(self)
	if err != nil {
		return err
	}
	if err = errors.Join(r.Bootstrap(ctx, first), r.Close()); err != nil {
		return fmt.Errorf("found the cluster: %w", err)
	}
	return nil
}

// Agreed calls show with the agreed state.
func (s state) Agreed(self catalog.NodeID, see func(catalog.View) error) (applied uint64, err error) {
	r, err := s.open(self)
	if err != nil {
		return 0, fmt.Errorf("look for an agreed state: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = r.View(see)
	return r.Status().Applied, err
}

// Recover makes the node the only voter.
func (s state) Recover(self catalog.NodeID, reason string) (epoch uint64, err error) {
	return raft.Recover(raftConfig(s.cfg, self), s.disk, reason, s.log)
}

func (s state) open(self catalog.NodeID) (*raft.Node, error) {
	return raft.Open(raftConfig(s.cfg, self), s.disk, nowhere{}, nowhere{}, s.log)
}

func raftConfig(c config.Config, self catalog.NodeID) raft.Config {
	return raft.Config{Dir: c.Data, Self: self, Profile: c.File.Profile, MemoryMiB: int(c.Limits.Memory >> 20 / 64),
		TrailingMiB: int(c.Limits.RaftLog >> 20)}
}

// nowhere replaces the network for a stopped node.
type nowhere struct{}

func (nowhere) Dial(context.Context, catalog.NodeID) (net.Conn, error) {
	return nil, peer.ErrUnreachable
}

func (nowhere) Call(context.Context, catalog.NodeID, []byte) ([]byte, error) {
	return nil, peer.ErrUnreachable
}

// lost says what helps where a part of the log or the state is lost or older than the rest.
func lost(err error) error {
	if errors.Is(err, raft.ErrStateLost) || errors.Is(err, raft.ErrSetBack) {
		return fmt.Errorf("%w (%w)", membership.ErrStateLost, err)
	}
	return err
}

// agreement is the agreed state with how far it has come.
type agreement struct{ *raft.Node }

// Applied returns the index of the last command that the state shows.
func (a agreement) Applied() uint64 { return a.Status().Applied }
