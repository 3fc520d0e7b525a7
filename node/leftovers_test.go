//go:build slow

package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/node/runner"
)

// leave makes a folder of an attempt with one finished file.
func leave(t *testing.T, data string, job catalog.Job, name, content string) (dir string) {
	t.Helper()
	dir = filepath.Join(data, "jobs", fmt.Sprintf("%d_%d", job.ID, job.Created))
	for _, folder := range []string{"warcs", "settings"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	note, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(dir, "warcs", name): content, runner.AttemptPath(dir): string(note)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWhatAttemptsLeftIsBroughtIn starts a node with a folder of a job that a recovery forgot. A folder that is left
// while it runs is brought in too, and one that cannot be is told.
func TestWhatAttemptsLeftIsBroughtIn(t *testing.T) {
	t.Parallel()
	cfg := threeConfigs(t, "")[0]
	if _, err := Init(t.Context(), cfg, slogOf(t)); err != nil {
		t.Fatal(err)
	}
	forgotten := leave(t, cfg.Data, catalog.Job{ID: 99, Attempt: 1, Created: 5, Collection: "web"}, "99-a.warc.gz", "bytes")
	n := start(t, cfg)
	in := func(dir string, name catalog.FileName) {
		t.Helper()
		eventually(t, string(name)+" is in the archive", func() error {
			if !n.archived(name) || !exists(runner.TidiedPath(dir)) {
				return fmt.Errorf("%v", alert.Texts(n.crawls.Alerts()))
			}
			return nil
		})
	}
	in(forgotten, "99-a.warc.gz")
	failed := leave(t, cfg.Data, catalog.Job{ID: 98, Attempt: 1, Created: 6, Collection: "none"}, "98-a.warc.gz", "bytes")
	n.crawls.BringLeftovers(t.Context())
	if p := alert.Texts(n.crawls.Alerts()); len(p) != 1 || !strings.Contains(p[0], failed) {
		t.Errorf("problems: %q", p)
	}
	leave(t, cfg.Data, catalog.Job{ID: 98, Attempt: 1, Created: 6, Collection: "web"}, "98-a.warc.gz", "bytes")
	n.crawls.BringLeftovers(t.Context())
	in(failed, "98-a.warc.gz")
	if p := alert.Texts(n.crawls.Alerts()); len(p) > 0 {
		t.Errorf("problems: %q", p)
	}
}
