package crawler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/warc"
)

// Settings that are changed hold at once, for URIs that wait, too, and still when the crawl is opened again, unless
// the job then says otherwise than it did before. What cannot be changed is refused as a whole.
func TestSettingsAreChanged(t *testing.T) {
	t.Parallel()
	s, gate := heldSite(t)
	job := heldJob(s.URL + "/")
	job.Settings.MaxHops, job.Settings.Workers, job.Settings.HostValence = 1, 1, 8
	job.Settings.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", User: "u", Password: "verysecret"}}
	dir := t.TempDir()
	l := start(t, Config{Dir: dir, Job: job})
	fetching := func(n int) {
		t.Helper()
		until(t, fmt.Sprint(n, " are fetched at a time"), func() bool { return l.crew.Busy() == n })
	}
	settling := func(n int) { // while the gate lets through what those fetch who are to end
		t.Helper()
		until(t, fmt.Sprint(n, " are fetched at a time"), func() bool {
			busy := l.crew.Busy()
			if busy > n { // with fewer, one is between two pages: more than these must not pass, there are forty
				select {
				case gate <- struct{}{}:
				default:
				}
			}
			return busy == n
		})
	}
	until(t, "forty pages wait", func() bool { return len(l.queued("/p/")) == 40 })
	fetching(1)
	l.obey(act.Change{Settings: patch("workers", 5)})
	fetching(5)
	l.obey(act.Change{Settings: patch("workers", 2)})
	settling(2)
	l.obey(act.Change{Settings: patch("workers", 6)})
	l.obey(act.Change{Settings: patch("workers", 1)})
	l.obey(act.Change{Settings: patch("workers", 4)})
	settling(4)
	for _, bad := range []map[string]json.RawMessage{patch("min_delay", "1s", "max_hops", -1), patch("warc_writers", 3), patch("no_such", 1),
		patch("rules", []harvest.Rule{{Rule: "matches_regex", Values: []string{"("}}})} {
		if _, err := l.Obey(t.Context(), act.Order{Act: act.Change{Settings: bad}}); !errors.Is(err, harvest.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	l.obey(act.Change{Settings: patch("rules", []harvest.Rule{{Rule: "matches_regex", Decision: "reject", Values: []string{`.*/p/3\d`}}})})
	e := l.obey(act.Explain{URL: s.URL + "/p/33", Path: "L", Via: s.URL + "/"}).Explained
	if e.Decision != "reject" || e.Status != -5000 || e.Settings["min_delay"].From != "job" || string(e.Settings["min_delay"].Value) != `"0s"` ||
		e.Settings["max_retry_after"].From != "default" {
		t.Errorf("explained: %+v", e)
	}
	if text, _ := json.Marshal(e); strings.Contains(string(text), "verysecret") || len(e.Words) == 0 {
		t.Errorf("explained: %s", text)
	}
	until(t, "what the four workers ask for has arrived", func() bool {
		if l.crew.Busy() > 4 { // one that was sent away still holds its URI
			select {
			case gate <- struct{}{}:
			default:
			}
		}
		return l.crew.Busy() == 4 && int64(len(s.requests())) == l.frontier.Counters().Succeeded+4
	})
	l.obey(act.Change{Settings: patch("min_delay", "40ms", "max_delay", "40ms", "host_valence", 1)}, "anna")
	close(gate)
	begun := len(s.requests())
	l.end()
	log := s.requests()
	for i := begun + 1; i < len(log); i++ {
		if gap := log[i].at.Sub(log[i-1].at); gap < 40*time.Millisecond {
			t.Errorf("%s came %v after the one before, with min_delay of 40ms", log[i].path, gap)
		}
	}
	got := s.counts()
	for i := range 40 {
		path := fmt.Sprint("/p/", i)
		if status, _ := logged(t, dir, s.URL+path); i >= 30 && (status != "-5000" || got[path] != 0) || i < 30 && status != "200" {
			t.Errorf("%s: status %s, %d requests", path, status, got[path])
		}
	}
	settings, err := os.ReadFile(filepath.Join(dir, "settings", "job.json"))
	if err != nil || !strings.Contains(string(settings), `"min_delay": "40ms"`) || strings.Contains(string(settings), "verysecret") {
		t.Errorf("%v %s", err, settings)
	}

	job.Settings.Workers = 7 // was 1: the job has changed its mind since
	c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	if b := c.plan.Base(); b.MinDelay.Std() != 40*time.Millisecond || len(b.Rules) != 1 || b.Workers != 7 {
		t.Errorf("after it was opened again: min_delay %v, rules %v, %d workers", b.MinDelay, b.Rules, b.Workers)
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Error(err)
	}
	checkFiles(t, dir)
}

// What was changed while the crawl ran holds when it is opened again: for logins, for the queues that take part and for
// how long all rest first. WARC files that are begun later name it.
func TestChangesHoldAfterARestart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "pw" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	job := newJob(s.URL + "/a")
	job.Settings.Robots = harvest.RobotsIgnore
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Change{Settings: patch("credentials", []harvest.Credential{{Domain: "127.0.0.1", Kind: "basic", User: "u", Password: "pw"}},
		"user_agent", "Changed/2", "min_delay", "300ms", "max_delay", "300ms")})
	l.Stop("enough")
	l.end()
	began := time.Now()
	l = startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Resume{})
	l.end()
	if status, _ := logged(t, dir, s.URL+"/a"); status != "200" {
		t.Errorf("status %s with a password that was given while the crawl ran before", status)
	}
	if first := s.requests()[0].at; first.Sub(began) < 300*time.Millisecond {
		t.Errorf("asked %v after it was opened again, with min_delay of 300ms", first.Sub(began))
	}
	agents := map[string]bool{}
	for _, path := range warcFiles(t, dir) {
		eachRecord(t, path, func(r *warc.Record) {
			if text, err := io.ReadAll(r.Block); err == nil && r.Type == warc.TypeWarcinfo {
				agents[path] = strings.Contains(string(text), "Changed/2")
			}
		})
	}
	if len(agents) != 1 {
		t.Errorf("warcinfo of %v", agents)
	}
	for path, ok := range agents {
		if !ok {
			t.Errorf("%s does not name the agent", path)
		}
	}
}

