package frontier

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Hosts calls do for each host, as of the last commit, with what was fetched from it and how many URIs remain.
func (f *store) Hosts(do func(name string, h Host, remaining int)) error {
	ctx := context.Background()
	err := f.pages(ctx, "h", "", func(keys []string, values [][]byte) (bool, error) {
		for i, key := range keys {
			r, err := decodeRecord(values[i])
			if err != nil {
				return false, fmt.Errorf("queue %s: %w", key[1:], err)
			}
			// Where other queues have URIs of this host, too, the host's own record comes.
			own := hostChange{Host: r.host, remaining: r.count - r.hosted}
			if own == (hostChange{}) {
				continue
			}
			other, _, err := f.storedHost(key[1:])
			if err != nil {
				return false, err
			}
			sum := own.fields()
			for j, n := range other.fields() {
				*sum[j] += *n
			}
			do(key[1:], own.Host, int(own.remaining+other.remaining))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return f.pages(ctx, "s", "", func(keys []string, values [][]byte) (bool, error) {
		for i, key := range keys {
			h, err := decodeHost(values[i])
			if err != nil {
				return false, fmt.Errorf("host %s: %w", key[1:], err)
			}
			told, err := f.tellsOfItself(key[1:])
			if err != nil {
				return false, err
			}
			if !told && h != (hostChange{}) {
				do(key[1:], h.Host, int(h.remaining))
			}
		}
		return true, nil
	})
}

// storedHost reads a host's own record.
func (f *store) storedHost(name string) (h hostChange, ok bool, err error) {
	v, ok, err := f.committedValue("s" + name)
	if err != nil || !ok {
		return h, false, err
	}
	h, err = decodeHost(v)
	return h, err == nil, err
}

// tellsOfItself reports whether there is a queue of that name with something to report about the host.
func (f *store) tellsOfItself(name string) (bool, error) {
	v, ok, err := f.committedValue("h" + name)
	if err != nil || !ok {
		return false, err
	}
	r, err := decodeRecord(v)
	return r.host != (Host{}) || r.count != r.hosted, err
}

func (f *store) committedValue(key string) (value []byte, ok bool, err error) {
	err = f.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get([]byte(key))
		if err != nil {
			return err
		}
		value, err = item.ValueCopy(nil)
		return err
	})
	switch err {
	case nil:
		return value, true, nil
	case badger.ErrKeyNotFound:
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("read frontier: %w", err)
}

// Values calls do for each of the caller's committed values whose name begins with prefix.
func (f *store) Values(prefix string, do func(name string, value []byte) error) error {
	return f.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{PrefetchValues: true, PrefetchSize: 100,
			Prefix: []byte("x" + prefix)})
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

// ValuesAfter calls do for values whose names begin with prefix and come after that name, a page at a time so that
// the crawl continues meanwhile, until do returns false.
func (f *store) ValuesAfter(ctx context.Context, prefix, after string, do func(name string, value []byte) bool) error {
	prefix = "x" + prefix
	if after != "" {
		after = prefix + after
	}
	return f.pages(ctx, prefix, after, func(keys []string, values [][]byte) (bool, error) {
		for i, key := range keys {
			if !do(key[1:], values[i]) {
				return false, nil
			}
		}
		return true, nil
	})
}

// Summary describes the whole frontier.
type Summary struct {
	Counters
	InFlight int64
	Queues   int64           // there ever were
	Longest  int64           // URIs in the longest queue
	Waiting  map[int]int64   // queues that take part or wait, by precedence
	States   map[State]int64 // of them
}

// Summary counts the queues by state.
func (f *overview) Summary() Summary {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := &f.index
	s := Summary{Counters: f.counters, InFlight: int64(f.inFlight), Queues: f.known, Longest: f.longest.most(),
		Waiting: map[int]int64{}, States: map[State]int64{
			Inactive: x.inactive(), Snoozed: x.counts[placeSleeping], Frozen: x.counts[placeFrozen],
			Retired: x.counts[placeRetired]}}
	now := f.cfg.Now()
	for _, q := range f.queues {
		if q.active {
			s.States[f.stateOf(q, now)]++
		}
	}
	for p := range worstPrecedence + 1 {
		if n := x.counts[p]; n > 0 {
			s.Waiting[p] = n
		}
	}
	s.States[Empty] = f.known - x.live() - x.counts[placeRetired]
	return s
}

// rank looks at how long the queues are that were stored by a run before.
func (f *overview) rank(ctx context.Context) {
	err := f.pages(ctx, "h", "", func(keys []string, values [][]byte) (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, key := range keys {
			q, err := f.peek(key[1:], values[i])
			if err != nil {
				return false, err
			}
			f.longest.put(q.name, q.count)
		}
		return true, nil
	})
	if err != nil && ctx.Err() == nil && f.cfg.Log != nil {
		f.cfg.Log.Warn("cannot find the longest queues", "error", err)
	}
}

// Nonempty calls do for each queue that has URIs, in the order of the last committed index: first those that take
// part or wait, by precedence, then those that rest for long, the frozen and the retired. It ends when do returns
// false.
func (f *overview) Nonempty(ctx context.Context, do func(QueueInfo) bool) error {
	return f.pages(ctx, "i", "", func(keys []string, _ [][]byte) (bool, error) {
		var infos []*QueueInfo
		f.mu.Lock()
		for _, key := range keys {
			_, _, name, err := parseIndexKey([]byte(key))
			var info *QueueInfo
			if err == nil {
				info, err = f.inform(name, nil)
			}
			if err != nil {
				f.mu.Unlock()
				return false, err
			}
			if info != nil && info.Remaining > 0 {
				infos = append(infos, info)
			}
		}
		f.mu.Unlock()
		for _, info := range infos {
			if !do(*info) {
				return false, nil
			}
		}
		return true, nil
	})
}

// Waiting is what the frontier waits for when nothing else is left to do.
type Waiting struct {
	Queue  string    // that continues first; "": not known without reading
	Until  time.Time // it does
	Status int       // the last of the queue
	Queued int64     // in it
}

// Waiting reports what the frontier waits for; false if a URI is in flight or ready, or nothing waits for a time.
func (f *overview) Waiting() (w Waiting, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused || f.inFlight > 0 || f.ready.len() > 0 || len(f.starved) > 0 {
		return w, false
	}
	at, ok := f.nextWake()
	if !ok {
		return w, false
	}
	w.Until = at
	if len(f.snoozed) > 0 && f.snoozed[0].at.Equal(at) {
		q := f.snoozed[0]
		w.Queue, w.Status, w.Queued = q.name, q.status, q.count
	}
	return w, true
}
