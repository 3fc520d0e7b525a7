package index

import (
	"context"
	"fmt"
	"testing"

	"holdfast/cdx"
)

// TestNothingIsOpenWhileCapturesAreUsed counts the calls inside the database while somebody uses what a query yielded, in
// each of its orders. Nothing is lost or said twice where it reads on.
func TestNothingIsOpenWhileCapturesAreUsed(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	const pages = 3*mostAhead + firstAhead + 1
	var a archive
	for i := range pages {
		a.page(fmt.Sprintf("2026-01-01T%02d:%02d:00Z", i/60, i%60), "http://example.com/", "page")
	}
	if err := x.Add(context.Background(), "a.warc.gz", a.open); err != nil {
		t.Fatal(err)
	}
	for want, q := range map[int]cdx.Query{
		pages:      {URL: "http://example.com/"},
		firstAhead: {URL: "http://example.com/", Limit: firstAhead},
		50:         {URL: "http://example.com/", Limit: 50},
		20:         {URL: "http://example.com/", Limit: 10, Sort: cdx.Closest, Closest: "20260101030000"},
		7:          {URL: "http://example.com/", Limit: 7, Sort: cdx.Reverse},
	} {
		last, n := "", 0
		for c, err := range x.Query(context.Background(), q, nil) {
			if err != nil {
				t.Fatal(err)
			}
			x.gate.mu.Lock()
			if x.gate.active != 0 {
				t.Errorf("%+v: the database is open while a capture is used", q)
			}
			x.gate.mu.Unlock()
			if c.Timestamp <= last {
				t.Errorf("%+v: %s after %s", q, c.Timestamp, last)
			}
			last = c.Timestamp
			n++
		}
		if n != want {
			t.Errorf("%+v: %d captures, want %d", q, n, want)
		}
	}
}

// TestFilesAddedMeanwhileDoNotAnswer adds a file while somebody uses the first captures of a query.
func TestFilesAddedMeanwhileDoNotAnswer(t *testing.T) {
	t.Parallel()
	x := openIndex(t, t.TempDir())
	var a, b archive
	for i := range 3 * firstAhead {
		a.page(fmt.Sprintf("2026-01-01T%02d:%02d:00Z", i/60, i%60), "http://example.com/", "page")
	}
	b.page("2026-06-01T00:00:00Z", "http://example.com/", "later")
	if err := x.Add(context.Background(), "a.warc.gz", a.open); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range x.Query(context.Background(), cdx.Query{URL: "http://example.com/"}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1 {
			if err := x.Add(context.Background(), "b.warc.gz", b.open); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 3*firstAhead {
		t.Errorf("%d captures, want those of before", n)
	}
}
