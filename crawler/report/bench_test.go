package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/disk"
)

func benchLine() *Line {
	return &Line{Logged: noon, Status: 200, Size: 18_247, URI: "http://www.example.org/some/path/page.html?id=1234", Path: "LLE", Via: "http://www.example.org/some/path/",
		MIME: "text/html; charset=utf-8", Worker: 12, Begin: noon, Duration: 133 * time.Millisecond, Digest: "sha1:TVU3CBZF4MYL4OA4FRIPUSNHP3XFKYLB",
		Source: "http://www.example.org/", Annotations: []string{"2t", "lenTrunc"}}
}

// BenchmarkLine is a line of crawl.log as it is made for a commit.
func BenchmarkLine(b *testing.B) {
	l := benchLine()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = l.AppendTo(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}

// BenchmarkLinePrintf is the same line by package fmt: the baseline.
func BenchmarkLinePrintf(b *testing.B) {
	l := benchLine()
	var buf bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		mime, _, _ := strings.Cut(l.MIME, ";")
		fmt.Fprintf(&buf, "%s %5d %10d %s %s %s %s #%03d %s+%d %s %s %s\n", l.Logged.UTC().Format("2006-01-02T15:04:05.000Z"), l.Status, l.Size, l.URI, l.Path, l.Via, mime,
			l.Worker, l.Begin.UTC().Format("20060102150405.000"), l.Duration.Milliseconds(), l.Digest, l.Source, strings.Join(l.Annotations, ","))
	}
	b.SetBytes(int64(buf.Len()))
}

// BenchmarkStatsAndLive is what counting a line costs.
func BenchmarkStatsAndLive(b *testing.B) {
	s, v, l := NewStats(), NewLive(), benchLine()
	b.ReportAllocs()
	for b.Loop() {
		s.Add(l)
		v.Add(l, noon)
	}
}

// BenchmarkLiveManyHosts counts lines of a million hosts.
func BenchmarkLiveManyHosts(b *testing.B) {
	v, l := NewLive(), benchLine()
	uris := make([]string, 1<<20)
	for i := range uris {
		uris[i] = fmt.Sprintf("http://www.h%d.example.org/", i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		l.URI = uris[i%len(uris)]
		i++
		v.Add(l, noon)
	}
}

// BenchmarkStatsCommit is what a commit pays for figures that are as large as they get, and BenchmarkStatsCommitUsual for usual ones.
func BenchmarkStatsCommit(b *testing.B)      { benchCommit(b, maxTypes) }
func BenchmarkStatsCommitUsual(b *testing.B) { benchCommit(b, 40) }

func benchCommit(b *testing.B, types int) {
	s := NewStats()
	for i := range types {
		s.Add(&Line{Status: 200 + i, Size: 1, MIME: fmt.Sprintf("application/vnd.something.like.this+%d", i)})
	}
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		data, err := json.Marshal(s)
		if err != nil {
			b.Fatal(err)
		}
		size = len(data)
	}
	b.ReportMetric(float64(size), "bytes")
}

// BenchmarkSearch looks through a log for what is not there; BenchmarkSearchCount counts its newlines: the baseline.
func BenchmarkSearch(b *testing.B) {
	path, size := benchLog(b)
	b.SetBytes(size)
	for b.Loop() {
		if a, err := Search(b.Context(), path, Query{Host: "nowhere.org", MinStatus: 200, MaxStatus: 299}); err != nil || len(a.Hits) > 0 {
			b.Fatal(a, err)
		}
	}
}

func BenchmarkSearchNewest(b *testing.B) {
	path, size := benchLog(b)
	b.SetBytes(size)
	for b.Loop() {
		if a, err := Search(b.Context(), path, Query{Host: "nowhere.org", MinStatus: 200, MaxStatus: 299, Newest: true}); err != nil || len(a.Hits) > 0 {
			b.Fatal(a, err)
		}
	}
}

// BenchmarkSources makes the source report of a log.
func BenchmarkSources(b *testing.B) {
	var log []byte
	l := benchLine()
	for i := range 100_000 {
		l.URI = fmt.Sprintf("http://www.h%d.example.org/", i%50_000)
		log = l.AppendTo(log)
	}
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if err := WriteSources(b.Context(), io.Discard, bytes.NewReader(log), b.TempDir()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchLog(b *testing.B) (path string, size int64) {
	b.Helper()
	path = filepath.Join(b.TempDir(), CrawlLog)
	log, err := OpenLog(disk.New(), path, 0)
	if err != nil {
		b.Fatal(err)
	}
	l := benchLine()
	for range 100_000 {
		log.Add(l.AppendTo)
	}
	if size, err = log.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	return path, size
}
