package frontier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// A URI is known by its key, whatever its URL, and finished with a record.
func TestKeyHostAndRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	a := URI{URL: "http://h/?b&a", Key: "http://h/?a&b", Queue: "192.0.2.1", Host: "h", Priority: Normal, Cost: 3}
	b := a
	b.URL = "http://h/?a&b&"
	if !add(t, f, a) || add(t, f, b) {
		t.Error("two URIs of one key")
	}
	commit(t, f)
	f.Close()
	f = open(t, dir)
	defer f.Close()
	u := take(t, f)
	if u.URL != a.URL || u.Key != a.Key || u.Host != "h" || u.Cost != 3 {
		t.Fatalf("%+v", u)
	}
	finish(t, f, u, Outcome{Status: 200, Fetched: true, Bytes: 7, Dedup: NotModified, Record: []byte("digest")})
	other := URI{URL: "http://h/2", Queue: "h", Priority: Normal}
	add(t, f, other)
	finish(t, f, take(t, f), Outcome{Status: 200, Fetched: true, Bytes: 5, Dedup: Duplicate})
	commit(t, f)
	if record, status, done, err := f.Record(a.Key); string(record) != "digest" || status != 200 || !done || err != nil {
		t.Errorf("%q, %d, %v, %v", record, status, done, err)
	}
	if record, _, done, _ := f.Record(a.URL); done || record != nil {
		t.Error("known by its URL")
	}
	hosts := map[string]Host{}
	if err := f.Hosts(func(name string, h Host, n int) { hosts[name] = h }); err != nil {
		t.Fatal(err)
	}
	want := Host{URLs: 2, Bytes: 12, DuplicateURLs: 1, DuplicateBytes: 5, NotModifiedURLs: 1, NotModifiedBytes: 7}
	if len(hosts) != 1 || hosts["h"] != want {
		t.Errorf("hosts %+v, want %+v", hosts, want)
	}
	verify(t, f)
}

func TestForce(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	force := func(u URI, want bool) {
		t.Helper()
		if did, err := f.Force(u); err != nil || did != want {
			t.Errorf("%v, %v", did, err)
		}
	}
	a, b := uri("h", 1), uri("h", 2)
	add(t, f, a)
	add(t, f, b)
	force(b, false) // queued already
	b.Priority = High
	force(b, true)
	u := take(t, f)
	if u.URL != b.URL {
		t.Fatalf("%+v", u)
	}
	force(b, false) // in flight
	finish(t, f, u, Outcome{})
	commit(t, f)
	force(b, true) // again
	force(uri("h", 3), true)
	for _, want := range []string{b.URL, a.URL, uri("h", 3).URL} {
		if u := take(t, f); u == nil || u.URL != want {
			t.Fatalf("%+v, want %s", u, want)
		} else {
			finish(t, f, u, Outcome{})
		}
	}
	if c := f.Counters(); c.Finished != 4 || c.Discovered != 4 {
		t.Errorf("%+v", c)
	}
}

