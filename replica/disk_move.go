package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/catalog"
)

// Why a shard's move ended without the shard having moved.
var (
	// errTarget marks a fault of the disk that a shard moves to.
	errTarget = errors.New("the disk to move to")
	// errSourceDisk marks a fault of the disk that a shard moves away from.
	errSourceDisk = errors.New("the disk to move from")
	// errWaits reports files that have to be put right before their shard can move.
	errWaits = errors.New("some files of the shard are damaged and have to be repaired first")
	// errInUse reports a shard to which files are coming just now.
	errInUse = errors.New("files are being added to the shard")
	// errElsewhere reports a shard that is not where it was thought to be, or that cannot move yet.
	errElsewhere = errors.New("the shard is not on that disk")
)

// standing is the catalog's view of a file here.
type standing struct {
	want    Held // the file's size and digest, if the catalog knows it
	known   bool
	counted bool // the catalog takes the bytes here for a copy, doubted or not
}

// shardMove copies one shard to another root, and then makes the copy the shard. Remains of an earlier try are read
// and used. One goroutine uses it, except for its progress.
type shardMove struct {
	*Store
	shard    catalog.Shard
	from, to *root
	limit    *limiter

	standing func(catalog.FileName) (standing, error)
	doubt    func(context.Context, catalog.FileName,
		catalog.Digest) // reports a copy whose bytes are wrong (zero: cannot be read)
	rest func(context.Context, time.Duration) error // called after each file with the time it took

	found  map[catalog.FileName]Held // in the staging folder, from an earlier try
	staged map[catalog.FileName]staged
	waits  map[catalog.FileName]os.FileInfo // wrong, and to be repaired before the shard moves

	mu       sync.Mutex
	progress DiskMove
}

// staged is a file whose bytes are on the new root.
type staged struct {
	held   Held
	right  bool        // these are the bytes of the file, and not only the bytes that were here
	source os.FileInfo // of the file that was copied
}

// run moves the shard. When it returns nil, the shard is the new root's, and the old one has a leftover.
func (m *shardMove) run(ctx context.Context) error {
	sh := &m.shards[m.shard]
	sh.mu.Lock()
	err := m.ready(sh)
	sh.mu.Unlock()
	if err != nil {
		return err
	}
	m.staged, m.waits = make(map[catalog.FileName]staged), make(map[catalog.FileName]os.FileInfo)
	if err := m.recall(ctx); err != nil {
		return fmt.Errorf("%w: %w", errTarget, err)
	}
	for {
		todo, err := m.settle()
		if err != nil || len(todo) == 0 {
			return err
		}
		for _, name := range todo {
			began := time.Now()
			if err := m.carry(ctx, name); err != nil {
				return fmt.Errorf("move %s to %s: %w", name, m.to.path, err)
			}
			if err := m.rest(ctx, time.Since(began)); err != nil {
				return err
			}
		}
	}
}

// ready reports why the shard cannot move now, if so. The caller holds it.
func (m *shardMove) ready(sh *shard) error {
	if sh.root != m.from || m.from.movedFrom(m.shard) != "" {
		return fmt.Errorf("shard %s: %w: %s", m.shard, errElsewhere, m.from.path)
	}
	return errors.Join(m.from.mounted(), m.to.mounted())
}

