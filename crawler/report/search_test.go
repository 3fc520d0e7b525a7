package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func writeLog(t testing.TB, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crawl.log")
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// bigLog is a crawl.log of several blocks, with a line longer than one, and a torn last line.
func bigLog() string {
	var b []byte
	for i := range 3000 {
		l := Line{Logged: noon, Status: []int{200, 404, -2, 301}[i%4], Size: int64(i), URI: fmt.Sprintf("http://www.h%d.example.org/p/%d", i%7, i),
			MIME: []string{"text/html", "text/css", "image/png"}[i%3], Worker: i % 25, Via: strings.Repeat("v", i%90)}
		if i == 1500 {
			l.URI += strings.Repeat("long", maxKept)
		}
		b = l.AppendTo(b)
	}
	return string(b) + "2026-03-04T12:00:00.123Z   200  "
}

// naive is what a search must find.
func naive(log string, q Query, from, end int64) (hits []Hit) {
	q.complete()
	at := int64(0)
	for line := range strings.Lines(log) {
		l := strings.TrimRight(line, "\n")
		if len(line) > maxKept {
			l = line[:maxKept]
		}
		if at >= from && at < end && q.matches([]byte(l)) && (q.Newest || strings.HasSuffix(line, "\n")) {
			hits = append(hits, Hit{at, l})
		}
		at += int64(len(line))
	}
	if q.Newest {
		slices.Reverse(hits)
	}
	return hits
}

func TestSearchFindsAllThatMatches(t *testing.T) {
	log := bigLog()
	path := writeLog(t, log)
	for name, q := range map[string]Query{
		"all":        {},
		"status":     {MinStatus: 400, MaxStatus: 499},
		"negative":   {MinStatus: -9999, MaxStatus: -1},
		"type":       {MIME: "Text/*"},
		"host":       {Host: "www.h3.example.org"},
		"domain":     {Host: ".example.org", MIME: "image/png"},
		"uri":        {URI: regexp.MustCompile(`/p/\d*7$`)},
		"expression": {Expr: regexp.MustCompile(`#01[0-3] `), MinStatus: 200, MaxStatus: 200},
		"none":       {Host: "nowhere"},
	} {
		for _, newest := range []bool{false, true} {
			for _, limit := range []int{29, 100000} {
				t.Run(fmt.Sprint(name, newest, limit), func(t *testing.T) {
					q.Newest, q.Limit, q.Scan, q.After = newest, limit, 90_000, 0
					var got []Hit
					for rounds := 0; ; rounds++ {
						a, err := Search(t.Context(), path, q)
						if err != nil {
							t.Fatal(err)
						}
						if len(a.Hits) > limit {
							t.Fatalf("%d hits, asked for %d", len(a.Hits), limit)
						}
						got = append(got, a.Hits...)
						if a.Next < 0 || a.Next == q.After || rounds > 5000 {
							break
						}
						q.After = a.Next
					}
					if want := naive(log, q, 0, int64(len(log))); !slices.Equal(got, want) {
						t.Errorf("%d hits, want %d", len(got), len(want))
					}
				})
			}
		}
	}
}

func TestSearchStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, newest := range []bool{false, true} {
		if _, err := Search(ctx, writeLog(t, bigLog()), Query{Newest: newest}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := Search(t.Context(), filepath.Join(t.TempDir(), "none"), Query{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestLastLines(t *testing.T) {
	log := bigLog()
	lines := slices.Collect(strings.Lines(log))
	for _, n := range []int{0, 1, 2, 700, 10_000} {
		at, err := lastLines(strings.NewReader(log), int64(len(log)), n)
		if want := strings.Join(lines[max(0, len(lines)-n):], ""); err != nil || log[at:] != want {
			t.Errorf("%d lines: %d bytes, want %d, %v", n, len(log)-int(at), len(want), err)
		}
	}
	if _, err := lastLines(strings.NewReader(log), int64(len(log))+1, 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of a log that was cut: %v", err)
	}
}

func TestCopyTail(t *testing.T) {
	log := bigLog()
	lines := slices.Collect(strings.Lines(log))
	path := writeLog(t, log)
	for n, want := range map[int]string{0: log, 1: lines[len(lines)-1], 700: strings.Join(lines[max(0, len(lines)-700):], "")} {
		var out strings.Builder
		if err := CopyTail(&out, path, n); err != nil || out.String() != want {
			t.Errorf("%d lines: %d bytes, want %d, %v", n, out.Len(), len(want), err)
		}
	}
	if err := CopyTail(io.Discard, path+"x", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
