// Package disk is the only place for durable writes: temporary name, sync, rename, sync folder. Whatever a call of
// this package has acknowledged survives a power cut. Callers read files with package os.
package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrFull reports that the file system has no room left (or a quota is used up).
var ErrFull = errors.New("disk is full")

// temporaryMark is part of every temporary name, so that leftovers can be told apart.
const temporaryMark = ".holdfast-tmp-"

// Disk performs durable operations on files. The zero value is the operating
// system's disk; Faulty.Disk makes one that fails on purpose. A Disk may be
// copied and used by several goroutines, but one path has one writer at a time.
type Disk struct {
	twin *Faulty
	mode fs.FileMode // of new files; 0: 0644 and 0755 for folders, less the process's umask
}

// WithMode returns the disk with permissions for the files that it makes or links, such as 0o600; a folder may be
// searched by those who may read its files. They hold whatever the process's umask is. WriteFileMode alone overrides
// them.
func (d Disk) WithMode(mode fs.FileMode) Disk {
	d.mode = mode.Perm()
	return d
}

// fileMode and folderMode are the permissions of new files and folders.
func (d Disk) fileMode() fs.FileMode {
	if d.mode == 0 {
		return 0o644
	}
	return d.mode
}

func (d Disk) folderMode() fs.FileMode {
	if d.mode == 0 {
		return 0o755
	}
	return d.mode | d.mode&0o444>>2
}

// New returns the operating system's disk, as the zero value is.
func New() Disk { return Disk{} }

// WriteFile replaces the file at path by what write writes, or creates it.
// When WriteFile returns nil, the new bytes and the name are on stable storage;
// on error the old file is untouched. At no time does path hold half a file.
func (d Disk) WriteFile(path string, write func(io.Writer) error) error {
	return d.WriteFileMode(path, d.fileMode(), write)
}

// WriteFileMode is WriteFile with the permissions of the new file, such as 0o600 for a key.
func (d Disk) WriteFileMode(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := d.temporary(path, mode)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(f, 64<<10)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.syncData()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), d.discard(f.path))
	}
	if err := d.rename(f.path, path); err != nil {
		return errors.Join(describe("write", path, err), d.discard(f.path))
	}
	return d.SyncDir(filepath.Dir(path))
}

// Append adds line and a newline to the file at path, which is created if need be.
// When Append returns nil the line is on stable storage. An unfinished last line,
// left by a crash and so never acknowledged, is cut off first; after an error the
// file is as it was, as far as the disk still allows.
func (d Disk) Append(path string, line []byte) (err error) {
	f, err := d.Open(path)
	if err != nil {
		return err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	end, err := wholeLines(f, f.Size())
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	if end < f.Size() {
		if err := f.Truncate(end); err != nil {
			return err
		}
	}
	whole := make([]byte, 0, len(line)+1)
	whole = append(append(whole, line...), '\n')
	if _, err := f.Write(whole); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	return f.Sync()
}

// Overwrite sets the bytes at the given offsets of the file at path to b. A crash leaves each of them as it was or as
// it is to be, and nothing else changes. When Overwrite returns nil all are on stable storage. Offsets beyond the end
// fail.
func (d Disk) Overwrite(path string, at []int64, b byte) (err error) {
	f, err := d.open(path, os.O_RDWR, d.fileMode())
	if err != nil {
		return err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	for _, offset := range at {
		if offset < 0 || offset >= f.Size() {
			return fmt.Errorf("overwrite %s: byte %d of %d", path, offset, f.Size())
		}
	}
	for _, offset := range at {
		if err := f.overwrite(offset, b); err != nil {
			return describe("overwrite", path, err)
		}
	}
	return f.syncData()
}

// wholeLines returns the offset after the last newline of the first size bytes of r.
func wholeLines(r io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 4096)
	for end := size; end > 0; {
		start := max(0, end-int64(len(buf)))
		part := buf[:end-start]
		if _, err := r.ReadAt(part, start); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] == '\n' {
				return start + int64(i) + 1, nil
			}
		}
		end = start
	}
	return 0, nil
}

