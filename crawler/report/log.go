package report

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"holdfast/internal/disk"
)

// writeAt is how many bytes of lines a log gathers before it writes them.
const writeAt = 256 << 10

// Log is an append-only file of lines that can be taken back to an earlier size. Its methods may be called by several
// goroutines.
type Log struct {
	mu      sync.Mutex // of pending
	pending []byte

	file  sync.Mutex // of all below; taken before mu
	out   *disk.File
	spare []byte
	dirty bool // written to, not synced
	err   error
}

// OpenLog opens the log at path and cuts it to size, its size at the last commit.
func OpenLog(d disk.Disk, path string, size int64) (*Log, error) {
	f, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	if f.Size() > size {
		if err := f.Truncate(size); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return &Log{out: f}, nil
}

// OpenWholeLog opens the log at path and cuts off what follows its last whole line, as a crash may leave it. It is for
// logs whose lines are true whether or not what happened beside them was committed.
func OpenWholeLog(d disk.Disk, path string) (*Log, error) {
	end, err := endOfLines(path)
	if err != nil {
		return nil, fmt.Errorf("open log %s: %w", path, err)
	}
	return OpenLog(d, path, end)
}

// endOfLines returns the offset after the last newline of the file at path, 0 if there is none.
func endOfLines(path string) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if size == 0 {
		return 0, nil
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil {
		return 0, err
	}
	if last[0] == '\n' {
		return size, nil
	}
	r := backward{file: f, at: size}
	_, at, err := r.next()
	return at, err
}

// Add collects lines: add appends whole lines to the slice that it is given and returns it. They are written when
// there are many, or by Flush. Flush also returns errors of earlier writes.
func (l *Log) Add(add func([]byte) []byte) {
	l.mu.Lock()
	l.pending = add(l.pending)
	full := len(l.pending) >= writeAt
	l.mu.Unlock()
	if full {
		l.file.Lock()
		l.write()
		l.file.Unlock()
	}
}

// Flush puts all lines on stable storage and returns the log's size. After an error the log takes no more.
func (l *Log) Flush() (int64, error) {
	l.file.Lock()
	defer l.file.Unlock()
	l.write()
	if l.err == nil && l.dirty {
		l.err = l.out.Sync()
		l.dirty = l.err != nil
	}
	return l.out.Size(), l.err
}

// write writes the pending lines. The caller holds file.
func (l *Log) write() {
	l.mu.Lock()
	lines := l.pending
	l.pending = l.spare[:0]
	l.mu.Unlock()
	if len(lines) > 0 && l.err == nil {
		l.dirty = true
		_, l.err = l.out.Write(lines)
	}
	if l.spare = lines[:0]; cap(lines) > 4*writeAt {
		l.spare = nil
	}
}

// Append adds whole lines and returns the log's size. When it returns nil, these lines and those given to Add before
// are on stable storage.
func (l *Log) Append(lines []byte) (int64, error) {
	l.Add(func(b []byte) []byte { return append(b, lines...) })
	return l.Flush()
}

// Close writes pending lines, without making them durable, and closes the log.
func (l *Log) Close() error {
	l.file.Lock()
	defer l.file.Unlock()
	l.write()
	err := errors.Join(l.err, l.out.Close())
	if l.err == nil {
		l.err = os.ErrClosed
	}
	return err
}
