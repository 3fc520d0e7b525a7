package crawler

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/crawler/plan"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// A queue that has spent its total budget is retired: the crawl ends, its URIs stay. A session budget with nobody
// waiting is no limit.
func TestBudgets(t *testing.T) {
	t.Parallel()
	s := pages(t, 20, hello)
	job := newJob(s.URL + "/")
	job.Settings.TotalBudget, job.Settings.SessionBudget = 6, 2
	dir := t.TempDir()
	sum := run(t, dir, job)
	if n := len(s.requests()); n < 6 || n > 6+4 || sum.Counters.Queued != int64(22-n) || !sum.Resumable {
		t.Errorf("%d requests, %+v", n, sum)
	}
	report, err := os.ReadFile(filepath.Join(dir, "reports", "frontier-summary-report.txt"))
	if err != nil || !strings.Contains(string(report), "Retired queues: 1") {
		t.Errorf("%v\n%s", err, report)
	}
	retired := func(what string, want int) {
		t.Helper()
		log, err := os.ReadFile(filepath.Join(dir, "logs", "job.log"))
		if n := strings.Count(string(log), fmt.Sprintf(` queue-retired {"reason":"its total budget is spent","queue":%q}`, s.host())); err != nil || n != want {
			t.Errorf("%s: %v, %d times in\n%s", what, err, n, log)
		}
	}
	retired("told", 1)
	run(t, dir, job)
	retired("opened again", 1)
	job.Settings.TotalBudget = int64(len(s.requests()) + 2)
	run(t, dir, job)
	retired("with more budget", 2)
	job.Settings.TotalBudget = 0
	if sum := run(t, dir, job); sum.Reason != "completed" || len(s.requests()) != 22 {
		t.Errorf("%d requests, %+v", len(s.requests()), sum)
	}

	a, b := pages(t, 12, hello), pages(t, 12, hello)
	job = newJob(a.URL+"/", b.URL+"/")
	job.Settings.SessionBudget, job.Settings.MaxActiveQueues, job.Settings.Workers = 3, 1, 1
	if sum := run(t, t.TempDir(), job); sum.Reason != "completed" || len(a.requests()) != 14 || len(b.requests()) != 14 {
		t.Errorf("%d and %d requests, %+v", len(a.requests()), len(b.requests()), sum)
	}
	if first, last := a.requests(), b.requests(); first[13].at.Before(last[0].at) || last[13].at.Before(first[0].at) {
		t.Error("one queue waited until the other was done")
	}
}

// A queue that is retired by a budget set while the crawl ran comes back when that change is forgotten.
func TestForgottenBudget(t *testing.T) {
	t.Parallel()
	s := pages(t, 12, hello)
	job := newJob(s.URL + "/")
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: job})
	until(t, "it is known how queues are treated", func() bool {
		known, err := l.frontier.Value(plan.ValuePolicy)
		return err == nil && known != nil
	})
	l.obey(act.Change{Settings: patch("total_budget", 4)})
	l.obey(act.Resume{})
	if sum := l.end(); sum.Counters.Queued == 0 {
		t.Fatalf("nothing is left: %+v", sum)
	}
	again := start(t, Config{Dir: dir, Job: job, Forget: true})
	if sum := again.end(); sum.Reason != "completed" || sum.Counters.Queued != 0 {
		t.Errorf("%d requests, %+v", len(s.requests()), sum)
	}
}

// A change of settings reaches the queues though whoever gave the order has gone away.
func TestBudgetChangedByWhomWentAway(t *testing.T) {
	t.Parallel()
	s := pages(t, 12, hello)
	job := newJob(s.URL + "/")
	job.Settings.TotalBudget = 4
	dir := t.TempDir()
	if sum := start(t, Config{Dir: dir, Job: job}).end(); sum.Counters.Queued == 0 {
		t.Fatalf("nothing is left: %+v", sum)
	}
	l := startPaused(t, Config{Dir: dir, Job: job})
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := l.Obey(gone, act.Order{Act: act.Change{Settings: patch("total_budget", 0)}}); err != nil {
		t.Error(err)
	}
	l.obey(act.Resume{})
	if sum := l.end(); sum.Reason != "completed" || sum.Counters.Queued != 0 {
		t.Errorf("%d requests, %+v", len(s.requests()), sum)
	}
}

