// Package frontier keeps the URIs of a crawl: which are known, which wait, in which order and when each host may be asked again.
//
// It is a Badger database with a thin layer in memory: of each host's queue only the next few
// URIs, and what changed since the last commit. What a batch holds (URIs finished, URIs found, counters, the caller's own values)
// becomes durable at once or not at all, so that after a crash
// the frontier is as it was at some commit. One process may have it open.
package frontier

import (
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"holdfast/internal/kv"
)

// Answers a worker acts on.
var (
	ErrEmpty   = errors.New("frontier is empty")
	ErrStopped = errors.New("frontier is stopped")
)

// Priorities within a queue, most urgent first.
const (
	Prerequisite = 0 // DNS, robots.txt
	High         = 1
	Medium       = 2 // embeds
	Normal       = 3
	priorities   = 4
)

// Limits on what is held in memory.
const (
	headMax  = 256    // of one queue
	headsMax = 200000 // of all queues
)

// URI is one URI to crawl and how it was found.
type URI struct {
	URL      string
	Path     string // hops from the seed, one letter each
	Via      string // the URI it was found in, "" for a seed
	Source   string // the seed
	Queue    string // whose politeness it is under
	Priority byte
	Tries    int // fetches that failed so far

	seq       uint64
	notBefore int64 // Unix milliseconds; 0: at once
}

// Outcome is how a URI ended.
type Outcome struct {
	Status  int
	Kind    Kind
	Bytes   int64         // received
	Robots  bool          // refused by robots.txt
	Wait    time.Duration // until its queue may be asked again
	Attach  any           // handed back with the batch
	Fetched bool          // it was a document, not a refusal: counts for the host
}

// Kind sorts outcomes for the counters.
type Kind int

// Kinds of outcomes.
const (
	Succeeded Kind = iota
	Failed
	Disregarded
)

// Counters are the frontier's seven figures. Discovered = Queued + Finished; Finished = Succeeded + Failed + Disregarded.
type Counters struct {
	Discovered, Queued, Finished, Succeeded, Failed, Disregarded, Bytes int64
}

// Config says where the frontier is.
type Config struct {
	Dir    string
	Now    func() time.Time // default time.Now
	Resume time.Duration    // pause of every queue after opening a frontier that has been used before
	Log    *slog.Logger
}

// Frontier is safe for concurrent use.
type Frontier struct {
	cfg Config
	db  *badger.DB

	mu         sync.Mutex
	queues     map[string]*queue
	ready      fifo
	snoozed    wakeHeap
	delayed    delayHeap
	starved    []*queue // their URIs are not committed yet
	heads      int      // URIs in all queues' heads
	inFlight   int
	seq        uint64
	counters   Counters
	seen       *seenCache
	batch      *Batch
	committing *Batch
	paused     bool
	stopped    bool
	resumeAt   time.Time
	broken     error

	keeper time.Time     // when the waiter that watches the clock wakes up
	wake   chan struct{} // something became ready
	hungry chan struct{} // a commit would help
}

// Open opens the frontier in cfg.Dir, or makes one.
func Open(cfg Config) (*Frontier, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	opts := badger.DefaultOptions(cfg.Dir).
		WithSyncWrites(true). // each commit is one transaction, or a few
		WithDetectConflicts(false).
		WithMemTableSize(8 << 20).WithNumMemtables(2).WithNumLevelZeroTables(4).WithNumLevelZeroTablesStall(8).
		WithBaseTableSize(4 << 20).WithValueLogFileSize(16 << 20).WithValueThreshold(768 << 10).
		WithNumCompactors(2).WithCompression(0).WithBlockCacheSize(0).WithIndexCacheSize(0).
		WithMetricsEnabled(false)
	db, err := kv.Open(opts, cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("open frontier %s: %w", cfg.Dir, err)
	}
	f := &Frontier{cfg: cfg, db: db, queues: map[string]*queue{}, seen: newSeenCache(1 << 18), batch: newBatch(),
		wake: make(chan struct{}, 1), hungry: make(chan struct{}, 1)}
	if err := f.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open frontier %s: %w", cfg.Dir, err), db.Close())
	}
	return f, nil
}

// Close closes the database. What was not committed is lost.
func (f *Frontier) Close() error {
	if err := f.db.Close(); err != nil {
		return fmt.Errorf("close frontier %s: %w", f.cfg.Dir, err)
	}
	return nil
}

