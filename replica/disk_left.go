package replica

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// Names of a shard that moves from one root to another. It is copied into a folder that begins with movingMark, on
// the root that it moves to. That folder is then renamed to be the shard's, with a file movedName in it that names
// the old root; from then on it is the shard. The rest on the old root is renamed to begin with leftMark, and
// removed; then movedName is removed.
const (
	movingMark = ".moving-"
	leftMark   = ".left-"
	movedName  = ".moved-from"
)

// leftover is what a root still has of a shard that has moved to another.
type leftover struct {
	shard catalog.Shard
	on    *root
}

// leavings are the remains of shards that have moved, and where those shards are.
type leavings struct {
	store *Store
	waits func(catalog.FileName) bool // a copy of the file is being made from elsewhere; nil: of none

	mu  sync.Mutex
	all []leftover
}

func (r *root) folder(n catalog.Shard) string { return filepath.Join(r.path, n.String()) }
func (r *root) moving(n catalog.Shard) string { return filepath.Join(r.path, movingMark+n.String()) }
func (r *root) left(n catalog.Shard) string   { return filepath.Join(r.path, leftMark+n.String()) }

// found is what the roots have of one shard when the store is opened.
type found struct {
	folders []*root // with a folder of the shard
	left    []*root // with a folder of its remains
}

// assign finds out which root each shard is on, and what a crash left of shards that were moving.
func (l *leavings) assign() error {
	all, err := l.find()
	if err != nil {
		return err
	}
	for n := range catalog.Shard(catalog.Shards) {
		f := all[n]
		if away := l.away(n, f); away != nil {
			l.store.shards[n].root = away
			for _, r := range f.folders { // it had moved away from there
				l.all = append(l.all, leftover{n, r})
			}
			continue
		}
		if len(f.folders) == 0 && len(f.left) == 1 {
			if err := l.takeBack(n, f.left[0]); err != nil {
				return err
			}
			f = found{folders: f.left}
		}
		if len(f.folders) == 0 {
			for _, r := range f.left {
				l.store.log.Error("a shard lies nowhere, and more than one disk has something left of it; rename one "+
					"to be the shard",
					"folder", r.left(n))
			}
			continue
		}
		if err := l.choose(n, f); err != nil {
			return err
		}
	}
	return nil
}

// away returns the root that is not there and holds the shard: by the list; or, while there is no list, any such root
// if no other has the shard. A folder that says it was made in place of the one there is the shard.
func (l *leavings) away(n catalog.Shard, f found) *root {
	mark, known := l.store.list.of(n)
	if !known && len(f.folders) == 0 {
		return l.store.absent()
	}
	for _, r := range l.store.roots {
		if !known || r.absent == nil || r.mark != mark {
			continue
		}
		if slices.ContainsFunc(f.folders, func(has *root) bool { return has.movedFrom(n) == mark }) {
			return nil
		}
		return r
	}
	return nil
}

// find looks through the roots.
func (l *leavings) find() (all [catalog.Shards]found, err error) {
	for _, r := range l.store.roots {
		if r.absent != nil {
			continue
		}
		entries, err := os.ReadDir(r.path)
		if err != nil && !l.store.alone(r) {
			l.store.log.Error("a disk for files cannot be read; the node starts without it", "disk", r.path, "err", err)
			r.absent = err
			continue
		}
		if err != nil {
			return all, err
		}
		for _, e := range entries {
			text, left := strings.CutPrefix(e.Name(), leftMark)
			n, err := catalog.ParseShard(text)
			switch {
			case err != nil || !e.IsDir() || n.String() != text:
			case left:
				all[n].left = append(all[n].left, r)
			default:
				all[n].folders = append(all[n].folders, r)
			}
		}
	}
	return all, nil
}

// takeBack makes the remains of a shard the shard again: the disk that it had moved to was given up.
func (l *leavings) takeBack(n catalog.Shard, r *root) error {
	l.store.log.Warn("a shard is taken back from the disk that it was moved away from: the one that it was moved to "+
		"is gone",
		"shard", n, "disk", r.path)
	return l.store.disk.Rename(r.left(n), r.folder(n))
}

// choose chooses among the folders of a shard: the one that says it was moved from the other holds. Its bytes
// were read on its disk before it could say so.
func (l *leavings) choose(n catalog.Shard, f found) error {
	now := f.folders[0]
	for _, other := range f.folders[1:] {
		a, b := now.movedFrom(n), other.movedFrom(n)
		listed, _ := l.store.list.of(n)
		switch {
		case len(f.folders) == 2 && a == other.mark && b == now.mark && (listed == a || listed == b):
			if listed == other.mark { // each was made in place of the other once; the list knows the later one
				now = other
			}
		case len(f.folders) > 2 || (a == other.mark) == (b == now.mark):
			return fmt.Errorf("shard %s is in two folders, %s and %s: rename or remove one of them", n, now.path,
				other.path)
		case b == now.mark:
			now = other
		}
	}
	l.store.shards[n].root = now
	for _, r := range append(f.folders, f.left...) {
		if r == now {
			continue
		}
		if now.movedFrom(n) != r.mark {
			l.store.log.Error("a disk has something left of a shard that did not move from there; it stays", "folder",
				r.left(n))
			continue
		}
		l.all = append(l.all, leftover{n, r})
	}
	return nil
}

