package crawler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"holdfast/crawler/control"
	"holdfast/crawler/journal"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/internal/disk"
)

// afterCheckpoint crawls some of a held site, takes the checkpoint "first", crawls on and stops. It returns what was
// queued then.
func afterCheckpoint(t *testing.T, dir string, job harvest.Job, gate chan struct{}, restore bool, k *taker) (queued []string) {
	t.Helper()
	l := start(t, Config{Dir: dir, Job: job, Finished: k.take})
	until(t, "forty pages wait", func() bool { return len(l.queued("/p/")) == 40 })
	for range 10 {
		gate <- struct{}{}
	}
	until(t, "ten are done", func() bool { return len(l.queued("/p/")) == 30 })
	if r := l.obey(act.Checkpoint{Name: "first"}); len(r.Checkpoints) != 1 || r.Checkpoints[0].Name != "first" || r.Checkpoints[0].Queued != 30 {
		t.Errorf("checkpoints %+v", r.Checkpoints)
	}
	queued = l.queued("/p/")
	for _, bad := range []string{"first", "../x", ".", "a b"} {
		if _, err := l.Obey(t.Context(), act.Order{Act: act.Checkpoint{Name: bad}}); !errors.Is(err, harvest.ErrInvalid) {
			t.Errorf("a checkpoint called %q: %v", bad, err)
		}
	}
	l.obey(act.Change{Settings: patch("max_trans_hops", 1)})
	for range 12 {
		gate <- struct{}{}
	}
	until(t, "twelve more are done", func() bool { return len(l.queued("/p/")) == 18 })
	if _, err := l.Obey(t.Context(), act.Order{Act: act.Restore{Name: "second"}}); !errors.Is(err, harvest.ErrInvalid) {
		t.Errorf("a checkpoint that is not there: %v", err)
	}
	if restore {
		l.obey(act.Restore{Name: "first"}, "anna")
	} else {
		l.obey(act.Stop{})
	}
	gate <- struct{}{} // what is in flight
	if sum := l.end(); restore != (sum.Restore == "first") || !sum.Resumable {
		t.Errorf("summary %+v", sum)
	}
	return queued
}

// A crawl that is started from a checkpoint again stands where it stood then: what was fetched since is fetched again;
// the files and the log of that time are kept, and the files handed over.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	s, gate := heldSite(t)
	job := heldJob(s.URL + "/")
	job.Settings.MaxHops, job.Settings.Workers, job.Settings.WARCBytes = 1, 1, 2048
	dir := t.TempDir()
	k := newTaker(0)
	queued := afterCheckpoint(t, dir, job, gate, true, k)
	before := len(logLines(t, dir))

	job.Settings.MaxHops = 3 // other settings are no hindrance
	job.Settings.Workers = 2
	c, err := New(Config{Dir: dir, Job: job, Node: "node1", From: "first", Finished: k.take})
	if err != nil {
		t.Fatal(err)
	}
	if n := c.frontier.Counters(); n.Queued != 30 || n.Succeeded != 12 || c.objects.Load() != 11 { // the front page, robots.txt
		t.Errorf("counters %+v, %d objects", n, c.objects.Load())
	}
	c.course.Pause(control.ForOperator, control.Hold{Reason: "to look"}, 0)
	l := begin(t, c)
	if now := l.queued("/p/"); !slices.Equal(now, queued) {
		t.Errorf("%d are queued: %v\nat the checkpoint: %v", len(now), now, queued)
	}
	close(gate)
	l.obey(act.Resume{})
	if sum := l.end(); sum.Reason != "completed" || sum.Counters.Succeeded != 102 {
		t.Errorf("summary %+v", sum)
	}
	got, seen := s.counts(), captures(t, dir)
	twice := 0
	for i := range 40 {
		path := fmt.Sprint("/p/", i)
		if got[path] != seen[s.URL+path] || got[path] < 1 || got[path] > 2 {
			t.Errorf("%s: %d requests, %d records", path, got[path], seen[s.URL+path])
		}
		twice += got[path] - 1
		if status, _ := logged(t, dir, s.URL+path); status != "200" {
			t.Errorf("%s: status %s", path, status)
		}
	}
	if twice != 13 {
		t.Errorf("%d pages were fetched again", twice)
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "logs", "crawl.log.*"))
	if len(kept) != 1 {
		t.Fatalf("kept logs: %v", kept)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || strings.Count(string(text), "\n") != before {
		t.Errorf("the kept log, %v:\n%s", err, text)
	}
	k.hasAll(t, dir)
	checkFiles(t, dir)
}

