package dedup

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/seed"
)

// some draws documents: URLs come several times, and so do digests.
func some(r *rand.Rand, n int) (all []Document) {
	for i := range n {
		d := Document{URL: fmt.Sprintf("http://h%d.test/%s", r.IntN(3), strings.Repeat("x", r.IntN(n))),
			Time:   time.UnixMilli(int64(i)*1000 + r.Int64N(1000)).UTC(),
			Digest: fmt.Sprintf("sha1:%d", r.IntN(n)), File: fmt.Sprintf("%d-0.warc.gz", i), Offset: r.Int64N(1 << 40)}
		if r.IntN(3) == 0 {
			d.ETag, d.LastModified, d.Type, d.ID = `"a"`, "Mon, 23 Nov 2026 10:00:00 GMT", "text/html", "<urn:uuid:1>"
		}
		if r.IntN(4) == 0 {
			d.OfURL, d.OfTime = "http://other.test/", d.Time.Add(-time.Hour)
		}
		all = append(all, d)
	}
	return all
}

// pieceOf makes the piece of a job.
func pieceOf(t testing.TB, job uint64, all []Document) []byte {
	t.Helper()
	m := NewMaker(job, t.TempDir(), 64<<10)
	for _, d := range all {
		if err := m.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := errors.Join(m.Write(&out), m.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(piece []byte) (all []Document, err error) {
	for d, err := range ReadPiece(bytes.NewReader(piece)) {
		if err != nil {
			return all, err
		}
		all = append(all, d)
	}
	return all, nil
}

// setOf makes the set of pieces.
func setOf(t testing.TB, pieces ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.set")
	f, err := os.Create(path)
	if err == nil {
		err = BuildSet(f, t.TempDir(), 128<<10, func(yield func(iter.Seq2[Document, error]) bool) {
			for _, p := range pieces {
				if !yield(ReadPiece(bytes.NewReader(p))) {
					return
				}
			}
		})
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string) *Set {
	t.Helper()
	s, err := OpenSet(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A piece has all documents, by URL, the latest of a URL first.
func TestPiece(t *testing.T) {
	all := some(seed.Rand(t), 300)
	got, err := read(pieceOf(t, 7, all))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b Document) int {
		if by := strings.Compare(a.URL, b.URL); by != 0 {
			return by
		}
		return b.Time.Compare(a.Time)
	})
	if !reflect.DeepEqual(got, all) {
		t.Errorf("%d documents became %d, or others, or in another order", len(all), len(got))
	}
}

// A set answers as a list that is looked through does.
func TestSetAgainstModel(t *testing.T) {
	r := seed.Rand(t)
	for range 6 {
		var pieces [][]byte
		var all []Document
		for job := range 1 + r.IntN(4) {
			some := some(r, r.IntN(200))
			pieces, all = append(pieces, pieceOf(t, uint64(job), some)), append(all, some...)
		}
		s := open(t, setOf(t, pieces...))
		latest, digests := map[string]Document{}, map[string]map[string]bool{}
		for _, d := range all {
			if old, there := latest[d.URL]; !there || d.Time.After(old.Time) {
				latest[d.URL] = d
			}
			if digests[d.Digest] == nil {
				digests[d.Digest] = map[string]bool{}
			}
			digests[d.Digest][d.File] = true
		}
		for url, want := range latest {
			if got, found, err := s.Latest(url); err != nil || !found || got.Time != want.Time {
				t.Fatalf("latest of %s: %+v %v %v, want %+v", url, got, found, err, want)
			}
			for _, none := range []string{url + "x", url[:len(url)-1], "", "zzz"} {
				_, there := latest[none]
				if _, found, err := s.Latest(none); err != nil || found != there {
					t.Fatalf("latest of %q: %v %v", none, found, err)
				}
			}
		}
		for digest, files := range digests {
			if got, found, err := s.Content(digest); err != nil || !found || got.Digest != digest || !files[got.File] {
				t.Fatalf("%s: %+v %v %v", digest, got, found, err)
			}
			if _, found, err := s.Content(digest + "x"); err != nil || found {
				t.Fatalf("%sx: %v %v", digest, found, err)
			}
		}
	}
}

// Whatever bit is flipped, nothing is found that was not there, and nothing panics.
func TestDamagedSet(t *testing.T) {
	r := seed.Rand(t)
	all := some(r, 25)
	there := map[Document]bool{}
	for _, d := range all {
		there[d] = true
	}
	whole, err := os.ReadFile(setOf(t, pieceOf(t, 1, all)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.set")
	check := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenSet(path)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s: %v", what, err)
			}
			return
		}
		defer func() { _ = s.Close() }()
		for _, d := range all {
			if got, found, err := s.Latest(d.URL); err == nil && found && (got.URL != d.URL || !there[got]) {
				t.Fatalf("%s: latest of %s is %+v", what, d.URL, got)
			}
			if got, found, err := s.Content(d.Digest); err == nil && found && (got.Digest != d.Digest || !there[got]) {
				t.Fatalf("%s: %s is %+v", what, d.Digest, got)
			}
		}
	}
	for i := 0; i < len(whole); i += 1 + r.IntN(5) {
		data := bytes.Clone(whole)
		data[i] ^= 1 << r.IntN(8)
		check(fmt.Sprint("bit of byte ", i), data)
		if r.IntN(4) == 0 {
			check(fmt.Sprint("cut at ", i), whole[:i])
		}
	}
}

// A piece that is cut anywhere is not taken for whole.
func TestCutPiece(t *testing.T) {
	all := some(seed.Rand(t), 20)
	whole := pieceOf(t, 1, all)
	for i := range len(whole) - 1 {
		if _, err := read(whole[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d of %d: %v", i, len(whole), err)
		}
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	if _, err := read(bytes.Join(slices.Delete(lines, 3, 4), nil)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a line is missing: %v", err)
	}
	if _, err := read([]byte(`{"format":"holdfast-documents","version":9,"job":4}`)); err == nil ||
		!strings.Contains(err.Error(), "version 9") {
		t.Errorf("a later version: %v", err)
	}
}

func TestBadDocuments(t *testing.T) {
	good := some(seed.Rand(t), 1)[0]
	m := NewMaker(1, t.TempDir(), 64<<10)
	defer func() { _ = m.Close() }()
	for name, spoil := range map[string]func(*Document){
		"no URL":          func(d *Document) { d.URL = "" },
		"a zero":          func(d *Document) { d.URL += "\x00" },
		"a long URL":      func(d *Document) { d.URL += strings.Repeat("x", maxURL) },
		"no digest":       func(d *Document) { d.Digest = "" },
		"no file":         func(d *Document) { d.File = "" },
		"negative offset": func(d *Document) { d.Offset = -1 },
		"no date":         func(d *Document) { d.Time = time.Time{} },
	} {
		bad := good
		spoil(&bad)
		if err := m.Add(bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func FuzzReadPiece(f *testing.F) {
	f.Add([]byte("{\"format\":\"holdfast-documents\",\"version\":1,\"job\":1}\n{\"documents\":0}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if all, err := read(data); err == nil {
			for _, d := range all {
				if _, err := d.line(); err != nil {
					t.Errorf("%+v: %v", d, err)
				}
			}
		}
	})
}

func FuzzOpenSet(f *testing.F) {
	f.Add([]byte(setMagic + strings.Repeat("\x00", endSize-8) + setMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.set")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenSet(path)
		if err != nil {
			return
		}
		_, _, _ = s.Latest("http://a.test/")
		_, _, _ = s.Content("sha1:A")
		_ = s.Close()
	})
}
