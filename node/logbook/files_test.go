package logbook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/disk"
)

// read reads a log's files, the oldest first.
func read(t *testing.T, dir string) (all []string, sizes []int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, current+"*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	slices.Reverse(names)
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(text))
		all = append(all, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	return all, sizes
}

func TestFilesAreRotatedAndBounded(t *testing.T) {
	t.Parallel()
	for _, files := range []int{1, 3} {
		dir := filepath.Join(t.TempDir(), "log")
		cfg := Config{Dir: dir, Size: 4 << 10, Files: files, Disk: disk.New().WithMode(0o600), Out: slog.DiscardHandler}
		number := 0
		for range 3 { // runs
			b := Open(cfg)
			log := slog.New(b.Handler())
			for range 60 {
				log.Info("line", "number", number, "pad", strings.Repeat("x", 60))
				number++
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			log.Info("after the end")
		}
		lines, sizes := read(t, dir)
		if len(sizes) != files || slices.Max(sizes) > 4<<10 {
			t.Errorf("%d files: sizes %v", files, sizes)
		}
		for i := range lines {
			if want := fmt.Sprintf("number=%d ", number-len(lines)+i); !strings.Contains(lines[i], want) {
				t.Fatalf("%d files: line %d is %q, want %s", files, i, lines[i], want)
			}
		}
		if info, err := os.Stat(filepath.Join(dir, current)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
	}
}

func TestFewerFilesAreKeptAfterTheSettingsChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"holdfast.log", "holdfast.log.1", "holdfast.log.2", "holdfast.log.7", "holdfast.log.gz", "holdfast.log.01"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old, and cut by a cra"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := Open(Config{Dir: dir, Size: 4 << 10, Files: 2, JSON: true, Out: slog.DiscardHandler})
	slog.New(b.Handler()).Info("new", "error", errors.New("why"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want(t, "files", names, "holdfast.log", "holdfast.log.01", "holdfast.log.1", "holdfast.log.gz")
	text, err := os.ReadFile(filepath.Join(dir, current))
	if err != nil {
		t.Fatal(err)
	}
	old, line, _ := strings.Cut(string(text), "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(line), &got); err != nil || got["msg"] != "new" || got["error"] != "why" || old != "old, and cut by a cra" {
		t.Errorf("%q %v", text, err)
	}
}

// A disk that fails costs lines of the files alone, is said once, and the gap is said in the file.
func TestABrokenDiskIsSaidOnceAndStopsNothing(t *testing.T) {
	t.Parallel()
	scratch, dir := t.TempDir(), filepath.Join(t.TempDir(), "log") // outside the bubble: they wait for nothing
	synctest.Test(t, func(t *testing.T) {
		faulty := disk.NewFaulty(scratch)
		var out screen
		b := Open(Config{Dir: dir, Size: 64 << 10, Files: 2, Disk: faulty.Disk(), Out: out.at(slog.LevelInfo)})
		log := slog.New(b.Handler())
		log.Info("before")
		synctest.Wait()
		faulty.FailAt(1, disk.ErrFull)
		for i := range 5 {
			log.Info("lost", "number", i)
			time.Sleep(retryEvery + time.Second)
			synctest.Wait()
		}
		if folder, why := b.Failing(); folder != dir || !strings.Contains(why, disk.ErrFull.Error()) {
			t.Errorf("%s fails because %q", folder, why)
		}
		if n := strings.Count(out.String(), "log file cannot be written"); n != 1 || strings.Count(out.String(), "msg=lost") != 5 {
			t.Errorf("said %d times:\n%s", n, out.String())
		}
		if n := len(messages(t, b, Query{Text: "lost number"})); n != 5 {
			t.Errorf("%d lines in memory", n)
		}
		faulty.FailAt(0, nil)
		time.Sleep(retryEvery + time.Second)
		log.Info("after")
		synctest.Wait()
		if _, why := b.Failing(); why != "" {
			t.Errorf("it is written again, but fails because %q", why)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		lines, _ := read(t, dir)
		got := strings.Join(lines, "\n")
		for _, w := range []string{"msg=before", "msg=\"lines are missing here\" room=logbook lines=6", "msg=after", "written again"} {
			if !strings.Contains(got, w) {
				t.Errorf("the file lacks %q:\n%s", w, got)
			}
		}
		if strings.Contains(got, "msg=lost") || len(lines) != 5 { // one is half a line, which this disk did not cut off
			t.Errorf("%d lines:\n%s", len(lines), got)
		}
	})
}

// The log writes nothing on a disk that is nearly full: what is left there is for the databases.
func TestTheLogLeavesRoom(t *testing.T) {
	t.Parallel()
	var out screen
	dir := filepath.Join(t.TempDir(), "log")
	b := Open(Config{Dir: dir, Size: 64 << 10, Files: 2, Least: 1 << 62, Out: out.at(slog.LevelInfo)})
	slog.New(b.Handler()).Info("one")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, why := b.Failing(); !strings.Contains(why, "the log leaves") {
		t.Errorf("it fails because %q", why)
	}
	if lines, _ := read(t, dir); len(lines) != 0 || !strings.Contains(out.String(), "disk is full") {
		t.Errorf("%q\n%s", lines, out.String())
	}
}

// A disk that does not answer keeps nobody waiting, and what waits for it is bounded.
func TestASilentDiskKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out screen
		f := newFiles(Config{Dir: "/nowhere", Files: 1}) // nobody writes: run was not started
		b := &Book{out: out.at(slog.LevelError), ring: newRing(1), files: f, file: fileHandler(f, false)}
		b.level.said = slog.New(b.Handler())
		log := slog.New(b.Handler())
		for range 5000 {
			log.Info("line", "pad", strings.Repeat("x", 1000))
		}
		if f.bytes > queueBytes || f.lost == 0 || f.lost+uint64(len(f.queue)) != 5000 {
			t.Errorf("%d bytes wait in %d lines, %d are lost", f.bytes, len(f.queue), f.lost)
		}
		if _, why := b.Failing(); why != "" {
			t.Errorf("at once it fails because %q", why)
		}
		time.Sleep(retryEvery)
		if _, why := b.Failing(); !strings.Contains(why, "does not answer") {
			t.Errorf("half a minute later it fails because %q", why)
		}
		began := time.Now()
		if err := b.Close(); err != nil || time.Since(began) != endWait || !strings.Contains(out.String(), "does not answer") {
			t.Errorf("%v after %v: %s", err, time.Since(began), out.String())
		}
	})
}

// Lines that a slow disk costs are missing where they were: what came before stands before.
func TestTheGapStandsWhereItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFiles(Config{Dir: dir, Size: 8 << 20, Files: 1})
	f.said = slog.New(slog.DiscardHandler)
	log := slog.New(fileHandler(f, false))
	fill := func() {
		for range 1200 { // the queue takes about 1000
			log.Info("line", "pad", strings.Repeat("x", 1000))
		}
	}
	log.Info("first")
	fill()
	go f.run()
	for waits := 1; waits > 0; {
		f.mu.Lock()
		waits = len(f.queue)
		f.mu.Unlock()
	}
	log.Info("second")
	if !f.close() {
		t.Fatal("the disk does not answer")
	}
	lines, _ := read(t, dir)
	n := len(lines)
	if !strings.Contains(lines[0], "first") || !strings.Contains(lines[n-2], "lines are missing here") || !strings.Contains(lines[n-1], "second") || strings.Contains(lines[n-3], "missing") {
		t.Errorf("%d lines, the last are %q", n, lines[n-3:])
	}
	if want := fmt.Sprintf("lines=%d", 1203-n); !strings.HasSuffix(lines[n-2], want) {
		t.Errorf("%s, want %s", lines[n-2], want)
	}

	f = newFiles(Config{Dir: t.TempDir(), Size: 8 << 20, Files: 1}) // at the end, too
	f.said, log = slog.New(slog.DiscardHandler), slog.New(fileHandler(f, false))
	fill()
	go f.run()
	if !f.close() {
		t.Fatal("the disk does not answer")
	}
	if lines, _ = read(t, f.cfg.Dir); !strings.Contains(lines[len(lines)-1], "lines are missing here") {
		t.Errorf("the last line is %q", lines[len(lines)-1])
	}
}

