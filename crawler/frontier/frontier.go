// Package frontier keeps the URIs of a crawl: which are known, which wait, in which order, and when each host may be
// asked again.
//
// It is a Badger database with a layer in memory: the queues that take part (at most Config.MaxActive), the next few
// URIs of each, some records of other queues, and the changes since the last commit. The content of a batch (URIs
// finished, URIs found, counters, the caller's own values) becomes durable at once or not at all. After a crash the
// frontier is therefore as it was at some commit. Only one process may have it open.
package frontier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Answers a caller acts on.
var (
	ErrEmpty     = errors.New("frontier is empty")
	ErrStopped   = errors.New("frontier is stopped")
	ErrInFlight  = errors.New("URI is being fetched")
	ErrNotQueued = errors.New("URI is not queued")
	ErrCursor    = errors.New("the cursor is not one that a list ended with")
	ErrVersion   = errors.New("the frontier was written by another version of Holdfast: " +
		"finish the crawl with that version, or remove the frontier's folder to begin again")
)

// Priorities within a queue, most urgent first.
const (
	Prerequisite = 0 // DNS, robots.txt
	High         = 1
	Medium       = 2 // embeds
	Normal       = 3
	priorities   = 4
)

// URI is one URI to crawl and how it was found.
type URI struct {
	URL      string
	Key      string // by which it is known; "": URL
	Path     string // hops from the seed, one letter each
	Via      string // the URI it was found in, "" for a seed
	Source   string // the seed
	Queue    string // whose politeness it is under
	Host     string // for the reports; "": as Queue
	Priority byte
	Cost     int64  // what a fetch takes from its queue's budgets
	Tries    int    // fetches that failed so far
	Status   int    // of the last of them, if the caller sets it before Retry; shown with the queue, not stored
	Led      string // what the caller keeps of how one was led here, at most MaxLed bytes

	seq       uint64
	notBefore int64 // Unix milliseconds; 0: at once
}

// MaxLed bounds URI.Led.
const MaxLed = 16 << 10

// key returns the key by which the URI is known.
func (u *URI) key() string {
	if u.Key != "" {
		return u.Key
	}
	return u.URL
}

// Outcome is how a URI ended.
type Outcome struct {
	Status  int
	Kind    Kind
	Bytes   int64         // received
	Robots  bool          // refused by robots.txt
	Wait    time.Duration // until its slot of the queue may be used again
	Attach  any           // handed back with the batch
	Fetched bool          // it was a document, not a refusal: counts for the host
	Dedup   Dedup         // of a document
	Record  []byte        // kept with the URI, if not nil: what the next crawl has to know of it
	Again   []URI         // to be fetched once more, although they are finished; the URI itself may be one
}

// Kind sorts outcomes for the counters.
type Kind int

// Kinds of outcomes.
const (
	Succeeded Kind = iota
	Failed
	Disregarded // costs nothing
)

// Dedup says whether a document was new.
type Dedup int

// Kinds of documents.
const (
	Novel Dedup = iota
	Duplicate
	NotModified
	Discarded // it was not kept
)

// Counters are the frontier's seven figures. Discovered = Queued + Finished; Finished = Succeeded + Failed +
// Disregarded. A URI that is fetched again counts again.
type Counters struct {
	Discovered, Queued, Finished, Succeeded, Failed, Disregarded, Bytes int64
}

// Config says where the frontier is and how it treats its queues. Policy and Admit are called with the frontier
// locked: they must neither block nor call the frontier. Policy is called with a URI of the queue, or "" if none is
// known. If it asks for a URI of the queue, it is called again when another site's turn comes.
type Config struct {
	Dir       string
	Now       func() time.Time // default time.Now
	MaxActive int              // queues that take part at a time; default 20 000
	Policy    func(queue string, uri func() string) Policy
	// Admit is called before a URI is given out; 0 allows it, otherwise the queue rests for that time.
	Admit func(queue string, now time.Time) (wait time.Duration)
	Log   *slog.Logger
}

// defaultActive is Config.MaxActive's.
const defaultActive = 20_000

// Frontier is safe for concurrent use. One lock is over all of it: that of the store.
type Frontier struct {
	*store
	*roster
	*traffic
	*overview
	*steering

	cancel   context.CancelFunc // ends scanning
	scanning sync.WaitGroup     // reads the filter from the database
	keeper   time.Time          // when the waiter that watches the clock wakes up
}

// Open opens the frontier in cfg.Dir, or makes one.
func Open(cfg Config) (*Frontier, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxActive <= 0 {
		cfg.MaxActive = defaultActive
	}
	if cfg.Policy == nil {
		cfg.Policy = func(string, func() string) Policy { return Policy{} }
	}
	db, err := openDatabase(cfg.Dir, cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("open frontier %s: %w", cfg.Dir, err)
	}
	all := &store{cfg: cfg, db: db, seen: newSeenCache(seenSlots), batch: newBatch(1), committed: make(chan struct{})}
	queues := &roster{store: all, queues: map[string]*queue{}, cache: newCache(), policies: 1,
		wake: make(chan struct{}, 1), hungry: make(chan struct{}, 1)}
	f := &Frontier{store: all, roster: queues, traffic: &traffic{queues}, overview: &overview{queues}}
	f.steering = &steering{f.traffic, f.overview}
	f.view = db.NewTransaction(false)
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	if err := f.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open frontier %s: %w", cfg.Dir, err), f.Close())
	}
	txn := db.NewTransaction(false)
	f.scanning.Go(func() { f.scan(ctx, txn) })
	f.scanning.Go(func() { f.rank(ctx) })
	return f, nil
}

// Rest lets every queue of a frontier that was used before rest for so long from now on. No queue may have been looked
// at yet.
func (f *Frontier) Rest(length time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.resumeAt.IsZero() {
		f.resumeAt = f.cfg.Now().Add(length)
	}
}

// Close closes the database. What was not committed is lost.
func (f *Frontier) Close() error {
	f.cancel()
	f.scanning.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.view.Discard()
	if err := f.db.Close(); err != nil {
		return fmt.Errorf("close frontier %s: %w", f.cfg.Dir, err)
	}
	return nil
}

// load reads counters and the index of queues.
func (f *Frontier) load() error {
	item, err := f.view.Get([]byte(countersKey))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	f.resumeAt = f.cfg.Now()
	if err := item.Value(func(v []byte) (err error) {
		f.stored, err = decodeTotals(v)
		return err
	}); err != nil {
		return err
	}
	f.counters, f.seq, f.known = f.stored.Counters, f.stored.seq, f.stored.queues
	f.index.turn, f.index.committed = f.stored.turn, f.stored.turn
	return f.index.load(f.view)
}
