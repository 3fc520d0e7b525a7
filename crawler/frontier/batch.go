package frontier

import (
	"fmt"
	"time"
)

// Batch is what changed since the last commit.
type Batch struct {
	Attached []any // what outcomes had attached, in the order they finished
	// Retired are queues that have URIs left and spent their total budget; each once until it may spend more.
	Retired []string
	ops     map[string]op     // not changed once the batch is taken
	values  map[string][]byte // set on a batch that was taken
	touched []*queue
	number  uint64
	hosts   map[string]*hostChange // hosts that are not their queue's
	before  totals                 // as of the last commit
	after   totals

	weight       int    // entries that have to be written together
	bytes        int    // of some of them
	firstSleeper uint64 // when the first queue put to sleep wakes up, 0 for none
}

// op is one change of a key: a value, or nil to delete.
type op struct {
	value []byte

	// Of an entry of a queue:
	fresh bool // of an entry: the key is not in the database
	hard  bool // of a queue's record: more changed than follows from new entries
	born  bool // of a queue's record: it is not in the database
	entry *entry
	// late, of an entry and its URI's state: it comes from another queue, and is written with all else that has to be
	// at once.
	late bool
}

// entry is of a new entry of a queue.
type entry struct {
	seen     string // key of the URI's state
	host     string
	replaces string // key of the entry that it replaces
}

// hostChange is added to a host's record.
type hostChange struct {
	Host
	remaining int64
}

func newBatch(number uint64) *Batch {
	return &Batch{number: number, ops: map[string]op{}, values: map[string][]byte{}, hosts: map[string]*hostChange{}}
}

func (b *Batch) set(key string, value []byte) {
	o := b.ops[key]
	o.value = value
	b.ops[key] = o
}

// finish sets a value that has to become durable together with everything else that is finished.
func (b *Batch) finish(key string, value []byte) {
	b.ops[key] = op{value: value}
	b.weight += 2
	b.bytes += len(value)
}

// delete deletes a key. If the key came with this batch, it is taken out, and its value is returned.
func (b *Batch) delete(key string) (op, bool) {
	if old, ok := b.ops[key]; ok && old.fresh {
		delete(b.ops, key)
		return old, true
	}
	b.ops[key] = op{}
	return op{}, false
}

func (b *Batch) host(name string) *hostChange {
	h := b.hosts[name]
	if h == nil {
		h = &hostChange{}
		b.hosts[name] = h
		b.weight++
	}
	return h
}

// record takes a queue's record as it is now into the batch.
func (b *Batch) record(q *queue, now time.Time) {
	key := "h" + q.name
	q.wake = 0
	if at := q.rested(); at.After(now) {
		q.wake = at.UnixMilli()
	}
	old := b.ops[key]
	b.ops[key] = op{value: encodeRecord(&q.record), hard: q.hard || old.hard, born: q.fresh || old.born}
	q.fresh = false
}

func (b *Batch) sleeper(at uint64) {
	if b.firstSleeper == 0 || at < b.firstSleeper {
		b.firstSleeper = at
	}
}

// Set adds one of the caller's own values to a batch that was taken. Value tells it once it is committed.
func (b *Batch) Set(name string, value []byte) { b.values["x"+name] = value }

// Take begins a commit: it returns what changed since the last one, or nil if nothing did. Commit
// or nothing must follow; only one batch may be out at a time.
func (f *Frontier) Take() *Batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.batch
	if len(b.ops) == 0 && len(b.Attached) == 0 && len(b.touched) == 0 {
		return nil
	}
	now := f.cfg.Now()
	for _, q := range b.touched {
		if !q.gone {
			b.record(q, now)
		}
	}
	b.touched = nil
	b.before = f.stored
	b.after = totals{Counters: f.counters, seq: f.seq, turn: f.index.turn, queues: f.known}
	f.stored = b.after
	f.committing, f.batch = b, newBatch(b.number+1)
	return b
}

// Commit makes a batch durable. Found URIs come first; finished URIs, counters and the caller's values come last and
// together, so that a crash in between finishes nothing. After an error the frontier can no longer be used.
func (f *Frontier) Commit(b *Batch) error {
	err := f.write(b)
	defer f.advise()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.committing = nil
	close(f.committed)
	f.committed = make(chan struct{})
	if err != nil {
		f.broken = fmt.Errorf("commit frontier: %w", err)
		f.signal()
		return f.broken
	}
	f.view.Discard()
	f.view = f.db.NewTransaction(false)
	f.index.committed = b.after.turn
	f.index.exhausted = false
	starved := f.starved
	f.starved = nil
	for _, q := range starved {
		q.list = nowhere
		f.schedule(q)
	}
	f.signal()
	return nil
}

// adviseEvery is how often tables that were made since are told how they are read.
const adviseEvery = 5 * time.Second

// advise does that, but not before the filter was read: for that they are read from their beginnings to their ends.
func (f *store) advise() {
	f.mu.Lock()
	ready := f.filter.complete
	f.mu.Unlock()
	if now := time.Now(); ready && now.Sub(f.advised) >= adviseEvery {
		f.advised = now
		adviseTables(f.cfg.Dir)
	}
}
