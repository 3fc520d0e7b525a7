package replica

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// A new copy is read back when it has lain on the disk for a while, so that the page cache does not answer in place of
// the disk: a fault of the writing shows within a day, not at the shard's next audit.
const (
	freshAfter = time.Hour
	freshFlush = 10 * time.Second // a power cut forgets the copies of the last seconds: audits read them
	freshMost  = 200_000          // remembered; what comes beyond is read by audits
	freshGone  = 10_000           // names read back before the whole list is written again
)

// freshCopy is a copy that came, and has not been read back.
type freshCopy struct {
	name catalog.FileName
	came time.Time
}

// freshCopies are the copies of a store that have not been read back, in the order in which they came, in memory and in
// a file of lines: milliseconds since 1970, a space, the name. It is safe for concurrent use.
type freshCopies struct {
	path string // none: they are in memory alone
	disk disk.Disk

	mu      sync.Mutex
	waiting []freshCopy
	unsaved int // of the last ones, not in the file yet
	gone    int // in the file, and read back
	dropped int64
}

// openFresh reads the list. One that cannot be read is replaced by an empty one: audits read what was on it.
func openFresh(path string, d disk.Disk) (*freshCopies, error) {
	f := &freshCopies{path: path, disk: d}
	if path == "" {
		return f, nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("read the list of new copies: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		stamp, name, ok := bytes.Cut(lines.Bytes(), []byte(" "))
		ms, err := strconv.ParseInt(string(stamp), 10, 64)
		if !ok || err != nil || checkName(catalog.FileName(name)) != nil {
			continue // torn by a crash
		}
		f.add(catalog.FileName(name), time.UnixMilli(ms))
	}
	f.unsaved = 0
	return f, lines.Err()
}

// add notes a copy that came.
func (f *freshCopies) add(name catalog.FileName, came time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) >= freshMost {
		f.dropped++
		return
	}
	f.waiting = append(f.waiting, freshCopy{name, came})
	f.unsaved++
}

// next takes the first copy that is to be read back now; else it says how long to wait for one.
func (f *freshCopies) next(now time.Time) (name catalog.FileName, pause time.Duration, there bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return "", freshAfter, false
	}
	one := f.waiting[0]
	if age := now.Sub(one.came); age >= 0 && age < freshAfter { // a stamp of the future is of a clock that was wrong
		return "", freshAfter - age, false
	}
	f.waiting = f.waiting[1:]
	if f.unsaved > len(f.waiting) {
		f.unsaved = len(f.waiting)
	} else {
		f.gone++
	}
	return one.name, 0, true
}

// left returns how many copies wait to be read back, and how many were not remembered.
func (f *freshCopies) left() (waiting int, dropped int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.waiting), f.dropped
}

// save brings the file up to date.
func (f *freshCopies) save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" || f.unsaved == 0 && f.gone < freshGone && (f.gone == 0 || len(f.waiting) > 0) {
		return nil
	}
	if f.gone >= freshGone || len(f.waiting) == 0 {
		if err := f.disk.WriteFile(f.path, func(w io.Writer) error { return writeFresh(w, f.waiting) }); err != nil {
			return err
		}
		f.unsaved, f.gone = 0, 0
		return nil
	}
	file, err := f.disk.Open(f.path)
	if err != nil {
		return err
	}
	before := file.Size()
	err = writeFresh(file, f.waiting[len(f.waiting)-f.unsaved:])
	if err == nil {
		err = file.Sync()
	} else {
		err = errors.Join(err, file.Truncate(before))
	}
	if err = errors.Join(err, file.Close()); err == nil {
		f.unsaved = 0
	}
	return err
}

func writeFresh(w io.Writer, some []freshCopy) error {
	var text []byte
	for _, one := range some {
		text = fmt.Appendf(text, "%d %s\n", one.came.UnixMilli(), one.name)
		if len(text) > 64<<10 {
			if _, err := w.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
	}
	_, err := w.Write(text)
	return err
}

// backReader reads new copies back from the disk.
type backReader struct {
	*findings
	own  func(ctx context.Context, name catalog.FileName) (Held, error) // reads the copy, not the outbox
	pace *limiter
}

// run reads back what is due, at the pace of audits. What is wrong is reported as an audit would.
func (r *backReader) run(ctx context.Context) error {
	saved := time.Now()
	for {
		name, pause, due := r.store.fresh.next(time.Now())
		if due {
			switch err := r.readBack(ctx, name); {
			case err == nil || ctx.Err() != nil:
			case errors.Is(err, ErrBusy): // soon again, behind the others
				r.store.fresh.add(name, time.Now().Add(-freshAfter))
				if err := sleep(ctx, time.Second); err != nil {
					return err
				}
			default:
				r.store.fresh.add(name, time.Now())
				r.log.Info("a new copy could not be read back yet", "file", name, "err", err)
			}
		}
		if time.Since(saved) >= freshFlush {
			saved = time.Now()
			if err := r.store.fresh.save(); err != nil {
				r.log.Warn("the list of new copies could not be saved", "err", err)
			}
		}
		if due {
			if err := ctx.Err(); err != nil {
				return err
			}
			continue
		}
		if err := sleep(ctx, min(pause, freshFlush)); err != nil {
			return err
		}
	}
}

// errNotReported is about a copy that is here and that the catalog does not count on yet.
var errNotReported = errors.New("the catalog does not count on it yet")

func owedStill(c *catalog.Copy) bool { return !c.Surplus && c.State != catalog.UploadCompleted }

// readBack reads one copy, if the archive still counts on it.
func (r *backReader) readBack(ctx context.Context, name catalog.FileName) error {
	f, good, err := r.mine(name)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil // it went
	}
	if err != nil {
		return err
	}
	if !good {
		if c := f.Copy(r.cfg.Replica); c != nil && owedStill(c) && r.store.Has(name) {
			return errNotReported
		}
		return nil // it went, or is looked after already
	}
	if err := r.pace.wait(ctx, int(min(f.Size, 1<<30))); err != nil {
		return err
	}
	got, err := r.own(ctx, name)
	switch {
	case errors.Is(err, ErrNotHere): // reported as missing
		return nil
	case err != nil:
		return err
	case got != heldAs(f):
		r.log.Error("a new copy was read back from the disk and is not right", "file", name, "sha256", got.SHA256)
	}
	return nil
}
