package raft

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"holdfast/internal/disk"
)

// pointerName is the file that names the folder of the valid state.
const pointerName = "current"

// state is the agreed state on this node's disk: a folder per store and a pointer to the valid one. An
// install makes a new store and moves the pointer; readers of the old one finish first.
type state struct {
	dir      string
	disk     disk.Disk
	log      *slog.Logger
	cacheMiB int
	step     func(name string) error // tests make the node crash at a named step

	mu      sync.RWMutex
	current *store
	number  int // of the highest folder in use
	closed  bool

	pointing sync.Mutex     // held while the pointer is written
	marking  sync.Mutex     // of who writes a marker, or rewrites the store
	retiring sync.WaitGroup // stores that wait for their last reader
	changed  *notice        // announces each commit and install
	watches  *watches
}

// openState opens the state in dir, removes the remains of an unfinished install, and makes an empty state if there
// has never been one. With fresh false, a missing pointer is an error: there was a state.
func openState(
	dir string, d disk.Disk, cacheMiB int, fresh bool, step func(string) error, log *slog.Logger,
) (*state, error) {
	s := &state{
		dir: dir, disk: d, log: log, cacheMiB: cacheMiB, step: step, changed: newNotice(), watches: newWatches(),
	}
	if err := d.MkdirAll(dir); err != nil {
		return nil, err
	}
	if err := d.CleanTemporary(dir); err != nil {
		return nil, err
	}
	number, err := s.pointer()
	switch {
	case errors.Is(err, fs.ErrNotExist) && fresh:
		number = 0
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: there is a raft log but no state: %w", ErrDamaged, err)
	case err != nil:
		return nil, err
	}
	if err := s.tidy(number); err != nil {
		return nil, err
	}
	if number == 0 {
		return s, s.begin()
	}
	if _, err := os.Stat(s.folder(number)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	s.number = number
	if s.current, err = openStore(s.folder(number), d, cacheMiB, log); err != nil {
		return nil, err
	}
	if err := s.settle(); err != nil {
		return nil, errors.Join(err, s.current.close())
	}
	return s, nil
}

func (s *state) folder(number int) string { return filepath.Join(s.dir, strconv.Itoa(number)) }

// pointer reads which folder is valid.
func (s *state) pointer() (int, error) {
	path := filepath.Join(s.dir, pointerName)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("open the state: %w", err)
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || number < 1 {
		return 0, fmt.Errorf("%w: %s should hold a folder's number, not %.20q", ErrDamaged, path, text)
	}
	return number, nil
}

// tidy removes every folder but the valid one.
func (s *state) tidy(valid int) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("open the state: %w", err)
	}
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil || number == valid || !e.IsDir() {
			continue
		}
		if err := s.step("tidy"); err != nil {
			return err
		}
		s.log.Info("an unfinished or outdated state is removed", "folder", e.Name())
		if err := s.disk.RemoveAll(filepath.Join(s.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// begin makes the first, empty store.
func (s *state) begin() error {
	if err := s.step("begin"); err != nil {
		return err
	}
	first, err := openStore(s.folder(1), s.disk, s.cacheMiB, s.log)
	if err != nil {
		return err
	}
	if err := s.publish(first, 1); err != nil {
		return errors.Join(err, first.close())
	}
	s.current, s.number = first, 1
	return nil
}

// publish syncs a store and points to it.
func (s *state) publish(next *store, number int) error {
	s.pointing.Lock()
	defer s.pointing.Unlock()
	return s.point(next, number)
}

// replace publishes and adopts a store in the place of another one, unless one that was received is to take that place.
func (s *state) replace(old, next *store, number int) error {
	s.pointing.Lock()
	defer s.pointing.Unlock()
	if valid, err := s.pointer(); err != nil {
		return err
	} else if s.folder(valid) != old.dir {
		return errReplaced
	}
	if err := s.point(next, number); err != nil {
		return err
	}
	s.adopt(next)
	return nil
}

// point syncs a store and points to it.
func (s *state) point(next *store, number int) error {
	if err := syncFolder(next.dir, "", s.disk); err != nil {
		return err
	}
	if err := s.disk.SyncDir(s.dir); err != nil {
		return err
	}
	if err := s.step("synced"); err != nil {
		return err
	}
	if err := s.writePointer(number); err != nil {
		return err
	}
	return s.step("pointed")
}

// writePointer writes which folder is valid. After an error it is the one that was, as far as the disk still allows:
// the file may have its new name although that is not on stable storage, and the new folder is removed.
func (s *state) writePointer(number int) error {
	write := func(number int) error {
		path := filepath.Join(s.dir, pointerName)
		return s.disk.WriteFile(path, writeBytes([]byte(strconv.Itoa(number)+"\n")))
	}
	before, unknown := s.pointer()
	err := write(number)
	if err == nil || unknown != nil {
		return err
	}
	if now, unread := s.pointer(); unread != nil || now != before {
		err = errors.Join(err, write(before))
	}
	return err
}

// settle makes the state that was found whole. After a power cut a batch may be missing while a later one is
// there: the state then goes back to before the gap, and the log is applied again from there.
func (s *state) settle() error {
	cur := s.current
	if cur.position.Index < cur.marker.Synced {
		return fmt.Errorf("%w: the state in %s ends at index %d, but it was synced up to index %d",
			ErrDamaged, cur.dir, cur.position.Index, cur.marker.Synced)
	}
	whole, err := cur.unbroken()
	if err != nil {
		return err
	}
	if whole == cur.position.Index {
		return cur.mark(max(whole, cur.marker.Index), cur.markerTerm())
	}
	s.log.Warn("batches were lost in a power cut and are applied again", "from", whole, "to", cur.position.Index)
	if err := s.step("gap"); err != nil {
		return err
	}
	return s.rewind(whole)
}

// rewind makes a store with the state as it was at an earlier version and adopts it.
func (s *state) rewind(version uint64) error {
	old := s.current
	if version == 0 {
		s.number++
		next, err := openStore(s.folder(s.number), s.disk, s.cacheMiB, s.log)
		if err != nil {
			return err
		}
		if err := s.publish(next, s.number); err != nil {
			return errors.Join(err, next.close())
		}
		s.adopt(next)
		return nil
	}
	pos, err := old.positionAt(version)
	if err != nil {
		return err
	}
	out, in := io.Pipe()
	var copying sync.WaitGroup
	copying.Go(func() { in.CloseWithError(writeStream(in, old, streamHead{Index: version, Term: pos.Term})) })
	next, err := s.install(out, func(streamHead) error { return nil })
	out.CloseWithError(io.ErrClosedPipe)
	copying.Wait()
	if err != nil {
		return err
	}
	s.adopt(next)
	return nil
}

// adopt makes next the valid store. The old one is closed and removed when its last reader has finished.
func (s *state) adopt(next *store) {
	s.mu.Lock()
	old := s.current
	s.current = next
	s.mu.Unlock()
	s.retiring.Go(func() {
		err := old.close()
		if err == nil {
			err = s.disk.RemoveAll(old.dir)
		}
		if err != nil {
			s.log.Error("the outdated state could not be removed", "folder", old.dir, "error", err)
		}
	})
	s.changed.announce()
	s.watches.installed()
}

// store returns the valid store, for its one writer.
func (s *state) store() *store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// pin returns the valid store with its present version pinned, or ErrStopped.
func (s *state) pin() (*store, uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, 0, ErrStopped
	}
	return s.current, s.current.pin(), nil
}

// pinMarker returns the valid store with its marker's version pinned.
func (s *state) pinMarker() (*store, marker, configuration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	m, c := s.current.pinMarker()
	return s.current, m, c
}

// view calls fn with one consistent version of the state.
func (s *state) view(fn func(reader) error) error {
	st, version, err := s.pin()
	if err != nil {
		return err
	}
	defer st.unpin(version)
	return st.viewAt(version, fn)
}

// close waits for all readers and closes the state.
func (s *state) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.retiring.Wait()
	return s.store().close()
}

// configured returns the index of the configuration that is applied here, and false while it lacks servers of the
// latest.
func (s *state) configured(latest configuration) (index uint64, ok bool) {
	st := s.store()
	st.mu.Lock()
	applied := st.configuration
	st.mu.Unlock()
	for _, server := range latest.Servers {
		if in, _ := applied.has(server.ID); !in {
			return 0, false
		}
	}
	return applied.Index, true
}
