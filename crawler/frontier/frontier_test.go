package frontier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dgraph-io/badger/v4"
)

func open(t testing.TB, dir string) *Frontier {
	t.Helper()
	f, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func uri(queue string, n int) URI {
	return URI{URL: fmt.Sprintf("http://%s/%d", queue, n), Path: "L", Via: "http://" + queue + "/", Source: "http://" + queue + "/", Queue: queue, Priority: Normal}
}

func add(t testing.TB, f *Frontier, u URI) bool {
	t.Helper()
	isNew, err := f.Add(u)
	if err != nil {
		t.Fatal(err)
	}
	return isNew
}

func commit(t testing.TB, f *Frontier) {
	t.Helper()
	if b := f.Take(); b != nil {
		if err := f.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
}

func take(t testing.TB, f *Frontier) *URI {
	t.Helper()
	u, err := nextNow(f)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// nextNow is Next without waiting.
func nextNow(f *Frontier) (*URI, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next(f.cfg.Now())
}

func TestOrderAndSeen(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	a, b, c := uri("h", 1), uri("h", 2), uri("h", 3)
	b.Priority = Medium
	c.Priority = High
	for _, u := range []URI{a, b, c} {
		if !add(t, f, u) {
			t.Errorf("%s was known", u.URL)
		}
		if add(t, f, u) {
			t.Errorf("%s was added twice", u.URL)
		}
	}
	for _, want := range []URI{c, b, a} {
		u := take(t, f)
		if u == nil || u.URL != want.URL || u.Via != want.Via || u.Path != want.Path {
			t.Fatalf("got %+v, want %+v", u, want)
		}
		if other := take(t, f); other != nil {
			t.Fatalf("%s while %s is in flight", other.URL, u.URL)
		}
		if _, err := f.Finish(u, Outcome{Status: 200}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Next(t.Context()); !errors.Is(err, ErrEmpty) {
		t.Errorf("error %v, want ErrEmpty", err)
	}
	if n := f.Counters(); n.Discovered != 3 || n.Finished != 3 || n.Succeeded != 3 || n.Queued != 0 {
		t.Errorf("counters %+v", n)
	}
}

func TestPrerequisiteComesFirst(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	robots := URI{URL: "http://h/robots.txt", Queue: "h", Priority: Normal}
	add(t, f, uri("h", 1))
	add(t, f, robots) // found as a link before
	u := take(t, f)
	if err := f.Defer(u, URI{URL: robots.URL, Path: "P", Via: u.URL}); err != nil {
		t.Fatal(err)
	}
	first := take(t, f)
	if first.URL != robots.URL || first.Path != "P" {
		t.Fatalf("%+v comes first", first)
	}
	if _, err := f.Finish(first, Outcome{Status: 200}, nil); err != nil {
		t.Fatal(err)
	}
	if again := take(t, f); again == nil || again.URL != u.URL || again.Tries != 0 {
		t.Fatalf("then %+v", again)
	}
	if n := f.Counters(); n.Discovered != 2 || n.Queued != 1 {
		t.Errorf("counters %+v", n)
	}
}

// A queue longer than its head in memory gives all its URIs, in order, committed or not.
func TestLongQueue(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	const n = 5 * headMax
	for i := range n {
		add(t, f, uri("h", i))
		if i == n/2 {
			commit(t, f)
		}
	}
	for i := 0; i < n; i++ {
		u := take(t, f)
		if u == nil {
			commit(t, f)
			u = take(t, f)
		}
		if want := uri("h", i).URL; u == nil || u.URL != want {
			t.Fatalf("got %v, want %s", u, want)
		}
		if _, err := f.Finish(u, Outcome{Status: 200}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if f.heads != 0 {
		t.Errorf("%d counted in heads", f.heads)
	}
}

// The pause of a queue, and the delay of a URI to be tried again, by the clock.
func TestPauses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := open(t, dir)
		defer f.Close()
		begin := time.Now()
		at := func(want time.Duration, url string) *URI {
			t.Helper()
			u, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Since(begin).Round(time.Millisecond); got != want || u.URL != url {
				t.Fatalf("%s after %v, want %s after %v", u.URL, got, url, want)
			}
			return u
		}
		one, two, other := uri("h", 1), uri("h", 2), uri("o", 1)
		for _, u := range []URI{one, two, other} {
			add(t, f, u)
		}
		a := at(0, one.URL)
		b := at(0, other.URL)
		f.Retry(a, time.Minute, 3*time.Second, false) // this URI later, its queue sooner
		f.Retry(b, 10*time.Second, 0, true)           // the whole queue later
		c := at(3*time.Second, two.URL)
		if _, err := f.Finish(c, Outcome{Status: 200, Wait: 2 * time.Second}, nil); err != nil {
			t.Fatal(err)
		}
		b = at(10*time.Second, other.URL)
		if b.Tries != 1 {
			t.Errorf("%d tries", b.Tries)
		}
		if _, err := f.Finish(b, Outcome{Status: 200}, nil); err != nil {
			t.Fatal(err)
		}
		a = at(time.Minute, one.URL)
		if _, err := f.Finish(a, Outcome{Status: -4, Kind: Failed}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Next(t.Context()); !errors.Is(err, ErrEmpty) {
			t.Errorf("error %v", err)
		}
	})
}

func TestPauseStopAndContext(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	add(t, f, uri("h", 1))
	f.Pause()
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan error)
	go func() { _, err := f.Next(ctx); answers <- err }()
	cancel()
	if err := <-answers; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	f.Resume()
	if u, err := f.Next(t.Context()); err != nil || u == nil {
		t.Errorf("%v, %v", u, err)
	}
	f.Stop()
	if _, err := f.Next(t.Context()); !errors.Is(err, ErrStopped) {
		t.Errorf("error %v", err)
	}
}

func TestValuesAreCommittedWithTheBatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	f.SetValue("a/1", []byte("one"))
	commit(t, f)
	f.SetValue("a/2", []byte("two"))
	f.Close()
	f = open(t, dir)
	defer f.Close()
	if v, err := f.Value("a/1"); err != nil || string(v) != "one" {
		t.Errorf("%q, %v", v, err)
	}
	if v, err := f.Value("a/2"); err != nil || v != nil {
		t.Errorf("%q, %v", v, err)
	}
}

// The error of a value that is too large has nothing of it: it may be a secret, and ends in a record.
func TestLargeValue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	f.SetValue("large", bytes.Repeat([]byte("letmein "), maxValue/8))
	commit(t, f)
	f.SetValue("larger", bytes.Repeat([]byte("letmein "), maxValue/8+1))
	err := f.Commit(f.Take())
	if err == nil || !strings.Contains(err.Error(), "larger") || strings.Contains(err.Error(), "letmein") ||
		strings.Contains(err.Error(), "6c65746d65696e") || len(err.Error()) > 200 {
		t.Errorf("the error is %.300v", err)
	}
	f.Close()
	f = open(t, dir)
	defer f.Close()
	if v, err := f.Value("large"); err != nil || len(v) != maxValue {
		t.Errorf("%d bytes, %v", len(v), err)
	}
}

// A batch too large for one transaction of the database is written all the same.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	const n = 20000
	for i := range n {
		add(t, f, uri(fmt.Sprintf("host%d.example", i%50), i))
	}
	commit(t, f)
	f.Close()
	f = open(t, dir)
	defer f.Close()
	if c := f.Counters(); c.Queued != n || c.Discovered != n {
		t.Errorf("counters %+v", c)
	}
	if add(t, f, uri("host1.example", 1)) {
		t.Error("a URI was forgotten")
	}
}

// A process killed while the database made its next log file leaves an empty one.
func TestUnbegunLogFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	add(t, f, uri("h", 1))
	commit(t, f)
	f.Close()
	for _, name := range []string{"000099.vlog", "00099.mem"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f = open(t, dir)
	defer f.Close()
	if n := f.Counters().Queued; n != 1 {
		t.Errorf("%d queued", n)
	}
}

// What an entry's texts have in common with one another is not stored, and comes back.
func TestEntryTexts(t *testing.T) {
	t.Parallel()
	for _, u := range []URI{
		{},
		{URL: "http://example.org/", Queue: "example.org"},
		{URL: "https://example.org/a/b?c", Queue: "example.org", Key: "http://example.org/a/b", Via: "https://example.org/a/", Source: "https://example.org/", Path: "LLE", Host: "other.example"},
		{URL: "https://example.org:8443/", Queue: "example.org:8443", Via: "https://example.org:8443/", Source: "https://example.org:8443/", Path: "h"},
		{URL: "dns:example.org", Queue: "example.org", Via: "http://example.org/", Path: "http", Host: "h"},
		{URL: "http://a.example/", Queue: "192.0.2.1", Host: "a.example", Source: "http://b.example/ü"},
		{URL: "https://", Queue: ""},
		{URL: "http", Queue: "example.org", Key: "http", Via: "h"},
	} {
		u.Priority, u.Cost, u.Tries, u.seq, u.notBefore = Medium, 7, 2, 1<<40, 99
		got, err := decodeURI([]byte(queueKey(u.Queue, u.Priority, u.seq)), encodeURI(&u))
		if err != nil || *got != u {
			t.Errorf("%+v, %v\nwant %+v", got, err, u)
		}
		s, err := decodeState(encodeQueuedState(&u), u.key())
		if err != nil || s.queue != u.Queue || s.seq != u.seq || s.priority != u.Priority || !s.queued {
			t.Errorf("state %+v, %v, want %+v", s, err, u)
		}
	}
	u := URI{URL: "http://example.org/a", Queue: "example.org", Via: "http://example.org/", Source: "http://example.org/", Path: "L", Cost: 1}
	if n := len(encodeURI(&u)); n > 25 {
		t.Errorf("%d bytes", n)
	}
}

func FuzzDecode(f *testing.F) {
	u := uri("h", 1)
	f.Add([]byte(queueKey("h", 1, 1)), encodeURI(&u))
	f.Add([]byte("q"), encodeQueuedState(&u))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if u, err := decodeURI(key, value); err == nil && u == nil {
			t.Fatal("nothing and no error")
		}
		_, _ = decodeState(value, "http://h/")
		_, _ = decodeHost(value)
		_, _ = decodeRecord(value)
		_, _ = decodeTotals(value)
		_, _, _, _ = parseIndexKey(key)
	})
}

