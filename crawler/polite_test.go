package crawler

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
)

// Between the end of one answer and the next request to a host lies the pause that the settings ask for, by
// the server's clock; another host is not held up by it.
func TestPolitenessByTheServersLog(t *testing.T) {
	t.Parallel()
	const pause = 60 * time.Millisecond
	slow, quick := newSite(t), newSite(t)
	for _, s := range []*site{slow, quick} {
		var links strings.Builder
		for i := range 8 {
			fmt.Fprintf(&links, "<a href=/%d>x</a>", i)
			s.html(fmt.Sprintf("/%d", i), "page")
		}
		s.html("/{$}", links.String())
	}
	job := newJob(slow.URL+"/", quick.URL+"/")
	job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(pause), harvest.Duration(pause)
	run(t, t.TempDir(), job)
	for _, s := range []*site{slow, quick} {
		log := s.requests()
		if len(log) != 10 { // robots.txt, the seed, eight pages
			t.Errorf("%d requests", len(log))
		}
		for i := 1; i < len(log); i++ {
			if gap := log[i].at.Sub(log[i-1].at); gap < pause {
				t.Errorf("%s came %v after %s, want %v", log[i].path, gap, log[i-1].path, pause)
			}
		}
	}
	one, other := slow.requests(), quick.requests()
	if one[len(one)-1].at.Before(other[0].at) || other[len(other)-1].at.Before(one[0].at) {
		t.Error("one host waits for the other")
	}
}

// A Crawl-delay counts where it is longer than the settings' pause, up to their limit.
func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/{$}", "<a href=/1>1</a><a href=/2>2</a>")
	s.html("/1", "1")
	s.html("/2", "2")
	s.file("/robots.txt", "text/plain", "User-agent: *\nCrawl-delay: 50\n")
	job := newJob(s.URL + "/")
	job.Settings.MaxCrawlDelay = harvest.Duration(80 * time.Millisecond)
	run(t, t.TempDir(), job)
	log := s.requests()
	for i := 2; i < len(log); i++ { // the answer to the first request is what says so
		if gap := log[i].at.Sub(log[i-1].at); gap < 80*time.Millisecond {
			t.Errorf("%s came after %v", log[i].path, gap)
		}
	}
}

// robots.txt: a server error forbids, a client error allows, a redirect is followed, and what it says is obeyed; the
// file itself is recorded.
func TestRobotsAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		robots http.HandlerFunc
		status string
	}{
		{"allowed", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "User-agent: *\nDisallow: /other\n") }, "200"},
		{"forbidden", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "User-agent: Holdfast\nDisallow: /\n") }, "-9998"},
		{"another's rules", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "User-agent: other\nDisallow: /\n") }, "200"},
		{"not found", http.NotFound, "200"},
		{"not allowed to know", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }, "200"},
		{"server error", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "-9998"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/rules.txt", http.StatusFound) }, "-9998"},
		{"redirects without end", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/loop/"+fmt.Sprint(time.Now().UnixNano()), http.StatusFound)
		}, "200"},
		{"hangs up", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, "-61"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t)
			s.mux.HandleFunc("/robots.txt", tt.robots)
			s.mux.HandleFunc("/loop/", tt.robots)
			s.file("/rules.txt", "text/plain", "User-agent: *\nDisallow: /\n")
			s.html("/{$}", "page")
			dir := t.TempDir()
			run(t, dir, newJob(s.URL+"/"))
			if got, _ := logged(t, dir, s.URL+"/"); got != tt.status {
				t.Errorf("status %s, want %s", got, tt.status)
			}
			if n := captures(t, dir)[s.URL+"/robots.txt"]; n != 1 && tt.status != "-61" {
				t.Errorf("robots.txt is recorded %d times", n)
			}
		})
	}
}

// With robots.txt ignored it is not even fetched.
func TestRobotsIgnored(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	job := newJob(s.URL + "/")
	job.Settings.Robots = harvest.RobotsIgnore
	run(t, t.TempDir(), job)
	if n := s.counts(); n["/robots.txt"] != 0 || n["/private/p"] != 1 {
		t.Errorf("requests %v", n)
	}
}

// A name is looked up once, as a URI of its own, and recorded.
func TestNamesAreLookedUp(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	_, port, _ := strings.Cut(s.host(), ":")
	dir := t.TempDir()
	run(t, dir, newJob("http://localhost:"+port+"/"))
	if n := captures(t, dir); n["dns:localhost"] != 1 || n["http://localhost:"+port+"/a"] != 1 {
		t.Errorf("captures %v", n)
	}
	if status, _ := logged(t, dir, "dns:localhost"); status != "1" {
		t.Errorf("status %s", status)
	}
	if l := logLines(t, dir); l[0][3] != "dns:localhost" || !strings.HasSuffix(l[1][3], "/robots.txt") || l[1][4] != "P" {
		t.Errorf("the log begins %v", l[:2])
	}
}

// Limits end the crawl with their reason, and leave the rest queued.
func TestLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, reason string
		set          func(*harvest.Settings)
	}{
		{"objects", "object-limit", func(s *harvest.Settings) { s.MaxObjects = 3 }},
		{"bytes", "size-limit", func(s *harvest.Settings) { s.MaxBytes = 1000 }},
		{"time", "time-limit", func(s *harvest.Settings) {
			s.MaxTime, s.MinDelay, s.MaxDelay = harvest.Duration(150*time.Millisecond), harvest.Duration(time.Second), harvest.Duration(time.Second)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := newJob(smallSite(t).URL + "/")
			tt.set(&job.Settings)
			job.Settings.Workers = 1
			sum := run(t, t.TempDir(), job)
			if sum.Reason != tt.reason || !sum.Resumable || !sum.StopLimits || sum.Counters.Queued == 0 {
				t.Errorf("summary %+v", sum)
			}
			if sum.Reason == "object-limit" && sum.Counters.Succeeded != 4 { // and robots.txt
				t.Errorf("counters %+v", sum.Counters)
			}
		})
	}
}

// A paused crawl begins nothing; resumed it goes on; stopped it ends with the reason.
func TestPauseAndStop(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	c, err := New(Config{Dir: t.TempDir(), Job: newJob(s.URL + "/"), Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	c.Pause("look first")
	if p := c.Progress(); p.State != Paused || p.Reason != "look first" || p.Queued != 1 {
		t.Errorf("progress %+v", p)
	}
	s.seen = func(n int) {
		if n == 3 {
			go c.Stop("enough")
		}
	}
	ended := make(chan Summary)
	go func() {
		sum, err := c.Run(t.Context())
		if err != nil {
			t.Error(err)
		}
		ended <- sum
	}()
	if len(s.requests()) != 0 {
		t.Error("a paused crawl asks")
	}
	c.Resume()
	if sum := <-ended; sum.Reason != "enough" && sum.Reason != "completed" {
		t.Errorf("summary %+v", sum)
	}
}
