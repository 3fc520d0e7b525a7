package chain

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/crawler/extract"
	"holdfast/crawler/frontier"
	"holdfast/crawler/report"
	"holdfast/internal/disk"
)

// A fault in an extractor costs one document's links: it is logged, and the crawl goes on.
func TestExtractorFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logs, err := report.OpenLogs(disk.New(), dir, report.Sizes{})
	if err != nil {
		t.Fatal(err)
	}
	e := NewExtract(logs, slog.New(slog.DiscardHandler), NewSearched())
	v := &Visit{URI: &frontier.URI{URL: "http://h.test/faulty", Queue: "h.test"}}
	if e.links(v, nil, extract.Document{URL: v.URI.URL, ContentType: "text/html", Body: []byte("<a href=/x>x</a>")}) {
		t.Error("no extractor, and no fault")
	}
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "runtime-errors.log"))
	if err != nil || !strings.Contains(string(log), "/faulty") || len(v.Notes) != 1 || v.Notes[0] != "err=extractor" {
		t.Errorf("%v, notes %v, log %s", err, v.Notes, log)
	}
}
