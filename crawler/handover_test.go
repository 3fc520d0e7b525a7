package crawler

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"holdfast/harvest"
	"holdfast/internal/disk"
	"holdfast/warc"
)

// taker takes finished files; before it takes one it fails that many times, or always if negative.
type taker struct {
	failures int
	taken    map[string]int
	failed   map[string]int
}

var errNotTaken = errors.New("not taken")

func newTaker(failures int) *taker {
	return &taker{failures: failures, taken: map[string]int{}, failed: map[string]int{}}
}

func (k *taker) take(f warc.Finished) error {
	name := filepath.Base(f.Path)
	if k.failures < 0 || k.failed[name] < k.failures {
		k.failed[name]++
		return errNotTaken
	}
	k.taken[name]++
	return nil
}

// hasAll tells whether every complete file of the crawl was taken.
func (k *taker) hasAll(t *testing.T, dir string) {
	t.Helper()
	files := warcFiles(t, dir)
	for _, f := range files {
		if k.taken[filepath.Base(f)] == 0 {
			t.Errorf("%s was not taken", filepath.Base(f))
		}
	}
	if len(files) != len(k.taken) {
		t.Errorf("%d files, %d taken", len(files), len(k.taken))
	}
}

func smallFiles(s *site) harvest.Job {
	job := newJob(s.URL + "/")
	job.Settings.WARCBytes = 2048
	return job
}

func runInto(t *testing.T, dir string, job harvest.Job, d *disk.Disk, k *taker) (Summary, error) {
	t.Helper()
	c, err := New(Config{Dir: dir, Job: job, Node: "node1", Disk: d, Finished: k.take})
	if err != nil {
		t.Fatal(err)
	}
	return c.Run(t.Context())
}

// A file that is not taken at first is given again until it is, and the crawl goes on meanwhile.
func TestHandOverIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	dir := t.TempDir()
	k := newTaker(3)
	sum, err := runInto(t, dir, smallFiles(s), nil, k)
	if err != nil || sum.Reason != "completed" || sum.Resumable || sum.Counters.Succeeded != 10 {
		t.Errorf("summary %+v, %v", sum, err)
	}
	k.hasAll(t, dir)
	checkFiles(t, dir)
	again := newTaker(0)
	if _, err := runInto(t, dir, smallFiles(s), nil, again); err != nil || len(again.taken) > 0 {
		t.Errorf("taken once more: %v, %v", again.taken, err)
	}
}

// When files are never taken the crawl ends with that error, loses nothing, and hands them over when opened again.
func TestHandOverFails(t *testing.T) {
	t.Parallel()
	s := smallSite(t)
	dir := t.TempDir()
	k := newTaker(-1)
	sum, err := runInto(t, dir, smallFiles(s), nil, k)
	if !errors.Is(err, errNotTaken) || sum.Reason != "unfinished" || !sum.Resumable || sum.Counters.Queued != 0 {
		t.Errorf("summary %+v, %v", sum, err)
	}
	files := warcFiles(t, dir)
	if len(files) < 2 || len(k.failed) != len(files) {
		t.Errorf("%d files, %d given", len(files), len(k.failed))
	}
	before := len(s.requests())
	k = newTaker(0)
	sum, err = runInto(t, dir, smallFiles(s), nil, k)
	if err != nil || sum.Reason != "completed" || sum.Resumable {
		t.Errorf("opened again: %+v, %v", sum, err)
	}
	k.hasAll(t, dir)
	checkFiles(t, dir)
	if n := len(s.requests()) - before; n > 0 {
		t.Errorf("%d requests after all was recorded", n)
	}
}

// When the disk fails at whatever point, every file that is complete is handed over, none goes, and the crawl
// opened again ends as if nothing had happened.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	step := 3
	if testing.Short() {
		step = 10
	}
	for _, fault := range []error{syscall.ENOSPC, syscall.EIO} {
		for at := 1; at < 60; at += step {
			faultAt(t, fault, at)
		}
	}
}

func faultAt(t *testing.T, fault error, at int) {
	t.Helper()
	s := smallSite(t)
	dir := t.TempDir()
	faulty := disk.NewFaulty(t.TempDir())
	d := faulty.Disk()
	k := newTaker(0)
	c, err := New(Config{Dir: dir, Job: smallFiles(s), Node: "node1", Disk: &d, Finished: k.take})
	if err != nil {
		t.Fatal(err)
	}
	faulty.FailAt(at, fault)
	sum, err := c.Run(t.Context())
	if err != nil && (!errors.Is(err, fault) || !sum.Resumable) {
		t.Errorf("fault at %d: %+v, %v", at, sum, err)
	}
	if err == nil && (sum.Reason != "completed" || sum.Resumable) {
		t.Errorf("no fault up to %d: %+v", at, sum)
	}
	whole := warcFiles(t, dir)
	for i, f := range whole { // the last may have its name but lack the sync of its folder
		if k.taken[filepath.Base(f)] == 0 && (err == nil || i < len(whole)-1) {
			t.Errorf("fault at %d: %s was not taken", at, filepath.Base(f))
		}
	}
	sum, err = runInto(t, dir, smallFiles(s), nil, k)
	if err != nil || sum.Reason != "completed" || sum.Resumable {
		t.Errorf("after a fault at %d: %+v, %v", at, sum, err)
	}
	for _, f := range whole {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	k.hasAll(t, dir)
	for uri, n := range captures(t, dir) {
		if n != 1 {
			t.Errorf("fault at %d: %s is recorded %d times", at, uri, n)
		}
	}
	if n := len(captures(t, dir)); n != 10 {
		t.Errorf("fault at %d: %d URIs are recorded", at, n)
	}
}