// BenchmarkFrontier is a URI's whole way: found, queued, taken, finished, committed by the thousand.
func BenchmarkFrontier(b *testing.B) {
	f := open(b, b.TempDir())
	defer f.Close()
	n := 0
	for ; n < 100; n++ {
		add(b, f, uri(fmt.Sprintf("h%d", n), n))
	}
	for i := 0; b.Loop(); i++ {
		u := take(b, f)
		if u == nil || i%1000 == 999 {
			commit(b, f)
			if u == nil {
				u = take(b, f)
			}
		}
		n++
		if _, err := f.Finish(u, Outcome{Status: 200, Attach: n}, []URI{uri(fmt.Sprintf("h%d", n%100), n)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFrontierBaseline is the database alone writing what a URI needs: two entries and a deletion, by the thousand.
func BenchmarkFrontierBaseline(b *testing.B) {
	db, err := badger.Open(badger.DefaultOptions(b.TempDir()).WithSyncWrites(true).WithLogger(nil).WithDetectConflicts(false))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	txn := db.NewTransaction(true)
	for i := 0; b.Loop(); i++ {
		u := uri("h", i)
		if err := errors.Join(txn.Set([]byte(queueKey(u.Queue, 1, uint64(i))), encodeURI(&u)),
			txn.Set([]byte(seenKey(fingerprint(u.URL))), encodeDoneState(200, time.Now(), nil)),
			txn.Delete([]byte(queueKey(u.Queue, 1, uint64(i))))); err != nil {
			b.Fatal(err)
		}
		if i%1000 == 999 {
			if err := txn.Commit(); err != nil {
				b.Fatal(err)
			}
			txn = db.NewTransaction(true)
		}
	}
	txn.Discard()
}