// A file that is begun after a change names it.
func TestWarcinfoAfterAChange(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: newJob(s.URL + "/")})
	l.obey(act.Change{Settings: patch("user_agent", "Changed/2", "robots", "ignore")})
	l.obey(act.Resume{})
	l.end()
	for _, path := range warcFiles(t, dir) {
		eachRecord(t, path, func(r *warc.Record) {
			text, err := io.ReadAll(r.Block)
			if r.Type == warc.TypeWarcinfo && (err != nil || !strings.Contains(string(text), "Changed/2") || !strings.Contains(string(text), "robots: ignore")) {
				t.Errorf("%s %v", text, err)
			}
		})
	}
}

// A change that does not fit the settings that the job is opened with later is forgotten, the others hold; all are
// forgotten by wish.
func TestChangesThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	dir := t.TempDir()
	job := newJob(s.URL + "/")
	l := startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Change{Settings: patch("min_delay", "20s", "max_delay", "40s", "max_hops", 7)})
	l.Stop("enough")
	l.end()
	now := func(cfg Config) string {
		t.Helper()
		cfg.Dir, cfg.Node = dir, "node1"
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b := c.plan.Base()
		if err := errors.Join(c.journal.Commit(), c.close()); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(b.MinDelay, b.MaxDelay, b.MaxHops)
	}
	if got := now(Config{Job: job}); got != "20s 40s 7" {
		t.Errorf("opened as before: %s", got)
	}
	job.Settings.MaxDelay = harvest.Duration(10 * time.Second)
	if got := now(Config{Job: job}); got != "0s 10s 7" {
		t.Errorf("opened with another max_delay: %s", got)
	}
	job.Settings.MaxDelay = 0
	if got := now(Config{Job: job}); got != "0s 40s 7" {
		t.Errorf("what was forgotten comes back: %s", got)
	}
	if got := now(Config{Job: job, Forget: true}); got != "0s 0s "+fmt.Sprint(job.Settings.MaxHops) {
		t.Errorf("all is to be forgotten: %s", got)
	}
	if got := now(Config{Job: job}); got != "0s 0s "+fmt.Sprint(job.Settings.MaxHops) {
		t.Errorf("all was forgotten: %s", got)
	}
}

