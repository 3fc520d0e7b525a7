//go:build e2e

package systemtest

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
)

// visits is a web server that notes when each of its requests began and ended, and who asked.
type visits struct {
	mu  sync.Mutex
	log []asked
}

type asked struct {
	agent, path string
	begin, end  time.Time
}

func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := asked{agent: r.UserAgent(), path: r.URL.Path, begin: time.Now()}
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
	} else {
		w.Header().Set("Content-Type", "text/html")
		for i := range 25 {
			_, _ = fmt.Fprintf(w, "<a href=/page%d>page</a>\n", i)
		}
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	a.end = time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log = append(v.log, a)
}

// TestJobsTogetherArePolite lets three jobs, on whichever nodes claim them, crawl the same two hosts, and reads in the servers'
// logs that together they were no less polite than one.
func TestJobsTogetherArePolite(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	c := newCluster(t, "127.0.17", "crawls = 1\n")
	var servers []*visits
	var seeds []string
	for _, at := range []string{"127.0.17.101:0", "127.0.17.102:0"} {
		listener, err := net.Listen("tcp", at)
		check(t, err)
		v := &visits{}
		s := &http.Server{Handler: v}
		go func() { _ = s.Serve(listener) }()
		defer func() { check(t, s.Close()) }()
		servers = append(servers, v)
		seeds = append(seeds, "http://"+listener.Addr().String()+"/")
	}
	var jobs []wire.Job
	for i := range 3 {
		var job wire.Job
		args := append([]string{"job", "create", "--name", fmt.Sprint("together", i), "--allow-private", "--contact", fmt.Sprintf("job%d@demo.test", i),
			"--set", fmt.Sprintf("min_delay=%v", delay), "--set", "delay_factor=0"}, seeds...)
		check(t, c.JSON(t.Context(), &job, "north-1", args...))
		jobs = append(jobs, job)
	}
	nodes := map[string]bool{}
	for _, job := range jobs {
		done, err := c.Done(t.Context(), "north-1", job.ID, 4*time.Minute)
		check(t, err)
		nodes[string(done.Node)] = true
		if done.Stats.Objects < 50 {
			t.Errorf("job %d: %+v", job.ID, done.Stats)
		}
	}
	if len(nodes) < 2 {
		t.Errorf("all jobs ran on one node")
	}
	for i, v := range servers {
		slices.SortFunc(v.log, func(a, b asked) int { return a.begin.Compare(b.begin) })
		agents := map[string]int{}
		for k, a := range v.log {
			agents[a.agent[strings.Index(a.agent, "job"):]]++
			if k > 0 && a.begin.Sub(v.log[k-1].end) < delay {
				t.Errorf("server %d: %s asked for %s %v after %s had its answer", i, a.agent, a.path, a.begin.Sub(v.log[k-1].end), v.log[k-1].agent)
			}
		}
		t.Logf("server %d: %v in %v", i, agents, v.log[len(v.log)-1].end.Sub(v.log[0].begin))
		if len(agents) != 3 {
			t.Errorf("server %d was asked by %v", i, agents)
		}
	}
}
