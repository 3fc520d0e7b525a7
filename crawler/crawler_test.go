package crawler

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/warc"
)

// smallSite has pages, images, a style sheet, redirects, a 404, robots.txt and a page that robots.txt forbids.
func smallSite(t testing.TB) *site {
	s := newSite(t)
	s.html("/{$}", `<link rel=stylesheet href=/s.css><a href=/a>a</a> <a href="/b?x=1&amp;y=2">b</a> <a href=/private/p>p</a> <img src=/i.png>`)
	s.html("/a", `<a href=/>home</a> <a href=/old>old</a> <a href=/missing>gone</a> <a href="http://elsewhere.example/">out</a>`)
	s.html("/b", `<a href=/a>a</a>`)
	s.html("/new", `<p>moved here`)
	s.html("/private/p", `never`)
	s.file("/s.css", "text/css", `body{background:url(bg.png)}`)
	s.file("/i.png", "image/png", "i")
	s.file("/bg.png", "image/png", "bg")
	s.file("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private/\n")
	s.mux.HandleFunc("/old", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/new", http.StatusMovedPermanently) })
	return s
}

func TestCrawlOfASmallSite(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	dir := t.TempDir()
	sum := run(t, dir, newJob(s.URL+"/"))
	if sum.Reason != "completed" || sum.State != Finished || sum.Resumable {
		t.Errorf("summary %+v", sum)
	}
	want := []string{"/", "/a", "/b?x=1&y=2", "/bg.png", "/i.png", "/missing", "/new", "/old", "/robots.txt", "/s.css"}
	got := s.counts()
	if paths := slices.Sorted(maps.Keys(got)); !slices.Equal(paths, want) {
		t.Errorf("the server saw %q, want %q", paths, want)
	}
	seen := captures(t, dir)
	for _, p := range want {
		if got[p] != 1 || seen[s.URL+p] != 1 {
			t.Errorf("%s: fetched %d times, recorded %d times", p, got[p], seen[s.URL+p])
		}
	}
	for uri, status := range map[string]string{"/": "200", "/missing": "404", "/old": "301", "/private/p": "-9998"} {
		if got, _ := logged(t, dir, s.URL+uri); got != status {
			t.Errorf("%s: status %s, want %s", uri, got, status)
		}
	}
	if c := sum.Counters; c.Succeeded != 10 || c.Disregarded != 1 || c.Failed != 0 || c.Discovered != 11 || c.Queued != 0 {
		t.Errorf("counters %+v", c)
	}
	if d := sum.Documents; d.Objects != 9 || d.Bytes <= 0 { // robots.txt is none
		t.Errorf("documents %+v", d)
	}
	for _, r := range []string{"crawl", "hosts", "mimetype", "responsecode", "seeds"} {
		if data, err := os.ReadFile(filepath.Join(dir, "reports", r+"-report.txt")); err != nil || len(data) == 0 {
			t.Errorf("%s report: %v", r, err)
		}
	}
	seeds, _ := os.ReadFile(filepath.Join(dir, "reports", "seeds-report.txt"))
	if !strings.Contains(string(seeds), "200 CRAWLED "+s.URL+"/\n") {
		t.Errorf("seeds report:\n%s", seeds)
	}
}

// A seed that redirects to another host takes the scope there, also after a restart.
func TestRedirectedSeed(t *testing.T) {
	t.Parallel()
	there := smallSite(t)
	here := newSite(t)
	here.mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, there.URL+"/", http.StatusFound) })
	job := newJob(here.URL + "/")
	job.Settings.MaxObjects = 2
	job.Settings.Workers = 1
	dir := t.TempDir()
	run(t, dir, job)
	job.Settings.MaxObjects = 0
	run(t, dir, job)
	if n := captures(t, dir); n[there.URL+"/a"] != 1 || n[there.URL+"/new"] != 1 {
		t.Errorf("captures %v", n)
	}
	seeds, _ := os.ReadFile(filepath.Join(dir, "reports", "seeds-report.txt"))
	if !strings.Contains(string(seeds), "302 CRAWLED "+here.URL+"/ "+there.URL+"/\n") {
		t.Errorf("seeds report:\n%s", seeds)
	}
}

// Files are handed over once each, when all in them is accounted for, and again only if that was not noted.
func TestHandOver(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	dir := t.TempDir()
	job := newJob(s.URL + "/")
	job.Settings.WARCBytes = 2048
	given := map[string]int{}
	open := func() *Crawl {
		c, err := New(Config{Dir: dir, Job: job, Node: "node1", Finished: func(f warc.Finished) error {
			given[filepath.Base(f.Path)]++
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for range 2 {
		if _, err := open().Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	files := warcFiles(t, dir)
	if len(files) < 2 || len(given) != len(files) {
		t.Errorf("%d files, %d given", len(files), len(given))
	}
	for f, n := range given {
		if n != 1 {
			t.Errorf("%s was given %d times", f, n)
		}
	}
}