// A pause with a deadline ends by itself, and the time limit does not run meanwhile; one with a stop's deadline cuts
// off what hangs.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	s, _ := heldSite(t)
	job := heldJob(s.URL + "/")
	job.Settings.MaxTime, job.Settings.HostValence = harvest.Duration(6*time.Second), 4
	job.Settings.FetchTimeout, job.Settings.IdleTimeout = harvest.Duration(time.Minute), harvest.Duration(time.Minute)
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Pause{Reason: "lunch", For: harvest.Duration(6500 * time.Millisecond)}, "anna")
	if v := l.obey(act.Live{}).Live; v.State != "PAUSED" || v.Reason != "lunch" || v.Until == nil {
		t.Errorf("live %+v", v)
	}
	until(t, "it goes on", func() bool { return l.crew.Busy() == 4 })
	if v := l.obey(act.Live{}).Live; v.State != "RUNNING" || v.Until != nil || v.Elapsed.Std() >= 6*time.Second {
		t.Errorf("live %+v", v)
	}
	began := time.Now()
	l.obey(act.Stop{Reason: "enough", For: harvest.Duration(200 * time.Millisecond)})
	sum := l.end()
	if took := time.Since(began); took >= time.Minute || sum.Reason != "enough" || !sum.Resumable || sum.Counters.Queued != 40 {
		t.Errorf("after %v: %+v", took, sum)
	}
	if _, err := l.Obey(t.Context(), act.Order{Act: act.Live{}}); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("a crawl that has ended: %v", err)
	}
	for _, line := range logLines(t, dir) {
		if strings.Contains(line[3], "/p/") {
			t.Errorf("what was cut off is logged: %s", line)
		}
	}
}

// What happens can be read as events since a number, which grow across restarts, and is kept in job.log.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	dir := t.TempDir()
	job := newJob(s.URL + "/")
	last := ""
	for range 2 {
		l := startPaused(t, Config{Dir: dir, Job: job})
		until(t, "it has begun", func() bool { // orders are obeyed before
			all := l.obey(act.Events{After: last})
			return strings.Contains(fmt.Sprintf("%s", all.Events), `"started"`)
		})
		l.obey(act.Pause{Reason: "lunch"}, "anna")
		l.obey(act.Change{Settings: patch("max_hops", 7, "max_trans_hops", 1)}, "anna")
		all := l.obey(act.Events{After: last})
		text := string(fmt.Append(nil, all.Events))
		var kinds []string
		for _, e := range all.Events {
			var v struct{ Kind string }
			if err := json.Unmarshal(e, &v); err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, v.Kind)
		}
		if got := strings.Join(kinds, " "); !strings.Contains(got, "paused") || !strings.HasSuffix(got, "settings-changed") || all.Next == "" {
			t.Errorf("events %s, next %q, %s", got, all.Next, text)
		}
		last = all.Next
		if more := l.obey(act.Events{After: last}); len(more.Events) != 0 {
			t.Errorf("after the last: %s", more.Events)
		}
		l.obey(act.Resume{}, "anna")
		l.end()
	}
	log, err := os.ReadFile(filepath.Join(dir, "logs", "job.log"))
	if err != nil || strings.Count(string(log), ` paused {"reason":"lunch","by":"anna"}`) != 2 || strings.Count(string(log), " finished {") != 2 {
		t.Errorf("%v\n%s", err, log)
	}
}

