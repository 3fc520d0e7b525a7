package warc_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/disk"
	"holdfast/warc"
)

// draft returns a response with a body of n bytes.
func draft(uri string, n int) warc.Draft {
	body := strings.Repeat("0123456789abcdef", n/16+1)[:n]
	block := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", n, body)
	return warc.Draft{Type: warc.TypeResponse, TargetURI: uri, ContentType: "application/http; msgtype=response",
		Block: strings.NewReader(block), Size: int64(len(block))}
}

func clock() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC) }

// TestFiles writes with each compression, version and digest; the validator finds nothing
// to say, and each record is where its position says.
func TestFiles(t *testing.T) {
	for _, c := range []warc.Compression{warc.Gzip, warc.None, warc.Zstd} {
		for _, format := range []warc.Format{{}, {Version: "1.0", Digest: warc.SHA256}} {
			t.Run(fmt.Sprintf("%v %v", c, format), func(t *testing.T) {
				dir := t.TempDir()
				var done []warc.Finished
				f, err := warc.NewFiles(disk.New(), warc.FilesConfig{Format: format, Dir: dir, Prefix: "p", Node: "node1", MaxBytes: 3000, Compression: c,
					Info: []warc.Field{{Name: "operator", Value: "x\r\ny"}}, Now: clock}, func(d warc.Finished) error {
					done = append(done, d)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				var all []warc.Position
				sizes := []int{0, 10, 5000, 3 << 20, 1}
				for i, n := range sizes {
					resource := warc.Draft{Type: warc.TypeResource, TargetURI: fmt.Sprintf("urn:x:%d", i), ContentType: "text/plain", Block: io.LimitReader(strings.NewReader(strings.Repeat("r", n)), 1<<30), Size: int64(n)}
					p, err := f.Write(draft(fmt.Sprintf("http://example.com/%d", i), n), resource)
					if err != nil {
						t.Fatal(err)
					}
					if p[0].File != p[1].File || p[0].Offset+p[0].Length != p[1].Offset {
						t.Errorf("positions %v are not side by side", p)
					}
					all = append(all, p...)
				}
				if err := errors.Join(f.Sync(), f.Close(), f.Close()); err != nil {
					t.Fatal(err)
				}
				if want := "p-20260304050607089-00000-node1" + c.Suffix(); filepath.Base(done[0].Path) != want {
					t.Errorf("first file is %s, want %s", done[0].Path, want)
				}
				records := 0
				for _, d := range done {
					records += d.Records
					verifyFile(t, d)
				}
				if records != len(all)+len(done) {
					t.Errorf("%d records in %d files, want %d and a warcinfo each", records, len(done), len(all))
				}
				for i, p := range all {
					verifyPosition(t, dir, p, int64(sizes[i/2]))
				}
			})
		}
	}
}

// verifyFile compares a finished file with what was told of it and validates it.
func verifyFile(t *testing.T, d warc.Finished) {
	t.Helper()
	b, err := os.ReadFile(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != d.Size || sha256.Sum256(b) != d.SHA256 {
		t.Errorf("%s: size or SHA-256 differ from what was told", d.Path)
	}
	s, err := warc.Check(d.Path, func(f warc.Finding) { t.Errorf("%s: %v", d.Path, f) })
	if err != nil || s.Records != d.Records {
		t.Errorf("%s: %d records, want %d, %v", d.Path, s.Records, d.Records, err)
	}
}

func verifyPosition(t *testing.T, dir string, p warc.Position, payload int64) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, p.File))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := warc.ReadAt(f, p.File, p.Offset, p.Length)
	if err != nil {
		t.Fatal(err)
	}
	body, err := rec.Payload()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); n != payload || err != nil {
		t.Errorf("payload of %d bytes, want %d, %v", n, payload, err)
	}
	if got, err := rec.Position(); got != p || err != nil {
		t.Errorf("position %v, want %v, %v", got, p, err)
	}
}

