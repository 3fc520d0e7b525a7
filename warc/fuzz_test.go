package warc_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/disk"
	"holdfast/warc"
)

// seed adds the files made here to a fuzz test.
func seed(f *testing.F, suffix string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join(fixtures(f), "*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 10000 && strings.Contains(p, suffix) {
			f.Add(b)
		}
	}
}

// readAll reads a file to its end as hard as it can, and fails when the reader contradicts itself.
func readAll(t *testing.T, b []byte) {
	r, err := warc.NewReader(bytes.NewReader(b), "f")
	if err != nil {
		return
	}
	offset, inner := int64(-1), int64(0)
	for n := 0; ; n++ {
		if n > 2*len(b)*1100+10 {
			t.Fatalf("%d steps in %d bytes", n, len(b))
		}
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			var where *warc.Error
			if !errors.As(err, &where) || where.Offset < 0 || where.Offset > int64(len(b)) {
				t.Fatalf("error %v", err)
			}
			continue
		}
		if rec.Offset < offset || rec.Offset == offset && rec.Inner <= inner {
			t.Fatalf("record at %d+%d follows one at %d+%d", rec.Offset, rec.Inner, offset, inner)
		}
		offset, inner = rec.Offset, rec.Inner
		if content, err := rec.Content(); err == nil {
			io.CopyN(io.Discard, content, 1<<20)
			content.Close()
		}
		if p, err := rec.Position(); err == nil && (p.Length < 0 || p.Offset+p.Length > int64(len(b))) {
			t.Fatalf("position %v in %d bytes", p, len(b))
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Fatalf("after the end: %v", err)
	}
}

func FuzzReader(f *testing.F) {
	seed(f, ".warc")
	f.Fuzz(func(t *testing.T, b []byte) {
		readAll(t, b)
		if _, err := warc.CheckReader(bytes.NewReader(b), "f", func(warc.Finding) {}); err != nil && !errors.Is(err, warc.ErrNotArchive) && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("check: %v", err)
		}
	})
}

func FuzzARC(f *testing.F) {
	seed(f, ".arc")
	f.Fuzz(readAll)
}

func FuzzHeader(f *testing.F) {
	f.Add("WARC-Type: response\r\nContent-Length: 5\r\n")
	f.Add("Content-Length: 5\r\n folded\r\nno colon\r\n: \r\n\tx")
	f.Fuzz(func(t *testing.T, header string) {
		readAll(t, []byte("WARC/1.1\r\n"+header+"\r\n\r\nhello\r\n\r\n"))
	})
}

func FuzzHTTP(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), false)
	f.Add([]byte("POST /a HTTP/1.1\r\nHost: x\r\n\r\n"), true)
	f.Fuzz(func(t *testing.T, block []byte, request bool) {
		kind := "response"
		if request {
			kind = "request"
		}
		file := record(kind, "http://x/", "application/http", string(block))
		rec := first(t, file)
		head, err := rec.HTTP()
		if err == nil {
			rest, err := io.ReadAll(rec.Block)
			if err != nil || head.Raw+string(rest) != string(block) {
				t.Fatalf("head %q and rest %q, %v", head.Raw, rest, err)
			}
		}
		readAll(t, []byte(file))
	})
}

func FuzzSalvage(f *testing.F) {
	seed(f, ".warc")
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "f.open")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := warc.Salvage(disk.New(), path)
		if err != nil {
			if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, b) {
				t.Fatalf("the torn file was not left alone: %v", err)
			}
			return
		}
		in, err := os.Open(s.Finished.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		r, err := warc.NewReader(in, "f")
		n := 0
		for ; err == nil; n++ {
			_, err = r.Next()
		}
		if err != io.EOF || n-1 != s.Finished.Records {
			t.Fatalf("%d records read of %d salvaged: %v", n-1, s.Finished.Records, err)
		}
	})
}
