package raft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"holdfast/internal/disk"
	"holdfast/internal/kv"
)

// The state's own keys begin with a zero byte, which no catalog key does.
const (
	positionKey      = "\x00position"
	configurationKey = "\x00configuration"
)

// markerName is the file in a store's folder that says how far the store is known to be on stable storage.
const markerName = "marker.json"

// Sizes of a store's parts in memory.
const (
	memtableBytes = 16 << 20 // of one memtable; a transaction may hold 15 % of it
	reserveEvery  = 1 << 20  // bytes after which it is seen to that the next memtable has its room
)

// marker is the Raft snapshot marker of a store: everything up to Synced is on stable storage, and between
// Synced and Index there are only entries that do not touch the state.
type marker struct {
	Index  uint64 `json:"index"`
	Term   uint64 `json:"term"`
	Synced uint64 `json:"synced"`

	// Whole is the index at which the store came to be without a log: by an install, a founding or a recovery. The log
	// ends at the state's place or later once that is higher. nil: a store of an earlier version.
	Whole *uint64 `json:"whole,omitempty"`
}

// store is one folder of the state: a Badger database whose commit versions are Raft indexes. One goroutine
// writes; any number read at pinned versions.
type store struct {
	dir  string
	disk disk.Disk
	db   *badger.DB

	applied atomic.Uint64 // the version of the last commit
	memory  *remembered

	mu            sync.Mutex
	position      position
	configuration configuration
	marker        marker
	pins          map[uint64]int
	idle          *sync.Cond // signalled when a pin is taken off
	written       int64      // bytes until room is set aside again
}

// badgerOptions keeps the tables of all levels equally small: what merges them builds up to twenty at once, and each
// takes about ten times its size of memory while it is built.
func badgerOptions(dir string, cacheMiB int) badger.Options {
	o := badger.DefaultOptions(dir).
		WithMemTableSize(memtableBytes).
		WithNumMemtables(2).
		WithNumLevelZeroTables(3).
		WithNumLevelZeroTablesStall(8).
		WithNumCompactors(2).
		WithBaseTableSize(1 << 20).
		WithValueThreshold(1 << 20).
		WithValueLogFileSize(2 << 20).
		WithCompression(options.Snappy).
		WithBlockCacheSize(int64(cacheMiB) << 20).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithNumGoroutines(2)
	o.TableSizeMultiplier = 1
	return o
}

// openStore opens the folder dir, which is made if it is missing, and reads how far it has come.
func openStore(dir string, d disk.Disk, cacheMiB int, log *slog.Logger) (*store, error) {
	if err := d.MkdirAll(dir); err != nil {
		return nil, err
	}
	db, err := kv.OpenManaged(badgerOptions(dir, cacheMiB), log)
	if err != nil {
		return nil, fmt.Errorf("open the state in %s: %w", dir, err)
	}
	s := &store{dir: dir, disk: d, db: db, pins: make(map[uint64]int)}
	s.idle = sync.NewCond(&s.mu)
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the state in %s: %w", dir, err), db.Close())
	}
	return s, nil
}

// load reads position, configuration and marker.
func (s *store) load() error {
	r := reader{txn: s.db.NewTransactionAt(^uint64(0), false)}
	defer r.txn.Discard()
	value, err := r.own(positionKey)
	if err != nil {
		return err
	}
	if value != nil {
		if s.position, err = decodePosition(value); err != nil {
			return err
		}
	}
	if value, err = r.own(configurationKey); err != nil {
		return err
	}
	if value != nil {
		if s.configuration, err = decodeConfiguration(value); err != nil {
			return err
		}
	}
	s.applied.Store(s.position.Index)
	s.memory = newRemembered(s.position.Index)
	path := filepath.Join(s.dir, markerName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &s.marker); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	return nil
}

// commit writes the pending changes as version pos.Index and makes them what readers see. It need not be
// durable when it returns: the Raft log is.
func (s *store) commit(w *overlay, pos position, conf *configuration) error {
	if err := s.ready(w.bytes); err != nil {
		return err
	}
	txn := s.db.NewTransactionAt(s.applied.Load(), true)
	defer txn.Discard()
	var err error
	for i := 0; i < len(w.changes) && err == nil; i++ {
		if c := &w.changes[i]; c.deleted {
			err = txn.Delete(c.key)
		} else {
			err = txn.Set(c.key, c.value)
		}
	}
	if err == nil && conf != nil {
		err = txn.Set([]byte(configurationKey), conf.encode())
	}
	if err == nil {
		err = txn.Set([]byte(positionKey), pos.encode())
	}
	if err == nil {
		s.memory.writing(w, pos.Index)
		err = txn.CommitAt(pos.Index, nil)
	}
	if err != nil {
		return fmt.Errorf("write the state at index %d: %w", pos.Index, err)
	}
	s.mu.Lock()
	s.position = pos
	if conf != nil {
		s.configuration = *conf
	}
	s.mu.Unlock()
	s.applied.Store(pos.Index)
	return nil
}

