package warc_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/warc"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestFixtures reads files that are made here in the likeness of what other tools write, good or broken: each is read, or
// refused with an error that names file and offset. `make samples` does the same with a collection of other tools' own files.
func TestFixtures(t *testing.T) { compare(t, fixtures(t), "testdata/fixtures.golden") }

func compare(t *testing.T, dir, golden string) {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".md") {
			return err
		}
		name, err := filepath.Rel(dir, path)
		lines = append(lines, describe(t, path, filepath.ToSlash(name))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for i := range max(len(lines), len(want)) {
		if i >= len(lines) || i >= len(want) || lines[i] != want[i] {
			t.Fatalf("line %d differs\n got: %s\nwant: %s", i+1, at(lines, i), at(want, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(none)"
}

// describe tells in lines what reading, scanning and checking a file gives.
func describe(t *testing.T, path, name string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := []string{name}
	types := map[string]int{}
	again := 0
	r, err := warc.NewReader(f, name)
	for err == nil || !errors.Is(err, io.EOF) {
		if err != nil {
			var where *warc.Error
			if !errors.As(err, &where) || where.File != name {
				t.Errorf("%s: error %v does not name file and offset", name, err)
			}
			lines = append(lines, "  "+err.Error())
			if r == nil {
				return lines
			}
		}
		var rec *warc.Record
		if rec, err = r.Next(); err != nil {
			continue
		}
		types[rec.Version+" "+rec.Type]++
		var pos warc.Position
		if pos, err = rec.Position(); err == nil && pos.Length > 0 {
			again += reread(t, f, pos, rec)
		}
	}
	var counts []string
	for k, n := range types {
		counts = append(counts, fmt.Sprintf("%s: %d", k, n))
	}
	slices.Sort(counts)
	lines = append(lines, fmt.Sprintf("  read %s; by position: %d", strings.Join(counts, ", "), again))
	return append(lines, findings(path)...)
}

// reread reads a record by its position, through a reader of its own.
func reread(t *testing.T, f *os.File, pos warc.Position, want *warc.Record) int {
	t.Helper()
	rec, err := warc.ReadAt(f, pos.File, pos.Offset, pos.Length)
	if err != nil {
		t.Errorf("by position: %v", err)
		return 0
	}
	got, err := rec.Position()
	if err != nil || got != pos || rec.ID() != want.ID() || rec.TargetURI() != want.TargetURI() {
		t.Errorf("by position %v: found %v, %v", pos, got, err)
	}
	return 1
}

// findings tells what the validator says of a file, each code once.
func findings(path string) []string {
	codes := map[string]int{}
	s, err := warc.Check(path, func(f warc.Finding) { codes[f.Severity.String()+" "+f.Code]++ })
	if err != nil {
		return nil
	}
	lines := []string{fmt.Sprintf("  check: %d records, %d errors, %d warnings", s.Records, s.Errors, s.Warnings)}
	var all []string
	for c, n := range codes {
		all = append(all, fmt.Sprintf("    %s: %d", c, n))
	}
	slices.Sort(all)
	return append(lines, all...)
}
