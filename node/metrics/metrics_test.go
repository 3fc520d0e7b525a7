package metrics

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

var update = flag.Bool("update", false, "write the table of metrics into doc/metrics.md")

// full returns parts in which every figure is known, with numbers of that size.
func full(size int) []Part {
	n, u := int64(size), uint64(size)
	at := time.Unix(1_700_000_000+n, 0)
	return []Part{
		Known("node", func() Node {
			return Node{Name: "north-1", Replica: "north", Kind: "bitarchive", Place: "Northtown", Version: "v1", Go: "go1", Started: at, Ready: true}
		}),
		Known("consensus", func() Consensus {
			return Consensus{Role: "leader", Roles: []string{"leader", "follower"}, Quorum: true, Term: u, Applied: u, Commit: 2 * u,
				Voters: size, LogBytes: n, ClusterLevel: 4}
		}),
		Known("members", func() Members {
			return Members{States: []string{"alive", "failed"}, ByState: map[string]int{"alive": size}, Skew: time.Duration(size), Others: size,
				Compared: size, Connected: size, Dials: u, Refusals: map[string]uint64{"strangers": u}}
		}),
		Known("alerts", func() Alerts { return Alerts{{"disk-low", "bad"}: size} }),
		Known("copies", func() Copies {
			return Copies{{Name: "north", Files: n, Bytes: n, Verified: n}, {Name: "south", Files: n, Bytes: n, Owed: n, Disputed: n}}
		}),
		Known("jobs", func() Jobs {
			return Jobs{States: []string{"NEW", "DONE"}, ByState: map[string]int{"DONE": size}}
		}),
		Known("audits", func() Audits { return Audits{Running: 1, Last: Audit{Ended: at, Files: n, Corrupt: size}} }),
		Known("outbox", func() Outbox { return Outbox{size} }),
		Known("index", func() Index { return Index{Files: n, Captures: n, Waiting: size, Failed: size} }),
		Known("crawls", func() Crawls { return Crawls{Running: size, Slots: 2, Succeeded: n, Bytes: n} }),
		Known("disk /srv/files", func() Disk { return Disk{Root: "/srv/files", Size: n, Free: n, Reserve: 1} }),
	}
}

// scrape returns the answer to a scrape.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// series returns what identifies each series of an answer: the line without its value.
func series(text string) (out []string) {
	for line := range strings.Lines(text) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "#") {
			out = append(out, line[:i])
		}
	}
	slices.Sort(out)
	return out
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Each metric of the table is shown with its help and type, no other one is, and the names are as Prometheus wants them.
func TestEveryMetricIsShown(t *testing.T) {
	t.Parallel()
	m := New(full(5), quiet())
	m.Count("api", http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	text := scrape(t, m)
	for _, e := range table() {
		for _, want := range []string{"# HELP " + e.name + " ", "# TYPE " + e.name + " " + e.kind + "\n"} {
			if !strings.Contains(text, "\n"+want) {
				t.Errorf("%q is not in the answer", want)
			}
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (holdfast_\w+) `).FindAllStringSubmatch(text, -1) {
		if entryOf(found[1]).name == "" {
			t.Errorf("%s is not in the table", found[1])
		}
	}
	if !strings.Contains(text, "\ngo_goroutines ") || !strings.Contains(text, "\nprocess_open_fds ") {
		t.Error("the figures of runtime and process are missing")
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "holdfast_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// Names follow the conventions: base units at the end, _total for counters alone.
func TestNames(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^holdfast(_[a-z]+)+$`)
	for _, e := range table() {
		if !name.MatchString(e.name) || !strings.HasSuffix(e.help, ".") || strings.HasSuffix(e.name, "_total") != (e.kind == counter) {
			t.Errorf("%s, a %s: %s", e.name, e.kind, e.help)
		}
		for unit, want := range map[string]string{"seconds": "_seconds", "bytes": "_bytes"} {
			has := strings.HasSuffix(strings.TrimSuffix(e.name, "_total"), want)
			if is := e.unit == unit || strings.HasPrefix(e.unit, unit+" "); is != has {
				t.Errorf("%s has the unit %q", e.name, e.unit)
			}
		}
	}
}

// A bigger archive has no more series.
func TestSeriesDoNotGrow(t *testing.T) {
	t.Parallel()
	small, big := series(scrape(t, New(full(1), quiet()))), series(scrape(t, New(full(1<<30), quiet())))
	if !slices.Equal(small, big) || len(small) < 50 {
		t.Errorf("%d series, and %d of a bigger archive", len(small), len(big))
	}
}

// What is not known is absent: a part that fails, a figure that a part does not know.
func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	t.Parallel()
	text := scrape(t, New([]Part{
		Of("jobs", func() (Jobs, error) { return Jobs{States: []string{"NEW"}}, errors.New("the disk does not answer") }),
		Known("crawls", func() Crawls { return Crawls{Slots: 2} }),
		Known("members", func() Members { return Members{Others: 2} }),
		Known("consensus", func() Consensus { return Consensus{Role: "outside"} }),
		Known("audits", func() Audits { return Audits{} }),
		Known("disk /taken-out", func() Disk { return Disk{} }),
	}, quiet()))
	for _, want := range []string{`holdfast_scrape_part_success{part="jobs"} 0`, `holdfast_scrape_part_success{part="crawls"} 1`,
		"holdfast_crawl_slots 2", "holdfast_crawl_bytes_total 0", "holdfast_raft_quorum 0"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%q is not in the answer", want)
		}
	}
	for _, unknown := range []string{"holdfast_jobs", "holdfast_clock_skew_seconds", "holdfast_raft_commit_index", "holdfast_raft_log_bytes",
		"holdfast_cluster_level", "holdfast_audit_last_files", "holdfast_disk_free_bytes", "holdfast_index_files"} {
		if strings.Contains(text, "\n"+unknown) {
			t.Errorf("%s is in the answer", unknown)
		}
	}
}

