//go:build browser

package crawler

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/pace"
	"holdfast/harvest"
)

// paced is some nodes in one process whose jobs are polite together.
type paced struct {
	homes  map[string]*pace.Home
	pacers map[string]*pace.Pacer
}

// Ask reaches another node's home.
func (p *paced) Ask(_ context.Context, node string, asks []pace.Ask) ([]pace.Answer, error) {
	return p.homes[node].Serve(asks, time.Now()), nil
}

// newPaced lets nodes be, which have known each other for long, until the test ends.
func newPaced(t *testing.T, nodes ...string) *paced {
	p := &paced{homes: map[string]*pace.Home{}, pacers: map[string]*pace.Pacer{}}
	for _, node := range nodes {
		p.homes[node] = pace.NewHome(node)
		p.pacers[node] = pace.New(pace.Config{Self: node, Home: p.homes[node], Homes: p, Log: slog.New(slog.DiscardHandler)})
		p.pacers[node].SetLiving(nodes, 0, time.Now().Add(-time.Hour))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, one := range p.pacers {
		running.Go(func() {
			if err := one.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	return p
}

// jobPace is one job's part in it, as in the node.
type jobPace struct {
	*pace.Pacer
	job string
}

func (p jobPace) Admit(host string) pace.Grant         { return p.Pacer.Admit(p.job, host) }
func (p jobPace) Done(host string, rest time.Duration) { p.Pacer.Done(p.job, host, rest) }
func (p *paced) of(node, job string) jobPace           { return jobPace{p.pacers[node], job} }
func (p jobPace) start(t *testing.T, job harvest.Job) *live {
	return start(t, Config{Dir: t.TempDir(), Job: job, Pacer: p})
}

// end waits for the crawl's end and gives back what it has, as the node does.
func (p jobPace) end(l *live) {
	if sum := l.end(); sum.Reason != "completed" {
		l.t.Errorf("%s: %+v", p.job, sum)
	}
	p.Leave(p.job)
}

// What a page asks for in a browser takes turns at its host with the jobs of other nodes, one that had the host before
// and one that comes to want it meanwhile: by the server's own log nobody comes within another's rest.
func TestBrowserPoliteInCluster(t *testing.T) {
	const rest = 400 * time.Millisecond
	shared, own := newSite(t), newSite(t)
	seen := func(s *site, path string) bool { return s.counts()[path] > 0 }
	for _, name := range []string{"before", "after"} {
		var links strings.Builder
		for i := range 8 {
			fmt.Fprintf(&links, "<a href=/%s/%d>x</a> ", name, i)
			shared.file(fmt.Sprintf("/%s/%d", name, i), "text/plain", "page")
		}
		shared.html("/"+name, links.String())
	}
	shared.file("/pic/", "image/svg+xml", redDot)
	own.html("/page", fmt.Sprintf(`<p>page</p><script>for (let i = 0; i < 6; i++) {
		const img = document.createElement('img'); img.src = '%s/pic/' + i; document.documentElement.append(img); }</script>`, shared.URL))
	polite := func(job harvest.Job) harvest.Job {
		job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(rest), harvest.Duration(rest)
		return job
	}
	nodes := newPaced(t, "a", "b")
	before, page, after := nodes.of("b", "before"), nodes.of("a", "page"), nodes.of("b", "after")
	first := before.start(t, polite(newJob(shared.URL+"/before")))
	until(t, "the first job is under way", func() bool { return seen(shared, "/before/0") })
	job := polite(browserJob(own.URL + "/page"))
	job.Settings.Robots = harvest.RobotsIgnore // or its robots.txt takes the turn for the page
	second := page.start(t, job)
	before.end(first)
	until(t, "the page gets its first picture", func() bool { return seen(shared, "/pic/0") })
	began := time.Now()
	third := after.start(t, polite(newJob(shared.URL+"/after")))
	page.end(second)
	after.end(third)

	if status, notes := logged(t, second.cfg.Dir, own.URL+"/page"); status != "200" || notes != chain.NoteBrowser {
		t.Errorf("page: %s %s", status, notes)
	}
	last := func(of *site, prefix string) (at time.Time) {
		for _, r := range of.requests() {
			if strings.HasPrefix(r.path, prefix) {
				at = r.at
			}
		}
		return at
	}
	if loaded := last(own, "/page"); !loaded.Before(last(shared, "/before/")) || !began.Before(last(shared, "/pic/")) {
		t.Errorf("the jobs did not come together: the page was loaded %v after the first job's last fetch, the third began %v after the last picture",
			loaded.Sub(last(shared, "/before/")), began.Sub(last(shared, "/pic/")))
	}
	for _, path := range []string{"/before/7", "/pic/0", "/pic/5", "/after/7"} {
		if n := shared.counts()[path]; n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	log := shared.requests()
	slices.SortFunc(log, func(a, b request) int { return a.at.Compare(b.at) })
	for i := 1; i < len(log); i++ {
		if gap := log[i].at.Sub(log[i-1].at); gap < rest-10*time.Millisecond {
			t.Errorf("%s came %v after %s", log[i].path, gap, log[i-1].path)
		}
	}
}
