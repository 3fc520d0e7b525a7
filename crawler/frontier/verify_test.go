package frontier

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"holdfast/internal/seed"
)

// verify checks all that has to agree in the database, as after a crash.
func verify(t testing.TB, f *Frontier) {
	t.Helper()
	entries, hosts, queues, places := map[string]int64{}, map[string]int64{}, map[string]record{}, map[string]int{}
	total, states := int64(0), int64(0)
	each := func(prefix string, do func(key, value []byte)) {
		err := f.db.View(func(txn *badger.Txn) error {
			opts := badger.DefaultIteratorOptions
			opts.Prefix = []byte(prefix)
			it := txn.NewIterator(opts)
			defer it.Close()
			for it.Rewind(); it.Valid(); it.Next() {
				v, err := it.Item().ValueCopy(nil)
				if err != nil {
					return err
				}
				do(it.Item().KeyCopy(nil), v)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	each("h", func(key, v []byte) {
		r, err := decodeRecord(v)
		if err != nil {
			t.Fatal(err)
		}
		queues[string(key[1:])] = r
	})
	each("q", func(key, v []byte) {
		u, err := decodeURI(key, v)
		if err != nil {
			t.Fatal(err)
		}
		total++
		entries[u.Queue]++
		if u.Host != "" {
			hosts[u.Host]++
		}
		if r := queues[u.Queue]; u.seq <= r.low[u.Priority] {
			t.Errorf("%s has number %d, the queue reads from %d", u.URL, u.seq, r.low[u.Priority])
		}
		if s, _, err := f.state(fingerprint(u.key()), u.key()); err != nil || !s.queued || s.seq != u.seq || s.queue != u.Queue || s.priority != u.Priority {
			t.Errorf("entry %+v has state %+v, %v", u, s, err)
		}
	})
	f.scanning.Wait()
	each("u", func(key, v []byte) {
		if f.filter.isNew(fingerprintBytes(key[1:])) {
			t.Errorf("filter has not %x", key)
		}
		s, err := decodeState(v, "")
		if err != nil {
			t.Fatal(err)
		}
		if s.queued {
			states++
		}
	})
	if states != total {
		t.Errorf("%d entries, %d URIs that are queued", total, states)
	}
	each("i", func(key, _ []byte) {
		place, num, name, err := parseIndexKey(key)
		if err != nil {
			t.Fatal(err)
		}
		places[name]++
		if r := queues[name]; r.place != place || r.num != num {
			t.Errorf("index has %s at %d/%d, the record %d/%d", name, place, num, r.place, r.num)
		}
	})
	for name, r := range queues {
		if want := min(r.count, 1); r.count != entries[name] || places[name] != int(want) {
			t.Errorf("queue %s has %d entries, %d places, record %+v", name, entries[name], places[name], r)
		}
	}
	each("s", func(key, v []byte) {
		h, err := decodeHost(v)
		if err != nil || h.remaining != hosts[string(key[1:])] {
			t.Errorf("host %s has %d entries, record %+v, %v", key[1:], hosts[string(key[1:])], h, err)
		}
	})
	if c := f.stored; c.Queued != total || c.Discovered != c.Queued+c.Finished || c.queues != int64(len(queues)) {
		t.Errorf("%d entries, %d queues, counters %+v", total, len(queues), c)
	}
}

// partly commits as if the power failed at the n-th transaction, with transactions of a few entries.
func partly(f *Frontier, n int) error {
	b := f.Take()
	if b == nil {
		return nil
	}
	return f.writeBy(&writer{db: f.db, maxSize: 1 << 20, maxCount: 5, commit: func(txn *badger.Txn) error {
		if n--; n < 0 {
			return context.Canceled
		}
		return txn.Commit()
	}}, b)
}

// Whatever is committed, in part or not at all, and whenever: each URI comes out until it is finished in a
// commit, and never again after it; and what the database holds agrees.
func TestCrashesLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	for _, active := range []int{2, 1000} {
		t.Run(fmt.Sprint(active, " active"), func(t *testing.T) { testCrashes(t, active) })
	}
}

func testCrashes(t *testing.T, active int) {
	rnd := seed.Rand(t)
	now := time.UnixMilli(1_800_000_000_000)
	cfg := Config{Dir: t.TempDir(), MaxActive: active, Now: func() time.Time { return now }, Policy: func(queue string, _ func() string) Policy {
		return Policy{SessionBudget: 20, Precedence: int(queue[1]) % 2, Valence: 1 + int(queue[1])%3}
	}}
	f, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	make := func(n int) URI {
		u := uri(fmt.Sprintf("h%d", n%7), n)
		u.Priority, u.Cost = byte(1+n%3), 1
		if n%5 == 0 {
			u.Host = fmt.Sprintf("other%d", n%10)
		}
		return u
	}
	total := 3000
	if testing.Short() {
		total = 600
	}
	done := map[string]bool{}                 // in a commit
	pending := map[string]bool{}              // finished since
	again, pendingAgain := int64(0), int64(0) // finished to be fetched once more: in a commit, and since
	for i := range 10 {
		add(t, f, make(i))
	}
	commit(t, f)
	for steps := 0; len(done) < total; steps++ {
		if steps > 100*total {
			t.Fatalf("%d of %d done, counters %+v", len(done), total, f.Counters())
		}
		now = now.Add(time.Millisecond)
		u, err := f.next(now)
		if err != nil && !errors.Is(err, ErrEmpty) {
			t.Fatal(err)
		}
		switch {
		case rnd.IntN(400) == 0: // power cut
			if rnd.IntN(2) == 0 {
				if err := partly(f, rnd.IntN(20)); err == nil {
					for url := range pending {
						done[url] = true
					}
					again += pendingAgain
				}
			}
			pendingAgain = 0
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if f, err = Open(cfg); err != nil {
				t.Fatal(err)
			}
			verify(t, f)
			if clear(pending); t.Failed() {
				t.FailNow()
			}
			continue
		case u == nil || rnd.IntN(50) == 0:
			if u != nil {
				f.Return(u, 0)
			}
			commit(t, f)
			for url := range pending {
				done[url] = true
			}
			again, pendingAgain = again+pendingAgain, 0
			clear(pending)
			continue
		case rnd.IntN(20) == 0:
			f.Retry(u, 0, 0, rnd.IntN(2) == 0)
			continue
		case rnd.IntN(20) == 0:
			if err := f.Move(u, fmt.Sprintf("h%d", rnd.IntN(7))); err != nil {
				t.Fatal(err)
			}
			continue
		case rnd.IntN(20) == 0:
			if _, err := f.RetryApart(u, fmt.Sprintf("h%d", rnd.IntN(7)), "http://nobody/", 0, 0); err != nil {
				t.Fatal(err)
			}
			continue
		case rnd.IntN(20) == 0: // it is to come again, to the queue of another perhaps
			once := *u
			once.Led, once.Queue, once.Host = "here", fmt.Sprintf("h%d", rnd.IntN(7)), ""
			if _, err := f.Finish(u, Outcome{Status: 302, Fetched: true, Bytes: 1, Again: []URI{once}}, nil); err != nil {
				t.Fatal(err)
			}
			pendingAgain++
			continue
		case rnd.IntN(20) == 0: // another has to come first, from whatever queue
			if first := make(rnd.IntN(total)); !done[first.URL] && !pending[first.URL] {
				if err := f.Defer(u, first); err != nil {
					t.Fatal(err)
				}
				continue
			}
		}
		if done[u.URL] || pending[u.URL] {
			t.Fatalf("%s came again", u.URL)
		}
		// Each URI leads to others by its number, so that those found in what is lost are found again.
		var more []URI
		var n int
		fmt.Sscanf(u.URL[len("http://hX/"):], "%d", &n)
		for k := range 10 {
			if m := 10*n + k; m >= 10 && m < total {
				more = append(more, make(m))
			}
		}
		if _, err := f.Finish(u, Outcome{Status: 200, Fetched: true, Bytes: 1}, more); err != nil {
			t.Fatal(err)
		}
		pending[u.URL] = true
	}
	if u, err := f.next(now); u != nil || !errors.Is(err, ErrEmpty) {
		t.Errorf("%v is left, %v", u, err)
	}
	all := int64(total) + again
	if n := f.Counters(); again == 0 || n.Queued != 0 || n.Succeeded != all || n.Discovered != all {
		t.Errorf("counters %+v, %d came again", n, again)
	}
	fetched, remaining := int64(0), 0
	if err := f.Hosts(func(_ string, h Host, n int) {
		fetched += h.NovelURLs
		remaining += n
	}); err != nil || fetched != all || remaining != 0 {
		t.Errorf("hosts have %d fetched, %d remaining, %v", fetched, remaining, err)
	}
	verify(t, f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