// Add puts a URI into its queue unless it is known already, and reports whether it did.
func (f *Frontier) Add(u URI) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(u, fingerprint(u.URL))
}

func (f *Frontier) add(u URI, fp fingerprintBytes) (bool, error) {
	if f.seen.has(fp) {
		return false, nil
	}
	_, known, err := f.state(fp)
	if err != nil || known {
		f.seen.put(fp)
		return false, err
	}
	f.seen.put(fp)
	f.counters.Discovered++
	f.enqueue(&u, fp)
	return true, nil
}

// enqueue gives u its place in its queue.
func (f *Frontier) enqueue(u *URI, fp fingerprintBytes) {
	f.seq++
	u.seq = f.seq
	f.counters.Queued++
	f.batch.set(seenKey(fp), encodeQueuedState(u))
	f.batch.setFresh(queueKey(u.Queue, u.Priority, u.seq), encodeURI(u))
	q := f.queue(u.Queue)
	q.count++
	f.insert(q, u)
	f.activate(q)
}

// insert adds u to its queue's head if it belongs there: the head is whole, or u comes before its last.
func (f *Frontier) insert(q *queue, u *URI) {
	whole := len(q.head)+q.waiting == q.count-1
	if whole && len(q.head) < headMax && f.heads < headsMax || len(q.head) > 0 && before(u, q.head[len(q.head)-1]) {
		q.push(u)
		f.heads++
	}
}

// state reads what is known of a URI: from what is not committed yet, then from the database.
func (f *Frontier) state(fp fingerprintBytes) (seenState, bool, error) {
	v, ok, err := f.get(seenKey(fp))
	if err != nil || !ok {
		return seenState{}, false, err
	}
	s, err := decodeState(v)
	return s, err == nil, err
}

// get reads a key as the next commit will leave it.
func (f *Frontier) get(key string) ([]byte, bool, error) {
	for _, b := range []*Batch{f.batch, f.committing} {
		if b == nil {
			continue
		}
		if op, ok := b.ops[key]; ok {
			return op.value, op.value != nil, nil
		}
	}
	var value []byte
	err := f.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get([]byte(key))
		if err != nil {
			return err
		}
		value, err = item.ValueCopy(nil)
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read frontier: %w", err)
	}
	return value, true, nil
}

// Finish ends a URI that Next or Claim gave, and adds those that were found in it. It reports which were new.
func (f *Frontier) Finish(u *URI, o Outcome, found []URI) (added int, err error) {
	prints := make([]fingerprintBytes, len(found))
	for i := range found {
		prints[i] = fingerprint(found[i].URL)
	}
	fp := fingerprint(u.URL)
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(u.Queue)
	for i, n := range found {
		isNew, err := f.add(n, prints[i])
		if err != nil {
			return added, err
		}
		if isNew {
			added++
		}
	}
	f.batch.delete(queueKey(u.Queue, u.Priority, u.seq))
	f.batch.set(seenKey(fp), encodeDoneState(o.Status, f.cfg.Now()))
	f.count(q, o)
	if o.Attach != nil {
		f.batch.Attached = append(f.batch.Attached, o.Attach)
	}
	f.leave(q, u, o.Wait)
	return added, nil
}

func (f *Frontier) count(q *queue, o Outcome) {
	f.counters.Queued--
	f.counters.Finished++
	f.counters.Bytes += o.Bytes
	switch o.Kind {
	case Succeeded:
		f.counters.Succeeded++
	case Failed:
		f.counters.Failed++
	default:
		f.counters.Disregarded++
	}
	if o.Fetched {
		q.host.URLs++
		q.host.Bytes += o.Bytes
	}
	if o.Robots {
		q.host.Robots++
	}
	q.touch(f.batch)
}

// leave ends u's being in flight; its queue rests for wait.
func (f *Frontier) leave(q *queue, u *URI, wait time.Duration) {
	delete(q.inFlight, u.seq)
	f.inFlight--
	q.wakeAt = f.cfg.Now().Add(max(wait, 0))
	f.activate(q)
	f.signal()
}

