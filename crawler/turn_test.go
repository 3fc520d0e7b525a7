package crawler

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// askings are when a site was asked and when it had answered.
type askings struct {
	mu  sync.Mutex
	all []asking
}

type asking struct {
	path       string
	begin, end time.Time
}

// slowly answers after a while, and ends at once when who asked goes away: a crawler that gives a request up counts its
// rest from then.
func (a *askings) slowly(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		select {
		case <-time.After(40 * time.Millisecond):
		case <-r.Context().Done():
		}
		if r.URL.Path != "/robots.txt" && r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/html")
		}
		a.mu.Lock()
		a.all = append(a.all, asking{r.URL.Path, begin, time.Now()})
		a.mu.Unlock()
		fmt.Fprint(w, body)
	}
}

// rested holds the log against the rest between one answer and the next request.
func (a *askings) rested(t *testing.T, rest time.Duration, atLeast int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.SortFunc(a.all, func(a, b asking) int { return a.begin.Compare(b.begin) })
	if len(a.all) < atLeast {
		t.Errorf("%d requests, want %d", len(a.all), atLeast)
	}
	for i := 1; i < len(a.all); i++ {
		if gap := a.all[i].begin.Sub(a.all[i-1].end); gap < rest-10*time.Millisecond {
			t.Errorf("%s came %v after the answer to %s", a.all[i].path, gap, a.all[i-1].path)
		}
	}
}

// What is asked of a host besides what its own queue asks waits for its turn there, by the server's own log: where
// robots.txt of other sites redirect to, and logins for others.
func TestPoliteBesideTheQueue(t *testing.T) {
	t.Parallel()
	const rest = 100 * time.Millisecond
	var log askings
	shared := newSite(t)
	links := ""
	for i := range 5 {
		links += fmt.Sprintf("<a href=/p/%d>p</a> ", i)
		other := newSite(t)
		rulesAt(other, fmt.Sprintf("%s/robots%d.txt", shared.URL, i))
		shared.mux.HandleFunc(fmt.Sprintf("/robots%d.txt", i), log.slowly(""))
		other.html("/{$}", "page")
		links += fmt.Sprintf("<a href=%s/>o</a> ", other.URL)
	}
	members := newSite(t)
	members.html("/{$}", "members")
	shared.mux.HandleFunc("/login", log.slowly(""))
	shared.mux.HandleFunc("/robots.txt", log.slowly(""))
	shared.mux.HandleFunc("/p/", log.slowly("page"))
	shared.mux.HandleFunc("/{$}", log.slowly(links+fmt.Sprintf("<a href=%s/>m</a>", members.URL)))
	for _, by := range []string{"host", plan.QueueByIP} {
		job := newJob(shared.URL + "/")
		job.Settings.Scope, job.Settings.MaxHops, job.Settings.Workers, job.Settings.QueueBy = harvest.ScopeAny, 1, 12, by
		job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(rest), harvest.Duration(rest)
		job.Settings.Credentials = []harvest.Credential{{Domain: "127.0.0.1", Kind: "form", URL: shared.URL + "/login", Fields: map[string]string{"u": "a"}}}
		log.all = nil
		run(t, t.TempDir(), job)
		log.rested(t, rest, 13) // robots.txt, the login, the page, five others, five robots of others
	}
}

// A host stands in the queue of its old name and that of another once the crawl is opened again with other queues; it
// is asked as if it were one.
func TestPoliteAcrossQueues(t *testing.T) {
	t.Parallel()
	const rest = 100 * time.Millisecond
	var log askings
	s := newSite(t)
	links := ""
	for i := range 12 {
		links += fmt.Sprintf("<a href=/p/%d>p</a> ", i)
	}
	s.mux.HandleFunc("/{$}", log.slowly(links))
	s.mux.HandleFunc("/p/", func(w http.ResponseWriter, r *http.Request) {
		log.slowly(fmt.Sprintf("<a href=/q%s>q</a>", r.URL.Path))(w, r)
	})
	s.mux.HandleFunc("/q/", log.slowly("leaf"))
	job := newJob(s.URL + "/")
	job.Settings.Robots = harvest.RobotsIgnore
	job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(rest), harvest.Duration(rest)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.seen = func(n int) {
		if n == 5 {
			cancel()
		}
	}
	s.mu.Unlock()
	if _, err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	job.Settings.QueueBy = scope.QueueByDomain
	if sum := run(t, dir, job); sum.Reason != "completed" {
		t.Errorf("summary %+v", sum)
	}
	log.rested(t, rest, 25)
}
