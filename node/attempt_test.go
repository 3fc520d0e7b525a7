package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/catalog"
)

func TestEachAttemptHasItsOwnFolder(t *testing.T) {
	n := &Node{cfg: Config{Data: t.TempDir()}, log: quiet()}
	c := newCrawls(n)
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
	if err := os.WriteFile(attemptPath(c.find(first)), []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	if dir := c.find(second); filepath.Base(dir) != "7_20231114221320-2" {
		t.Errorf("a torn note hides another attempt's folder: %q", dir)
	}
}

func TestAJobWhoseNumberIsGivenAgainHasItsOwnFolder(t *testing.T) {
	c := newCrawls(&Node{cfg: Config{Data: t.TempDir()}, log: quiet()})
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
	n := &Node{cfg: Config{Data: t.TempDir()}, log: quiet()}
	n.crawls = newCrawls(n)
	job := catalog.Job{ID: 7, Attempt: 1}
	dir, err := n.crawls.folder(job)
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
		if err := n.writeLog(job, tail, &got); err != nil || got.String() != want {
			t.Errorf("the last %d lines: %q, %v", tail, got.String(), err)
		}
	}
}
