package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/catalog"
)

// againMark begins the name of a shard's folder that is made in place of one on a disk that is gone.
const againMark = ".again-"

// giveTo makes to the disk of a shard whose disk, from, is gone: with an empty folder, or with what to has still of it,
// from before it moved to the disk that is gone. The folder names that disk: what lies there is looked through when it
// is back. It does nothing while files are coming into the shard, or if its disk is there.
func (l *leavings) giveTo(n catalog.Shard, from, to *root) (done bool, err error) {
	s := l.store
	sh := &s.shards[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.root != from || sh.claims > 0 || !from.gone() {
		return false, nil
	}
	if err := to.mounted(); err != nil {
		return false, err
	}
	old := leftover{n, to}
	if err := l.prepare(n, from, to, slices.Contains(l.list(), old)); err != nil {
		return false, fmt.Errorf("make shard %s again on %s: %w", n, to.path, err)
	}
	if err := s.list.note(n, to); err != nil {
		return false, err
	}
	l.drop(old)
	l.add(leftover{n, from})
	sh.root = to
	sh.moves++
	for _, some := range []*noted{&s.loose, &s.missing} {
		for _, name := range some.of(n) {
			some.drop(name)
		}
	}
	if err := s.reconcileShard(n); err != nil {
		return true, err
	}
	held, err := listFolder(to.folder(n))
	for _, h := range held { // what was left there from before the move is read soon
		s.fresh.add(h.Name, time.Now())
	}
	return true, err
}

// prepare makes the folder of a shard that is made again, unless an earlier try has.
func (l *leavings) prepare(n catalog.Shard, from, to *root, remains bool) error {
	dir := filepath.Join(to.path, againMark+n.String())
	if remains {
		dir = to.folder(n)
		if err := l.store.disk.Rename(to.left(n), dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return writeMoved(l.store.disk, dir, from)
	}
	if to.movedFrom(n) == from.mark {
		return l.store.disk.SyncDir(to.path) // the rename, should its own sync have failed
	}
	if _, err := os.Lstat(to.folder(n)); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s: %w", to.folder(n), fs.ErrExist))
	}
	if err := l.store.disk.RemoveAll(dir); err != nil {
		return err
	}
	if err := l.store.disk.MkdirAll(dir); err != nil {
		return err
	}
	if err := writeMoved(l.store.disk, dir, from); err != nil {
		return err
	}
	return l.store.disk.Rename(dir, to.folder(n))
}

// awaited returns a function that reports whether this node is to have a copy of a file, and another one has good bytes
// to make it again from.
func awaited(r *findings) func(catalog.FileName) bool {
	return func(name catalog.FileName) (waits bool) {
		err := r.catalog.View(func(v catalog.View) error {
			f, err := v.File(name)
			if err != nil {
				return err
			}
			c := f.Copy(r.cfg.Replica)
			if f.Removed != 0 || f.Lost != 0 || c == nil || c.Surplus {
				return nil
			}
			p, err := v.Placement(r.cfg.Replica, name.Shard())
			if err != nil || p.Holder != r.cfg.Self {
				return err
			}
			holders, err := v.CoveringFile(&f)
			waits = slices.ContainsFunc(holders, func(h catalog.Holding) bool { return h.Node != r.cfg.Self })
			return err
		})
		return err == nil && waits
	}
}
