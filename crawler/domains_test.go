package crawler

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/crawler/control"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// town is many sites of one server, below localhost, which counts the documents that it gave to each.
type town struct {
	*site
	mu    sync.Mutex
	given map[string]int // by site and, for pictures, by the site of the page
}

// newTown has sites with that number of pages; each page has a picture of the site "other".
func newTown(t *testing.T, size map[string]int) *town {
	w := &town{site: newSite(t), given: map[string]int{}}
	w.mux.HandleFunc("/", func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(out, r)
			return
		}
		name, _, _ := strings.Cut(r.Host, ".")
		w.mu.Lock()
		w.given[name]++
		w.mu.Unlock()
		if name == "other" {
			out.Header().Set("Content-Type", "image/png")
			fmt.Fprint(out, "picture", r.URL.Path)
			return
		}
		if size[name] == 0 {
			http.NotFound(out, r) // a document, too
			return
		}
		out.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(out, "<img src=%s%s.png>", w.at("other"), "p/"+name)
		for i := range size[name] - 1 {
			fmt.Fprintf(out, "<a href=/p/%d>x</a> ", i)
		}
		fmt.Fprint(out, "<a href=/cal/1>x</a> <a href=/evil/1>x</a>")
	})
	return w
}

// at is the address of a site.
func (w *town) at(name string) string {
	return strings.Replace(w.URL, "127.0.0.1", name+".localhost", 1) + "/"
}

// townJob harvests a configuration of each site; calendars of "traps" and evil of all are traps.
func townJob(w *town, limits map[string]harvest.Limit, names ...string) harvest.Job {
	job := newJob()
	job.Settings.Workers = 1 // limits are met exactly
	job.Domains = &harvest.Domains{Objects: harvest.AtMost(12), Traps: []string{`.*/evil/.*`, `.*/cal/.*`}}
	for _, name := range names {
		c := harvest.Configuration{Domain: name + ".localhost", Name: "50% of " + name, Seeds: []string{w.at(name)}}
		c.Objects = limits[name]
		job.Seeds = append(job.Seeds, c.Seeds...)
		job.Domains.Configurations = append(job.Domains.Configurations, c)
	}
	return job
}

// statistics are a crawl's, each as a line, without bytes; they are held against the domains that documents count for.
func statistics(t *testing.T, dir string) (lines []string, sum Statistic) {
	t.Helper()
	for s, err := range Statistics(dir) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Objects > 0 != (s.Bytes > 0) {
			t.Errorf("%+v", s)
		}
		sum.Objects, sum.Bytes = sum.Objects+s.Objects, sum.Bytes+s.Bytes
		name := strings.TrimSuffix(s.Domain, ".localhost")
		if name != "" && s.Name != "50% of "+name {
			t.Errorf("%+v", s)
		}
		lines = append(lines, fmt.Sprint(name, " ", s.Objects, " ", s.Stop))
	}
	return lines, sum
}

// Limits, traps and statistics of domains are those of the job's table, and equal what the servers gave.
func TestDomainsOfAJob(t *testing.T) {
	t.Parallel()
	size := map[string]int{"few": 5, "config": 30, "harvest": 30, "twice": 3}
	for _, by := range []harvest.CountBy{harvest.CountBySeed, harvest.CountByURL} {
		w := newTown(t, size)
		limits := map[string]harvest.Limit{"config": harvest.AtMost(4), "none": harvest.AtMost(0)}
		job := townJob(w, limits, "few", "config", "harvest", "none", "missing")
		job.Settings.CountBy = by
		dead := strings.Replace(w.at("dead"), w.URL[strings.LastIndexByte(w.URL, ':'):], ":1", 1)
		job.Seeds = append(job.Seeds, dead)
		job.Domains.Configurations = append(job.Domains.Configurations, harvest.Configuration{Domain: "dead.localhost", Name: "50% of dead", Seeds: []string{dead}})
		dir := t.TempDir()
		came := run(t, dir, job).Documents
		lines, sum := statistics(t, dir)
		if came != (Documents{sum.Objects, sum.Bytes}) {
			t.Errorf("by %s: %+v came, the statistics have %+v", by, came, sum)
		}
		want := "config 4 config-object-limit, dead 0 unfinished, few 6 completed, harvest 12 object-limit, missing 1 completed, none 0 config-object-limit,  0 "
		if by == harvest.CountByURL {
			want = "config 4 config-object-limit, dead 0 unfinished, few 5 completed, harvest 12 object-limit, missing 1 completed, none 0 config-object-limit,  3 "
		}
		if got := strings.Join(lines, ", "); got != want {
			t.Errorf("by %s:\n%s, want\n%s", by, got, want)
		}
		w.mu.Lock()
		total := 0
		for name, n := range w.given {
			if total += n; name == "none" || by == harvest.CountByURL && name == "few" && n != 5 {
				t.Errorf("%d documents were asked of %s", n, name)
			}
		}
		w.mu.Unlock()
		if sum.Objects != int64(total) {
			t.Errorf("by %s: %d documents in the statistics, the servers gave %d", by, sum.Objects, total)
		}
		for _, r := range w.requests() {
			if strings.HasPrefix(r.path, "/evil") || strings.HasPrefix(r.path, "/cal") {
				t.Errorf("%s was fetched", r.path)
			}
		}
	}
}

