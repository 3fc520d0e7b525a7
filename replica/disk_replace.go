package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/catalog"
)

// Answers to wishes for new disks.
var (
	// ErrNewDisk refuses a folder that cannot be a new disk of the node.
	ErrNewDisk = errors.New("it cannot be a new disk of this node")
	// ErrOnlyBytes refuses to replace a disk that is there and has the only good bytes of files.
	ErrOnlyBytes = errors.New("it has the only good bytes of files")
)

// newDisk is a folder that was made ready to be a disk for files, and is used from the first start with it in the
// settings.
type newDisk struct {
	Mark string `json:"mark"`
	Path string `json:"path"`
}

// lostDisk is a disk that somebody has said is gone for good. From the next start it is none of the node's.
type lostDisk struct {
	Mark string `json:"mark"`
	Path string `json:"path"`
	Told bool   `json:"told,omitempty"` // what was missing was reported
}

// diskLeaves is of a disk that was replaced since the node's start.
const diskLeaves = "it was replaced: from the next start with the new disk in the settings, its shards are made again"

// Why a folder of the settings is not used.
const (
	// DiskReplaced is of a disk that was replaced and that the settings still name.
	DiskReplaced = "it was replaced, and is not used: take it out of the settings"
	// DiskAwaited is of a new disk that is not there.
	DiskAwaited = "a new disk was made ready to be here, and is not mounted: mount it, and start the node again"
)

func (w wishes) isLost(mark string) bool {
	return slices.ContainsFunc(w.Lost, func(l lostDisk) bool { return l.Mark == mark })
}

// unused says why the folder of the settings with the mark, if there is one, is not used; empty if it is.
func (w wishes) unused(path, mark string) string {
	switch {
	case w.isLost(mark), mark == "" && slices.ContainsFunc(w.Lost, func(l lostDisk) bool { return l.Path == path }):
		return DiskReplaced
	case mark == "" && slices.ContainsFunc(w.Added, func(n newDisk) bool { return n.Path == path }):
		return DiskAwaited
	}
	return ""
}

// Add makes the folder at the path ready to be a new disk of this node: it looks whether it can be one, and marks it.
// The node uses it from the first start with the folder in its settings.
func (d *Disks) Add(path string) (DiskReport, error) {
	path = filepath.Clean(path)
	mark, err := prepare(d.store, path, nil)
	if err != nil {
		return DiskReport{}, fmt.Errorf("add disk %s: %w", path, err)
	}
	return d.ask(func(w *wishes) error { w.expect(newDisk{mark, path}); return nil })
}

func (w *wishes) expect(one newDisk) {
	w.Added = slices.DeleteFunc(w.Added, func(n newDisk) bool { return n.Path == one.Path })
	w.Added = append(w.Added, one)
}

// Replacement is what replacing a disk does.
type Replacement struct {
	Mark   string // of the old disk
	There  bool   // the old disk is there
	Shards int    // that lie on it
	Files  int64  // in them, by the catalog
	Sole   int    // of which nobody else has good bytes
}

// Replacing says what it does to replace the disk at old by the one at path.
func (d *Disks) Replacing(old, path string) (out Replacement, err error) {
	r := d.rootAt(old)
	if r == nil {
		return out, fmt.Errorf("replace disk %s: %w", old, ErrNoDisk)
	}
	if err := fits(d.store, filepath.Clean(path), r); err != nil {
		return out, fmt.Errorf("replace disk %s by %s: %w", old, path, err)
	}
	out.Mark, out.There = r.mark, !r.gone()
	sizes, err := d.bytes()
	if err != nil {
		return out, err
	}
	for n := range catalog.Shard(catalog.Shards) {
		if d.store.shards.on(n) != r {
			continue
		}
		out.Shards++
		out.Files += sizes[n].Files
		sole, err := d.sole(n)
		if err != nil {
			return out, fmt.Errorf("replace disk %s: %w", old, err)
		}
		out.Sole += sole
	}
	if out.There && out.Sole > 0 {
		return out, fmt.Errorf("replace disk %s: %w: %d files; drain it first", old, ErrOnlyBytes, out.Sole)
	}
	return out, nil
}

