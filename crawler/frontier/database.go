package frontier

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"holdfast/internal/kv"
)

// store holds URIs and queues: those in the database, and those in batches that are not committed yet.
type store struct {
	cfg Config
	db  *badger.DB

	mu         sync.Mutex
	view       *badger.Txn // reads the last commit; a new one would wait for the commit under way
	batch      *Batch
	committing *Batch
	committed  chan struct{} // closed and replaced with every commit
	broken     error
	seq        uint64
	counters   Counters
	known      int64  // queues there ever were
	stored     totals // as of the last Take
	forgotten  atomic.Uint64
	seen       *seenCache
	filter     filter
	advised    time.Time // when the system was told how tables are read; Commit has it
}

// maxValue is the largest value that the database takes, in bytes: all cookies are one.
const maxValue = 16 << 20

// openDatabase opens the database. A transaction has room for a sixth of a memory table, which limits how much one
// commit can finish.
func openDatabase(dir string, log *slog.Logger) (*badger.DB, error) {
	opts := badger.DefaultOptions(dir).
		WithSyncWrites(true). // each commit is one transaction, or a few
		WithDetectConflicts(false).
		WithMemTableSize(32 << 20).WithNumMemtables(2).WithNumLevelZeroTables(4).WithNumLevelZeroTablesStall(8).
		WithBaseTableSize(8 << 20).WithBaseLevelSize(64 << 20).
		WithValueLogFileSize(maxValue).WithValueThreshold(768 << 10).
		WithNumCompactors(2).WithCompression(0).WithBlockCacheSize(0).WithIndexCacheSize(0).
		WithMetricsEnabled(false)
	// A compaction holds a dozen tables that are being built: large ones would be hundreds of MiB.
	opts.TableSizeMultiplier = 1
	return kv.Open(opts, log)
}

// get reads a key as the next commit will leave it.
func (f *store) get(key string) ([]byte, bool, error) {
	for _, b := range []*Batch{f.batch, f.committing} {
		if b == nil {
			continue
		}
		if op, ok := b.ops[key]; ok {
			return op.value, op.value != nil, nil
		}
	}
	item, err := f.view.Get([]byte(key))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	var value []byte
	if err == nil {
		value, err = item.ValueCopy(nil)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read frontier: %w", err)
	}
	return value, true, nil
}

// state reads the state of a URI: first from what is not committed yet, then from the database.
func (f *store) state(fp fingerprintBytes, key string) (seenState, bool, error) {
	v, ok, err := f.get(seenKey(fp))
	if err != nil || !ok {
		return seenState{}, false, err
	}
	s, err := decodeState(v, key)
	return s, err == nil, err
}

// Counters are the figures now, committed or not.
func (f *store) Counters() Counters {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counters
}

// Done reports the status that the URI known by key ended with.
func (f *store) Done(key string) (status int, done bool, err error) {
	_, status, done, err = f.Record(key)
	return status, done, err
}

// Record returns what was kept with the outcome of the URI known by key, nil if nothing was, and its status.
func (f *store) Record(key string) (record []byte, status int, done bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, known, err := f.state(fingerprint(key), key)
	return bytes.Clone(s.record), s.status, known && !s.queued, err
}

// Queued returns the URI known by key as it waits, or is in flight, in whatever queue; nil if it does not.
func (f *store) Queued(key string) (*URI, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, known, err := f.state(fingerprint(key), key)
	if err != nil || !known || !s.queued {
		return nil, err
	}
	u, _, err := f.entry(s)
	return u, err
}

// Value reads one of the caller's own values.
func (f *store) Value(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, _, err := f.get("x" + name)
	return bytes.Clone(v), err
}

// SetValue sets one of the caller's own values with the next commit. In a large commit it may become durable before
// the URIs that the commit finishes. A value that must not be known earlier is set on the batch.
func (f *store) SetValue(name string, value []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batch.set("x"+name, value)
}
