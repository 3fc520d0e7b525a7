package crawler

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/harvest"
)

// Environment of a crawl that runs as a process of its own: to be killed, or to have its CPU time told.
const (
	envCrawlDir   = "HOLDFAST_TEST_CRAWL_DIR"
	envCrawlSeed  = "HOLDFAST_TEST_CRAWL_SEED"
	envCrawlBytes = "HOLDFAST_TEST_CRAWL_WARC_BYTES"

	envCrawlBrowser = "HOLDFAST_TEST_CRAWL_BROWSER"
	envCrawlAlike   = "HOLDFAST_TEST_CRAWL_ALIKE"
)

// killBytes is the size of WARC files, small so that some are finished while the crawl runs.
const killBytes = 100 << 10

// killWriters write at a time.
const killWriters = 3

func killJob(seed string) harvest.Job {
	job := newJob(seed)
	job.Settings.WARCBytes, job.Settings.WARCWriters = killBytes, killWriters
	return job
}

// crawlHere crawls from seeds, with spaces between them.
func crawlHere(dir, seeds, warcBytes string) error {
	job := newJob(strings.Fields(seeds)...)
	if os.Getenv(envCrawlBrowser) != "" {
		job = browserJob(seeds)
	}
	if os.Getenv(envCrawlAlike) != "" {
		job = alikeJob(seeds)
	}
	if table := os.Getenv(envCrawlTable); table != "" {
		job.Domains = benchTable(table)
	}
	var err error
	if job.Settings.WARCBytes, err = strconv.ParseInt(warcBytes, 10, 64); err != nil {
		return err
	}
	if job.Settings.WARCBytes == killBytes {
		job.Settings.WARCWriters = killWriters
	}
	c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
	if err != nil {
		return err
	}
	go settleWhenTold(c)
	_, err = c.Run(context.Background())
	return err
}

// settleWhenTold makes durable what was crawled so far, for each line that comes, and answers then.
func settleWhenTold(c *Crawl) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := c.journal.Settle(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		fmt.Println("settled")
	}
}

const killPages = 1500

// bigSite has pages that link to a few others each, so that all are found bit by bit; each takes a moment.
func bigSite(t testing.TB) *site {
	s := newSite(t)
	s.mux.HandleFunc("/p/", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p/"))
		if err != nil || n >= killPages {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := 1; i <= 3; i++ {
			fmt.Fprintf(w, "<a href=/p/%d>next</a> ", min(3*n+i, killPages-1))
		}
		fmt.Fprint(w, strings.Repeat("text of the page "+strconv.Itoa(n)+" ", 40))
	})
	s.file("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private\n")
	return s
}

// checkOnce checks that every page is recorded, logged and counted exactly once.
func checkOnce(t *testing.T, s *site, dir string, sum Summary) {
	t.Helper()
	seen := captures(t, dir)
	for uri, n := range seen {
		if n != 1 {
			t.Errorf("%s is recorded %d times", uri, n)
		}
	}
	want := killPages + 1 // and robots.txt
	if len(seen) != want {
		t.Errorf("%d URIs are recorded, want %d", len(seen), want)
	}
	lines := map[string]int{}
	for _, l := range logLines(t, dir) {
		if lines[l[3]]++; lines[l[3]] > 1 {
			t.Errorf("%s is logged %d times", l[3], lines[l[3]])
		}
		if seen[l[3]] == 0 {
			t.Errorf("%s is logged but not recorded", l[3])
		}
	}
	if len(lines) != want {
		t.Errorf("%d URIs are logged, want %d", len(lines), want)
	}
	if c := sum.Counters; c.Succeeded != int64(want) || c.Discovered != int64(want) || c.Queued != 0 {
		t.Errorf("counters %+v, want %d", c, want)
	}
	report, err := os.ReadFile(filepath.Join(dir, "reports", "domains-report.txt"))
	if lines := strings.Fields(string(report)); err != nil || len(lines) != 8 || lines[4] != strconv.Itoa(killPages) || lines[6] != "127.0.0.1" {
		t.Errorf("domains: %v\n%s", err, report)
	}
	twice := 0
	for _, n := range s.counts() {
		twice += n - 1
	}
	t.Logf("%d fetches beyond one per URI", twice)
}

// A crawl that is cancelled can be opened again and completes.
func TestCancelAndResume(t *testing.T) {
	t.Parallel()
	s := bigSite(t)
	dir := t.TempDir()
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := New(Config{Dir: dir, Job: killJob(s.URL + "/p/0"), Node: "node1"})
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		enough := len(s.log) + 150
		s.seen = func(n int) {
			if n == enough {
				cancel()
			}
		}
		s.mu.Unlock()
		sum, err := c.Run(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if sum.Reason != "unfinished" || !sum.Resumable {
			t.Fatalf("summary %+v", sum)
		}
	}
	s.mu.Lock()
	s.seen = nil
	s.mu.Unlock()
	checkOnce(t, s, dir, run(t, dir, killJob(s.URL+"/p/0")))
}