// Replace gives the disk at old up for good, and makes the one at path ready. From the node's next start the old disk
// is none of its disks, and its shards are made again on the others. It refuses what Replacing refuses.
func (d *Disks) Replace(old, path string) (DiskReport, error) {
	if _, err := d.Replacing(old, path); err != nil {
		return DiskReport{}, err
	}
	r := d.rootAt(old)
	path = filepath.Clean(path)
	mark, err := prepare(d.store, path, r)
	if err != nil {
		return DiskReport{}, fmt.Errorf("replace disk %s by %s: %w", old, path, err)
	}
	return d.ask(func(w *wishes) error {
		w.expect(newDisk{mark, path})
		if !w.isLost(r.mark) {
			w.Lost = append(w.Lost, lostDisk{Mark: r.mark, Path: r.path})
		}
		return nil
	})
}

// prepare marks the folder of a new disk, in place of the disk given, if any. A mark that it has already stays.
func prepare(s *Store, path string, inPlaceOf *root) (mark string, err error) {
	if err := fits(s, path, inPlaceOf); err != nil {
		return "", err
	}
	return s.markRoot(path)
}

// fits answers ErrNewDisk if the folder cannot be a new disk of the node.
func fits(s *Store, path string, inPlaceOf *root) error {
	info, err := os.Stat(path)
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("%w: want a path from the root", ErrNewDisk)
	case err != nil:
		return fmt.Errorf("%w: make the folder on the mounted disk first: %w", ErrNewDisk, err)
	case !info.IsDir():
		return fmt.Errorf("%w: it is no folder", ErrNewDisk)
	}
	mark, err := readMark(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNewDisk, err)
	}
	for _, r := range s.roots {
		switch {
		case mark != "" && mark == r.mark:
			return fmt.Errorf("%w: it is the disk %s itself", ErrNewDisk, r.path)
		case r == inPlaceOf && r.path == path:
		case within(path, r.path), within(r.path, path):
			return fmt.Errorf("%w: it is, or lies within, or holds the folder for files %s", ErrNewDisk, r.path)
		}
	}
	for _, own := range []string{s.cfg.Incoming, s.cfg.Outbox, s.cfg.Quarantine} {
		if within(path, own) || within(own, path) {
			return fmt.Errorf("%w: %s is the node's own", ErrNewDisk, own)
		}
	}
	names, err := folderNames(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNewDisk, err)
	}
	for _, name := range names {
		if n, err := catalog.ParseShard(name); err == nil && n.String() == name {
			return fmt.Errorf("%w: it holds a shard of an archive, %s", ErrNewDisk, filepath.Join(path, name))
		}
	}
	if err := (&root{path: path}).trial(s.disk); err != nil {
		return fmt.Errorf("%w: it takes no writes: %w", ErrNewDisk, err)
	}
	return nil
}

// within reports whether path is the folder, or lies in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// replaced returns the shards that lay on disks that were replaced and lie nowhere now.
func (s *mounts) replaced(shards *places) (all []catalog.Shard) {
	asked, _ := s.asked.look()
	for n := range catalog.Shard(catalog.Shards) {
		if mark, _ := s.list.of(n); shards.on(n) == nil && mark != "" && asked.isLost(mark) {
			all = append(all, n)
		}
	}
	return all
}

// told notes that what was missing of disks that were replaced is reported.
func (a *asked) told(marks []string) error {
	return a.change(func(w *wishes) error {
		for i := range w.Lost {
			w.Lost[i].Told = w.Lost[i].Told || slices.Contains(marks, w.Lost[i].Mark)
		}
		return nil
	})
}
