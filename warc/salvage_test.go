package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/disk"
	"holdfast/warc"
)

// written writes a few small records and returns the file and where they are, warcinfo included.
func written(t *testing.T, c warc.Compression) (string, []warc.Position) {
	t.Helper()
	path := ""
	f, err := warc.NewFiles(disk.New(), warc.FilesConfig{Dir: t.TempDir(), Prefix: "p", Node: "n", Compression: c}, func(d warc.Finished) error {
		path = d.Path
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Write(draft("http://example.com/1", 20), draft("http://example.com/2", 40))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path, append([]warc.Position{{Length: p[0].Offset}}, p...)
}

func TestSalvageForeignFiles(t *testing.T) {
	dir := fixtures(t)
	tests := []struct {
		name, out string
		records   int
	}{
		{"torn.warc.gz.open", "torn.warc.gz", 2},
		{"torn-header.warc.gz.open", "torn-header.warc.gz", 3},
		{"torn.warc.open", "torn.warc", 2},
		{"torn-trailer.warc.open", "torn-trailer.warc", 2},
		{"zeros.warc.gz", "zeros.salvaged.warc.gz", 3},
		{"flipped.warc.gz", "flipped.salvaged.warc.gz", 2},
		{"torn.warc.zst", "torn.salvaged.warc.zst", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := warc.Salvage(disk.New(), filepath.Join(dir, tt.name))
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(s.Finished.Path) != tt.out || s.Finished.Records != tt.records {
				t.Errorf("%+v, want %d records in %s", s, tt.records, tt.out)
			}
			verifyFile(t, s.Finished)
			_, err = os.Stat(filepath.Join(dir, tt.name))
			if gone := errors.Is(err, fs.ErrNotExist); gone != strings.HasSuffix(tt.name, ".open") {
				t.Errorf("the torn file: %v", err)
			}
		})
	}
	if _, err := warc.Salvage(disk.New(), filepath.Join(dir, "zeros.warc.gz")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("salvaged twice: %v, want fs.ErrExist", err)
	}
	var where *warc.Error
	if _, err := warc.Salvage(disk.New(), filepath.Join(dir, "html.warc")); !errors.Is(err, warc.ErrNothing) || !errors.As(err, &where) {
		t.Errorf("no archive: %v, want ErrNothing", err)
	}
}

// TestSalvageSharedMember cuts a file whose records share one gzip member: the whole ones
// are written again, one member each.
func TestSalvageSharedMember(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.warc.gz.open")
	packed := member(info() + page("http://a.example/", "first") + page("http://b.example/", strings.Repeat("second", 1000)))
	if err := os.WriteFile(path, []byte(packed[:len(packed)-20]), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := warc.Salvage(disk.New(), path)
	if err != nil || s.Finished.Records != 2 || s.Reason == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	verifyFile(t, s.Finished)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the torn file: %v", err)
	}
}

// TestCrashKeepsWhatWasSynced crashes at every operation of a crawl; after salvage, every
// record that Sync acknowledged is at its position, and nothing in the folder is invalid.
func TestCrashKeepsWhatWasSynced(t *testing.T) {
	for n := 1; ; n++ {
		dir := t.TempDir()
		twin := disk.NewFaulty(t.TempDir())
		twin.FailAt(n, nil)
		safe, err := crawl(twin.Disk(), dir)
		if crash := twin.Crash(); crash != nil {
			t.Fatal(crash)
		}
		open, globbing := filepath.Glob(filepath.Join(dir, "*.open"))
		if globbing != nil {
			t.Fatal(globbing)
		}
		for _, path := range open {
			if _, err := warc.Salvage(disk.New(), path); err != nil && !errors.Is(err, warc.ErrNothing) {
				t.Fatalf("op %d: %v", n, err)
			}
		}
		for _, p := range safe {
			verifyPosition(t, dir, p, 300)
		}
		if t.Failed() {
			t.Fatalf("failed at op %d", n)
		}
		if err == nil {
			return
		}
	}
}

// crawl writes records to several files and returns the positions of those acknowledged.
func crawl(d disk.Disk, dir string) (safe []warc.Position, err error) {
	f, err := warc.NewFiles(d, warc.FilesConfig{Dir: dir, Prefix: "p", Node: "n", MaxBytes: 1500, Now: clock}, nil)
	if err != nil {
		return nil, err
	}
	var written []warc.Position
	for i := range 12 {
		p, err := f.Write(draft(fmt.Sprintf("http://example.com/%d", i), 300))
		if err != nil {
			return safe, errors.Join(err, f.Close())
		}
		written = append(written, p...)
		if err := f.Sync(); err != nil {
			return safe, errors.Join(err, f.Close())
		}
		safe = written
	}
	return safe, f.Close()
}

func TestConvert(t *testing.T) {
	dir := t.TempDir()
	src, _ := written(t, warc.Gzip)
	step := src
	for i, c := range []warc.Compression{warc.None, warc.Zstd, warc.Gzip, warc.None} {
		dst := filepath.Join(dir, fmt.Sprint(i)+c.Suffix())
		done, err := warc.Convert(step, dst, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		verifyFile(t, done)
		step = dst
	}
	if !bytes.Equal(load(t, step), load(t, filepath.Join(dir, "0.warc"))) {
		t.Error("records changed on the way through zstd and gzip")
	}
	broken := filepath.Join(fixtures(t), "flipped.warc.gz")
	if _, err := warc.Convert(broken, filepath.Join(dir, "x.warc"), warc.None, 0); !errors.Is(err, warc.ErrCompressed) {
		t.Errorf("a damaged file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x.warc")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a damaged file left something: %v", err)
	}
}

// TestErrorsOfTheDiskAreNotDamage salvages nothing from a file that cannot be read now.
func TestErrorsOfTheDiskAreNotDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "f.warc.gz.open")
	if err := os.Mkdir(dir, 0o755); err != nil { // reading a folder fails as a bad disk does
		t.Fatal(err)
	}
	if _, err := warc.Salvage(disk.New(), dir); err == nil || errors.Is(err, warc.ErrNothing) {
		t.Errorf("error is %v", err)
	}
	if _, err := warc.Check(dir, func(warc.Finding) {}); err == nil {
		t.Error("a file that cannot be read passed for valid")
	}
	failing := io.MultiReader(strings.NewReader(member(info())), failingReader{})
	r, err := warc.NewReader(failing, "f")
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, disk.ErrInjected) {
		t.Errorf("error is %v, want the reader's own", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, disk.ErrInjected }
