package crawler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/crawler/extract"
	"holdfast/crawler/frontier"
)

// A fault in an extractor costs one document's links: it is logged, and the crawl goes on.
func TestExtractorFails(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	dir := t.TempDir()
	c, err := New(Config{Dir: dir, Job: newJob(s.URL + "/"), Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(c, 1)
	v := w.newVisit(&frontier.URI{URL: s.URL + "/faulty", Queue: s.host()})
	if w.links(v, nil, extract.Document{URL: v.uri.URL, ContentType: "text/html", Body: []byte("<a href=/x>x</a>")}) {
		t.Error("no extractor, and no fault")
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "logs", "runtime-errors.log"))
	if err != nil || !strings.Contains(string(log), "/faulty") || len(v.notes) != 1 || v.notes[0] != "err=extractor" {
		t.Errorf("%v, notes %v, log %s", err, v.notes, log)
	}
}
