package index

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"holdfast/cdx"
)

// twoFiles adds a.warc.gz and b.warc.gz.
func twoFiles(t *testing.T, x *Index) {
	t.Helper()
	var a, b archive
	a.page("2026-01-01T00:00:00Z", "http://example.com/", "one")
	a.page("2026-03-01T00:00:00Z", "http://example.com/", "three")
	a.page("2026-01-01T00:00:00Z", "http://sub.example.com/x", "sub")
	b.page("2026-02-01T00:00:00Z", "http://www.example.com/", "one")
	b.page("2026-02-01T00:00:00Z", "http://example.com/path/deep", "deep")
	b.page("2026-02-01T00:00:00Z", "http://example-site.com/", "other")
	for name, file := range map[string]*archive{"a.warc.gz": &a, "b.warc.gz": &b} {
		if err := x.Add(context.Background(), name, file.open); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	twoFiles(t, x)
	for _, tt := range []struct {
		name  string
		query cdx.Query
		want  string
	}{
		{"exact", cdx.Query{URL: "http://example.com/"}, "20260101000000 a, 20260201000000 b, 20260301000000 a"},
		{"exact from", cdx.Query{URL: "http://example.com/", From: "202602"}, "20260201000000 b, 20260301000000 a"},
		{"exact to", cdx.Query{URL: "http://example.com/", To: "202602"}, "20260101000000 a, 20260201000000 b"},
		{"limit", cdx.Query{URL: "http://example.com/", Limit: 1}, "20260101000000 a"},
		{"reverse", cdx.Query{URL: "http://example.com/", Sort: cdx.Reverse}, "20260301000000 a, 20260201000000 b, 20260101000000 a"},
		{"reverse limit", cdx.Query{URL: "http://example.com/", Sort: cdx.Reverse, Limit: 1}, "20260301000000 a"},
		{"closest", cdx.Query{URL: "http://example.com/", Sort: cdx.Closest, Closest: "20260210", Limit: 2}, "20260201000000 b, 20260301000000 a"},
		{"closest at the end", cdx.Query{URL: "http://example.com/", Sort: cdx.Closest, Closest: "2030", Limit: 1}, "20260301000000 a"},
		{"closest to the second", cdx.Query{URL: "http://example.com/", Sort: cdx.Closest, Closest: "20260101000000", Limit: 1}, "20260101000000 a"},
		{"prefix", cdx.Query{URL: "http://example.com/path", Match: cdx.Prefix}, "20260201000000 b"},
		{"host", cdx.Query{URL: "http://example.com/", Match: cdx.Host, Limit: 9}, "20260101000000 a, 20260201000000 b, 20260301000000 a, 20260201000000 b"},
		{"domain", cdx.Query{URL: "example.com", Match: cdx.Domain},
			"20260101000000 a, 20260201000000 b, 20260301000000 a, 20260201000000 b, 20260101000000 a"},
		{"domain reverse", cdx.Query{URL: "example.com", Match: cdx.Domain, Sort: cdx.Reverse, Limit: 2}, "20260101000000 a, 20260201000000 b"},
		{"filter", cdx.Query{URL: "http://example.com/", Filters: []string{"filename:b.warc"}}, "20260201000000 b"},
		{"filter, closest", cdx.Query{URL: "http://example.com/", Filters: []string{"filename:b.warc"}, Sort: cdx.Closest, Closest: "2030", Limit: 1}, "20260201000000 b"},
		{"nothing", cdx.Query{URL: "http://nowhere.example/"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, line := range ask(t, x, tt.query, nil) {
				f := strings.Fields(line)
				got = append(got, f[0]+" "+strings.TrimSuffix(f[2], ".warc.gz"))
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("got  %s\nwant %s", s, tt.want)
			}
		})
	}
	only := ask(t, x, cdx.Query{URL: "http://example.com/"}, func(file string) bool { return file == "b.warc.gz" })
	if len(only) != 1 || !strings.HasSuffix(only[0], "http://www.example.com/ b.warc.gz") {
		t.Errorf("covered by b: %q", only)
	}
	for _, err := range x.Query(context.Background(), cdx.Query{URL: "http://a/", Filters: []string{"~mime:("}}, nil) {
		if !errors.Is(err, cdx.ErrQuery) {
			t.Errorf("bad filter: %v", err)
		}
	}
}

func TestAddIsIdempotentAndSurvivesReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := openIndex(t, dir)
	twoFiles(t, x)
	want := Status{Files: 2, Captures: 6}
	if got := x.Status(); got != want {
		t.Fatalf("status %+v", got)
	}
	unread := func() (io.ReadCloser, error) { return nil, errors.New("opened again") }
	if err := x.Add(context.Background(), "a.warc.gz", unread); err != nil {
		t.Errorf("second Add: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Add(context.Background(), "c", unread); !errors.Is(err, ErrClosed) {
		t.Errorf("Add after Close: %v", err)
	}
	x = openIndex(t, dir)
	if got := x.Status(); got != want {
		t.Errorf("status after reopening %+v", got)
	}
	if !x.Has("a.warc.gz") || x.Has("c.warc.gz") {
		t.Error("Has is wrong after reopening")
	}
	var names []string
	for f, err := range x.Files(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"a.warc.gz", "b.warc.gz"}) {
		t.Errorf("files %q", names)
	}
}

