package wacz

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func lines(n int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for i := range n {
			if !yield(fmt.Appendf(nil, "org,example)/%05d 20261126120000 {\"url\":\"http://example.org/%d\",\"filename\":\"a.warc.gz\"}\n", i, i), nil) {
				return
			}
		}
	}
}

func pages(urls ...string) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for _, url := range urls {
			if !yield(Page{URL: url, Time: at, Title: "T <" + url}, nil) {
				return
			}
		}
	}
}

// written is a WACZ of two archives.
func written(t testing.TB, about About) []byte {
	t.Helper()
	var b bytes.Buffer
	about.Created, about.Software = at, "test"
	w, err := NewWriter(&b, about)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a.warc.gz": strings.Repeat("a", 100_000), "b.warc.gz": ""} {
		out, err := w.Archive(name)
		if err != nil {
			t.Fatal(err)
		}
		for chunk := range slices.Chunk([]byte(content), 999) {
			if _, err := out.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, err := range []error{w.Index(lines(2500)), w.Pages(pages("http://example.org/1", "http://example.org/2")), w.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func open(b []byte) (*Reader, error) { return Open(bytes.NewReader(b), int64(len(b))) }

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	for _, about := range []About{{}, {Version: Version120, Title: "T"}, {Sign: true}} {
		b := written(t, about)
		r, err := open(b)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{true: "anonymous"}[about.Sign]; r.Signature != want || r.Title != about.Title {
			t.Errorf("signature %q, title %q", r.Signature, r.Title)
		}
		archives, err := r.Archives()
		if err != nil || len(archives) != 2 {
			t.Fatal(archives, err)
		}
		for _, m := range archives {
			want := map[string]string{"a.warc.gz": strings.Repeat("a", 100_000), "b.warc.gz": ""}[m.Name]
			if m.At < 0 || string(b[m.At:m.At+m.Size]) != want {
				t.Errorf("%s is not stored as it is", m.Path)
			}
		}
		read := 0
		if err := r.Check(t.Context(), func(n int) { read += n }); err != nil || read < 100_000 {
			t.Errorf("check: %v after %d bytes", err, read)
		}
		checkIndex(t, r)
		text, err := r.small(pagesPath)
		if err != nil || strings.Count(string(text), "\n") != 3 || !strings.Contains(string(text), `"url":"http://example.org/1","ts":"2026-11-26T12:00:00Z","title":"T <http`) {
			t.Errorf("pages: %v\n%s", err, text)
		}
		var l list
		text, _ = r.small(listPath)
		if err := json.Unmarshal(text, &l); err != nil || len(l.Resources) != 5 || l.Profile != map[string]string{Version120: "wacz", "": "data-package"}[about.Version] {
			t.Errorf("list: %v %+v", err, l)
		}
		if lists := r.Lists(); len(lists) != 3 {
			t.Errorf("lists: %+v", lists)
		}
	}
}

// checkIndex reads the lines of the index through its index, as a reader does that wants one.
func checkIndex(t *testing.T, r *Reader) {
	t.Helper()
	inner, err := r.small(indexPath)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := r.small(indexOfIndex)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	rows := strings.Split(strings.TrimSpace(string(outer)), "\n")
	if len(rows) != 4 {
		t.Fatalf("index of the index:\n%s", outer)
	}
	for _, row := range rows[1:] {
		fields := strings.SplitN(row, " ", 3)
		var where struct{ Offset, Length int }
		if err := json.Unmarshal([]byte(fields[2]), &where); err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(inner[where.Offset : where.Offset+where.Length]))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil || !strings.HasPrefix(string(text), fields[0]+" "+fields[1]+" ") {
			t.Errorf("block of %s: %v", row, err)
		}
		all.Write(text)
	}
	var want strings.Builder
	for line := range lines(2500) {
		want.Write(line)
	}
	if all.String() != want.String() {
		t.Error("the blocks are not the lines")
	}
}

func TestNothingIsWrittenThatNobodyReads(t *testing.T) {
	t.Parallel()
	if _, err := NewWriter(io.Discard, About{Version: "2"}); err == nil {
		t.Error("a version that does not exist")
	}
	w, err := NewWriter(io.Discard, About{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "..", "../x", "a/b", `a\b`, "."} {
		if _, err := w.Archive(name); err == nil && name != "." {
			t.Errorf("an archive %q", name)
		}
	}
	if _, err := w.Archive("a"); err != nil {
		t.Error(err)
	}
	if _, err := w.Archive("a"); err == nil {
		t.Error("two archives of one name")
	}
	if err := w.Close(); err == nil {
		t.Error("a WACZ without an index was closed")
	}
	if err := w.Index(func(yield func([]byte, error) bool) { yield([]byte("no line"), nil) }); err == nil {
		t.Error("a line that is none")
	}
	failed := errors.New("failed")
	if err := w.Pages(func(yield func(Page, error) bool) { yield(Page{}, failed) }); !errors.Is(err, failed) {
		t.Errorf("pages that fail: %v", err)
	}
}

// zipped writes a ZIP file of parts, by turns path and content.
func zipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		out, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(parts[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	emptySum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	oneList  = `{"resources":[{"path":"archive/a.warc","hash":"` + emptySum + `","bytes":0}]}`
)

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	good := zipped(t, "archive/a.warc", "", "datapackage.json", oneList)
	if _, err := open(good); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"no ZIP":                []byte("x"),
		"cut off":               good[:len(good)-10],
		"no list":               zipped(t, "archive/a.warc", ""),
		"a list that is none":   zipped(t, "archive/a.warc", "", "datapackage.json", "{"),
		"a path upwards":        zipped(t, "../a.warc", "", "archive/a.warc", "", "datapackage.json", oneList),
		"an absolute path":      zipped(t, "/a.warc", "", "archive/a.warc", "", "datapackage.json", oneList),
		"a backslash":           zipped(t, `archive\..\x`, "", "archive/a.warc", "", "datapackage.json", oneList),
		"a part twice":          zipped(t, "archive/a.warc", "", "archive/a.warc", "", "datapackage.json", oneList),
		"a part missing":        zipped(t, "datapackage.json", oneList),
		"an archive unlisted":   zipped(t, "archive/a.warc", "", "archive/b.warc", "", "datapackage.json", oneList),
		"listed twice":          zipped(t, "archive/a.warc", "", "datapackage.json", strings.Replace(oneList, "]", `,{"path":"archive/a.warc","hash":"`+emptySum+`"}]`, 1)),
		"another digest":        zipped(t, "archive/a.warc", "", "datapackage.json", strings.Replace(oneList, "sha256:", "md5:", 1)),
		"no digest":             zipped(t, "archive/a.warc", "", "datapackage.json", strings.Replace(oneList, emptySum, "sha256:", 1)),
		"half a digest":         zipped(t, "archive/a.warc", "", "datapackage.json", strings.Replace(oneList, emptySum, emptySum[:40], 1)),
		"another list":          zipped(t, "archive/a.warc", "", "datapackage.json", oneList, "datapackage-digest.json", `{"path":"datapackage.json","hash":"`+emptySum+`"}`),
		"a digest that is none": zipped(t, "archive/a.warc", "", "datapackage.json", oneList, "datapackage-digest.json", `[]`),
	} {
		if _, err := open(b); !errors.Is(err, ErrNotWACZ) && !errors.Is(err, ErrDigest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	old := strings.Replace(oneList, `"hash":"sha256:`+emptySum[7:]+`","bytes":0`, `"hashing":"sha256","stats":{"hash":"`+emptySum[7:]+`","bytes":0}`, 1)
	if r, err := open(zipped(t, "archive/a.warc", "", "datapackage.json", old)); err != nil || r.Check(t.Context(), func(int) {}) != nil {
		t.Errorf("a list of an earlier version: %v", err)
	}
	if r, err := open(zipped(t, "archive/a.warc", "x", "datapackage.json", old)); err != nil || r.Check(t.Context(), func(int) {}) == nil {
		t.Errorf("a list of an earlier version, of other bytes: %v", err)
	}
	r, err := open(zipped(t, "archive/a.warc", "x", "datapackage.json", oneList))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(t.Context(), func(int) {}); !errors.Is(err, ErrDigest) || !strings.Contains(err.Error(), "archive/a.warc") {
		t.Errorf("a part that was changed: %v", err)
	}
	if archives, err := r.Archives(); err != nil || archives[0].At != -1 {
		t.Errorf("an archive that is compressed: %+v, %v", archives, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := r.Check(stopped, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	r, err = open(zipped(t, "datapackage.json", `{"resources":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Archives(); !errors.Is(err, ErrNotWACZ) {
		t.Errorf("without a WARC file: %v", err)
	}
}

// A list that was changed with its digest is found out by the signature, and so is a signature that was changed.
func TestSignatures(t *testing.T) {
	t.Parallel()
	r, err := open(written(t, About{Sign: true}))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := r.small(digestPath)
	var d digest
	if err := json.Unmarshal(text, &d); err != nil || d.Signed.check() != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*signed){
		"hash": func(s *signed) { s.Hash = emptySum }, "signature": func(s *signed) { s.Signature = "AAAA" + s.Signature[4:] },
		"no signature": func(s *signed) { s.Signature = "" }, "no base64": func(s *signed) { s.Signature = "!" }, "no key": func(s *signed) { s.PublicKey = "" },
		"a key that is none": func(s *signed) { s.PublicKey = "AAAA" },
	} {
		s := *d.Signed
		change(&s)
		if s.check() == nil {
			t.Errorf("%s changed: it is still right", name)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(zipped(f, "archive/a.warc", "", "datapackage.json", oneList))
	f.Add(written(f, About{Sign: true})[:2000])
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := open(b)
		if err != nil {
			return
		}
		r.Archives()
		r.Lists()
		r.Check(t.Context(), func(int) {})
	})
}