// A crawl that runs keeps all it has, whoever wants to crawl in its folder meanwhile; when it ended, the folder is
// free.
func TestFolderOfCrawlThatRuns(t *testing.T) {
	t.Parallel()
	s, gate := heldSite(t)
	job := heldJob(s.URL + "/")
	job.Settings.Workers = 1
	dir := t.TempDir()
	l := start(t, Config{Dir: dir, Job: job})
	until(t, "forty pages wait", func() bool { return len(l.queued("/p/")) == 40 })
	l.obey(act.Checkpoint{Name: "first"})
	there := allFiles(t, dir)
	other := job
	other.Settings.MaxHops = 7
	for _, from := range []string{"", "first", "second"} {
		if _, err := New(Config{Dir: dir, Job: other, Node: "node1", From: from}); !errors.Is(err, ErrRuns) {
			t.Errorf("from %q: %v", from, err)
		}
	}
	if now := allFiles(t, dir); !slices.Equal(now, there) {
		t.Errorf("before: %v\nafter: %v", there, now)
	}
	close(gate)
	if sum := l.end(); sum.Reason != "completed" || sum.Counters.Queued != 0 || sum.Counters.Failed != 0 {
		t.Errorf("summary %+v", sum)
	}
	for _, bad := range []string{"second", "first", "first"} { // what New could not open it let go of
		c, err := New(Config{Dir: dir, Job: job, Node: "node1", From: bad})
		if (bad == "second") == (err == nil) || errors.Is(err, ErrRuns) {
			t.Fatalf("from %q: %v", bad, err)
		}
		if err == nil {
			if err := c.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// allFiles are the files in a crawl's folder, each as the folder knows it.
func allFiles(t *testing.T, dir string) (all []string) {
	t.Helper()
	if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Stat(filepath.Join(dir, path))
		if err == nil {
			inode := info.Sys().(*syscall.Stat_t).Ino
			all = append(all, fmt.Sprint(path, " ", inode))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A crash while a crawl is taken back to a checkpoint leaves it as it was or, when it is opened again, at the
// checkpoint.
func TestCrashWhileTakenBack(t *testing.T) {
	t.Parallel()
	s, gate := heldSite(t)
	job := heldJob(s.URL + "/")
	job.Settings.MaxHops, job.Settings.Workers, job.Settings.WARCBytes = 1, 1, 2048
	dir := t.TempDir()
	afterCheckpoint(t, dir, job, gate, false, newTaker(0))
	back := 0
	for n, done := 1, false; !done; n += 4 {
		copied := filepath.Join(t.TempDir(), "crawl")
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		faulty := disk.NewFaulty(t.TempDir())
		faulty.FailAt(n, errNotTaken)
		d := faulty.Disk()
		c, err := New(Config{Dir: copied, Job: job, Node: "node1", Disk: &d, From: "first"})
		if done = err == nil; done {
			err = c.close()
		}
		if err != nil && !errors.Is(err, errNotTaken) {
			t.Fatalf("operation %d: %v", n, err)
		}
		_, begun := os.Lstat(journal.RestoredMark(copied))
		c, err = New(Config{Dir: copied, Job: job, Node: "node1"})
		if err != nil {
			t.Fatalf("opened after operation %d failed: %v", n, err)
		}
		switch queued := c.frontier.Counters().Queued; {
		case queued == 17 && !done && begun != nil && back == 0:
		case queued == 30:
			back++
		default:
			t.Errorf("after operation %d failed %d URIs are queued, begun: %v, before: %d times back", n, queued, begun, back)
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
	}
	if back < 3 {
		t.Errorf("only %d operations with the mark in place", back)
	}
}
