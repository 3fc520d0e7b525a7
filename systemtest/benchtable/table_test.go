package main

import (
	"errors"
	"strings"
	"testing"
)

func TestFiguresAreReadFromWhatBenchmarksPrint(t *testing.T) {
	f := figures{}
	const out = "goos: linux\nBenchmarkCopy-2   \t       3\t4443366507 ns/op\t 241.65 MB/s\t         3.960 cpu-s/op\nPASS\n"
	if err := f.add(out, "BenchmarkCopy"); err != nil {
		t.Fatal(err)
	}
	if got := f["MB/s"]; len(got) != 1 || got[0] != 241.65 {
		t.Errorf("MB/s: %v", got)
	}
	if got := f["cpu-s/op"]; len(got) != 1 || got[0] != 3.96 {
		t.Errorf("cpu-s/op: %v", got)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := median(tt.in); got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.in, got, tt.want)
		}
	}
}

func TestARowWithoutItsProgramSaysSo(t *testing.T) {
	m := &measurer{rounds: 1}
	r := m.measure(t.Context(), row{name: "beside it", needs: program{"no-such-program", "the package nosuch"}})
	if r.err != nil || r.skipped != "not measured: no-such-program is not installed; it is in the package nosuch" {
		t.Errorf("error %v, skipped %q", r.err, r.skipped)
	}
}

func TestTableSaysWhatWasMet(t *testing.T) {
	got := render([]result{
		{row: row{name: "rate", ratio: 0.9, unit: unit{1, "MB/s"}}, mine: 95, theirs: 100},
		{row: row{name: "time", ratio: 0.9, lower: true, unit: unit{1e-6, "ms"}}, mine: 20e6, theirs: 10e6},
		{row: row{name: "absolute", figure: 200_000, unit: unit{1, "/s"}}, mine: 234_567, theirs: 300_000},
		{row: row{name: "at most", figure: 5, lower: true, unit: unit{1, "ms"}}, mine: 5.5, theirs: 1},
		{row: row{name: "no goal", unit: unit{1, "s"}}, mine: 0.5, theirs: 0.25},
		{row: row{name: "absent", unit: unit{1, "s"}}, skipped: "not here"},
		{row: row{name: "failed", unit: unit{1, "s"}}, err: errors.New("broke")},
	})
	want := []string{
		"rate 95.0 MB/s 100 MB/s 95 % ≥ 90 % yes",
		"time 20.0 ms 10.0 ms 50 % ≥ 90 % no",
		"absolute 234 567/s 300 000/s 78 % ≥ 200 000/s yes",
		"at most 5.50 ms 1.00 ms 18 % ≤ 5.00 ms no",
		"no goal 0.500 s 0.250 s 200 % - -",
		"absent - not here",
		"failed - no broke",
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")[2:]
	if len(lines) != len(want) {
		t.Fatalf("table:\n%s", got)
	}
	for i, line := range lines {
		if line := strings.Join(strings.Fields(line), " "); line != want[i] {
			t.Errorf("line %q, want %q", line, want[i])
		}
	}
}
