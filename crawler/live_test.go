package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/crawler/control"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// live is a crawl that runs beside the test.
type live struct {
	*Crawl
	t     testing.TB
	ended chan struct{}
	sum   Summary
}

// start opens a crawl and lets it run.
func start(t testing.TB, cfg Config) *live {
	t.Helper()
	if cfg.Node == "" {
		cfg.Node = "node1"
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return begin(t, c)
}

// begin lets an opened crawl run. It ends with the test, also after a failure: nothing of it lives on in the next one.
func begin(t testing.TB, c *Crawl) *live {
	l := &live{Crawl: c, t: t, ended: make(chan struct{})}
	t.Cleanup(func() {
		select {
		case <-l.ended:
		case <-time.After(time.Minute):
			t.Error("the crawl does not end with its test")
		}
	})
	go func() {
		defer close(l.ended)
		var err error
		if l.sum, err = c.Run(t.Context()); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	return l
}

// obey gives an order that has to be carried out.
func (l *live) obey(given act.Act, by ...string) harvest.Reply {
	l.t.Helper()
	r, err := l.Obey(context.Background(), act.Order{Act: given, By: strings.Join(by, "")})
	if err != nil {
		l.t.Fatalf("%s: %v", given.Kind(), err)
	}
	return r
}

// end waits for the crawl's end.
func (l *live) end() Summary {
	l.t.Helper()
	select {
	case <-l.ended:
	case <-time.After(time.Minute):
		l.t.Fatalf("the crawl does not end: %+v", l.obey(act.Live{}).Live)
	}
	return l.sum
}

// until waits for something to become true.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// queued are the URIs that wait, as an operator sees them.
func (l *live) queued(pattern string) (all []string) {
	for _, u := range l.obey(act.URIs{Pattern: pattern}).URIs {
		all = append(all, u.URL)
	}
	return all
}

// patch is a change of settings, each given as name and value.
func patch(of ...any) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for i := 0; i < len(of); i += 2 {
		data, err := json.Marshal(of[i+1])
		if err != nil {
			panic(err)
		}
		out[of[i].(string)] = data
	}
	return out
}

// heldSite has a front page with links to /p/0 to /p/39; each of these is answered once the gate lets it through.
func heldSite(t testing.TB) (s *site, gate chan struct{}) {
	s = newSite(t)
	gate = make(chan struct{})
	var links strings.Builder
	for i := range 40 {
		fmt.Fprintf(&links, "<a href=/p/%d>x</a> ", i)
	}
	s.html("/{$}", links.String())
	s.mux.HandleFunc("/p/", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<a href=%s/below>below</a>", r.URL.Path)
	})
	return s, gate
}

// heldJob is a job for held sites: no fetch runs out of time.
func heldJob(seeds ...string) harvest.Job {
	job := newJob(seeds...)
	job.Settings.FetchTimeout, job.Settings.IdleTimeout = harvest.Duration(time.Hour), harvest.Duration(time.Hour)
	return job
}

