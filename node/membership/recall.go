package membership

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// ErrRunning reports that another process runs on the node's folder.
var ErrRunning = errors.New("another process runs on this folder")

// Recall returns what the node knows of its cluster. If the member list is missing, because the founding was
// interrupted or the list was lost, it is made again from the node's agreed state. It returns ErrNotFounded if there
// is neither. The node must not be running.
func (c Folder) Recall(d disk.Disk, log *slog.Logger) (k Known, err error) {
	k, err = c.load()
	if !errors.Is(err, ErrNotFounded) {
		return k, err
	}
	if _, none := os.Stat(filepath.Join(c.Data, "catalog")); errors.Is(none, fs.ErrNotExist) {
		return k, err
	}
	unlock, err := c.Lock()
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if k, err = c.readAgreed(); err != nil {
		return k, err
	}
	if err = c.save(d, k); err != nil {
		return k, err
	}
	log.Warn("the member list was not there; it is made again from the agreed state",
		"cluster", k.Cluster.Name, "members", len(k.Members))
	return k, nil
}

// readAgreed reads the cluster from the stopped node's catalog; ErrNotFounded if it is not there.
func (c Folder) readAgreed() (k Known, err error) {
	id, err := c.OwnIdentity()
	if err != nil {
		return k, err
	}
	k.Index, err = c.State.Agreed(catalog.NodeID(id.ID()), func(v catalog.View) (err error) {
		if k.Cluster, err = v.Cluster(); err != nil {
			return err
		}
		k.Members, err = v.Members()
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return Known{}, ErrNotFounded
	}
	return k, err
}

// Lock keeps other processes off the node's folder until the function it returns is called. ErrRunning when one is
// there.
func (c Folder) Lock() (unlock func() error, err error) {
	unlock, err = disk.Lock(filepath.Join(c.Data, "lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Data, errors.Join(ErrRunning, err))
	}
	return unlock, nil
}
