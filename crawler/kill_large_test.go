//go:build slow && !race

package crawler

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/crawler/journal"
	"holdfast/internal/seed"
	"holdfast/warc"
)

// A WARC file that is damaged before what was committed is kept, what is whole in it is in a valid file, and what is
// lost is fetched again.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(b []byte) []byte{
		"early": func(b []byte) []byte { return scramble(b, 600, 40) },
		"start":/* of the file, which describes itself there */ func(b []byte) []byte { return scramble(b, 0, 2) },
		"middle":    func(b []byte) []byte { return scramble(b, len(b)*2/5, 3000) },
		"scattered": func(b []byte) []byte { return scramble(scramble(scramble(b, 900, 1), len(b)/4, 5000), len(b)*2/5, 1) },
		"cut":       func(b []byte) []byte { return b[:len(b)/4] },
		"all":       func(b []byte) []byte { return scramble(b, 0, len(b)) },
		"empty":     func(b []byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := alikeSite(t)
			dir := t.TempDir()
			seed := s.URL + "/p/0"
			open := killAfter(t, s, dir, seed, 250)
			whole, err := os.ReadFile(open)
			if err != nil {
				t.Fatal(err)
			}
			damaged := hurt(bytes.Clone(whole))
			if err := os.WriteFile(open, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			sum := run(t, dir, alikeJob(seed))
			if sum.Reason != "completed" || len(sum.Damage.Files) != 1 || (sum.Damage.URIs == 0) != (name == "start") {
				t.Errorf("summary %+v", sum)
			}
			kept, err := os.ReadFile(strings.TrimSuffix(open, ".open") + ".damaged")
			if err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("the damaged file is not kept as it was: %v, %d bytes of %d", err, len(kept), len(damaged))
			}
			checkMended(t, dir)
			if alerts, _ := os.ReadFile(filepath.Join(dir, "logs", "alerts.log")); !strings.Contains(string(alerts), "a WARC file is damaged") {
				t.Errorf("alerts: %s", alerts)
			}
			if again := run(t, dir, alikeJob(seed)); len(again.Damage.Files) != 0 || again.Damage.URIs != 0 {
				t.Errorf("mended twice: %+v", again)
			}
		})
	}
}

// A file that is mended once more, as after a crash in the middle of that, is handed over as it is then.
func TestMendedTwice(t *testing.T) {
	t.Parallel()
	s := alikeSite(t)
	dir := t.TempDir()
	job := alikeJob(s.URL + "/p/0")
	run(t, dir, job)
	path := warcFiles(t, dir)[0]
	name := filepath.Base(path)
	forget := func(value string) {
		t.Helper()
		c, err := New(Config{Dir: dir, Job: job, Node: "node1", Finished: func(warc.Finished) error { return errors.New("not now") }})
		if err != nil {
			t.Fatal(err)
		}
		c.frontier.SetValue(value, nil)
		if err := errors.Join(c.journal.Commit(), c.close()); err != nil {
			t.Fatal(err)
		}
	}
	forget(journal.ValueHanded + name)
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, scramble(written, len(written)*2/5, 3000), 0o600); err != nil {
		t.Fatal(err)
	}
	forget(journal.ValueMended + name + journal.DamagedSuffix)
	taken := map[string]warc.Finished{}
	c, err := New(Config{Dir: dir, Job: job, Node: "node1", Finished: func(f warc.Finished) error {
		taken[filepath.Base(f.Path)] = f
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := c.Run(t.Context())
	if err != nil || len(sum.Damage.Files) != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	is, err := journal.Describe(path)
	if given := taken[name]; err != nil || given != is {
		t.Errorf("handed over as %+v, it is %+v, %v", given, is, err)
	}
}

// A crawl that is killed again and again ends with every URI recorded once, in valid files, and logged once.
func TestKill(t *testing.T) {
	t.Parallel()
	kills := 20
	if testing.Short() {
		kills = 4
	}
	rnd := seed.Rand(t)
	s := bigSite(t)
	dir := t.TempDir()
	finished, killed := false, 0
	for i := 0; i < kills && !finished; i++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envCrawlDir+"="+dir, envCrawlSeed+"="+s.URL+"/p/0", envCrawlBytes+"="+strconv.Itoa(killBytes))
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// Two of three are killed after some more requests, the third after a moment, which may be while it recovers.
		reached := make(chan struct{})
		patience := time.Duration(1+rnd.IntN(150)) * time.Millisecond
		if i%3 != 2 {
			patience = time.Minute
			s.mu.Lock()
			target := len(s.log) + 1 + rnd.IntN(2*killPages/kills)
			s.seen = func(n int) {
				if n == target {
					close(reached)
				}
			}
			s.mu.Unlock()
		}
		timer := time.NewTimer(patience)
		select {
		case <-reached:
		case <-timer.C:
		case err := <-ended:
			if err != nil {
				t.Fatalf("after %d kills: %v\n%s", killed, err, said.String())
			}
			finished = true
		}
		timer.Stop()
		if !finished {
			if err := cmd.Process.Kill(); err != nil {
				t.Log(err)
			}
			<-ended
			killed++
		}
		s.mu.Lock()
		s.seen = nil
		s.mu.Unlock()
	}
	t.Logf("killed %d times, the last after %d requests", killed, len(s.requests()))
	sum := run(t, dir, killJob(s.URL+"/p/0"))
	if sum.Reason != "completed" {
		t.Errorf("summary %+v", sum)
	}
	checkOnce(t, s, dir, sum)
}
