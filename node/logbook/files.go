package logbook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/internal/disk"
)

const (
	current    = "holdfast.log"   // name of the file that is written; older ones have .1, .2 and so on after it
	queueBytes = 1 << 20          // most that waits to be written
	maxLine    = 256 << 10        // a longer line is left out of the files
	retryEvery = 30 * time.Second // pause after which a disk that failed is tried again
	lookEvery  = 1 << 20          // bytes after which the room on the disk is looked at again
	endWait    = 2 * time.Second  // for a disk that does not answer, at the end
)

// files are the files of a log. Write never waits for the disk: a goroutine writes.
type files struct {
	cfg  Config
	said *slog.Logger // set before run

	mu    sync.Mutex
	queue []waiting
	bytes int
	lost  uint64 // lines that were left out since the last one that waits
	over  bool
	fault string    // why the first of the lines could not be written that are missing; empty: the last one was written
	left  int       // lines that are not written yet
	at    time.Time // when the last one of them was written, or the first came; zero: none is left

	wake chan struct{} // something waits, or it is over
	done chan struct{}

	// of the goroutine that writes
	file    *disk.File
	since   int // bytes since the room was looked at
	broken  time.Time
	missing uint64 // lines that are not in the file since the last one that is
}

// waiting is a line that waits to be written. Before it, lost lines were left out.
type waiting struct {
	line []byte
	lost uint64
}

