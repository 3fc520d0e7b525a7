package membership

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/peer"
)

// reopen prepares a folder for joining: a new one, or that of a node that belonged to the token's cluster before. In
// the second case it locks the folder until release is called, and returns what the node knew. It returns ErrFounded
// if the node belongs to another cluster.
func (c Folder) reopen(d disk.Disk, cluster string, log *slog.Logger) (old Known, release func() error, err error) {
	release = func() error { return nil }
	if old, err = c.Recall(d, log); errors.Is(err, ErrNotFounded) {
		return old, release, nil
	}
	if err == nil && old.Cluster.ID != cluster {
		err = fmt.Errorf("%w: %s, with the id %s; the token is for the cluster with the id %s. "+
			"If %s was founded by mistake, as by `holdfast init` on a second node: stop the node, "+
			"move its folder %s away, and join again. Files that are in it are not lost: "+
			"put them with `holdfast file put`",
			ErrFounded, old.Cluster.Name, old.Cluster.ID, cluster, old.Cluster.Name, c.Data)
	}
	if err == nil {
		release, err = c.Lock()
	}
	return old, release, err
}

// drop removes the agreed state of a membership that has ended, so that the node receives the cluster's state again.
// It keeps the node's key, the archive's files, and the count of its starts, which tells its requests apart. If the
// membership continues, it removes nothing and returns ErrFounded: a voter that forgot its log could undo decisions.
func (c Folder) drop(d disk.Disk, old, now Known, self catalog.NodeID) error {
	if old.Cluster.ID == "" {
		return nil
	}
	if !ended(old, now, self) {
		return c.memberStill(old)
	}
	if err := errors.Join(d.RemoveAll(c.agreedPath()), d.RemoveAll(filepath.Join(c.Data, "catalog"))); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(c.Data, "raft"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the raft log: %w", err)
	}
	for _, e := range entries {
		if e.Name() == "boot" {
			continue
		}
		if err := d.RemoveAll(filepath.Join(c.Data, "raft", e.Name())); err != nil {
			return err
		}
	}
	return d.RemoveAll(c.supersededPath())
}

// memberStill refuses a join while the membership continues.
func (c Folder) memberStill(old Known) error {
	return fmt.Errorf("%w: %s (%s), and is a member still; start it", ErrFounded, old.Cluster.Name, c.Data)
}

// ended reports whether the membership that the node knew has ended: the cluster was recovered without it, or it was
// removed and has now been admitted again.
func ended(old, now Known, self catalog.NodeID) bool {
	if now.Cluster.Epoch != old.Cluster.Epoch {
		return now.Cluster.Epoch > old.Cluster.Epoch
	}
	return joined(old, self) != joined(now, self)
}

// joined returns when the node became a member, 0 if it is not one.
func joined(k Known, id catalog.NodeID) catalog.Time {
	i := slices.IndexFunc(k.Members, func(m catalog.Member) bool { return m.ID == id })
	if i < 0 {
		return 0
	}
	return k.Members[i].Joined
}

// identity makes the folder with the node's identity, or reads it.
func (c Folder) identity(d disk.Disk) (peer.Identity, error) {
	if err := c.FilesDisk().MkdirAll(c.Data); err != nil { // others may have to pass it, to read the archive's files
		return peer.Identity{}, err
	}
	if err := d.MkdirAll(c.IdentityDir()); err != nil {
		return peer.Identity{}, err
	}
	id, err := peer.LoadOrCreateIdentity(c.IdentityDir(), d)
	if err != nil {
		return peer.Identity{}, err
	}
	_, err = c.OpenToken(d)
	return id, err
}
