package raft

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"holdfast/internal/disk"
)

// segments opens the files of the log. The library calls a file sealed once its end was cut off, as a follower does
// with entries that its leader never committed, but gives no index to it: it can then be read until the log is closed,
// and never after. Such a file is read as its last one is after a crash, frame by frame.
type segments struct{ *segment.Filer }

func newSegments(dir string, files types.VFS) segments { return segments{segment.NewFiler(dir, files)} }

// Open opens a file that is not the last.
func (s segments) Open(info types.SegmentInfo) (types.SegmentReader, error) {
	if info.IndexStart > 0 {
		return s.Filer.Open(info)
	}
	return s.RecoverTail(info)
}

// spareName is the file that becomes the log's next one.
const spareName = "spare"

// metaRoom is how much room the log's metadata is given once. Raft ends the process when it cannot write its term.
const metaRoom = 1 << 20

// spares is the log's file system, with the next file made in advance. The library makes it in the background, and if
// it has no room for it then, the log takes no more entries until the node is started again.
type spares struct {
	*fs.FS
	dir  string
	size int64
	disk disk.Disk
	held *ledger

	mu    sync.Mutex
	there bool
}

func newSpares(dir string, size int, d disk.Disk, held *ledger) *spares {
	return &spares{FS: fs.New(), dir: dir, size: int64(size), disk: d, held: held}
}

// ready makes the next file, if it is not there. It answers disk.ErrFull when the disk has no room for it.
func (s *spares) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.there {
		return nil
	}
	path := filepath.Join(s.dir, spareName)
	err := disk.Reserve(path, s.size)
	if err == nil {
		err = disk.Reserve(filepath.Join(s.dir, "wal-meta.db"), metaRoom)
	}
	if err == nil {
		err = os.Truncate(path, s.size)
	}
	if err != nil {
		return fmt.Errorf("make the raft log's next file: %w", err)
	}
	s.there = true
	return nil
}

// drop removes the spare file: its size may have changed.
func (s *spares) drop() error { return s.disk.RemoveAll(filepath.Join(s.dir, spareName)) }

// Create makes the named file, and notes that it is there.
func (s *spares) Create(dir, name string, size uint64) (types.WritableFile, error) {
	f, err := s.make(dir, name, size)
	if err == nil {
		s.held.note(func(h *held) { h.Files = append(h.Files, name) })
	}
	return f, err
}

// Delete notes that the file is to go, and removes it.
func (s *spares) Delete(dir, name string) error {
	gone := func(h *held) { h.Files = slices.DeleteFunc(h.Files, func(f string) bool { return f == name }) }
	if slices.Contains(s.held.now().Files, name) {
		if err := s.held.change(gone); err != nil {
			return err
		}
	}
	return s.FS.Delete(dir, name)
}

// OpenWriter opens the named file to write on where the log ends.
func (s *spares) OpenWriter(dir, name string) (types.WritableFile, error) {
	return asTail(s.FS.OpenWriter(dir, name))
}

// make makes the named file of the spare one.
func (s *spares) make(dir, name string, size uint64) (types.WritableFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.there || int64(size) != s.size {
		return asTail(s.FS.Create(dir, name, size))
	}
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); !errors.Is(err, iofs.ErrNotExist) {
		return nil, fmt.Errorf("make %s: %w", path, errors.Join(iofs.ErrExist, err))
	}
	s.there = false
	if err := s.disk.Rename(filepath.Join(s.dir, spareName), path); err != nil {
		return nil, err
	}
	return s.OpenWriter(dir, name)
}
