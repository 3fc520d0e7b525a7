package crawler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/crawler/render"
)

// Where Chromium cannot be run safely, pages are recorded as they were fetched; each says so, and why.
func TestBrowserWithoutSandbox(t *testing.T) {
	bin, err := os.MkdirTemp("", "holdfast-sandbox-") // any user has to reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(bin); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "chromium"), []byte("#!/bin/sh\necho 'ERROR: No usable sandbox!' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	s.html("/{$}", `<p>start</p><a href=/next>next</a><img src=/dot.svg>`)
	s.html("/next", `<p>next</p>`)
	s.file("/dot.svg", "image/svg+xml", redDot)
	job := browserJob(s.URL + "/")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	dir := t.TempDir()
	if sum := run(t, dir, job); sum.Reason != "completed" {
		t.Errorf("%+v", sum)
	}
	for _, path := range []string{"/", "/next"} {
		if status, notes := logged(t, dir, s.URL+path); status != "200" || notes != render.NoteFailed {
			t.Errorf("%s: %s %s", path, status, notes)
		}
	}
	if n := captures(t, dir); n[s.URL+"/"] != 1 || n[s.URL+"/next"] != 1 || n[s.URL+"/dot.svg"] != 1 {
		t.Errorf("captures %v", n)
	}
	text, err := os.ReadFile(filepath.Join(dir, "logs", "nonfatal-errors.log"))
	if err != nil || strings.Count(string(text), "no sandbox for Chromium here") != 2 {
		t.Errorf("%v, reasons:\n%s", err, text)
	}
}
