// Package index finds captures by URL and time, and payloads by digest.
//
// It holds the captures of the WARC files on this node, in Badger. It is derived: everything in it can be made again
// from the files. A file's captures appear all at once, when the last transaction of its Add names the file, and
// disappear all at once when Remove removes the name.
package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"holdfast/internal/disk"
	"holdfast/internal/kv"
)

// ErrClosed reports the use of an index after Close.
var ErrClosed = errors.New("index is closed")

// ErrLoading reports the use of an index while Load fills it.
var ErrLoading = errors.New("index is being loaded")

// ErrNotEmpty reports a Load into an index that already holds files.
var ErrNotEmpty = errors.New("index is not empty")

// ErrInUse reports that another process has the index open.
var ErrInUse = kv.ErrInUse

// Config holds the settings of an index.
type Config struct {
	Dir       string    // where it lies; made if absent
	MemoryMiB int       // what caches and write buffers may take; default 64, at least 16
	Disk      disk.Disk // how markers are written; the zero value is the real disk
}

// Index is an open index. Its methods may be called concurrently.
type Index struct {
	cfg     Config
	log     *slog.Logger
	db      *badger.DB
	gate    gate
	files   files
	wake    chan struct{} // tells the purger that there is work
	purging sync.Mutex    // one pass at a time
	stop    context.CancelFunc
	ctx     context.Context // of the index as a whole: done when Close begins
	done    sync.WaitGroup  // the purger
}

// loadMarker is the file that says a Load has begun and not ended.
const loadMarker = "LOADING"

// databaseDir is the folder of the database.
const databaseDir = "badger"

// Open opens the index in cfg.Dir, or makes it. The remains of an interrupted Add are purged in the background; an
// interrupted Load leaves an empty index.
func Open(cfg Config, log *slog.Logger) (*Index, error) {
	if cfg.MemoryMiB == 0 {
		cfg.MemoryMiB = 64
	}
	cfg.MemoryMiB = max(cfg.MemoryMiB, 16)
	marker := filepath.Join(cfg.Dir, loadMarker)
	if _, err := os.Stat(marker); err == nil {
		log.Warn("index load was interrupted; starting empty", "dir", cfg.Dir)
		if err := cfg.Disk.RemoveAll(filepath.Join(cfg.Dir, databaseDir)); err != nil {
			return nil, fmt.Errorf("drop half-loaded index %s: %w", cfg.Dir, err)
		}
		if err := cfg.Disk.Remove(marker); err != nil {
			return nil, fmt.Errorf("drop marker of half-loaded index %s: %w", cfg.Dir, err)
		}
	}
	if err := cfg.Disk.MkdirAll(filepath.Join(cfg.Dir, databaseDir)); err != nil {
		return nil, fmt.Errorf("make index folder %s: %w", cfg.Dir, err)
	}
	db, err := kv.Open(badgerOptions(cfg), log)
	if err != nil {
		return nil, fmt.Errorf("open index %s: %w", cfg.Dir, err)
	}
	x := &Index{cfg: cfg, log: log, db: db, wake: make(chan struct{}, 1)}
	x.gate.init()
	if err := x.files.init(db); err != nil {
		return nil, errors.Join(fmt.Errorf("read files of index %s: %w", cfg.Dir, err), db.Close())
	}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.done.Add(1)
	go x.purger()
	return x, nil
}

// badgerOptions divides the memory: write buffers (three at most at once), then caches.
func badgerOptions(cfg Config) badger.Options {
	memory := int64(cfg.MemoryMiB) << 20
	return badger.DefaultOptions(filepath.Join(cfg.Dir, databaseDir)).
		WithMetricsEnabled(false).
		WithDetectConflicts(false).
		WithSyncWrites(true).
		WithNumVersionsToKeep(1).
		WithValueThreshold(maxValue + 1). // all values lie beside their keys
		WithMemTableSize(memory / 4).
		WithNumMemtables(2).
		WithBlockCacheSize(memory / 8).
		WithIndexCacheSize(memory / 8).
		WithNumCompactors(2).
		WithCompression(options.Snappy).
		WithValueLogFileSize(1 << 20)
}

// Close ends what is under way and closes the index.
func (x *Index) Close() error {
	if !x.gate.close(x.stop) {
		return nil
	}
	x.done.Wait()
	if err := x.db.Close(); err != nil {
		return fmt.Errorf("close index %s: %w", x.cfg.Dir, err)
	}
	return nil
}

// Status describes the content of the index.
type Status struct {
	Files    int   // whose captures answer
	Captures int64 // of these files
	Adding   int   // files being read now
	Purging  int   // files removed, or read in part, whose captures still take room
}

// Status returns a description of the index's content.
func (x *Index) Status() Status { return x.files.status() }

// gate counts the calls under way, so that Close and Load can wait for them.
type gate struct {
	mu        sync.Mutex
	idle      *sync.Cond
	active    int
	closed    bool
	exclusive bool
	failed    error // why there is no longer a database, nil if there is
}

func (g *gate) init() { g.idle = sync.NewCond(&g.mu) }

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case g.failed != nil:
		return g.failed
	case g.exclusive:
		return ErrLoading
	}
	g.active++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active--
	g.idle.Broadcast()
}

// fail lets every call from now on end with that error.
func (g *gate) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed = err
}

func (g *gate) leaveAlone() {
	g.mu.Lock()
	g.exclusive = false
	g.mu.Unlock()
	g.leave()
}

// enterAlone enters when nobody else is inside; others are refused until leaveAlone.
func (g *gate) enterAlone() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case g.failed != nil:
		return g.failed
	case g.exclusive:
		return ErrLoading
	}
	g.exclusive = true
	for g.active > 0 {
		g.idle.Wait()
	}
	if g.closed {
		g.exclusive = false
		return ErrClosed
	}
	g.active++
	return nil
}

// close refuses newcomers, calls stop and waits for those inside. It is false the second time.
func (g *gate) close(stop func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.closed = true
	stop()
	for g.active > 0 {
		g.idle.Wait()
	}
	return true
}

// uint32Key returns prefix and number as a key.
func uint32Key(prefix byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{prefix}, n)
}