// What an operator deletes, forgets or never wants is not fetched, and each act has its own trace.
func TestURIsUnderControl(t *testing.T) {
	t.Parallel()
	s, gate := heldSite(t)
	job := heldJob(s.URL + "/")
	job.Settings.MaxHops = 1
	job.Settings.Workers = 1
	dir := t.TempDir()
	l := start(t, Config{Dir: dir, Job: job})
	until(t, "forty pages wait", func() bool { return len(l.queued("/p/")) == 40 })
	if n := l.obey(act.Delete{Pattern: `/p/1\d$`}, "anna").Count; n != 10 {
		t.Errorf("%d deleted", n)
	}
	if n := len(l.queued("/p/")); n != 30 {
		t.Errorf("%d are listed after ten of forty were deleted", n)
	}
	l.obey(act.Never{URL: s.URL + "/p/20"})
	l.obey(act.Never{URL: s.URL + "/not/found/yet"})
	l.obey(act.Forget{URL: s.URL + "/p/21"})
	l.obey(act.Forget{URL: s.URL + "/p/22"})
	if e := l.obey(act.Explain{URL: s.URL + "/p/23"}).Explained; e.Known != "queued" || e.Decision != "accept" {
		t.Errorf("a queued URI is explained as %+v", e)
	}
	if e := l.obey(act.Explain{URL: s.URL + "/p/20"}).Explained; e.Known != "finished with status -5001" {
		t.Errorf("known: %s", e.Known)
	}
	l.obey(act.Seeds{Seeds: []string{s.URL + "/p/22", "no seed at all", s.URL + "/"}}, "anna")
	if _, err := l.Obey(t.Context(), act.Order{Act: act.Forget{URL: s.URL + "/p/0"}}); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("a URI in flight is forgotten: %v", err)
	}
	if r := l.obey(act.Search{Pattern: " -6000 "}); len(r.Lines) != 10 {
		until(t, "the log has the deleted ones", func() bool {
			return len(l.obey(act.Search{Pattern: " -6000 "}).Lines) == 10
		})
	}
	close(gate)
	l.end()
	got := s.counts()
	for _, p := range []string{"/p/10", "/p/19", "/p/20", "/p/21", "/not/found/yet"} {
		if p != "/p/21" && got[p] != 0 {
			t.Errorf("%s was asked for", p)
		}
	}
	if got["/p/22"] != 1 || got["/"] != 2 {
		t.Errorf("added seeds were asked for %d and %d times", got["/p/22"], got["/"])
	}
	for path, want := range map[string]string{"/p/10": "-6000", "/p/19": "-6000", "/p/20": "-5001", "/not/found/yet": "-5001", "/p/22": "200"} {
		if status, _ := logged(t, dir, s.URL+path); status != want {
			t.Errorf("%s: status %s, want %s", path, status, want)
		}
	}
	report, err := os.ReadFile(filepath.Join(dir, "reports", "seeds-report.txt"))
	if text := string(report); err != nil || strings.Count(text, s.URL+"/\n") != 1 || strings.Count(text, s.URL+"/p/22\n") != 1 || !strings.Contains(text, "-7 NOTCRAWLED no") {
		t.Errorf("seeds report %v:\n%s", err, text)
	}
	checkFiles(t, dir)
}

// A frozen queue asks for nothing until it is thawed; a retired one lets the crawl end, and comes back with a budget; a
// blocked host is asked for nothing, not even robots.txt, also after the crawl is opened again.
func TestQueuesUnderControl(t *testing.T) {
	t.Parallel()
	s, gate := heldSite(t)
	other, otherGate := heldSite(t)
	job := heldJob(s.URL+"/", other.URL+"/")
	job.Settings.MaxHops = 1
	job.Settings.Workers = 4
	dir := t.TempDir()
	l := start(t, Config{Dir: dir, Job: job})
	until(t, "all pages wait", func() bool { return len(l.queued("/p/")) == 80 })
	name := strings.ReplaceAll(s.host(), ".", `\.`)
	if _, err := l.Obey(t.Context(), act.Order{Act: act.Freeze{Queue: "127"}}); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("an expression that matches no whole name: %v", err)
	}
	l.obey(act.Freeze{Queue: name})
	if q := l.obey(act.Queues{State: "frozen"}).Queues; len(q) != 1 || q[0].Name != s.host() || q[0].Queued != 40 {
		t.Errorf("frozen queues %+v", q)
	}
	gate <- struct{}{} // what was in flight
	until(t, "it ended", func() bool {
		return l.obey(act.Queues{State: "frozen"}).Queues[0].InFlight == 0
	})
	before := s.counts()
	l.obey(act.Block{URL: other.host(), Reason: "their wish"})
	l.obey(act.Kill{URL: other.URL + "/p/0"})
	until(t, "the blocked host's URIs end", func() bool { return len(l.queued(other.host())) == 0 })
	if after := s.counts(); len(after) != len(before) {
		t.Errorf("a frozen queue went on: %v", after)
	}
	l.obey(act.Retire{Queue: name})
	l.obey(act.Unfreeze{Queue: name})
	if sum := l.end(); sum.Counters.Queued != 39 || !sum.Resumable {
		t.Errorf("summary %+v", sum)
	}
	if n := len(other.requests()); n != 3 { // robots.txt, the front page, the one that was killed
		t.Errorf("the blocked host was asked %d times", n)
	}
	if status, _ := logged(t, dir, other.URL+"/p/0"); status != "-7000" {
		t.Errorf("what was killed has status %s", status)
	}
	if status, _ := logged(t, dir, other.URL+"/p/1"); status != "-5001" {
		t.Errorf("what was blocked has status %s", status)
	}

	job.Seeds = append(job.Seeds, other.URL+"/new")
	l = startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Budget{Queue: name, Total: new(int64(1000))})
	close(gate)
	l.obey(act.Resume{})
	if sum := l.end(); sum.Counters.Queued != 0 || sum.Reason != "completed" {
		t.Errorf("summary %+v", sum)
	}
	if status, _ := logged(t, dir, other.URL+"/new"); status != "-5001" || len(other.requests()) != 3 {
		t.Errorf("what was blocked before the crawl was opened again has status %s", status)
	}
	if n := s.counts(); n["/p/39"] != 1 || len(n) != 42 {
		t.Errorf("a queue with a new budget asked for %v", n)
	}
	checkFiles(t, dir)

	l = startPaused(t, Config{Dir: dir, Job: job})
	close(otherGate)
	l.obey(act.Unblock{URL: strings.ToUpper(other.host())})
	l.obey(act.Seeds{Seeds: []string{other.URL + "/p/30"}})
	l.obey(act.Resume{})
	l.end()
	if n := other.counts(); n["/p/30"] != 1 {
		t.Errorf("%v", n)
	}
}