// entries counts capture and digest entries as they lie in Badger.
func entries(t *testing.T, x *Index) (n int) {
	t.Helper()
	err := x.db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if p := it.Item().Key()[0]; p == prefixCapture || p == prefixDigest {
				n++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRemove(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	twoFiles(t, x)
	q := cdx.Query{URL: "http://example.com/"}
	if got := ask(t, x, q, nil); len(got) != 3 {
		t.Fatalf("before: %q", got)
	}
	before := entries(t, x)
	if err := x.Remove("a.warc.gz"); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, x, q, nil); len(got) != 1 || x.Has("a.warc.gz") {
		t.Errorf("after: %q", got)
	}
	if err := x.Purge(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, x); got != before-6 {
		t.Errorf("%d entries of %d left, want 6 fewer", got, before)
	}
	if got := x.Status(); got != (Status{Files: 1, Captures: 3}) {
		t.Errorf("status %+v", got)
	}
	if err := x.Remove("never.warc.gz"); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	twoFiles(t, x)
	if got := ask(t, x, q, nil); len(got) != 3 {
		t.Errorf("added again: %q", got)
	}
}

func TestFailedReadLeavesNothing(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	var a archive
	for range 50 {
		a.page("2026-01-01T00:00:00Z", "http://example.com/", strings.Repeat("text ", 2000))
	}
	broken := errors.New("the disk is broken")
	open := func() (io.ReadCloser, error) {
		half := strings.NewReader(a.String()[:a.Len()/2])
		return io.NopCloser(io.MultiReader(half, failing{broken})), nil
	}
	if err := x.Add(context.Background(), "a.warc.gz", open); !errors.Is(err, broken) {
		t.Fatalf("Add: %v", err)
	}
	if x.Has("a.warc.gz") || len(ask(t, x, cdx.Query{URL: "http://example.com/"}, nil)) != 0 {
		t.Error("captures of a failed Add answer")
	}
	if err := x.Purge(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := entries(t, x); n != 0 {
		t.Errorf("%d entries left", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := x.Add(ctx, "a.warc.gz", a.open); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Add: %v", err)
	}
	if err := x.Add(context.Background(), "a.warc.gz", a.open); err != nil || !x.Has("a.warc.gz") {
		t.Errorf("Add after failures: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	var a archive
	a.page("2026-01-01T00:00:00Z", "http://example.com/", "whole")
	whole := a.Len()
	a.page("2026-01-02T00:00:00Z", "http://example.com/", strings.Repeat("cut short ", 500))
	cut := a.String()[:whole+(a.Len()-whole)/2]
	for name, content := range map[string]string{"cut.warc.gz": cut, "notes.txt": "no archive at all\n", "empty.warc.gz": ""} {
		open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
		if err := x.Add(context.Background(), name, open); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := ask(t, x, cdx.Query{URL: "http://example.com/"}, nil); len(got) != 1 {
		t.Errorf("captures of the cut file: %q", got)
	}
	for f := range x.Files(context.Background()) {
		if (f.Damage == "") != (f.Name == "empty.warc.gz") && f.Name != "empty.warc.gz" {
			t.Errorf("%s: damage %q", f.Name, f.Damage)
		}
	}
}

func TestConcurrentAdds(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	var a archive
	a.page("2026-01-01T00:00:00Z", "http://example.com/", "one")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := x.Add(context.Background(), "a.warc.gz", a.open); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { ask(t, x, cdx.Query{URL: "http://example.com/"}, nil) })
	}
	wg.Wait()
	if got := ask(t, x, cdx.Query{URL: "http://example.com/"}, nil); len(got) != 1 {
		t.Errorf("captures %q", got)
	}
}

func TestRenew(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	twoFiles(t, x)
	var a archive
	a.page("2026-05-01T00:00:00Z", "http://example.com/", "new reading")
	if err := x.Remove("b.warc.gz"); err != nil {
		t.Fatal(err)
	}
	if err := x.Renew(context.Background(), "a.warc.gz", func() (io.ReadCloser, error) { return a.open() }); err != nil {
		t.Fatal(err)
	}
	got := ask(t, x, cdx.Query{URL: "example.com", Match: cdx.Domain}, nil)
	if want := []string{"20260501000000 http://example.com/ a.warc.gz"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if err := x.Purge(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := entries(t, x); n != 2 {
		t.Errorf("%d entries, want a capture and its digest", n)
	}
	if got := x.Status(); got.Files != 1 || got.Captures != 1 || got.Purging != 0 {
		t.Errorf("status %+v", got)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	twoFiles(t, x)
	one := ""
	for c := range x.Query(context.Background(), cdx.Query{URL: "http://example.com/", Limit: 1}, nil) {
		one = c.Digest
	}
	c, ok, err := x.Digest(context.Background(), one, nil)
	if err != nil || !ok || c.Timestamp != "20260101000000" || c.File != "a.warc.gz" {
		t.Errorf("Digest: %+v, %v, %v", c, ok, err)
	}
	c, ok, err = x.Digest(context.Background(), one, func(f string) bool { return f == "b.warc.gz" })
	if err != nil || !ok || c.File != "b.warc.gz" {
		t.Errorf("Digest in b: %+v, %v, %v", c, ok, err)
	}
	if _, ok, err := x.Digest(context.Background(), "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", nil); ok || err != nil {
		t.Errorf("unknown digest: %v, %v", ok, err)
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	t.Parallel()
	if x, err := Open(Config{Dir: "/dev/null/x"}, slog.New(slog.DiscardHandler)); err == nil {
		x.Close()
		t.Error("opened an index below a file")
	}
}
