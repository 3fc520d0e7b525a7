package crawler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/crawler/control"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// Who pauses a crawl ends no one else's pause: an operator's order, whoever runs the crawl and a full disk each have
// one of their own.
func TestPausesAreSeparate(t *testing.T) {
	t.Parallel()
	s := pages(t, 5, hello)
	job := newJob(s.URL + "/")
	job.Settings.MinFreeDisk = 1 << 60
	dir := t.TempDir()
	l := startPaused(t, Config{Dir: dir, Job: job})
	now := func() *harvest.Live { return l.obey(act.Live{}).Live }
	reason := func(part string) {
		t.Helper()
		until(t, part, func() bool { v := now(); return v.State == "PAUSED" && strings.Contains(v.Reason, part) })
	}
	reason("before it starts")
	until(t, "the disk has no room", func() bool { return l.course.Held(control.ForDisk) })
	l.Pause("the lease")
	l.obey(act.Resume{})
	reason("the lease")
	if v := l.obey(act.Pause{Reason: "lunch", For: harvest.Duration(time.Hour)}).Live; v.State != "PAUSED" || v.Reason != "lunch" || v.Until == nil {
		t.Errorf("%+v", v)
	}
	l.Resume()
	reason("lunch")
	l.obey(act.Change{Settings: patch("min_free_disk", 0)})
	until(t, "the disk has room", func() bool { return !l.course.Held(control.ForDisk) })
	reason("lunch")
	if len(s.requests()) != 0 {
		t.Errorf("a paused crawl asked: %v", s.requests())
	}
	l.Pause("the lease")
	if v := l.obey(act.Resume{}).Live; v.State != "PAUSED" || v.Reason != "the lease" || v.Until != nil {
		t.Errorf("%+v", v)
	}
	l.Resume()
	if sum := l.end(); sum.Reason != "completed" || sum.Counters.Succeeded != 7 {
		t.Errorf("summary %+v", sum)
	}
	log, err := os.ReadFile(filepath.Join(dir, "logs", "progress-statistics.log"))
	if text := string(log); err != nil || strings.Count(text, " CRAWL PAUSED - ") != 1 || !strings.HasSuffix(text, " CRAWL ENDED - Finished\n") {
		t.Errorf("%v %s", err, text)
	}
}

// A pause with a length ends by itself.
func TestPauseEndsByItself(t *testing.T) {
	t.Parallel()
	s := pages(t, 5, hello)
	dir := t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	log, err := os.ReadFile(filepath.Join(dir, "logs", "progress-statistics.log"))
	if text := string(log); err != nil || strings.Count(text, " CRAWL RUNNING - Preparing\n") != 1 {
		t.Errorf("%v %s", err, text)
	}
	l := startPaused(t, Config{Dir: t.TempDir(), Job: newJob(s.URL + "/")})
	l.obey(act.Pause{Reason: "short", For: harvest.Duration(time.Millisecond)})
	if sum := l.end(); sum.Reason != "completed" {
		t.Errorf("summary %+v", sum)
	}
}
