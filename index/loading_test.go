package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/cdx"
	"holdfast/internal/sorter"
)

func list(captures ...cdx.Capture) func(func(cdx.Capture, error) bool) {
	return func(yield func(cdx.Capture, error) bool) {
		for _, c := range captures {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := openIndex(t, dir)
	const n = 60_000
	if err := x.Load(context.Background(), synthetic(n)); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if got := x.Status(); got.Captures != n || got.Files != n/20000 {
			t.Errorf("status %+v", got)
		}
		for _, i := range []int{0, 1, 33_333, n - 1} {
			want := syntheticCapture(i)
			var got []cdx.Capture
			q := cdx.Query{URL: want.URL, From: want.Timestamp, To: want.Timestamp}
			q.URL = "http://" + unsurt(want.Key)
			for c, err := range x.Query(context.Background(), q, nil) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, c)
			}
			if !slices.Equal(got, []cdx.Capture{want}) {
				t.Errorf("capture %d: %+v", i, got)
			}
			if c, ok, err := x.Digest(context.Background(), want.Digest, nil); err != nil || !ok || c != want {
				t.Errorf("digest %d: %+v %v %v", i, c, ok, err)
			}
		}
	}
	check()
	if err := x.Load(context.Background(), synthetic(1)); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("second load: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openIndex(t, dir)
	check()
	twoFiles(t, x)
	if got := ask(t, x, cdx.Query{URL: "http://example.com/"}, nil); len(got) != 3 {
		t.Errorf("added after a load: %q", got)
	}
}

func TestLoadOfEqualPlaces(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	c := cdx.Capture{Key: "com,example)/", Timestamp: "20260101000000", URL: "http://example.com/", File: "z"}
	first, second, third := c, c, c
	first.Timestamp, first.File, third.File = "20250101000000", "b", "b"
	second.Offset = 9
	if err := x.Load(context.Background(), list(first, second, c, third, third)); err != nil {
		t.Fatal(err)
	}
	want := []string{"20250101000000 http://example.com/ b", "20260101000000 http://example.com/ b", "20260101000000 http://example.com/ z", "20260101000000 http://example.com/ z"}
	if got := ask(t, x, cdx.Query{URL: "http://example.com/"}, nil); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestFailedLoadLeavesAnEmptyIndex(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, stream := range map[string]func(func(cdx.Capture, error) bool){
		"unsorted": list(syntheticCapture(300), syntheticCapture(0)),
		"broken": func(yield func(cdx.Capture, error) bool) {
			_ = yield(syntheticCapture(0), nil) && yield(cdx.Capture{}, broken)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := openIndex(t, t.TempDir())
			err := x.Load(context.Background(), stream)
			if !errors.Is(err, broken) && !errors.Is(err, ErrUnsorted) {
				t.Fatalf("Load: %v", err)
			}
			if x.Status() != (Status{}) || entries(t, x) != 0 {
				t.Errorf("status %+v, %d entries", x.Status(), entries(t, x))
			}
			twoFiles(t, x)
			if err := x.Remove("a.warc.gz"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInterruptedLoadStartsEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := openIndex(t, dir)
	twoFiles(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, loadMarker), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	x = openIndex(t, dir)
	if got := x.Status(); got != (Status{}) {
		t.Errorf("status %+v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, loadMarker)); err == nil {
		t.Error("the marker is still there")
	}
}

func TestSorterSpills(t *testing.T) {
	t.Parallel()
	s := sorter.New(t.TempDir(), 64<<10)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	const n = 20_000
	for i := range n {
		if err := s.Add(appendDigestKey(nil, digestHash(syntheticDigest(i)), 1, 1, int64(i)), fmt.Sprint("a rather long key of a page, number ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Spilled() {
		t.Fatal("nothing was spilled")
	}
	var last []byte
	got := 0
	for e, err := range s.Sorted() {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Compare(last, e[:digestKeyLen]) > 0 {
			t.Fatalf("%x after %x", e[:digestKeyLen], last)
		}
		last = append(last[:0], e[:digestKeyLen]...)
		got++
	}
	if got != n {
		t.Errorf("%d of %d entries", got, n)
	}
}