// ready makes sure, once per MiB, that the room for the next memtable is set aside. It answers disk.ErrFull if there
// is none; then nothing may be written.
func (s *store) ready(bytes int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written > int64(bytes) {
		s.written -= int64(bytes) + 64
		return nil
	}
	if err := kv.Reserve(s.db); err != nil {
		return err
	}
	s.written = reserveEvery
	return nil
}

// pin keeps the present version readable until unpin.
func (s *store) pin() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.applied.Load()
	s.pins[version]++
	return version
}

// pinMarker keeps the marker's version readable until unpin.
func (s *store) pinMarker() (marker, configuration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins[s.marker.Index]++
	return s.marker, s.configuration
}

func (s *store) unpin(version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins[version]--; s.pins[version] == 0 {
		delete(s.pins, version)
	}
	s.idle.Broadcast()
}

// sync puts everything committed so far on stable storage.
func (s *store) sync() error {
	if err := s.db.Sync(); err != nil {
		return fmt.Errorf("sync the state in %s: %w", s.dir, err)
	}
	// Badger's Sync leaves out the memtables that wait to be flushed.
	return syncFolder(s.dir, ".mem", s.disk)
}

// syncFolder syncs the files of dir whose names end in suffix, oldest name first, and the folder.
func syncFolder(dir, suffix string, d disk.Disk) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // flushed to a table meanwhile, which is synced
		}
		if err != nil {
			return fmt.Errorf("sync %s: %w", dir, err)
		}
		err = f.Sync()
		if closing := f.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return fmt.Errorf("sync %s: %w", e.Name(), err)
		}
	}
	return d.SyncDir(dir)
}

// errOlderMarker reports that another store has come in the place of the one whose snapshot was being taken.
var errOlderMarker = errors.New("the state has a later marker")

// mark syncs the store and then writes the marker: the log up to index may be forgotten afterwards. A later marker
// stays, with errOlderMarker: the store took the place of the one that was at index, and may have nothing as old.
func (s *store) mark(index, term uint64) error {
	synced := s.applied.Load()
	if err := s.sync(); err != nil {
		return err
	}
	if marked := s.marked(); index < marked {
		return fmt.Errorf("%w: %d is before %d", errOlderMarker, index, marked)
	}
	return s.writeMarker(marker{Index: index, Term: term, Synced: min(synced, index), Whole: s.whole()})
}

// markerNow returns the store's marker.
func (s *store) markerNow() marker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marker
}

// whole returns where the store came to be without a log.
func (s *store) whole() *uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marker.Whole != nil {
		return s.marker.Whole
	}
	return new(max(s.position.Index, s.marker.Index)) // a store of an earlier version: from here on
}

// markWhole is mark for a store that has come this far without a log.
func (s *store) markWhole(index, term uint64) error {
	s.mu.Lock()
	s.marker.Whole = new(index)
	s.mu.Unlock()
	return s.mark(index, term)
}

// markerTerm returns the term of the entry at the later one of marker and position.
func (s *store) markerTerm() uint64 {
	if s.marker.Index > s.position.Index {
		return s.marker.Term
	}
	return s.position.Term
}

func (s *store) writeMarker(m marker) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := s.disk.WriteFile(filepath.Join(s.dir, markerName), writeBytes(append(text, '\n'))); err != nil {
		return err
	}
	s.mu.Lock()
	s.marker = m
	oldest := min(m.Index, m.Synced)
	for version := range s.pins {
		oldest = min(oldest, version)
	}
	s.mu.Unlock()
	s.db.SetDiscardTs(oldest)
	return nil
}

// viewAt calls fn with the state at a version that is pinned or the writer's own.
func (s *store) viewAt(version uint64, fn func(reader) error) error {
	txn := s.db.NewTransactionAt(version, false)
	defer txn.Discard()
	return fn(reader{txn: txn, memory: s.memory, version: version})
}

// close waits for the readers and closes the database.
func (s *store) close() error {
	s.mu.Lock()
	for len(s.pins) > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close the state in %s: %w", s.dir, err)
	}
	return nil
}