func TestForgetNeverPromote(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	for i := range 4 {
		add(t, f, uri("h", i))
	}
	commit(t, f)
	u := take(t, f)
	_, forgotten := f.Forget(u.URL)
	for name, err := range map[string]error{"forget": forgotten, "never": f.Never(u.URL, -5001, nil)} {
		if !errors.Is(err, ErrInFlight) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if known, err := f.Forget(uri("h", 1).URL); !known || err != nil {
		t.Fatalf("a queued URI: known %v, %v", known, err)
	}
	if known, err := f.Forget(uri("h", 99).URL); known || err != nil {
		t.Fatalf("a URI that never was: known %v, %v", known, err)
	}
	if err := errors.Join(f.Never(uri("h", 2).URL, -5001, "gone"), f.Never(uri("x", 1).URL, -5001, nil), f.Promote(uri("h", 3).URL)); err != nil {
		t.Error(err)
	}
	if err := f.Promote("http://unknown/"); !errors.Is(err, ErrNotQueued) {
		t.Error(err)
	}
	if b := f.Take(); len(b.Attached) != 1 || b.Attached[0] != "gone" || f.Commit(b) != nil {
		t.Errorf("%v", b.Attached)
	}
	verify(t, f)
	if add(t, f, uri("h", 2)) || add(t, f, uri("x", 1)) || !add(t, f, uri("h", 1)) {
		t.Error("known or not known")
	}
	if status, done, err := f.Done(uri("h", 2).URL); status != -5001 || !done || err != nil {
		t.Errorf("%d, %v, %v", status, done, err)
	}
	finish(t, f, u, Outcome{})
	if _, err := f.Forget(u.URL); err != nil || !add(t, f, uri("h", 0)) {
		t.Errorf("a finished URI is not forgotten: %v", err)
	}
	for _, n := range []int{3, 1, 0} {
		u := take(t, f)
		if want := uri("h", n).URL; u == nil || u.URL != want {
			t.Fatalf("%+v, want %s", u, want)
		}
		finish(t, f, u, Outcome{})
	}
	commit(t, f)
	verify(t, f)
}

// Lists and deletes by pattern, while the crawl goes on and commits.
func TestListAndDelete(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	const each = 3000
	for i := range each {
		for _, name := range []string{"a.example", "b.example"} {
			add(t, f, uri(name, i))
		}
	}
	commit(t, f)
	ctx := t.Context()
	infos, err := f.Queues(ctx, QueueFilter{Pattern: regexp.MustCompile(`^a\.`)})
	if err != nil || len(infos) != 1 || infos[0].Remaining != each || infos[0].State != Ready {
		t.Errorf("%+v, %v", infos, err)
	}
	seen := 0
	filter := URIFilter{URI: regexp.MustCompile(`/1\d*$`), Limit: 300}
	for {
		uris, next, err := f.URIs(ctx, filter)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(uris)
		if filter.After = next; next == "" {
			break
		}
	}
	const ones = 1 + 10 + 100 + 1000
	if seen != 2*ones {
		t.Errorf("%d listed, want %d", seen, 2*ones)
	}
	if _, _, err := f.URIs(ctx, URIFilter{After: "?"}); err == nil {
		t.Error("a bad cursor is accepted")
	}
	flying := take(t, f) // a.example/0
	stop, stopped := context.WithCancel(ctx)
	var commits sync.WaitGroup
	attached := 0
	commits.Go(func() {
		for stop.Err() == nil {
			select {
			case <-f.Hungry():
			case <-stop.Done():
			}
			if b := f.Take(); b != nil {
				attached += len(b.Attached)
				if err := f.Commit(b); err != nil {
					t.Error(err)
				}
			}
		}
	})
	n, err := f.Delete(ctx, URIFilter{Queue: regexp.MustCompile(`^a`)}, func(u URI) any { return u.URL })
	stopped()
	commits.Wait()
	if n != each-1 || err != nil || attached != each-1 {
		t.Errorf("%d deleted, %d attached, %v", n, attached, err)
	}
	if c := f.Counters(); c.Disregarded != each-1 || c.Queued != each+1 {
		t.Errorf("%+v", c)
	}
	finish(t, f, flying, Outcome{})
	if n, err := f.Delete(ctx, URIFilter{Name: "b.example", URI: filter.URI}, nil); n != ones || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	commit(t, f)
	verify(t, f)
	nonempty := 0
	if err := f.Nonempty(ctx, func(q QueueInfo) bool { nonempty++; return q.Remaining == each-ones }); err != nil || nonempty != 1 {
		t.Errorf("%d not empty, %v", nonempty, err)
	}
	if got := len(drain(t, f)); got != (each-ones)*len("b.example") {
		t.Errorf("%d came", got)
	}
}

// A checkpoint taken while the crawl goes on is a commit's state, and a crawl can begin from it.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	defer f.Close()
	for i := range 2000 {
		add(t, f, uri(fmt.Sprintf("h%d", i%40), i))
	}
	f.SetValue("name", []byte("value"))
	commit(t, f)
	place := filepath.Join(t.TempDir(), "one")
	taken := make(chan error)
	go func() { taken <- f.Checkpoint(t.Context(), place) }()
	for n := 2000; ; n++ {
		select {
		case err := <-taken:
			if err != nil {
				t.Fatal(err)
			}
			restored(t, place)
			return
		default:
			u := take(t, f)
			if _, err := f.Finish(u, Outcome{Status: 200, Fetched: true}, []URI{uri(fmt.Sprintf("h%d", n%40), n)}); err != nil {
				t.Fatal(err)
			}
			commit(t, f)
		}
	}
}

func restored(t *testing.T, place string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "frontier")
	if err := Restore(t.Context(), place, to); err != nil {
		t.Fatal(err)
	}
	f := open(t, to)
	defer f.Close()
	verify(t, f)
	if v, err := f.Value("name"); string(v) != "value" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	before := f.Counters()
	drain(t, f)
	if c := f.Counters(); c.Queued != 0 || c.Finished != before.Finished+before.Queued || before.Queued != 2000 {
		t.Errorf("before %+v, after %+v", before, c)
	}
	if err := Restore(t.Context(), place, to); !errors.Is(err, os.ErrExist) {
		t.Errorf("restored over a frontier: %v", err)
	}
	path := filepath.Join(place, checkpointData)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), place, to+"2"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged checkpoint: %v", err)
	}
	if _, err := os.Stat(to + "2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Checkpoint(ended, place+"2"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := os.Stat(place + "2.new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

func TestOtherVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	if err := f.db.Update(func(txn *badger.Txn) error { return txn.Set([]byte(countersKey), []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}) }); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := Open(Config{Dir: dir}); !errors.Is(err, ErrVersion) {
		t.Errorf("error %v", err)
	}
}

// What is stored comes back as it was.
func TestEncodings(t *testing.T) {
	t.Parallel()
	u := URI{URL: "http://h/", Key: "k", Path: "LE", Via: "v", Source: "s", Queue: "q", Host: "o", Priority: 2, Cost: 300, Tries: 4, seq: 77, notBefore: 1e12}
	if got, err := decodeURI([]byte(queueKey(u.Queue, u.Priority, u.seq)), encodeURI(&u)); err != nil || *got != u {
		t.Errorf("%+v, %v", got, err)
	}
	r := record{count: 5, hosted: 2, spent: 1 << 40, place: placeSleeping, num: 1 << 50, wake: 9, status: -4, low: [priorities]uint64{1, 2, 3, 4}, frozen: true,
		told: true, ownTotal: true, totalBudget: 8, host: Host{URLs: 1, NovelBytes: 3, NotModifiedBytes: 4}, otherURLs: 6, otherBytes: 7}
	if got, err := decodeRecord(encodeRecord(&r)); err != nil || got != r {
		t.Errorf("%+v, %v", got, err)
	}
	s, err := decodeState(encodeDoneState(-9998, time.Unix(1e9, 0), []byte("r")), "")
	if err != nil || s.status != -9998 || s.queued || s.at.Unix() != 1e9 || !bytes.Equal(s.record, []byte("r")) {
		t.Errorf("%+v, %v", s, err)
	}
	h := hostChange{Host: Host{Bytes: 1, DuplicateURLs: 2}, remaining: 3}
	if got, err := decodeHost(encodeHost(h)); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
}