// A part that hangs is left out when the time is over, and is not read again before it returns.
func TestAPartThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		answer := make(chan struct{})
		f := newFigures([]Part{
			Known("outbox", func() Outbox { reads.Add(1); <-answer; return Outbox{7} }),
			Known("crawls", func() Crawls { return Crawls{} }),
		}, scrapeLimit, quiet())
		registry := prometheus.NewRegistry()
		registry.MustRegister(f)
		// gather returns the values by series.
		gather := func() map[string]float64 {
			t.Helper()
			all, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			out := map[string]float64{}
			for _, family := range all {
				for _, m := range family.GetMetric() {
					label := ""
					for _, l := range m.GetLabel() {
						label += " " + l.GetValue()
					}
					out[family.GetName()+label] = m.GetGauge().GetValue()
				}
			}
			return out
		}
		for range 3 {
			began := time.Now()
			got := gather()
			if took := time.Since(began); took != scrapeLimit {
				t.Errorf("it took %v", took)
			}
			if _, there := got["holdfast_outbox_files"]; there || got[partSuccess+" outbox"] != 0 || got[partSuccess+" crawls"] != 1 {
				t.Errorf("%v", got)
			}
		}
		if n := reads.Load(); n != 1 {
			t.Errorf("read %d times", n)
		}
		close(answer)
		synctest.Wait()
		if got := gather(); got["holdfast_outbox_files"] != 7 || got[partSuccess+" outbox"] != 1 || reads.Load() != 2 {
			t.Errorf("%v", got)
		}
	})
}

// Requests are counted by port and class; no label is of what people ask for. Streams go out as they are written.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	m := New(nil, quiet())
	h := m.Count("access", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			http.NotFound(w, r)
		case "/stream":
			_, _ = io.WriteString(w, "x")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	for _, path := range []string{"/secret-path", "/missing", "/stream", "/early", "/missing"} {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if (path == "/stream") != answer.Flushed {
			t.Errorf("%s: flushed %v", path, answer.Flushed)
		}
	}
	text := scrape(t, m)
	for _, want := range []string{`{code="1xx",port="access"} 0`, `{code="2xx",port="access"} 2`, `{code="4xx",port="access"} 2`,
		`{code="5xx",port="access"} 1`} {
		if !strings.Contains(text, requestsTotal+want+"\n") {
			t.Errorf("%s is not in the answer", want)
		}
	}
	if !strings.Contains(text, requestSeconds+`_count{port="access"} 5`) || strings.Contains(text, "secret-path") {
		t.Error(text)
	}
}

// Only what reads is a scrape.
func TestAScrapeIsAGet(t *testing.T) {
	t.Parallel()
	answer := httptest.NewRecorder()
	New(nil, quiet()).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/metrics", nil))
	if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %v", answer.Code, answer.Header())
	}
}

// The document lists all metrics.
func TestDocument(t *testing.T) {
	t.Parallel()
	const path, begin = "../../doc/metrics.md", "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(content), begin)
	if !found {
		t.Fatalf("%s has no table", path)
	}
	text := head + begin
	for _, e := range table() {
		text += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", e.name, e.kind, e.unit, strings.Join(e.labels, ", "), e.help)
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(content) {
		t.Errorf("%s is not in step: go test ./node/metrics -run Document -update", path)
	}
}

// The example rules ask for metrics that there are.
func TestRules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../doc/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`holdfast_\w+`).FindAllString(string(text), -1)
	for _, name := range named {
		base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		if entryOf(name).name == "" && entryOf(base).kind != histogram {
			t.Errorf("there is no metric %s", name)
		}
	}
	if len(named) < 10 {
		t.Errorf("the rules name %d metrics", len(named))
	}
}
