package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// Batch is what changed since the last commit.
type Batch struct {
	Attached []any             // what outcomes had attached, in the order they finished
	ops      map[string]op     // not changed any more once the batch is taken
	values   map[string][]byte // set on a batch that was taken
	touched  map[*queue]struct{}
	counters []byte
}

// op is one change of a key: a value, or nil to delete.
type op struct {
	value []byte
	fresh bool // the key is not in the database
}

func newBatch() *Batch {
	return &Batch{ops: map[string]op{}, values: map[string][]byte{}, touched: map[*queue]struct{}{}}
}

func (b *Batch) set(key string, value []byte) {
	b.ops[key] = op{value: value, fresh: b.ops[key].fresh}
}

// setFresh is set for a key that was never used before.
func (b *Batch) setFresh(key string, value []byte) { b.ops[key] = op{value: value, fresh: true} }

func (b *Batch) delete(key string) {
	if old, ok := b.ops[key]; ok && old.fresh {
		delete(b.ops, key) // came and went within one batch
		return
	}
	b.ops[key] = op{}
}

// Set adds one of the caller's own values to a batch that was taken. Value tells it once it is committed.
func (b *Batch) Set(name string, value []byte) { b.values["x"+name] = value }

// Take begins a commit: it returns what changed since the last one, or nil if nothing did. Commit
// or nothing must follow; only one batch may be out at a time.
func (f *Frontier) Take() *Batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.batch
	if len(b.ops) == 0 && len(b.Attached) == 0 {
		return nil
	}
	for q := range b.touched {
		b.ops["h"+q.name] = op{value: encodeHost(q.host)}
	}
	b.counters = encodeCounters(f.counters, f.seq)
	f.committing, f.batch = b, newBatch()
	return b
}

// Commit makes a batch durable. What was found comes first, what is finished, the counters and the caller's values
// last and together, so that a crash in between finishes nothing. After an error the frontier is of no more use.
func (f *Frontier) Commit(b *Batch) error {
	err := f.write(b)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.committing = nil
	if err != nil {
		f.broken = fmt.Errorf("commit frontier: %w", err)
		f.signal()
		return f.broken
	}
	for _, q := range f.starved {
		q.listed = false
		f.activate(q)
	}
	f.starved = f.starved[:0]
	f.signal()
	return nil
}

// write puts a batch into the database, in one transaction if it fits.
func (f *Frontier) write(b *Batch) error {
	var found, states, last []string
	size := 0
	for key, o := range b.ops {
		size += len(key) + len(o.value) + 64
		switch {
		case key[0] == 'q' && o.value != nil:
			found = append(found, key)
		case key[0] == 'u' && !isDone(o.value):
			states = append(states, key)
		default:
			last = append(last, key)
		}
	}
	for key, value := range b.values {
		size += len(key) + len(value) + 64
	}
	w := writer{db: f.db, txn: f.db.NewTransaction(true)}
	defer func() { w.txn.Discard() }()
	// A queue entry without its state would be found again; a state without its entry would be lost.
	for _, key := range append(found, states...) {
		if err := w.put(key, b.ops[key].value); err != nil {
			return err
		}
	}
	if int64(size) > f.db.MaxBatchSize()/2 || int64(len(b.ops)+len(b.values)) > f.db.MaxBatchCount()/2 {
		if err := w.next(); err != nil {
			return err
		}
	}
	for _, key := range last {
		if err := w.put(key, b.ops[key].value); err != nil {
			return err
		}
	}
	for key, value := range b.values {
		if err := w.put(key, value); err != nil {
			return err
		}
	}
	if err := w.put("mcounters", b.counters); err != nil {
		return err
	}
	return w.txn.Commit()
}

// writer writes in as many transactions as it takes.
type writer struct {
	db  *badger.DB
	txn *badger.Txn
}

func (w *writer) put(key string, value []byte) error {
	err := w.try(key, value)
	if errors.Is(err, badger.ErrTxnTooBig) {
		if err = w.next(); err == nil {
			err = w.try(key, value)
		}
	}
	return err
}

func (w *writer) try(key string, value []byte) error {
	if value == nil {
		return w.txn.Delete([]byte(key))
	}
	return w.txn.Set([]byte(key), value)
}

func (w *writer) next() error {
	if err := w.txn.Commit(); err != nil {
		return err
	}
	w.txn = w.db.NewTransaction(true)
	return nil
}

// load reads counters and queues.
func (f *Frontier) load() error {
	return f.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get([]byte("mcounters"))
		if err == nil {
			f.resumeAt = f.cfg.Now().Add(f.cfg.Resume)
			err = item.Value(func(v []byte) (err error) {
				f.counters, f.seq, err = decodeCounters(v)
				return err
			})
		}
		if err != nil && !errors.Is(err, badger.ErrKeyNotFound) {
			return err
		}
		it := txn.NewIterator(badger.IteratorOptions{PrefetchValues: true, PrefetchSize: 100, Prefix: []byte("h")})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			q := f.queue(string(it.Item().Key()[1:]))
			if err := it.Item().Value(func(v []byte) (err error) {
				q.host, err = decodeHost(v)
				return err
			}); err != nil {
				return err
			}
		}
		return f.countQueued(txn)
	})
}

// countQueued counts the entries of each queue: what is queued is what has an entry.
func (f *Frontier) countQueued(txn *badger.Txn) error {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte("q")})
	defer it.Close()
	total := int64(0)
	var q *queue
	for it.Rewind(); it.Valid(); it.Next() {
		key := it.Item().Key()
		if len(key) < 11 {
			return fmt.Errorf("queue key %q: %w", key, errStored)
		}
		if name := key[1 : len(key)-10]; q == nil || q.name != string(name) {
			q = f.queue(string(name))
		}
		f.seq = max(f.seq, binary.BigEndian.Uint64(key[len(key)-8:]))
		q.count++
		total++
	}
	f.counters.Queued = total
	f.counters.Discovered = f.counters.Finished + total
	for _, q := range f.queues {
		f.activate(q)
	}
	return nil
}

// Hosts calls do for each queue, with what it has seen and how many URIs remain.
func (f *Frontier) Hosts(do func(name string, h Host, remaining int)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, q := range f.queues {
		do(name, q.host, q.count+len(q.inFlight))
	}
}

// Values calls do for each of the caller's committed values whose name begins with prefix.
func (f *Frontier) Values(prefix string, do func(name string, value []byte) error) error {
	return f.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{PrefetchValues: true, PrefetchSize: 100, Prefix: []byte("x" + prefix)})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			name := strings.TrimPrefix(string(it.Item().Key()), "x")
			if err := it.Item().Value(func(v []byte) error { return do(name, v) }); err != nil {
				return err
			}
		}
		return nil
	})
}

func encodeCounters(c Counters, seq uint64) []byte {
	b := []byte{1}
	b = binary.AppendUvarint(b, seq)
	for _, n := range []int64{c.Discovered, c.Queued, c.Finished, c.Succeeded, c.Failed, c.Disregarded, c.Bytes} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func decodeCounters(v []byte) (c Counters, seq uint64, err error) {
	r := reader{b: v}
	r.version()
	seq = r.uvarint()
	for _, n := range []*int64{&c.Discovered, &c.Queued, &c.Finished, &c.Succeeded, &c.Failed, &c.Disregarded, &c.Bytes} {
		*n = int64(r.uvarint())
	}
	return c, seq, r.failed("counters")
}
