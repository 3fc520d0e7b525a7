package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/internal/disk"
	"holdfast/node/wire"
)

// idle is a runner that is only asked about folders.
func idle(t *testing.T) *Runner {
	t.Helper()
	return New(Config{Self: "self", Data: t.TempDir(), Disk: disk.New(), Log: slog.New(slog.DiscardHandler)})
}

// codeOf returns the code of a refusal, or nothing.
func codeOf(err error) string {
	var r *wire.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func TestEachAttemptHasItsOwnFolder(t *testing.T) {
	t.Parallel()
	c := idle(t)
	first := catalog.Job{ID: 7, Attempt: 1, Started: 1_700_000_000_000}
	second := first
	second.Attempt = 2
	other := catalog.Job{ID: 77, Attempt: 1, Started: first.Started}
	dirs := map[string]bool{}
	for _, job := range []catalog.Job{first, second, other} {
		if dir := c.find(job); dir != "" {
			t.Fatalf("attempt %d of job %d is found before it began: %s", job.Attempt, job.ID, dir)
		}
		dir, err := c.folder(job)
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.folder(job)
		if err != nil || again != dir || c.find(job) != dir {
			t.Errorf("attempt %d of job %d goes on in %s (%v), not in %s", job.Attempt, job.ID, again, err, dir)
		}
		dirs[dir] = true
	}
	if len(dirs) != 3 {
		t.Errorf("three attempts share folders: %v", dirs)
	}
	if err := os.WriteFile(AttemptPath(c.find(first)), []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	if dir := c.find(second); filepath.Base(dir) != "7_20231114221320-2" {
		t.Errorf("a torn note hides another attempt's folder: %q", dir)
	}
}

func TestAJobWhoseNumberIsGivenAgainHasItsOwnFolder(t *testing.T) {
	t.Parallel()
	c := idle(t)
	lost := catalog.Job{ID: 7, Attempt: 1, Created: 1_700_000_000_000}
	dir, err := c.folder(lost)
	if err != nil {
		t.Fatal(err)
	}
	again := catalog.Job{ID: 7, Attempt: 1, Created: 1_700_000_500_000}
	if other, err := c.folder(again); err != nil || other == dir {
		t.Errorf("the new job goes on with the frontier of the old one, in %s, %v", other, err)
	}
}

func TestTheEndOfAJobsLog(t *testing.T) {
	t.Parallel()
	c := idle(t)
	job := catalog.Job{ID: 7, Attempt: 1}
	dir, err := c.folder(job)
	if err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, "crawl.log"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for tail, want := range map[int]string{0: "one\ntwo\nthree\n", 2: "two\nthree\n", 9: "one\ntwo\nthree\n"} {
		var got strings.Builder
		if err := c.WriteLog(job, tail, &got); err != nil || got.String() != want {
			t.Errorf("the last %d lines: %q, %v", tail, got.String(), err)
		}
	}
}

// What happened in a crawl is told when it runs no more; that nothing will follow is said when the job has ended.
func TestWhatAnEndedJobLeftIsRead(t *testing.T) {
	t.Parallel()
	c := idle(t)
	job := catalog.Job{ID: 7, Attempt: 1, State: catalog.JobStarted}
	events := act.Order{Act: act.Events{After: "1"}}
	if _, err := c.obey(t.Context(), job, events); codeOf(err) != CodeNotRunning {
		t.Errorf("without a folder: %v", err)
	}
	dir, err := c.folder(job)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"logs/job.log": "2026-03-04T12:00:00.123Z 1 started {}\n2026-03-04T12:00:01.123Z 2 finished {\"reason\":\"completed\"}\n",
		"logs/crawl.log": "one\ntwo\n", "reports/hosts-report.txt": "legend\nh\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for state, ended := range map[catalog.JobState]bool{catalog.JobStarted: false, catalog.JobDone: true, catalog.JobFailed: true} {
		job.State = state
		r, err := c.obey(t.Context(), job, events)
		if err != nil || len(r.Events) != 1 || !strings.Contains(string(r.Events[0]), "completed") || r.Next != "2" || r.Ended != ended || r.Missed {
			t.Errorf("events of a job that is %s: %+v %v", state, r, err)
		}
	}
	if r, err := c.obey(t.Context(), job, act.Order{Act: act.Search{Pattern: "tw"}}); err != nil || !slices.Equal(r.Lines, []string{"two"}) {
		t.Errorf("search: %+v %v", r, err)
	}
	if r, err := c.obey(t.Context(), job, act.Order{Act: act.Report{Name: "hosts"}}); err != nil || !slices.Equal(r.Lines, []string{"legend", "h"}) {
		t.Errorf("report: %+v %v", r, err)
	}
	if _, err := c.obey(t.Context(), job, act.Order{Act: act.Report{Name: "../settings/job.json"}}); codeOf(err) != CodeRefused {
		t.Errorf("what is no report: %v", err)
	}
	if _, err := c.obey(t.Context(), job, act.Order{Act: act.Pause{}}); codeOf(err) != CodeNotRunning {
		t.Errorf("pause: %v", err)
	}
}

// A crawl that has ended, and whose files are being handed over, has written no reports yet.
func TestACrawlThatEndedHasNoReportsYet(t *testing.T) {
	t.Parallel()
	c := idle(t)
	dir := t.TempDir()
	ended, err := crawler.New(crawler.Config{Dir: dir, Job: harvest.Job{Name: "j", Seeds: []string{"http://127.0.0.1:1/"}, Settings: harvest.DefaultSettings()}})
	if err != nil {
		t.Fatal(err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := ended.Run(over); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "reports")); err != nil {
		t.Fatal(err)
	}
	c.running[7] = &Attempt{crawl: ended}
	if r, err := c.obey(t.Context(), catalog.Job{ID: 7, State: catalog.JobStarted}, act.Order{Act: act.Report{Name: "hosts"}}); codeOf(err) != CodeNotRunning {
		t.Errorf("%+v %v", r, err)
	}
}
