package index

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"holdfast/cdx"
	"holdfast/warc"
)

func TestCaptures(t *testing.T) {
	t.Parallel()
	var a archive
	message := "Content-Type: application/http; msgtype=response\n"
	a.record("warcinfo", "2026-01-01T00:00:00Z", "", "Content-Type: application/warc-fields", "software: x\r\n")
	a.record("request", "2026-01-01T00:00:00Z", "http://example.com/", "Content-Type: application/http;msgtype=request", "GET / HTTP/1.1\r\n\r\n")
	a.record("response", "2026-01-01T00:00:00.123Z", "<http://www.example.com/A?b=2&a=1>", message+"WARC-Payload-Digest: sha1:b2ltwwpuoyah7uipq7zupq4vmbsvc36a",
		"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=x\r\n\r\nbody")
	a.record("response", "2026-01-01T00:00:01Z", "http://example.com/moved", message, "HTTP/1.1 301 Moved\r\nLocation: ../new?x#y\r\n\r\n")
	a.record("response", "2026-01-01T00:00:02Z", "http://example.com/odd", message, "not HTTP at all\r\n\r\n")
	a.record("revisit", "2026-02-01T00:00:00Z", "http://example.com/a",
		message+"WARC-Payload-Digest: sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A\nWARC-Refers-To-Target-URI: <http://example.com/A>\nWARC-Refers-To-Date: 2026-01-01T00:00:00Z",
		"HTTP/1.1 200 OK\r\n\r\n")
	a.record("response", "2026-01-01T00:00:03Z", "dns:example.com", "Content-Type: text/dns", "20260101\nexample.com. 60 IN A 1.2.3.4\n")
	a.record("resource", "2026-01-01T00:00:04Z", "metadata://example.org/crawl/logs/crawl.log?jobid=1", "Content-Type: text/plain", "log")
	a.record("metadata", "2026-01-01T00:00:05Z", "http://example.com/", "Content-Type: application/warc-fields", "outlink: x\r\n")
	a.record("response", "2026-01-01T00:00:06Z", "http://bad host:99999/", message, "HTTP/1.1 200 OK\r\n\r\n")
	a.record("response", "whenever", "http://example.com/undated", message, "HTTP/1.1 200 OK\r\n\r\n")

	r, err := warc.NewReader(bytes.NewReader(a.Bytes()), "x.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	var refers cdx.Refers
	for c, err := range Captures(r, "x.warc.gz") {
		if err != nil {
			t.Fatal(err)
		}
		if c.Revisit() {
			refers = c.Refers
		}
		if c.Length <= 0 || c.File != "x.warc.gz" {
			t.Errorf("no place: %+v", c)
		}
		at, length := c.Offset, c.Length
		if rec, err := warc.ReadAt(bytes.NewReader(a.Bytes()), "x", at, length); err != nil || rec.TargetURI() != c.URL {
			t.Errorf("no record of %s there: %v", c.URL, err)
		}
		c.Offset, c.Length = 0, 0
		got.Write(append(c.AppendCDX11(nil), '\n'))
	}
	want := `com,example)/a?a=1&b=2 20260101000000 http://www.example.com/A?b=2&a=1 text/html 200 B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A - - - 0 x.warc.gz
com,example)/moved 20260101000001 http://example.com/moved - 301 3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ http://example.com/new?x#y - - 0 x.warc.gz
com,example)/odd 20260101000002 http://example.com/odd - - `
	if !strings.HasPrefix(got.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	rest := strings.SplitN(got.String(), "\n", 4)[3]
	want = `com,example)/a 20260201000000 http://example.com/a warc/revisit - B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A - - - 0 x.warc.gz
dns:example.com 20260101000003 dns:example.com text/dns - `
	if !strings.HasPrefix(rest, want) || strings.Count(rest, "\n") != 3 || !strings.Contains(rest, "org,example)/crawl/logs/crawl.log?jobid=1 20260101000004") {
		t.Errorf("got\n%s\nwant\n%s…", rest, want)
	}
	if refers != (cdx.Refers{URL: "http://example.com/A", Timestamp: "20260101000000"}) {
		t.Errorf("the revisit refers to %+v", refers)
	}
}

// TestMetadataIsNoCapture has records about a page under the page's URL, and documents under URLs of their own.
func TestMetadataIsNoCapture(t *testing.T) {
	var a archive
	a.page("2026-01-01T00:00:00Z", "http://example.com/", "body")
	a.record("metadata", "2026-01-01T00:00:00Z", "http://example.com/", "Content-Type: application/json", `{"about": "the page"}`)
	a.record("metadata", "2026-01-02T00:00:00Z", "HTTPS://example.com/", "Content-Type: text/html", "<p>about the page")
	a.record("metadata", "2026-01-02T00:00:00Z", "<http://example.com/>", "", "")
	a.record("resource", "2026-01-03T00:00:00Z", "http://example.com/", "Content-Type: Application/WARC-Fields ;charset=utf-8", "about: x\r\n")
	a.record("conversion", "2026-01-04T00:00:00Z", "http://example.com/", "Content-Type: text/plain", "body")
	a.record("request", "2026-01-05T00:00:00Z", "http://example.com/", "Content-Type: application/http;msgtype=request", "GET / HTTP/1.1\r\n\r\n")
	a.record("resource", "2026-01-06T00:00:00Z", "http://example.com/", "Content-Type: text/html", "put here by a tool")
	a.record("metadata", "2026-01-07T00:00:00Z", "urn:pageinfo:http://example.com/", "Content-Type: application/json", "{}")
	r, err := warc.NewReader(bytes.NewReader(a.Bytes()), "x.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for c, err := range Captures(r, "x.warc.gz") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Timestamp[:8]+" "+c.URL)
	}
	want := []string{"20260101 http://example.com/", "20260106 http://example.com/", "20260107 urn:pageinfo:http://example.com/"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEntriesOfEarlierRulesAreOutdated reads a file's entry as earlier versions wrote it, and as it is written now.
func TestEntriesOfEarlierRulesAreOutdated(t *testing.T) {
	now := File{Captures: 300, Damage: "cut", rules: captureRules}
	for _, tt := range []struct {
		entry    []byte
		outdated bool
	}{{append([]byte{0, 0, 0, 7, 0xac, 0x02}, "cut"...), true}, {appendFile(nil, 7, now), false}} {
		var f File
		if id, err := f.decode(tt.entry); err != nil || id != 7 || f.Captures != 300 || f.Damage != "cut" || f.Outdated() != tt.outdated {
			t.Errorf("%x: %d %+v %v", tt.entry, id, f, err)
		}
	}
}

// TestRenewBringsAFileUpToDate indexes a file by earlier rules; it answers as it did, until it is read again.
func TestRenewBringsAFileUpToDate(t *testing.T) {
	var a archive
	a.page("2026-01-01T00:00:00Z", "http://example.com/", "body")
	x := openIndex(t, t.TempDir())
	if err := x.Add(t.Context(), "x.warc.gz", a.open); err != nil {
		t.Fatal(err)
	}
	err := x.db.Update(func(txn *badger.Txn) error {
		id, file, err := getFile(txn, "x.warc.gz")
		if err != nil {
			return err
		}
		file.rules = 0
		return txn.Set(fileKey("x.warc.gz"), appendFile(nil, id, *file))
	})
	if err != nil {
		t.Fatal(err)
	}
	if f, ok := x.File("x.warc.gz"); !ok || !f.Outdated() || f.Captures != 1 {
		t.Errorf("by earlier rules: %+v", f)
	}
	if err := x.Renew(t.Context(), "x.warc.gz", a.open); err != nil {
		t.Fatal(err)
	}
	if f, ok := x.File("x.warc.gz"); !ok || f.Outdated() || f.Captures != 1 {
		t.Errorf("read again: %+v", f)
	}
}

// TestCapturesWithNamesInAnyCase reads records whose version, field names and type are in other case.
func TestCapturesWithNamesInAnyCase(t *testing.T) {
	text := "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2020-01-01T00:00:00Z\r\nWARC-Target-URI: http://example.org/\r\n" +
		"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\nContent-Type: application/http; msgtype=response\r\n" +
		"Content-Length: 38\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n\r\n\r\n"
	head, block, _ := strings.Cut(text, "\r\n\r\n")
	for _, head := range []string{head, strings.ToLower(head), strings.Replace(strings.ToUpper(head), "TARGET-URI: HTTP", "TARGET-URI: http", 1)} {
		file := strings.Repeat(head+"\r\n\r\n"+block, 3)
		r, err := warc.NewReader(strings.NewReader(file), "x.warc")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for c, err := range Captures(r, "x.warc") {
			if n++; err != nil || c.Status != 200 || c.Timestamp != "20200101000000" {
				t.Errorf("%.20q: %+v, %v", head, c, err)
			}
		}
		if n != 3 {
			t.Errorf("%.20q: %d captures, want 3", head, n)
		}
	}
}

// Files of other tools, good and broken: read, or refused with file and offset.
func TestCapturesOfForeignFiles(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("../../shared/samples/*/*arc*") // absent in some checkouts: then there is nothing to read
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := warc.NewReader(f, filepath.Base(path))
			if err != nil {
				checkDamage(t, err)
				return
			}
			for c, err := range Captures(r, "x") {
				if err != nil {
					checkDamage(t, err)
				} else if !newEncoder().encode(&c, 1) {
					t.Errorf("capture cannot be held: %+v", c)
				}
			}
		})
	}
}

func checkDamage(t *testing.T, err error) {
	t.Helper()
	var where *warc.Error
	if !errors.As(err, &where) || where.File == "" {
		t.Errorf("error without file and offset: %v", err)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	e := newEncoder()
	for _, c := range []cdx.Capture{
		{Key: "com,example)/a", URL: "http://example.com/a", MIME: "text/html", Status: 200, Digest: "sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A", Length: 9, Offset: 1 << 40},
		{Key: "com,example)/a", URL: "https://www.example.com/a/", MIME: "odd/type", Digest: "sha256:" + strings.Repeat("ab", 32)},
		{Key: "com,example:8080)/a?b", URL: "http://example.com:8080/a?b", Digest: "md5:zz", Redirect: "http://x/", Status: 301},
		{Key: "com,example)/a", URL: "http://example.com/A", Digest: "sha1:b2ltwwpuoyah7uipq7zupq4vmbsvc36a"},
		{Key: "dns:example.com", URL: "dns:example.com", MIME: "text/dns"},
		{Key: "com,example)/a", URL: "http://example.com/a", MIME: cdx.RevisitMIME, Refers: cdx.Refers{URL: "http://b/", Timestamp: "20200101000000"}},
		{Key: "x", URL: ""},
	} {
		c.Timestamp = "20260102030405"
		if !e.encode(&c, 7) {
			t.Fatalf("%+v cannot be held", c)
		}
		if back, err := decodeCapture(e.key, e.value); err != nil || back != c {
			t.Errorf("%+v became %+v, %v", c, back, err)
		}
	}
	for _, c := range []cdx.Capture{{Key: "", Timestamp: "20260102030405"}, {Key: "a\x00b", Timestamp: "20260102030405"}, {Key: "a", Timestamp: "2026"},
		{Key: "a", Timestamp: "20260102030405", Offset: -1}, {Key: "a", Timestamp: "20260102030405", URL: strings.Repeat("x", maxValue)}} {
		if e.encode(&c, 7) {
			t.Errorf("%.100q is held", c.Key)
		}
	}
}

func FuzzDecodeCapture(f *testing.F) {
	c := cdx.Capture{Key: "com,example)/a", Timestamp: "20260102030405", URL: "http://example.com/A", MIME: "odd/type", Digest: "md5:zz", Redirect: "x"}
	e := newEncoder()
	e.encode(&c, 7)
	f.Add(e.key, e.value)
	f.Add([]byte("c\x00"), []byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if c, err := decodeCapture(key, value); err == nil && c.Key == "" {
			t.Errorf("%q %q: a capture without key", key, value)
		}
		new(File).decode(value)
	})
}