// Retry puts a URI that Next gave back, to be tried again after delay. If whole, the host itself does
// not answer and the whole queue waits; else only the URI does, and the queue goes on after wait.
func (f *Frontier) Retry(u *URI, delay, wait time.Duration, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(u.Queue)
	u.Tries++
	u.notBefore = 0
	if !whole && delay > 0 {
		u.notBefore = f.cfg.Now().Add(delay).UnixMilli()
	}
	f.batch.set(queueKey(u.Queue, u.Priority, u.seq), encodeURI(u))
	q.count++
	f.putBack(q, u)
	if whole {
		wait = max(wait, delay)
	}
	f.leave(q, u, wait)
}

// Return puts a URI that Next gave back as it was: it was not tried.
func (f *Frontier) Return(u *URI, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(u.Queue)
	q.count++
	f.putBack(q, u)
	f.leave(q, u, wait)
}

func (f *Frontier) putBack(q *queue, u *URI) {
	if u.notBefore > f.cfg.Now().UnixMilli() {
		q.waiting++
		heap.Push(&f.delayed, delayedURI{u, q})
		return
	}
	q.push(u)
	f.heads++
}

// Defer puts a URI that Next gave back until another has been fetched: that goes to the front of the same queue,
// even if it was fetched before. Where it is on its way in another queue, this queue waits a little and asks again.
func (f *Frontier) Defer(u *URI, first URI) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(u.Queue)
	first.Queue, first.Priority = u.Queue, Prerequisite
	fp := fingerprint(first.URL)
	s, known, err := f.state(fp)
	if err != nil {
		return err
	}
	q.count++
	f.putBack(q, u)
	wait := time.Duration(0)
	switch {
	case known && s.queued && s.queue != u.Queue:
		wait = deferWait
	case known && s.queued && s.priority != Prerequisite:
		if old, err := f.withdraw(fp, s); err != nil {
			return err
		} else if old != nil {
			first.Tries = old.Tries
			f.enqueue(&first, fp)
		}
	case known && s.queued:
	default:
		f.counters.Discovered++
		f.seen.put(fp)
		f.enqueue(&first, fp)
	}
	f.leave(q, u, wait)
	return nil
}

// deferWait is how long a queue waits for a prerequisite that another queue has.
const deferWait = 200 * time.Millisecond

// withdraw takes a queued URI out of its queue, or returns nil if it is in flight.
func (f *Frontier) withdraw(fp fingerprintBytes, s seenState) (*URI, error) {
	q := f.queue(s.queue)
	if _, busy := q.inFlight[s.seq]; busy {
		return nil, nil
	}
	key := queueKey(s.queue, s.priority, s.seq)
	v, ok, err := f.get(key)
	if err != nil || !ok {
		return nil, err
	}
	u, err := decodeURI([]byte(key), v)
	if err != nil {
		return nil, err
	}
	f.batch.delete(key)
	f.counters.Queued--
	q.count--
	if q.remove(s.seq) {
		f.heads--
	}
	return u, nil
}

// Claim takes a URI out of its queue as Next would, wherever it stands, adding it first if it is not known.
// It returns nil if the URI is finished. It is for recovery, when no worker runs.
func (f *Frontier) Claim(u URI) (*URI, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fp := fingerprint(u.URL)
	s, known, err := f.state(fp)
	if err != nil {
		return nil, err
	}
	if known && !s.queued {
		return nil, nil
	}
	if !known {
		if _, err := f.add(u, fp); err != nil {
			return nil, err
		}
		if s, _, err = f.state(fp); err != nil {
			return nil, err
		}
	}
	key := queueKey(s.queue, s.priority, s.seq)
	v, ok, err := f.get(key)
	if err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("frontier has no entry for queued %s", u.URL))
	}
	out, err := decodeURI([]byte(key), v)
	if err != nil {
		return nil, err
	}
	q := f.queue(s.queue)
	if q.remove(s.seq) {
		f.heads--
	}
	q.count--
	q.inFlight[s.seq] = struct{}{}
	f.inFlight++
	return out, nil
}

// Counters are the figures now, committed or not.
func (f *Frontier) Counters() Counters {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counters
}

// Done reports the status a URI ended with.
func (f *Frontier) Done(url string) (status int, done bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, known, err := f.state(fingerprint(url))
	return s.status, known && !s.queued, err
}

// Value reads one of the caller's own values.
func (f *Frontier) Value(name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, _, err := f.get("x" + name)
	return bytes.Clone(v), err
}

// SetValue sets one of the caller's own values with the next commit.
func (f *Frontier) SetValue(name string, value []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batch.set("x"+name, value)
}
