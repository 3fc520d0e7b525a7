package crawler

import (
	"strings"
	"testing"
	"time"

	"holdfast/harvest"
)

// browserJob is a job that loads HTML pages in a browser.
func browserJob(seeds ...string) harvest.Job {
	job := newJob(seeds...)
	job.Settings.BrowserRules = []harvest.Rule{{Rule: "accept"}}
	job.Settings.BrowserQuiet = harvest.Duration(300 * time.Millisecond)
	job.Settings.BrowserTime = harvest.Duration(15 * time.Second)
	return job
}

const redDot = `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10" fill="red"/></svg>`

// A job that needs a browser may be asked for anywhere, and is not crawled where there is none.
func TestBrowserMissing(t *testing.T) {
	job := browserJob("http://example.org/")
	t.Setenv("PATH", t.TempDir())
	if err := Check(job); err != nil {
		t.Errorf("it cannot be stored: %v", err)
	}
	err := Able(job)
	if err == nil || !strings.Contains(err.Error(), "chromium") || !strings.Contains(err.Error(), "browser_rules") {
		t.Errorf("refused with %v", err)
	}
	job.Settings.BrowserRules = nil
	if err := Able(job); err != nil {
		t.Error(err)
	}
}