// startPaused opens a crawl that begins with a pause.
func startPaused(t testing.TB, cfg Config) *live {
	t.Helper()
	cfg.Node = "node1"
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.course.Pause(control.ForOperator, control.Hold{Reason: "before it starts"}, 0)
	return begin(t, c)
}

// What is not understood of an order to list something is refused, and not answered with nothing.
func TestWhatCannotBeListedIsRefused(t *testing.T) {
	t.Parallel()
	l := startPaused(t, Config{Dir: t.TempDir(), Job: newJob(smallSite(t).URL + "/")})
	for _, o := range []act.Act{act.Queues{State: "idle"}, act.Queues{Sort: "size"}, act.URIs{After: "a page?"},
		act.Domains{State: "frozen"}, act.Events{After: "x"}, act.Search{After: "x"}, act.Search{Log: "x"}, act.Report{Name: "hosts", After: "x"}} {
		if r, err := l.Obey(t.Context(), act.Order{Act: o}); !errors.Is(err, harvest.ErrInvalid) {
			t.Errorf("%+v: %+v, %v", o, r, err)
		}
	}
	if q := l.obey(act.Queues{State: "ready"}).Queues; len(q) != 1 {
		t.Errorf("queues that are ready: %+v", q)
	}
	l.obey(act.Stop{})
	l.end()
}

// A robots.txt that was blocked is asked for again once the block has ended.
func TestUnblockedRobots(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	job := newJob(s.URL + "/")
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Block{URL: s.URL + "/robots.txt"})
	l.obey(act.Resume{})
	l.end()
	if status, _ := logged(t, dir, s.URL+"/"); status != "-61" || len(s.requests()) != 0 {
		t.Errorf("status %s, %d requests", status, len(s.requests()))
	}
	l = startPaused(t, Config{Dir: dir, Job: job})
	for _, want := range []int64{1, 0} { // the second time there is nothing to end
		if n := l.obey(act.Unblock{URL: s.URL + "/robots.txt"}).Count; n != want {
			t.Errorf("%d blocks ended, want %d", n, want)
		}
	}
	if n := l.obey(act.Forget{URL: s.URL + "/never/seen"}).Count; n != 0 {
		t.Errorf("%d URIs forgotten of none", n)
	}
	l.obey(act.Seeds{Seeds: []string{s.URL + "/a"}})
	l.obey(act.Resume{})
	l.end()
	if n := s.counts(); n["/robots.txt"] != 1 || n["/a"] != 1 {
		t.Errorf("requests %v", n)
	}
}
