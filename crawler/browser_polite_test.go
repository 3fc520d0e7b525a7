//go:build browser

package crawler

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/plan"
	"holdfast/crawler/render"
	"holdfast/harvest"
)

// What a page asks for waits for its turn like any URI, at its own host and at others that are being crawled meanwhile:
// by the servers' own logs.
func TestBrowserPolite(t *testing.T) {
	const rest = 1500 * time.Millisecond
	other := newSite(t)
	other.mux.HandleFunc("/p/{n}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "page "+r.PathValue("n"))
	})
	other.html("/{$}", `<a href=/p/1>1</a><a href=/p/2>2</a><a href=/p/3>3</a><a href=/p/4>4</a><a href=/p/5>5</a><a href=/p/6>6</a>`)
	other.file("/pic/", "image/svg+xml", redDot)
	s := newSite(t)
	s.html("/{$}", fmt.Sprintf(`<script>for (let i = 0; i < 4; i++) for (const from of ['', '%s']) {
		const img = document.createElement('img'); img.src = from + '/pic/' + i; document.documentElement.append(img); }</script>`, other.URL))
	s.file("/pic/", "image/svg+xml", redDot)
	job := browserJob(s.URL+"/", other.URL+"/")
	job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(rest), harvest.Duration(rest)
	job.Settings.BrowserTime = harvest.Duration(8 * time.Second) // less than all waits take: those do not count
	job.Settings.BrowserRules = []harvest.Rule{{Rule: "on_hosts", Values: []string{s.host()}}}
	dir := t.TempDir()
	run(t, dir, job)
	if status, notes := logged(t, dir, s.URL+"/"); status != "200" || !strings.Contains(notes, chain.NoteBrowser) || strings.Contains(notes, render.NoteTimedOut) {
		t.Errorf("page: %s %s", status, notes)
	}
	for name, site := range map[string]*site{"its own host": s, "another": other} {
		var before time.Time
		for _, r := range site.requests() {
			if gap := r.at.Sub(before); gap < rest-10*time.Millisecond {
				t.Errorf("%s: %s %v after the one before", name, r.path, gap)
			}
			before = r.at
		}
		counts := site.counts()
		for i := range 4 {
			if path := fmt.Sprintf("/pic/%d", i); counts[path] != 1 {
				t.Errorf("%s: %s was asked for %d times", name, path, counts[path])
			}
		}
	}
}

// A page in a browser reaches no address that the crawl may not reach, nor what the scope or an operator does not want.
func TestBrowserFences(t *testing.T) {
	s := newSite(t)
	blocked := newSite(t)
	s.html("/{$}", fmt.Sprintf(`<p>fenced</p><script>for (const u of ['http://10.11.12.13/private', '%s/blocked', 'file:///etc/passwd', 'ftp://127.0.0.1/x', '/trap/x'])
		fetch(u, {mode: 'no-cors'}).catch(() => 0);</script>`, blocked.URL))
	job := browserJob(s.URL + "/")
	job.Settings.Rules = []harvest.Rule{{Rule: "on_hosts", Decision: "reject", Values: []string{blocked.host()}}}
	job.Settings.Traps = []string{".*/trap/.*"}
	dir := t.TempDir()
	run(t, dir, job)
	if status, notes := logged(t, dir, "http://10.11.12.13/private"); status != "-5002" || !strings.Contains(notes, "privateAddress") {
		t.Errorf("private address: %s %s", status, notes)
	}
	if n := len(blocked.requests()); n > 0 {
		t.Errorf("%d requests of a host that the rules reject", n)
	}
	if n := s.counts()["/trap/x"]; n > 0 {
		t.Errorf("a trap was asked for %d times", n)
	}
}

// With queue_by ip, what pages ask for and the URIs of all queues at one address take turns, by the servers' own logs
// together; another address is asked meanwhile.
func TestBrowserPoliteByAddress(t *testing.T) {
	const rest = 400 * time.Millisecond
	pictures := func(of *site) { of.file("/pic/", "image/svg+xml", redDot) }
	elsewhere := newSiteAt(t, "127.0.0.2")
	pictures(elsewhere)
	one, two := newSite(t), newSite(t)
	for n, s := range []*site{one, two} {
		pictures(s)
		s.html("/{$}", fmt.Sprintf(`<a href=/a>a</a><a href=/b>b</a><script>for (let i = 0; i < 3; i++) for (const from of ['%s', '%s', '%s']) {
			const img = document.createElement('img'); img.src = from + '/pic/%d' + i; document.documentElement.append(img); }</script>`,
			one.URL, two.URL, elsewhere.URL, n))
		s.file("/a", "text/plain", "a")
		s.file("/b", "text/plain", "b")
	}
	job := browserJob(one.URL+"/", two.URL+"/")
	job.Settings.QueueBy = plan.QueueByIP
	job.Settings.MinDelay, job.Settings.MaxDelay = harvest.Duration(rest), harvest.Duration(rest)
	job.Settings.BrowserTime = harvest.Duration(time.Minute)
	dir := t.TempDir()
	run(t, dir, job)
	for _, s := range []*site{one, two} {
		if status, notes := logged(t, dir, s.URL+"/"); status != "200" || !strings.Contains(notes, chain.NoteBrowser) || strings.Contains(notes, render.NoteTimedOut) {
			t.Errorf("page: %s %s", status, notes)
		}
	}
	for _, s := range []*site{one, two, elsewhere} {
		counts := s.counts()
		for _, path := range []string{"/pic/00", "/pic/01", "/pic/02", "/pic/10", "/pic/11", "/pic/12"} {
			if counts[path] != 1 {
				t.Errorf("%s%s was asked for %d times", s.URL, path, counts[path])
			}
		}
	}
	log := append(one.requests(), two.requests()...)
	slices.SortFunc(log, func(a, b request) int { return a.at.Compare(b.at) })
	between := 0
	for i := 1; i < len(log); i++ {
		if gap := log[i].at.Sub(log[i-1].at); gap < rest-10*time.Millisecond {
			t.Errorf("%s came %v after %s", log[i].path, gap, log[i-1].path)
		}
		for _, r := range elsewhere.requests() {
			if r.at.After(log[i-1].at) && r.at.Before(log[i].at) {
				between++
			}
		}
	}
	if between == 0 {
		t.Error("another address waited, too")
	}
}
