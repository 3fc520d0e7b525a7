package report

import (
	"bytes"
	"context"
	"flag"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files again")

// golden compares what write writes with testdata/<name>.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, b.Bytes(), want)
	}
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123_000_000, time.UTC)

// someStats are figures of a small crawl.
func someStats() *Stats {
	s := NewStats()
	for _, l := range []Line{
		{Status: 1, Size: 59, MIME: "text/dns", Path: "P"},
		{Status: 200, Size: 1000, MIME: "text/html; charset=utf-8"},
		{Status: 200, Size: 500, MIME: "TEXT/HTML", Path: "L"},
		{Status: 200, Size: 3 << 20, MIME: "image/jpeg", Path: "E", Annotations: []string{"duplicate:digest"}},
		{Status: 304, Size: 10, Path: "L", Annotations: []string{"2t", "duplicate:server-not-modified"}},
		{Status: 404, Size: 20, MIME: "text/html", Path: "L"},
		{Status: -9998, Size: -1, Path: "L"},
		{Status: -2, Size: -1, Path: "L"},
	} {
		s.Add(&l)
	}
	return s
}

func TestReportsAreHeritrixs(t *testing.T) {
	s := someStats()
	golden(t, "mimetype-report.txt", func(w io.Writer) error { return WriteTypes(w, s) })
	golden(t, "responsecode-report.txt", func(w io.Writer) error { return WriteStatuses(w, s) })
	golden(t, "crawl-report.txt", func(w io.Writer) error {
		return WriteCrawl(w, Crawl{Name: "basic", Status: ExitStatus("time-limit", false), Reason: "time-limit",
			Elapsed: time.Hour + 33*time.Minute + 38*time.Second + 651*time.Millisecond, SeedsCrawled: 1, SeedsNotCrawled: 2, Hosts: 3,
			Discovered: 20, Queued: 12, Succeeded: 6, Failed: 1, Disregarded: 1, Bytes: 23_865_329, Captures: s.Captures})
	})
	golden(t, "seeds-report.txt", func(w io.Writer) error {
		return WriteSeeds(w, []Seed{{"http://ok/", 200, ""}, {"http://moved/", 301, "http://to/"}, {"http://gone/", 404, ""}, {"http://down/", -2, ""},
			{"http://later/", 0, ""}, {"bad seed", -7, ""}})
	})
	golden(t, "hosts-report.txt", func(w io.Writer) error {
		return WriteHosts(w, slices.Values([]Host{{Name: "dns:", URLs: 2, Bytes: 118, Captures: Captures{Novel: Count{2, 118}}}, {Name: "www.example.org", URLs: 1337, Bytes: 23_877_316, Robots: 3, Remaining: 4,
			Captures: Captures{Count{1300, 23_000_000}, Count{30, 877_000}, Count{7, 316}}}, {Name: "a.example.org", URLs: 2, Bytes: 7, Captures: Captures{Novel: Count{1, 3}}}}))
	})
}

func TestDomainsReport(t *testing.T) {
	golden(t, "domains-report.txt", func(w io.Writer) error {
		return WriteDomains(w, slices.Values([]Domain{{"a b.org", 1, 2, ""}, {"example.org", 1337, 23_877_316, "harvest-size"}}))
	})
}

func TestSourceReportIsHeritrixs(t *testing.T) {
	log := someLog()
	for _, room := range []int{1000, 2, 1} { // in memory, and in ever more files
		golden(t, "source-report.txt", func(w io.Writer) error {
			return writeSources(t.Context(), w, strings.NewReader(log), t.TempDir(), room)
		})
	}
	golden(t, "source-report-empty.txt", func(w io.Writer) error { return WriteSources(t.Context(), w, strings.NewReader(""), t.TempDir()) })
}

func TestSourceReportStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteSources(ctx, io.Discard, strings.NewReader(someLog()), t.TempDir()); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// someLog is a crawl.log of 300 lines, from two seeds.
func someLog() string {
	var b []byte
	for i := range 300 {
		l := Line{Logged: noon, Status: 200, Size: 1, URI: "http://h" + string(rune('a'+i%7)) + ".org:8080/" + strings.Repeat("x", i%11), Worker: 1, Source: "http://seed/"}
		switch {
		case i%5 == 0:
			l.Source = "http://other/"
		case i%13 == 0:
			l.URI = "dns:ha.org"
		case i%17 == 0:
			l.Status = -2
		case i == 1:
			l.Source = ""
		}
		b = l.AppendTo(b)
	}
	return string(b)
}

