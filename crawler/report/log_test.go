package report

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast/internal/disk"
)

func openLog(t testing.TB, path string, size int64) *Log {
	t.Helper()
	l, err := OpenLog(disk.New(), path, size)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func add(l *Log, s string) { l.Add(func(b []byte) []byte { return append(b, s...) }) }

func TestLogGathersLinesOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	l := openLog(t, path, 0)
	const each = 5000
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range each {
				add(l, fmt.Sprintf("%d %d %s\n", w, i, strings.Repeat("x", 40)))
			}
		})
	}
	for range 20 {
		if _, err := l.Flush(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	size, err := l.Flush()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || int64(len(data)) != size {
		t.Fatalf("%d bytes of %d, %v", len(data), size, err)
	}
	next := [4]int{}
	for line := range strings.Lines(string(data)) {
		var w, i int
		if _, err := fmt.Sscanf(line, "%d %d", &w, &i); err != nil || i != next[w] {
			t.Fatalf("line %q, wanted number %d: %v", line, next[w], err)
		}
		next[w]++
	}
	if next != [4]int{each, each, each, each} {
		t.Errorf("lines %v", next)
	}
}

func TestCrashKeepsWhatWasFlushed(t *testing.T) {
	faulty := disk.NewFaulty(t.TempDir())
	path := filepath.Join(t.TempDir(), "x.log")
	l, err := OpenLog(faulty.Disk(), path, 0)
	if err != nil {
		t.Fatal(err)
	}
	add(l, "one\n")
	size, err := l.Flush()
	if err != nil || size != 4 {
		t.Fatal(size, err)
	}
	add(l, strings.Repeat("lost\n", writeAt/4)) // written, not synced
	if err := faulty.Crash(); err != nil {
		t.Fatal(err)
	}
	if l, err = OpenWholeLog(faulty.Disk(), path); err != nil {
		t.Fatal(err)
	}
	if size, err = l.Append([]byte("two\n")); err != nil || size != 8 {
		t.Fatal(size, err)
	}
	if data, _ := os.ReadFile(path); string(data) != "one\ntwo\n" {
		t.Errorf("log %.100q", data)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLogThatFailedTakesNoMore(t *testing.T) {
	faulty := disk.NewFaulty(t.TempDir())
	l, err := OpenLog(faulty.Disk(), filepath.Join(t.TempDir(), "x.log"), 0)
	if err != nil {
		t.Fatal(err)
	}
	faulty.FailAt(1, disk.ErrFull)
	add(l, "one\n")
	if _, err := l.Flush(); !errors.Is(err, disk.ErrFull) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Append([]byte("two\n")); !errors.Is(err, disk.ErrFull) {
		t.Errorf("then %v", err)
	}
	if err := l.Close(); !errors.Is(err, disk.ErrFull) {
		t.Errorf("closed with %v", err)
	}
}

func TestWholeLogEndsWithALine(t *testing.T) {
	long := strings.Repeat("x", 3*maxKept)
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""}, {"whole", "a\nb\n", "a\nb\n"}, {"torn", "a\nb", "a\n"}, {"only torn", "a", ""},
		{"long", "a\n" + long + "\n", "a\n" + long + "\n"}, {"long and torn", "a\n" + long, "a\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.log")
			if err := os.WriteFile(path, []byte(tt.in), 0o644); err != nil {
				t.Fatal(err)
			}
			l, err := OpenWholeLog(disk.New(), path)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if data, _ := os.ReadFile(path); string(data) != tt.want {
				t.Errorf("%d bytes, want %d", len(data), len(tt.want))
			}
		})
	}
}

func TestLogsAreCutToWhatWasCommitted(t *testing.T) {
	dir := t.TempDir()
	logs, err := OpenLogs(disk.New(), dir, Sizes{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs.all() {
		add(l, "first\n")
	}
	committed, err := logs.Flush()
	if err != nil || committed != (Sizes{6, 6, 6, 6}) {
		t.Fatal(committed, err)
	}
	for _, l := range logs.all() {
		add(l, "second\n")
	}
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	if committed, err = ParseSizes(committed.String()); err != nil {
		t.Fatal(err)
	}
	if logs, err = OpenLogs(disk.New(), dir, committed); err != nil {
		t.Fatal(err)
	}
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{CrawlLog: "first\n", URIErrorsLog: "first\n", RuntimeErrorsLog: "first\n", NonfatalLog: "first\n",
		ProgressLog: "first\nsecond\n", AlertsLog: "first\nsecond\n", JobLog: "first\nsecond\n"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
	if old, err := ParseSizes("1234"); err != nil || old != (Sizes{Crawl: 1234}) {
		t.Errorf("an earlier version's size: %v %v", old, err)
	}
}

func TestAlertsAreWarningsAndWorse(t *testing.T) {
	path := filepath.Join(t.TempDir(), AlertsLog)
	l := openLog(t, path, 0)
	var rest strings.Builder
	var told []string
	a := NewAlerts(slog.NewTextHandler(&rest, nil), l, "holdfast crawl x", func(alert string) { told = append(told, alert) })
	log := slog.New(a).With("job", 7)
	log.Info("all is well")
	log.Warn("disk is nearly full", "free", 12)
	log.WithGroup("g").Error("disk is full\nWARNING: forged")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	lines := strings.Split(string(data), "\n")
	if len(lines) != 5 || lines[1] != "WARNING: disk is nearly full job=7 free=12" || lines[3] != "SEVERE: disk is full WARNING: forged job=7" {
		t.Errorf("alerts %q", lines)
	}
	if len(told) != 2 || told[0] != lines[1] {
		t.Errorf("told %q", told)
	}
	if strings.Count(rest.String(), "\n") != 3 {
		t.Errorf("handed on: %s", rest.String())
	}
}
