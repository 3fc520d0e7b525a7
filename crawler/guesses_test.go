package crawler

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/crawler/report"
)

// Guesses of a kind that misses more than it finds rest after a few dozen, also when the crawl is opened again, and the
// report says so; guesses that are right do not.
func TestGuessesRest(t *testing.T) {
	var busy atomic.Int64
	tests := []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request)
		most   int // guesses that are tried
		least  int
	}{
		{"nothing there", http.NotFound, 45, 36},
		{"the index page everywhere", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>all the same</title>")
		}, 45, 36},
		{"a redirect to what is known", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) }, 45, 36},
		{"all are right", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, r.URL.Path)
		}, 200, 200},
		{"no time for some", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if busy.Add(1) <= 60 {
				w.WriteHeader([]int{429, 503}[busy.Load()%2])
			}
			fmt.Fprint(w, r.URL.Path)
		}, 200, 200},
		{"half are right", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "0.html") || strings.HasSuffix(r.URL.Path, "2.html") || strings.HasSuffix(r.URL.Path, "4.html") ||
				strings.HasSuffix(r.URL.Path, "6.html") || strings.HasSuffix(r.URL.Path, "8.html") {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, r.URL.Path)
				return
			}
			http.NotFound(w, r)
		}, 200, 36},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			var script strings.Builder
			for i := range 200 {
				fmt.Fprintf(&script, "'/guess/%d.html',", i)
			}
			s.html("/{$}", "<script src=/index.js></script><img data-x=/guess/other.png>")
			s.file("/index.js", "text/javascript", "var pages = ["+script.String()+"]")
			s.mux.HandleFunc("/guess/", tt.answer)
			tried := func() (n int) {
				for path, times := range s.counts() {
					if strings.HasPrefix(path, "/guess/") && path != "/guess/other.png" {
						n += times
					}
				}
				return n
			}
			job := newJob(s.URL + "/")
			job.Settings.MaxObjects = 20 // it is opened again
			dir := t.TempDir()
			run(t, dir, job)
			job.Settings.MaxObjects = 0
			if sum := run(t, dir, job); sum.Reason != "completed" || sum.Counters.Queued != 0 {
				t.Errorf("summary %+v", sum)
			}
			n := tried()
			if n > tt.most || n < tt.least {
				t.Errorf("%d guesses were tried, want %d to %d", n, tt.least, tt.most)
			}
			report, err := os.ReadFile(filepath.Join(dir, "reports", "guesses-report.txt"))
			if want := fmt.Sprintf(" rests %s =JS_MISC\n", s.host()); err != nil || strings.Contains(string(report), want) != (n < 200) {
				t.Errorf("report %s, %v", report, err)
			}
			left := 0
			for _, l := range logLines(t, dir) {
				if l[11] == "guessesRest" && l[1] == "-5000" {
					left++
				}
			}
			if left+n != 200 {
				t.Errorf("%d tried, %d left out", n, left)
			}
		})
	}
}

// A crawl that captured nothing says so for each seed, the first in the first line.
func TestNothingNamesEachSeed(t *testing.T) {
	sum := SeedSummary{Total: 2, Missed: []report.Seed{{URL: "http://a.example/", Status: -2}, {URL: "http://b.example/", Status: -61}}}
	lines := strings.Split(sum.Err().Error(), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "no seed was captured: http://a.example/: no connection could be made") ||
		!strings.Contains(lines[0], "2 seeds in all") || !strings.Contains(lines[1], "http://b.example/: its robots.txt could not be fetched") {
		t.Errorf("%q", lines)
	}
}