// A fetch that hangs is broken off by its worker's number; the others go on.
func TestKillAFetch(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	s.mux.HandleFunc("/hangs", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/b>b</a>")
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-hang:
		}
	})
	job := newJob(s.URL+"/", s.URL+"/hangs")
	job.Settings.FetchTimeout, job.Settings.IdleTimeout = harvest.Duration(time.Hour), harvest.Duration(time.Hour)
	job.Settings.HostValence = 2
	dir := t.TempDir()
	l := start(t, Config{Dir: dir, Job: job})
	number := 0
	until(t, "only what hangs is left", func() bool {
		v := l.obey(act.Live{}).Live
		for _, w := range v.Workers {
			if strings.HasSuffix(w.URL, "/hangs") && w.Stage == "fetch" {
				number = w.Number
			}
		}
		return number != 0 && v.Queued == 1
	})
	if n := l.obey(act.Kill{Worker: number}).Count; n != 1 {
		t.Errorf("%d killed", n)
	}
	l.end()
	status, notes := logged(t, dir, s.URL+"/hangs")
	if status != "-7000" {
		t.Errorf("status %s, annotations %s", status, notes)
	}
	checkFiles(t, dir)
}

// More queues take part at once when max_active_queues is raised.
func TestMoreActiveQueues(t *testing.T) {
	t.Parallel()
	a, gate := heldSite(t)
	b, other := heldSite(t)
	job := heldJob(a.URL+"/p/0", b.URL+"/p/0")
	job.Settings.MaxActiveQueues, job.Settings.Robots, job.Settings.MaxHops = 1, harvest.RobotsIgnore, 0
	l := start(t, Config{Dir: t.TempDir(), Job: job})
	until(t, "one is asked", func() bool { return len(a.requests())+len(b.requests()) == 1 && l.crew.Busy() == 1 })
	l.obey(act.Change{Settings: patch("max_active_queues", 5)})
	until(t, "both are asked", func() bool { return len(a.requests()) == 1 && len(b.requests()) == 1 })
	close(gate)
	close(other)
	l.end()
}

// What an order brings while the last URI ends is still crawled.
func TestOrderAtTheEnd(t *testing.T) {
	t.Parallel()
	s := pages(t, 3, hello)
	s.html("/late", "late")
	job := newJob(s.URL + "/")
	job.Settings.Workers = 3
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: job})
	_, done, ok := l.orders.Gate.Enter(t.Context())
	if !ok {
		t.Fatal("it takes no orders")
	}
	l.obey(act.Resume{})
	until(t, "the workers have ended", l.orders.Gate.Closed)
	if _, err := l.AddSeeds([]string{s.URL + "/late"}, ""); err != nil {
		t.Error(err)
	}
	done()
	if sum := l.end(); sum.Reason != "completed" || sum.Counters.Queued != 0 || s.counts()["/late"] != 1 {
		t.Errorf("%v, %+v", s.counts(), sum)
	}
}

// Where the scope is another than it was, it is still that of all seeds: the job's, those added, and what they redirect
// to.
func TestChangedScopeKeepsSeeds(t *testing.T) {
	t.Parallel()
	s, moved, added := pages(t, 3, hello), pages(t, 3, hello), pages(t, 3, hello)
	asked := make(chan struct{}, 10)
	s.mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, moved.URL+"/start", http.StatusFound)
	})
	moved.mux.HandleFunc("/start", func(w http.ResponseWriter, r *http.Request) {
		if asked <- struct{}{}; len(asked) == 1 {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/>")
	})
	job := newJob(s.URL+"/moved", s.URL+"/")
	job.Settings.Scope = harvest.ScopeAny
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Seeds{Seeds: []string{added.URL + "/"}})
	l.obey(act.Resume{})
	until(t, "only where the seed leads is not fetched yet", func() bool {
		return len(asked) == 1 && l.frontier.Counters().Queued == 1
	})
	l.obey(act.Stop{For: harvest.Duration(time.Millisecond)})
	l.end()
	l = startPaused(t, Config{Dir: dir, Job: job})
	l.obey(act.Change{Settings: patch("scope", harvest.ScopeHost)})
	l.obey(act.Resume{})
	l.end()
	for _, site := range []*site{s, moved, added} {
		n := site.counts()
		for _, path := range []string{"/", "/p/0", "/p/1", "/p/2"} {
			if n[path] != 1 {
				t.Errorf("%s%s was fetched %d times", site.URL, path, n[path])
			}
		}
	}
}