// What is left queued is told from what was completed, and time that is up from other reasons; a configuration of a
// domain that is there already has a line of its own.
func TestStopReasonsOfDomains(t *testing.T) {
	t.Parallel()
	w := newTown(t, map[string]int{"big": 9, "small": 1})
	job := townJob(w, nil, "big", "small", "waiting")
	job.Domains.Configurations = append(job.Domains.Configurations, harvest.Configuration{Domain: "big.localhost", Name: "50% of big", Seeds: nil})
	job.Domains.Configurations[3].Name = "50% of big"
	job.Domains.Configurations[0].Name = "first"
	for _, tt := range []struct{ reason, want string }{
		{"time-limit", "big first 3 time-limit, big 50% of big 0 unfinished, small 50% of small 2 completed, waiting 50% of waiting 0 time-limit,   0 "},
		{"enough", "big first 3 unfinished, big 50% of big 0 unfinished, small 50% of small 2 completed, waiting 50% of waiting 0 unfinished,   0 "},
	} {
		c, err := New(Config{Dir: t.TempDir(), Job: job, Node: "node1"})
		if err != nil {
			t.Fatal(err)
		}
		count := func(domain string, n int) {
			for range n {
				if err := c.parts.Quotas.Add(domain+".localhost", 10); err != nil {
					t.Fatal(err)
				}
				c.parts.Quotas.Take(domain+".localhost", 10)
			}
		}
		count("big", 3)
		count("small", 2)
		c.frontier.SetValue("something", []byte("1"))
		if err := c.journal.Commit(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.frontier.Delete(t.Context(), frontier.URIFilter{URI: regexp.MustCompile("small")}, func(frontier.URI) any { return nil }); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := c.reports.writeConfigurations(t.Context(), &text, tt.reason); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for s, err := range report.ReadConfigurations(strings.NewReader(text.String())) {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprint(strings.TrimSuffix(s.Domain, ".localhost"), " ", s.Name, " ", s.Objects, " ", s.Stop))
		}
		if got := strings.Join(lines, ", "); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.reason, got, tt.want)
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A crawl without a table writes no statistics of configurations, and one goes on counting as it began, also when it
// is opened with another setting.
func TestACrawlGoesOnCountingAsItBegan(t *testing.T) {
	t.Parallel()
	for _, began := range []harvest.CountBy{harvest.CountByURL, harvest.CountBySeed} {
		job := newJob("http://a.localhost:1/")
		job.Settings.CountBy = began
		dir := t.TempDir()
		for range 2 {
			c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
			if err != nil {
				t.Fatal(err)
			}
			u := &scope.Subject{URL: "http://b.localhost/", Source: "http://a.localhost:1/"}
			want := map[harvest.CountBy]string{harvest.CountByURL: "b.localhost", harvest.CountBySeed: "a.localhost"}[began]
			if got := c.parts.Quotas.Counted(u); got != want {
				t.Errorf("by %s, begun by %s: %s", job.Settings.CountBy, began, got)
			}
			if err := c.close(); err != nil {
				t.Fatal(err)
			}
			job.Settings.CountBy = map[harvest.CountBy]harvest.CountBy{harvest.CountByURL: harvest.CountBySeed, harvest.CountBySeed: harvest.CountByURL}[began]
		}
		for _, err := range Statistics(dir) {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("statistics of a crawl without a table: %v", err)
			}
		}
	}
}

// Outside its windows a job fetches nothing and its time stands still; when one opens, it goes on.
func TestWindowsOfAJob(t *testing.T) {
	t.Parallel()
	s := pages(t, 3, hello)
	job := newJob(s.URL + "/")
	job.Settings.Windows = []harvest.Window{{From: "22:00", Until: "06:00"}}
	job.Settings.MaxTime = harvest.Duration(time.Hour)
	var clock atomic.Pointer[time.Time]
	set := func(hour int) { clock.Store(new(time.Date(2026, 3, 4, hour, 0, 0, 0, time.UTC))) }
	set(12)
	dir := t.TempDir()
	c, err := newAt(Config{Dir: dir, Job: job, Node: "node1"}, func() time.Time { return *clock.Load() })
	if err != nil {
		t.Fatal(err)
	}
	l := begin(t, c)
	until(t, "the job sleeps", func() bool { return l.Progress().State == Paused })
	l.Pause("the lease")
	l.Resume()
	if p := l.Progress(); p.State != Paused || p.Elapsed != 0 || !strings.Contains(p.Reason, "window") || len(s.requests()) != 0 {
		t.Errorf("%+v, %v", p, s.requests())
	}
	set(23)
	until(t, "the window opens", func() bool { return !l.course.Held(control.ForWindow) })
	if sum := l.end(); sum.Reason != "completed" || sum.Counters.Succeeded != 5 {
		t.Errorf("%+v", sum)
	}
	if _, err := os.Stat(filepath.Join(dir, "reports", "configurations-report.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a report of configurations without any: %v", err)
	}
}

// A crawl of which no worker has anything to do for so long ends, with that as its reason, and can be continued.
func TestInactivityEndsACrawl(t *testing.T) {
	t.Parallel()
	s := pages(t, 3, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	job := newJob(s.URL + "/")
	job.Settings.InactivityTimeout = harvest.Duration(time.Second)
	job.Settings.MaxRetryAfter = harvest.Duration(time.Hour)
	if sum := run(t, t.TempDir(), job); sum.Reason != "inactivity-timeout" || !sum.Resumable || !sum.StopLimits {
		t.Errorf("%+v", sum)
	}
}