// What a logger of many goroutines writes is whole in each place.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := Open(Config{Dir: dir, Size: 1 << 20, Files: 2, Out: slog.DiscardHandler})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			log := slog.New(b.Handler()).With("writer", i)
			for range 100 {
				log.InfoContext(context.Background(), "line")
			}
			_ = b.Raise(slog.LevelDebug, time.Hour, "p")
			_, _ = b.Level()
			_, _ = b.ring.find(Query{Limit: 5})
		})
	}
	all.Wait()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(messages(t, b, Query{Text: "line"})); n != 800 {
		t.Errorf("%d lines in memory", n)
	}
	lines, _ := read(t, dir)
	if n := strings.Count(strings.Join(lines, "\n"), "msg=line writer="); n != 800 {
		t.Errorf("%d lines in the file", n)
	}
}

// Without files nothing fails, and a log that is idle for long does not either.
func TestALogThatIsIdleDoesNotFail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for _, files := range []int{0, 1} {
			b := Open(Config{Dir: dir, Size: 4 << 10, Files: files, Out: slog.DiscardHandler})
			slog.New(b.Handler()).Info("one")
			synctest.Wait()
			time.Sleep(time.Hour)
			if _, why := b.Failing(); why != "" {
				t.Errorf("%d files: it fails because %q", files, why)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
