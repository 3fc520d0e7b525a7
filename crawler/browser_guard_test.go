//go:build browser

package crawler

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
)

// A page that sets a cookie by script and reloads itself shows what it guards; each answer is recorded. One that does so
// for ever ends.
func TestBrowserGuardPage(t *testing.T) {
	s := newSite(t)
	guard := func(path, cookie, within string) {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if strings.Contains(r.Header.Get("Cookie"), cookie) {
				fmt.Fprint(w, within)
				return
			}
			fmt.Fprintf(w, "<p>one moment<script>document.cookie = '%s; path=/'; location.reload()</script>", cookie)
		})
	}
	guard("/{$}", "a=1", "<p>within<script>document.write('<a href=/deep' + 'er>on</a>')</script>")
	s.html("/deeper", "<p>deeper")
	s.html("/forever", "<p>again<script>document.cookie = 'n=' + Math.random(); location.reload()</script>")
	job := browserJob(s.URL + "/")
	job.Seeds = append(job.Seeds, s.URL+"/forever")
	job.Settings.BrowserTime = harvest.Duration(time.Minute)
	dir := t.TempDir()
	begin := time.Now()
	if sum := run(t, dir, job); sum.Reason != "completed" || sum.Counters.Queued != 0 {
		t.Errorf("summary %+v", sum)
	}
	if took := time.Since(begin); took > 50*time.Second {
		t.Errorf("it took %v", took)
	}
	asked, recorded := s.counts(), captures(t, dir)
	if asked["/deeper"] != 1 || asked["/"] != 2 || recorded[s.URL+"/"] != 2 || asked["/forever"] > 3 ||
		len(logLinesOf(t, dir, s.URL+"/forever")) != asked["/forever"] {
		t.Errorf("asked %v, recorded %v", asked, recorded)
	}
}

// A site that answers every path with its index page, and whose script is not to be cached, does not grow without end.
func TestBrowserIndexEverywhere(t *testing.T) {
	s := newSite(t)
	s.html("/", "<!DOCTYPE html><title>app</title><div id=app></div><script src=/app.js></script>")
	s.mux.HandleFunc("/app.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Cache-Control", "no-cache")
		fmt.Fprint(w, "var routes = ['./a/one.html', './b/two.html', './c/three.html']; document.getElementById('app').textContent = location.pathname")
	})
	job := browserJob(s.URL + "/")
	dir := t.TempDir()
	if sum := run(t, dir, job); sum.Reason != "completed" || sum.Counters.Finished > 60 {
		t.Errorf("summary %+v", sum)
	}
	loaded, same := 0, 0
	for _, l := range logLines(t, dir) {
		if strings.Contains(l[11], "samePage") {
			same++
		}
		if strings.Contains(l[11], "browser") {
			loaded++
			t.Log(l[3], l[11])
		}
	}
	if loaded != 1 || same == 0 {
		t.Errorf("%d pages were loaded, %d were the same as another", loaded, same)
	}
}