func TestFrontierReportsAreHeritrixs(t *testing.T) {
	queues := []Queue{
		{Name: "org,example,www,", State: Snoozed, Precedence: 3, Count: 12, Enqueued: 40, SessionBalance: 2972, LastCost: 1, Spent: 28, Budget: -1, Dequeues: 28,
			Errors: 1, LastDequeue: noon.Add(-time.Second), Wakes: noon.Add(1500 * time.Millisecond), LastPeeked: "http://www.example.org/a", LastQueued: "http://www.example.org/b c",
			Succeeded: 25, Failed: 2, Disregarded: 1, Responses: 26, Robots: 1, SuccessBytes: 1000, Bytes: 1100, NonResponses: 1, LastSuccess: noon.Add(-time.Minute)},
		{Name: "org,example,", State: Inactive, Precedence: 1, Count: 1, Enqueued: 1, Budget: -1, LastQueued: "http://example.org/"},
	}
	of := func(s QueueState) iter.Seq[Queue] {
		return func(yield func(Queue) bool) {
			for _, q := range queues {
				if q.State == s && !yield(q) {
					return
				}
			}
		}
	}
	golden(t, "frontier-summary-report.txt", func(w io.Writer) error {
		return WriteFrontierSummary(w, FrontierSummary{Job: "basic", State: "RUN", Discovered: 41, Queued: 13, Finished: 28, Succeeded: 25, Failed: 2, Ignore: 1, Included: 41,
			Snoozed: 1, Inactive: map[int]int64{1: 1, 3: 5}, Exhausted: 2, Longest: queues[:1],
			Queues: map[QueueState][]Queue{Snoozed: queues[:1], Inactive: queues[1:]}}, noon)
	})
	golden(t, "frontier-nonempty-report.txt", func(w io.Writer) error { return WriteFrontierNonempty(w, of, noon) })
	golden(t, "frontier-nonempty-report-empty.txt", func(w io.Writer) error {
		return WriteFrontierNonempty(w, func(QueueState) iter.Seq[Queue] { return func(func(Queue) bool) {} }, noon)
	})
}

func TestThreadsAndProcessorsAreHeritrixs(t *testing.T) {
	golden(t, "threads-report.txt", func(w io.Writer) error {
		return WriteThreads(w, "basic", []Doing{
			{Worker: 1, URI: "http://www.example.org/a b", Path: "LE", Via: "http://www.example.org/", Tries: 2, Stage: "fetch", Since: noon.Add(-5 * time.Second), StageSince: noon.Add(-4 * time.Second)},
			{Worker: 2, Since: noon.Add(-time.Minute), StageSince: noon.Add(-time.Minute)}}, noon)
	})
	golden(t, "processors-report.txt", func(w io.Writer) error {
		return WriteProcessors(w, "FetchChain", []Processor{
			{StageCount: StageCount{"pre-fetch", 1400, 14 * time.Millisecond}},
			{StageCount: StageCount{"fetch", 1337, 20 * time.Minute}, Function: "Fetch HTTP URIs"},
			{StageCount: StageCount{"extract", 1337, 3 * time.Second}, Function: "Extracts links", Lines: []string{"6894 links from 449 CrawlURIs"}}}, noon)
	})
}

func TestLogsAreHeritrixs(t *testing.T) {
	line := &Line{Logged: noon, Status: -5, Size: -1, URI: "http://h/", Worker: 3, Source: "http://h/"}
	golden(t, "runtime-errors.log", func(w io.Writer) error {
		_, err := w.Write(AppendError(nil, line, "panic: index out of range [3]\n\tholdfast/crawler/extract.html(...)\n\t\tcrawler/extract/html.go:17\n"))
		return err
	})
	golden(t, "nonfatal-errors.log", func(w io.Writer) error {
		_, err := w.Write(AppendError(AppendError(nil, line, "read response: connection reset"), line, ""))
		return err
	})
	golden(t, "uri-errors.log", func(w io.Writer) error {
		var b []byte
		for _, e := range []URIError{{noon, "http://h/a b", "Unsupported scheme: javascript", "javascript:,a b\nc"}, {noon, "", `no "host"`, ""}} {
			b = e.AppendTo(b)
		}
		_, err := w.Write(b)
		return err
	})
	golden(t, "alerts.log", func(w io.Writer) error {
		_, err := w.Write(AppendAlert(AppendAlert(nil, noon, "holdfast crawl basic", "WARNING", "disk is full\nnow"), noon.Add(-3*time.Hour), "holdfast crawl basic", "SEVERE", "x"))
		return err
	})
	golden(t, "progress-statistics.log", func(w io.Writer) error {
		b := AppendNote(nil, noon, NoteRunning, "Preparing")
		b = append(append(b, ProgressLegend...), '\n')
		for _, p := range []Progress{{At: noon}, {noon, 12_345_678, 1_234_567, 11_111_111, 48, 1234.567, 2345.6, 99999, 88888, 25, 123_456, 270_848, 1.5, 456_789, 114}} {
			b = p.AppendTo(b)
		}
		b = AppendNote(b, noon, NoteCheckpoint+"cp00001-20260304120000", "")
		_, err := w.Write(AppendNote(b, noon, NoteEnded, ExitStatus("completed", false)))
		return err
	})
}