// recall reads the remains of an earlier try in the staging folder: bytes there count for what they are now.
func (m *shardMove) recall(ctx context.Context) error {
	dir := m.to.moving(m.shard)
	if err := m.disk.MkdirAll(dir); err != nil {
		return err
	}
	if err := m.disk.CleanTemporary(dir); err != nil {
		return err
	}
	names, err := folderNames(dir)
	if err != nil {
		return err
	}
	m.found = make(map[catalog.FileName]Held)
	for _, text := range names {
		name, path := catalog.FileName(text), filepath.Join(dir, text)
		if checkName(name) != nil {
			continue
		}
		h := Held{Name: name}
		if h.Size, h.SHA256, err = m.hashFile(ctx, path, m.limit); errors.Is(err, errUnreadable) {
			err = m.disk.Remove(path)
		} else if err == nil {
			m.found[name] = h
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle compares the shard with the staged files and returns the files that have to be copied. If there are none, it
// makes the new root the shard's, while nobody changes the shard.
func (m *shardMove) settle() (todo []catalog.FileName, err error) {
	sh := &m.shards[m.shard]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if err := m.ready(sh); err != nil {
		return nil, err
	}
	todo, waits, err := m.compare()
	switch {
	case err != nil || len(todo) > 0:
		return todo, err
	case waits > 0:
		return nil, fmt.Errorf("shard %s: %w: %d files", m.shard, errWaits, waits)
	case sh.claims > 0:
		return nil, fmt.Errorf("shard %s: %w", m.shard, errInUse)
	}
	m.log.Debug("shard is copied", "shard", m.shard, "to", m.to.path, "files", len(m.staged))
	return nil, m.commit(sh)
}

// compare returns the files of the shard's folder that are not staged in their present state, and how many wait for a
// repair. Staged files that are no longer in the folder are removed. The caller holds the shard.
func (m *shardMove) compare() (todo []catalog.FileName, waits int, err error) {
	names, err := folderNames(m.from.folder(m.shard))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errSourceDisk, err)
	}
	there := make(map[catalog.FileName]bool, len(names))
	var files, bytes int64
	for _, text := range names {
		name := catalog.FileName(text)
		info, err := os.Lstat(filepath.Join(m.from.folder(m.shard), text))
		if err != nil || !info.Mode().IsRegular() || checkName(name) != nil || name.Shard() != m.shard {
			continue // a file that is not the archive's stays, and is reported when the rest is gone
		}
		there[name] = true
		files, bytes = files+1, bytes+info.Size()
		if one, ok := m.staged[name]; ok && untouched(one.source, info) {
			continue
		}
		if was, ok := m.waits[name]; ok && untouched(was, info) {
			waits++
			continue
		}
		todo = append(todo, name)
	}
	for name := range m.found {
		if !there[name] {
			if err := m.unstage(name); err != nil {
				return nil, 0, fmt.Errorf("%w: %w", errTarget, err)
			}
		}
	}
	for name := range m.staged {
		if !there[name] {
			if err := m.unstage(name); err != nil {
				return nil, 0, fmt.Errorf("%w: %w", errTarget, err)
			}
		}
	}
	m.tell(func(p *DiskMove) { p.TotalFiles, p.TotalBytes = files, bytes })
	return todo, waits, nil
}

func untouched(was, is os.FileInfo) bool {
	return os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// unstage removes a file from the staging folder.
func (m *shardMove) unstage(name catalog.FileName) error {
	path := filepath.Join(m.to.moving(m.shard), string(name))
	if err := m.disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(m.staged, name)
	delete(m.found, name)
	return m.dropList(path)
}

// commit writes the manifest and the note of where the shard was, and renames the folder to be the shard's. The
// caller holds the shard, of which all is staged.
func (m *shardMove) commit(sh *shard) error {
	dir := m.to.moving(m.shard)
	lines, loose, err := m.lines()
	if err != nil {
		return fmt.Errorf("%w: %w", errSourceDisk, err)
	}
	path := filepath.Join(dir, ManifestName)
	lines.present = isFile(path)
	err = writeManifest(m.disk, path, lines)
	if err == nil {
		err = writeMoved(m.disk, dir, m.from)
	}
	if err == nil {
		err = m.disk.SyncDir(dir)
	}
	if _, there := os.Lstat(m.to.folder(m.shard)); err == nil && !errors.Is(there, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w", m.to.folder(m.shard), fs.ErrExist)
	}
	if err == nil {
		err = m.disk.Rename(dir, m.to.folder(m.shard))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errTarget, errors.Join(err, m.undo()))
	}
	sh.root = m.to
	sh.moves++
	for _, name := range loose {
		m.loose.add(name)
	}
	m.left.add(leftover{m.shard, m.from})
	if err := m.list.note(m.shard, m.to); err != nil { // tried again before the old disk gives up its own
		m.log.Warn("a shard has moved, and the list of the disks' shards does not say so yet", "err", err)
	}
	return nil
}

// undo reverses a rename that was not put on stable storage. If that is impossible too, the shard stays where it was
// while this process lives, and the next start decides by what it finds: both places have the same bytes.
func (m *shardMove) undo() error {
	dir := m.to.moving(m.shard)
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	return m.disk.Rename(m.to.folder(m.shard), dir)
}

// lines returns the manifest of the staged folder, and the files in it that are not vouched for: those that were
// loose, and those whose bytes do not match their line. Lines of missing files stay until these are repaired.
func (m *shardMove) lines() (manifest, []catalog.FileName, error) {
	was, err := readManifest(filepath.Join(m.from.folder(m.shard), ManifestName))
	if err != nil {
		return was, nil, err
	}
	is := manifest{lines: make(map[catalog.FileName]line, len(was.lines))}
	var loose []catalog.FileName
	for name, l := range was.lines {
		one, there := m.staged[name]
		switch {
		case !there:
			is.lines[name] = l
		case one.right && !m.loose.has(name):
			is.lines[name] = line{digest: one.held.SHA256, size: l.size}
		}
	}
	for name := range m.staged {
		if _, listed := is.lines[name]; !listed {
			loose = append(loose, name)
		}
	}
	return is, loose, nil
}

// discard frees the room of the staged files.
func (m *shardMove) discard() error { return m.disk.RemoveAll(m.to.moving(m.shard)) }

// stagings returns the shards of which the root has a staging folder.
func (r *root) stagings() ([]catalog.Shard, error) {
	names, err := folderNames(r.path)
	if err != nil {
		return nil, err
	}
	var all []catalog.Shard
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, movingMark); ok {
			if n, err := catalog.ParseShard(text); err == nil && n.String() == text {
				all = append(all, n)
			}
		}
	}
	return all, nil
}

func (m *shardMove) tell(do func(*DiskMove)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do(&m.progress)
}

// Progress returns how far the move is.
func (m *shardMove) Progress() DiskMove {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.progress
}
