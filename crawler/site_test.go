package crawler

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/warc"
)

// request is one that a test site saw.
type request struct {
	path, agent string
	at          time.Time
}

// site is a website on loopback that keeps its own log.
type site struct {
	*httptest.Server
	mux *http.ServeMux
	mu  sync.Mutex
	log []request
	// seen, if set, is called with the number of requests so far.
	seen func(n int)
}

func newSite(t testing.TB) *site { return newSiteAt(t, "127.0.0.1") }

// newSiteAt is a site at an address of loopback.
func newSiteAt(t testing.TB, address string) *site {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{mux: http.NewServeMux()}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, request{r.URL.RequestURI(), r.UserAgent(), time.Now()})
		if s.seen != nil {
			s.seen(len(s.log))
		}
		s.mu.Unlock()
		s.mux.ServeHTTP(w, r)
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *site) html(path, body string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, body)
	})
}

func (s *site) file(path, kind, body string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, body)
	})
}

func (s *site) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.log...)
}

// counts is how often each path was asked for.
func (s *site) counts() map[string]int {
	n := map[string]int{}
	for _, r := range s.requests() {
		n[r.path]++
	}
	return n
}

// host is the site's host and port.
func (s *site) host() string { return strings.TrimPrefix(s.URL, "http://") }

// newJob is a job for a site on this machine, with no pauses.
func newJob(seeds ...string) harvest.Job {
	s := harvest.DefaultSettings()
	s.AllowPrivate = true
	s.MinDelay, s.MaxDelay, s.DelayFactor = 0, 0, 0
	s.Workers = 4
	s.RetryDelay = harvest.Duration(10 * time.Millisecond)
	s.MaxRetries = 1
	s.AnswerRetries, s.AnswerRetryDelay = 0, harvest.Duration(10*time.Millisecond)
	s.FetchTimeout, s.IdleTimeout = harvest.Duration(2*time.Minute), harvest.Duration(time.Minute)
	return harvest.Job{Name: "test", Seeds: seeds, Settings: s}
}

// run crawls to the end and checks every WARC file.
func run(t testing.TB, dir string, job harvest.Job) Summary {
	t.Helper()
	c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkFiles(t, dir)
	return s
}

func warcFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "warcs", "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// checkFiles holds each file against our validator, and has TestMain hold it against an independent one.
func checkFiles(t testing.TB, dir string) {
	t.Helper()
	if open, _ := filepath.Glob(filepath.Join(dir, "warcs", "*.open")); len(open) > 0 {
		t.Errorf("unfinished files: %v", open)
	}
	for _, f := range warcFiles(t, dir) {
		if _, err := warc.Check(f, func(x warc.Finding) { t.Errorf("%s: %+v", filepath.Base(f), x) }); err != nil {
			t.Errorf("check %s: %v", f, err)
		}
		keepForCheck(t, f)
	}
}

// captures counts the response records of each URI.
func captures(t testing.TB, dir string) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, path := range warcFiles(t, dir) {
		eachRecord(t, path, func(r *warc.Record) {
			if r.Type == warc.TypeResponse {
				n[r.TargetURI()]++
			}
		})
	}
	return n
}

func eachRecord(t testing.TB, path string, do func(*warc.Record)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := warc.NewReader(f, path)
	for err == nil {
		var rec *warc.Record
		if rec, err = r.Next(); err == nil {
			do(rec)
		}
	}
	if err.Error() != "EOF" {
		t.Fatal(err)
	}
}

// logLines are the lines of crawl.log, cut into columns.
func logLines(t testing.TB, dir string) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "logs", "crawl.log"))
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for line := range strings.Lines(string(data)) {
		columns := strings.Fields(line)
		if len(columns) != 12 {
			t.Fatalf("%d columns in %q", len(columns), line)
		}
		lines = append(lines, columns)
	}
	return lines
}

// logged is status and annotations of a URI's only line.
func logged(t testing.TB, dir, uri string) (status, annotations string) {
	t.Helper()
	n := 0
	for _, l := range logLines(t, dir) {
		if l[3] == uri {
			status, annotations = l[1], l[11]
			n++
		}
	}
	if n != 1 {
		t.Errorf("%s: %d lines in the log", uri, n)
	}
	return status, annotations
}

// rawServer answers each connection with do, on loopback.
func rawServer(t testing.TB, do func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); do(c) }()
		}
	}()
	return "http://" + l.Addr().String()
}