// No more bytes a second than host_bandwidth of one host, nor than bandwidth of all, as the servers see them go.
func TestBandwidth(t *testing.T) {
	t.Parallel()
	big := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(make([]byte, 600_000))
	}
	for _, tt := range []struct {
		name string
		set  func(*harvest.Settings)
		took time.Duration // at least, both
	}{
		{"of each host", func(s *harvest.Settings) { s.HostBandwidth = 800_000 }, 1200 * time.Millisecond},
		{"of all", func(s *harvest.Settings) { s.Bandwidth = 1_600_000 }, 1200 * time.Millisecond},
	} {
		a, b := pages(t, 2, big), pages(t, 2, big)
		job := newJob(a.URL+"/", b.URL+"/")
		tt.set(&job.Settings)
		began := time.Now()
		run(t, t.TempDir(), job)
		if took := time.Since(began); took < tt.took {
			t.Errorf("%s: 2.4 MB took %v", tt.name, took)
		}
	}
}

// A disk without the room that is to be left makes the crawl wait, and go on when there is more; the time limit does
// not run meanwhile.
func TestFullDiskPauses(t *testing.T) {
	t.Parallel()
	s := pages(t, 5, hello)
	job := newJob(s.URL + "/")
	job.Settings.MinFreeDisk, job.Settings.MaxTime = 1<<60, harvest.Duration(time.Minute)
	dir := t.TempDir()
	l := start(t, Config{Dir: dir, Job: job})
	until(t, "it waits", func() bool { return l.obey(act.Live{}).Live.State == "PAUSED" })
	if v := l.obey(act.Live{}).Live; !strings.Contains(v.Reason, "min_free_disk") {
		t.Errorf("reason %q", v.Reason)
	}
	l.obey(act.Change{Settings: patch("min_free_disk", 0)})
	if sum := l.end(); sum.Reason != "completed" || sum.Counters.Succeeded != 7 {
		t.Errorf("summary %+v", sum)
	}
	for log, want := range map[string]string{"alerts.log": "min_free_disk", "job.log": ` alert {"reason":"WARNING: crawl pauses free=`} {
		if text, err := os.ReadFile(filepath.Join(dir, "logs", log)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v, %s:\n%s", err, log, text)
		}
	}
}

// tunnel is an HTTP proxy that counts what it is asked for.
func tunnel(t *testing.T, asked chan<- string) string {
	return strings.TrimPrefix(rawServer(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		asked <- r.Method + " " + r.RequestURI
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nConnection: close\r\n\r\nproxy")
	}), "http://")
}

// Hosts that a pattern names are asked through its proxy, names that nobody knows among them; others are not.
func TestProxies(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	s := pages(t, 1, hello)
	job := newJob("http://no-such-name.example/", s.URL+"/")
	job.Settings.Robots = harvest.RobotsIgnore
	job.Settings.OperatorContact = "https://library.example/crawls"
	job.Settings.Proxies = []harvest.Route{{Hosts: []string{"*.example"}, Via: "http://user:verysecret@" + tunnel(t, asked)}}
	dir := t.TempDir()
	run(t, dir, job)
	if got := <-asked; got != "GET http://no-such-name.example/" {
		t.Errorf("the proxy was asked for %s", got)
	}
	if n := captures(t, dir); n["http://no-such-name.example/"] != 1 || n[s.URL+"/p/0"] != 1 || len(asked) != 0 {
		t.Errorf("captures %v", n)
	}
	noSecrets(t, dir, "verysecret")
}

// A source address is what the server sees.
func TestSourceAddresses(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 10)
	s := pages(t, 1, func(w http.ResponseWriter, r *http.Request) { seen <- r.RemoteAddr; hello(w, r) })
	job := newJob(s.URL + "/")
	job.Settings.SourceAddresses = []harvest.Route{{Hosts: []string{"127.0.0.1"}, Via: "127.0.0.9"}}
	run(t, t.TempDir(), job)
	if from := <-seen; !strings.HasPrefix(from, "127.0.0.9:") {
		t.Errorf("asked from %s", from)
	}
}
