//go:build slow && !race

package crawler

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/crawler/chain"
)

// Every entry of a large sitemap is found; of a page that is larger than what is looked through it is told.
func TestLongDocuments(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	entries := func(w http.ResponseWriter) {
		fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for i := range 3000 {
			fmt.Fprintf(w, "<url><loc>%s/s/%d</loc><x>%4000d</x></url>", s.URL, i, i)
		}
		fmt.Fprint(w, `</urlset>`)
	}
	s.mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		entries(w)
	})
	s.html("/{$}", "<a href=/long>")
	s.mux.HandleFunc("/long", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/first>", strings.Repeat(" ", chain.MaxExtract), "<a href=/last>")
	})
	s.file("/robots.txt", "text/plain", "Sitemap: "+s.URL+"/sitemap.xml\n")
	dir := t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	n := s.counts()
	for i := range 3000 {
		if n[fmt.Sprint("/s/", i)] != 1 {
			t.Fatalf("entry %d was fetched %d times", i, n[fmt.Sprint("/s/", i)])
		}
	}
	if n["/first"] != 1 || n["/last"] != 0 {
		t.Errorf("fetched: first %d, last %d", n["/first"], n["/last"])
	}
	for path, want := range map[string]string{"/long": "extractTrunc", "/sitemap.xml": ""} {
		if _, notes := logged(t, dir, s.URL+path); strings.Contains(notes, "extractTrunc") != (want != "") {
			t.Errorf("%s: %s", path, notes)
		}
	}
}