// movedFrom returns the mark of the root that the shard's folder on r was moved from and that still has remains of
// it; empty if there is none.
func (r *root) movedFrom(n catalog.Shard) string {
	text, err := os.ReadFile(filepath.Join(r.folder(n), movedName))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// settle takes the note out of a shard's folder from where it was moved, when nothing is left there.
func (l *leavings) settle(n catalog.Shard, r *root) error {
	for _, one := range l.list() {
		if one.shard == n {
			return nil
		}
	}
	for _, other := range l.store.roots { // it may have something left of the shard
		if other.absent != nil && other.mark == r.movedFrom(n) {
			return nil
		}
	}
	err := l.store.disk.Remove(filepath.Join(r.folder(n), movedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (l *leavings) list() []leftover {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// drop forgets a leftover that is gone.
func (l *leavings) drop(gone leftover) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(one leftover) bool { return one == gone })
}

// add notes that a shard has moved away from a root.
func (l *leavings) add(one leftover) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, one)
}

// errForeign reports that something lies in a leftover that is not the archive's.
var errForeign = errors.New("it holds something that does not belong to the archive: move that elsewhere")

// errAwaited reports that something in a leftover is still to be copied from another node: until then it stays.
var errAwaited = errors.New("it holds files that are still to be copied from other nodes")

// clear removes a root's remains of a shard that has moved away, as far as the shard has the same files on its new
// root. Other remains are set aside, unless spare says that nobody wants them. Without the new root nothing is
// removed.
func (l *leavings) clear(one leftover, spare func(catalog.FileName) bool) error {
	to, err := l.retire(one)
	if err != nil {
		return err
	}
	if err := l.empty(one, to, one.on.left(one.shard), spare); err != nil {
		return fmt.Errorf("clear %s: %w", one.on.left(one.shard), err)
	}
	l.drop(one)
	return l.settle(one.shard, to)
}

// retire renames the folder of a leftover, after a last look whether the shard is where it has moved to: that is
// the root it returns.
func (l *leavings) retire(one leftover) (to *root, err error) {
	sh := &l.store.shards[one.shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if to = sh.root; to == nil || to == one.on {
		return nil, fmt.Errorf("shard %s has not moved away from %s", one.shard, one.on.path)
	}
	if err := errors.Join(to.mounted(), one.on.mounted()); err != nil {
		return nil, err
	}
	if to.movedFrom(one.shard) != one.on.mark {
		return nil, fmt.Errorf("the folder %s does not say that it was moved from %s", to.folder(one.shard),
			one.on.path)
	}
	if err := l.store.disk.SyncDir(to.path); err != nil { // the move's rename, should its own sync have failed
		return nil, err
	}
	if err := l.store.list.note(one.shard, to); err != nil {
		return nil, err
	}
	if err := l.store.disk.Rename(one.on.folder(one.shard), one.on.left(one.shard)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return to, nil
}

// empty removes the folder of a leftover. Each file of the archive in it is in its place on the new root,
// or it is set aside first.
func (l *leavings) empty(one leftover, to *root, dir string, spare func(catalog.FileName) bool) error {
	names, err := folderNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	foreign, waits := false, false
	for _, text := range names {
		name, path := catalog.FileName(text), filepath.Join(dir, text)
		switch {
		case text == ManifestName, strings.HasPrefix(text, ".") && isFile(path):
		case checkName(name) != nil || name.Shard() != one.shard || !isFile(path):
			foreign = true
		case sameSize(path, filepath.Join(to.folder(one.shard), text)), spare(name):
		case l.waits != nil && l.waits(name):
			waits = true
		default:
			if err := l.setAside(one.on, name, path); err != nil {
				return err
			}
		}
	}
	switch {
	case foreign:
		return errForeign
	case waits:
		return errAwaited
	}
	return l.store.disk.RemoveAll(dir)
}

// setAside puts a file of a leftover into the quarantine, where it is read, and offered if nobody else has it.
func (l *leavings) setAside(r *root, name catalog.FileName, path string) error {
	to := l.store.aside(r.quarantine, name)
	if err := l.store.disk.Rename(path, to); err != nil {
		return err
	}
	l.store.log.Warn("a file that its shard has lost on the disk that it was moved to was set aside", "file", name,
		"path", to)
	return l.store.writeReason(to,
		"left on the disk that its shard was moved away from; the shard does not have it there any more")
}

func sameSize(a, b string) bool {
	x, err := os.Lstat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b)
	return err == nil && y.Mode().IsRegular() && x.Size() == y.Size()
}

// writeMoved notes in a folder that becomes the shard's from which root it was moved.
func writeMoved(d disk.Disk, dir string, from *root) error {
	return d.WriteFile(filepath.Join(dir, movedName), func(w io.Writer) error {
		_, err := fmt.Fprintln(w, from.mark)
		return err
	})
}