// Rename moves the file or folder old to the name new, replacing a file there.
// When Rename returns nil the change of both folders is on stable storage. The
// bytes of the file are not: sync them before, through File.Sync.
func (d Disk) Rename(old, new string) error {
	if err := d.rename(old, new); err != nil {
		return describe("rename to "+new, old, err)
	}
	if err := d.SyncDir(filepath.Dir(new)); err != nil {
		return err
	}
	if filepath.Dir(old) == filepath.Dir(new) {
		return nil
	}
	return d.SyncDir(filepath.Dir(old))
}

// Link gives the file old a second name new, durably. It fails with fs.ErrExist
// when new exists, and so never replaces anything.
func (d Disk) Link(old, new string) error {
	if err := d.link(old, new); err != nil {
		return describe("link to "+new, old, err)
	}
	if d.mode != 0 {
		if err := os.Chmod(new, d.mode); err != nil {
			return describe("set the permissions of", new, err)
		}
	}
	return d.SyncDir(filepath.Dir(new))
}

// RemoveAt removes files of the folder dir, durably: the folder is synced once, after the last of them. Names that are
// not there are passed over. After an error some may be gone, and may come back after a crash.
func (d Disk) RemoveAt(dir string, names []string) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := d.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return describe("remove", path, err)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return d.SyncDir(dir)
}

// Remove removes the file or empty folder at path, durably.
func (d Disk) Remove(path string) error {
	if err := d.remove(path); err != nil {
		return describe("remove", path, err)
	}
	return d.SyncDir(filepath.Dir(path))
}

// RemoveAll removes path and everything beneath it, durably. It is no error if path does not exist.
func (d Disk) RemoveAll(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := d.removeAll(path); err != nil {
		return describe("remove", path, err)
	}
	return d.SyncDir(filepath.Dir(path))
}

// MkdirAll makes the folder at path and every missing folder above it, durably.
func (d Disk) MkdirAll(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		if !info.IsDir() {
			return describe("make folder", path, syscall.ENOTDIR)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return describe("make folder", path, err)
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := d.MkdirAll(parent); err != nil {
			return err
		}
	}
	err = d.mkdir(path)
	if err == nil && d.mode != 0 {
		err = os.Chmod(path, d.folderMode())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return describe("make folder", path, err)
	}
	return d.SyncDir(parent)
}

// SyncDir puts the names in the folder dir (files made, renamed, removed) on stable storage.
func (d Disk) SyncDir(dir string) error {
	if err := d.syncDir(dir); err != nil {
		return describe("sync folder", dir, err)
	}
	return nil
}

// CleanTemporary removes what interrupted WriteFile calls left in the folder dir.
// Call it when nothing writes there, as at start.
func (d Disk) CleanTemporary(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return describe("list folder", dir, err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), temporaryMark) || e.IsDir() {
			continue
		}
		if err := d.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Free returns the bytes that an unprivileged user may still write to the file
// system that holds path, and its total size.
func (d Disk) Free(path string) (free, total uint64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, 0, describe("ask the free space of", path, err)
	}
	size := uint64(st.Bsize)
	return st.Bavail * size, st.Blocks * size, nil
}

// Room returns what Free does for all of the paths together, less the reserve of each file system. A file system that
// holds several of the paths counts once. Paths that
// cannot be asked are left out.
func (d Disk) Room(paths []string, reserve uint64) (free, total uint64) {
	seen := make(map[uint64]bool)
	for _, path := range paths {
		var st syscall.Stat_t
		if err := syscall.Stat(path, &st); err != nil || seen[uint64(st.Dev)] {
			continue
		}
		f, t, err := d.Free(path)
		if err != nil {
			continue
		}
		seen[uint64(st.Dev)] = true
		free, total = free+f-min(f, reserve), total+t
	}
	return free, total
}

// discard removes a temporary file; it need not be durable, for nobody relies on it.
func (d Disk) discard(path string) error {
	if err := d.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return describe("remove", path, err)
	}
	return nil
}

// describe wraps err once with the act and the path, and marks a full disk.
func describe(what, path string, err error) error {
	return fmt.Errorf("%s %s: %w", what, path, full(bare(err)))
}

// bare takes off the os wrappers that repeat operation and path.
func bare(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}

// full adds ErrFull to an error that says so in the system's words.
func full(err error) error {
	if errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFull, err)
}
