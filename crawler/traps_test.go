package crawler

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// trapNotes counts the annotations of traps in crawl.log.
func trapNotes(t *testing.T, dir string) map[string]int {
	n := map[string]int{}
	for _, line := range logLines(t, dir) {
		if strings.HasPrefix(line[11], "trap:") {
			n[line[11]]++
		}
	}
	return n
}

// answering is a site with one page for what begins so, made of the rest of its URI.
func (s *site) answering(prefix string, page func(rest string) string) {
	path, _, _ := strings.Cut(prefix, "?")
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page(strings.TrimPrefix(r.URL.RequestURI(), prefix)))
	})
}

// Pages whose server breaks off after their heads are not alike for that.
func TestBrokenOffPagesAreNoTrap(t *testing.T) {
	t.Parallel()
	const pages = 80
	links := ""
	for i := range pages {
		links += fmt.Sprintf("<a href=/page/%d>x</a>\n", i)
	}
	s := newSite(t)
	s.html("/{$}", links)
	s.mux.HandleFunc("/page/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusOK)
	})
	dir := t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	n := 0
	for _, line := range logLines(t, dir) {
		if line[11] == "midFetchTrunc" {
			n++
		}
	}
	if traps := trapNotes(t, dir); n != pages || len(traps) > 0 {
		t.Errorf("%d of %d pages were fetched; %v", n, pages, traps)
	}
}
