package raft

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/raft-wal/types"

	"holdfast/internal/disk"
)

// aheadBytes is how much of a log file is written with zeros at a time.
const aheadBytes = 1 << 20

// openFile is what both kinds of the library's files are.
type openFile interface {
	types.WritableFile
	syscall.Conn
	Stat() (os.FileInfo, error)
}

// tail is a file of the log that is written to. Its room is set aside, but a file system has to note every part of
// that room that is written for the first time, and a sync waits for this. So the tail writes zeros behind the log's
// end, much at once: a later sync has to write the log's own bytes only. What is behind the log's end counts for
// nothing, and is zero in a new file too.
type tail struct {
	openFile
	size   int64
	filled int64       // up to here zeros were written, or the log
	synced atomic.Bool // with all metadata
}

// asTail makes a tail of a file that the library has opened.
func asTail(file types.WritableFile, err error) (types.WritableFile, error) {
	if err != nil {
		return nil, err
	}
	f, ok := file.(openFile)
	if !ok {
		return file, nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &tail{openFile: f, size: info.Size()}, nil
}

// WriteAt writes to the log's end. The library calls it from one goroutine at a time.
func (t *tail) WriteAt(p []byte, at int64) (int, error) {
	n, err := t.openFile.WriteAt(p, at)
	if end := at + int64(n); err == nil && end > t.filled {
		t.fill(end)
	}
	return n, err
}

// fill writes zeros from the log's end up to the next multiple of aheadBytes. Where it cannot, the log is only slower.
func (t *tail) fill(end int64) {
	t.filled = min((end/aheadBytes+1)*aheadBytes, t.size)
	if end < t.filled {
		_, _ = t.openFile.WriteAt(make([]byte, t.filled-end), end)
	}
}

// Sync puts what was written on stable storage.
func (t *tail) Sync() error {
	if t.synced.Load() {
		return disk.SyncData(t.openFile)
	}
	err := t.openFile.Sync()
	t.synced.Store(err == nil)
	return err
}