func newFiles(cfg Config) *files {
	cfg.Size = max(cfg.Size, 4<<10)
	return &files{cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// Write takes a line. It always takes it: what cannot be written is counted.
func (f *files) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || f.bytes+len(line) > queueBytes || len(line) > maxLine {
		f.lost++
		return len(line), nil
	}
	f.queue = append(f.queue, waiting{append([]byte(nil), line...), f.lost})
	f.bytes, f.lost = f.bytes+len(line), 0
	if f.left++; f.left == 1 {
		f.at = time.Now()
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return len(line), nil
}

// run writes until close.
func (f *files) run() {
	defer close(f.done)
	f.tidy()
	for {
		<-f.wake
		f.mu.Lock()
		batch, over := f.queue, f.over
		f.queue, f.bytes = nil, 0
		f.mu.Unlock()
		for _, w := range batch {
			f.put(w)
			f.moved()
		}
		if over {
			f.finish()
			return
		}
	}
}

// moved notes that a line was written, or given up.
func (f *files) moved() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left > 0 {
		f.at = time.Now()
	} else {
		f.at = time.Time{}
	}
}

// failed notes why lines cannot be written, as the first one said that could not; empty: the last one was written.
func (f *files) failed(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == "" || why == "" {
		f.fault = why
	}
}

// failing says why lines are not written, if so.
func (f *files) failing(now time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && now.Sub(f.at) >= retryEvery {
		return "its disk does not answer"
	}
	return f.fault
}

// close writes what waits and ends. It reports false when the disk does not answer.
func (f *files) close() bool {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	timer := time.NewTimer(endWait)
	defer timer.Stop()
	select {
	case <-f.done:
		return true
	case <-timer.C:
		return false
	}
}

// finish ends the file, also if it could not be written: nothing more can be done about its lines.
func (f *files) finish() {
	f.mu.Lock()
	f.missing += f.lost
	f.lost = 0
	f.mu.Unlock()
	if f.missing > 0 && f.file != nil {
		_ = f.append(f.gap(f.missing))
	}
	if f.file != nil {
		_ = f.file.Close()
	}
}

// put writes a line, or counts it as missing. The first of several failures is said, and that it is over.
func (f *files) put(w waiting) {
	f.missing += w.lost
	if !f.broken.IsZero() && time.Since(f.broken) < retryEvery {
		f.missing++
		return
	}
	err := f.write(w.line)
	switch {
	case err != nil:
		f.missing++
		f.failed(err.Error())
		first := f.broken.IsZero()
		f.broken = time.Now()
		if f.file != nil {
			_ = f.file.Close() // it is opened again
			f.file = nil
		}
		if first {
			f.said.Error("log file cannot be written; the node goes on without it", "folder", f.cfg.Dir, "error", err)
		}
	case !f.broken.IsZero():
		f.broken = time.Time{}
		f.failed("")
		f.said.Warn("log file is written again", "folder", f.cfg.Dir)
	}
}

// write appends a line to the current file, after having begun a new one if there is no room in it. Before it says how
// many lines are missing there.
func (f *files) write(line []byte) error {
	if err := f.ready(len(line)); err != nil {
		return err
	}
	if f.missing > 0 {
		if err := f.append(f.gap(f.missing)); err != nil {
			return err
		}
		f.missing = 0
	}
	return f.append(line)
}

// gap is a line that says that others are missing.
func (f *files) gap(missing uint64) []byte {
	var b strings.Builder
	r := slog.NewRecord(time.Now(), slog.LevelWarn, "lines are missing here", 0)
	r.Add("room", "logbook", "lines", missing)
	h := slog.Handler(slog.NewTextHandler(&b, nil))
	if f.cfg.JSON {
		h = slog.NewJSONHandler(&b, nil)
	}
	_ = h.Handle(context.Background(), r) // a builder takes everything
	return []byte(b.String())
}

// append writes bytes at the end of the file. What is there of them after a failure is cut off.
func (f *files) append(line []byte) error {
	end := f.file.Size()
	if _, err := f.file.Write(line); err != nil {
		return errors.Join(err, f.file.Truncate(end))
	}
	f.since += len(line)
	return nil
}

// ready opens the file, or begins a new one, if need be.
func (f *files) ready(bytes int) error {
	if f.file == nil || f.since > lookEvery {
		f.since = 0
		if err := f.room(); err != nil {
			return err
		}
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	if f.file.Size() == 0 || f.file.Size()+int64(bytes) <= f.cfg.Size {
		return nil
	}
	if err := f.file.Close(); err != nil {
		f.file = nil
		return err
	}
	f.file = nil
	for i := f.cfg.Files - 1; i > 0; i-- { // the oldest is replaced
		if err := f.cfg.Disk.Rename(f.path(i-1), f.path(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if f.cfg.Files == 1 {
		if err := f.cfg.Disk.Remove(f.path(0)); err != nil {
			return err
		}
	}
	return f.open()
}

// room refuses to write on a disk that is nearly full: what is left there is for the node's databases.
func (f *files) room() error {
	if err := f.cfg.Disk.MkdirAll(f.cfg.Dir); err != nil {
		return err
	}
	free, _, err := f.cfg.Disk.Free(f.cfg.Dir)
	if err == nil && free < f.cfg.Least {
		err = fmt.Errorf("%w: %d bytes are free, and the log leaves %d", disk.ErrFull, free, f.cfg.Least)
	}
	return err
}

// open opens the current file. A line that a crash left half is ended.
func (f *files) open() error {
	file, err := f.cfg.Disk.Open(f.path(0))
	if err != nil {
		return err
	}
	f.file = file
	last := make([]byte, 1)
	if file.Size() == 0 {
		return nil
	}
	if _, err := file.ReadAt(last, file.Size()-1); err != nil {
		return fmt.Errorf("read the end of %s: %w", file.Name(), err)
	}
	if last[0] != '\n' {
		return f.append([]byte("\n"))
	}
	return nil
}

func (f *files) path(age int) string {
	path := filepath.Join(f.cfg.Dir, current)
	if age > 0 {
		path += "." + strconv.Itoa(age)
	}
	return path
}

// tidy removes files that are more than are to be kept, as of other settings.
func (f *files) tidy() {
	entries, err := os.ReadDir(f.cfg.Dir)
	if err != nil {
		return // there is none yet, or writing says what is wrong
	}
	for _, e := range entries {
		number, of := strings.CutPrefix(e.Name(), current+".")
		age, err := strconv.Atoi(number)
		if !of || err != nil || age < f.cfg.Files || strconv.Itoa(age) != number {
			continue
		}
		if err := f.cfg.Disk.Remove(f.path(age)); err != nil {
			f.said.Warn("old log file cannot be removed", "file", e.Name(), "error", err)
		}
	}
}