func TestFilesConcurrently(t *testing.T) {
	var mu sync.Mutex
	var done []warc.Finished
	dir := t.TempDir()
	f, err := warc.NewFiles(disk.New(), warc.FilesConfig{Dir: dir, Prefix: "p", Node: "n", MaxBytes: 20000}, func(d warc.Finished) error {
		mu.Lock()
		defer mu.Unlock()
		done = append(done, d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 50 {
				size := 100 * i
				if i == 25 {
					size = 2 << 20
				}
				p, err := f.Write(draft(fmt.Sprintf("http://example.com/%d/%d", w, i), size), draft("http://example.com/", 5))
				if err != nil || len(p) != 2 || p[0].File != p[1].File {
					t.Errorf("%v, %v", p, err)
				}
			}
		})
	}
	all.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range done {
		verifyFile(t, d)
		n += d.Records - 1
	}
	if n != 400 {
		t.Errorf("%d records, want 400", n)
	}
	if _, err := f.Write(draft("http://example.com/", 5)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
}

func TestDraftsThatAreRefused(t *testing.T) {
	f, err := warc.NewFiles(disk.New(), warc.FilesConfig{Dir: t.TempDir(), Prefix: "p", Node: "n"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*warc.Draft)
	}{
		{"unknown type", func(d *warc.Draft) { d.Type = "Response" }},
		{"no URI", func(d *warc.Draft) { d.TargetURI = "" }},
		{"relative URI", func(d *warc.Draft) { d.TargetURI = "/index.html" }},
		{"space in URI", func(d *warc.Draft) { d.TargetURI = "http://example.com/a b" }},
		{"forged field", func(d *warc.Draft) { d.TargetURI = "http://example.com/\r\nWARC-Type: resource" }},
		{"forged field in a value", func(d *warc.Draft) { d.Fields = []warc.Field{{Name: "A", Value: "b\nC: d"}} }},
		{"bad name", func(d *warc.Draft) { d.Fields = []warc.Field{{Name: "A b", Value: "c"}} }},
		{"content type of two lines", func(d *warc.Draft) { d.ContentType = "a\r\nb" }},
		{"negative size", func(d *warc.Draft) { d.Size = -1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := draft("http://example.com/", 10)
			tt.change(&d)
			if _, err := f.Write(d); !errors.Is(err, warc.ErrDraft) {
				t.Errorf("error is %v, want ErrDraft", err)
			}
		})
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFailedWriteLeavesTheFileWhole lets blocks end early and the disk fill up between good writes.
func TestFailedWriteLeavesTheFileWhole(t *testing.T) {
	twin := disk.NewFaulty(t.TempDir())
	var done warc.Finished
	f, err := warc.NewFiles(twin.Disk(), warc.FilesConfig{Dir: t.TempDir(), Prefix: "p", Node: "n", Now: clock}, func(d warc.Finished) error {
		done = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	good := 0
	for i, size := range []int{10, 3 << 20, 500, 2 << 20} {
		short := draft("http://example.com/short", size)
		short.Size += 5
		if _, err := f.Write(draft("http://example.com/", 5), short); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a short block: %v", err)
		}
		noise := make([]byte, 3<<20)
		for j := range noise {
			noise[j] = byte(rand.Uint32())
		}
		if _, err := f.Write(draft(fmt.Sprintf("http://example.com/%d", i), size)); err != nil {
			t.Fatal(err)
		}
		good++
		failing := warc.Draft{Type: warc.TypeResource, TargetURI: "http://example.com/noise", Block: &fault{in: bytes.NewReader(noise), twin: twin}, Size: int64(len(noise)), ContentType: "a/b"}
		if _, err := f.Write(failing); !errors.Is(err, disk.ErrInjected) {
			t.Errorf("a failing disk: %v", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if done.Records != good+1 {
		t.Errorf("%d records, want %d", done.Records, good+1)
	}
	verifyFile(t, done)
}

// fault makes the write that follows the first megabyte fail, and heals the disk after it.
type fault struct {
	in   io.Reader
	n    int
	twin *disk.Faulty
}

func (f *fault) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	f.n += n
	if f.n > 1<<20 {
		f.twin.FailOnce(1, nil)
		f.n = -1 << 30
	}
	return n, err
}
