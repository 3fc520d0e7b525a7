package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/cdx"
)

// warcOf writes an uncompressed WARC file with one capture of each URL.
func warcOf(t *testing.T, path string, urls ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for i, url := range urls {
		http := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + path + url
		fmt.Fprintf(&b, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>\r\n"+
			"WARC-Date: 2026-01-01T00:00:0%dZ\r\nWARC-Target-URI: %s\r\nContent-Type: application/http;msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", i, i, url, len(http), http)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The captures behind damage are printed, in order, and the damage is an error that names its place.
func TestCDXGoesOnBehindDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := warcOf(t, filepath.Join(dir, "a.warc"), "http://c.example/", "http://b.example/", "http://a.example/")
	at := bytes.Index(file, []byte("http://b.example/")) - 200
	torn := slices.Concat(file[:at], file[at+150:])
	if err := os.WriteFile(filepath.Join(dir, "a.warc"), torn, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"--sort", "--no-sort"} {
		var out, errs bytes.Buffer
		code := Main([]string{"cdx", order, filepath.Join(dir, "a.warc"), filepath.Join(dir, "none.warc")}, strings.NewReader(""), &out, &errs)
		want := []string{"example,a)", "example,c)"}
		if order == "--no-sort" {
			slices.Reverse(want)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if code == 0 || len(lines) != 2 || !strings.HasPrefix(lines[0], want[0]) || !strings.HasPrefix(lines[1], want[1]) {
			t.Errorf("%s: exit %d\n%s", order, code, out.String())
		}
		if !strings.Contains(errs.String(), "a.warc") || !strings.Contains(errs.String(), "none.warc") {
			t.Errorf("%s: %s", order, errs.String())
		}
	}
}

// Sorted entries are in the order of Capture.Compare.
func TestPlacesSortAsCapturesDo(t *testing.T) {
	t.Parallel()
	var all []cdx.Capture
	for _, key := range []string{"a)/", "a)/b", "a", "b)/"} {
		for _, at := range []string{"20260101000000", "20250101000000"} {
			for _, file := range []string{"x", "xy", "a"} {
				for _, offset := range []int64{0, 255, 256, 1 << 40} {
					all = append(all, cdx.Capture{Key: key, Timestamp: at, File: file, Offset: offset})
				}
			}
		}
	}
	for i := range all {
		for k := range all {
			a, b := appendPlace(nil, &all[i]), appendPlace(nil, &all[k])
			if got, want := bytes.Compare(append(a, "line"...), append(b, "line"...)), all[i].Compare(&all[k]); got != want {
				t.Fatalf("%+v and %+v: %d, want %d", all[i], all[k], got, want)
			}
		}
		if entry := append(appendPlace(nil, &all[i]), "line"...); string(entry[lineOf(entry):]) != "line" {
			t.Fatalf("%q: the line is %q", entry, entry[lineOf(entry):])
		}
	}
}

// Files of one name in two folders are all found, each by its path; one that is named twice is one.
func TestFilesOfOneName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{"one/x.warc", "two/x.warc", "two/y.warc", "two/z.txt"} {
		warcOf(t, filepath.Join(dir, path), "http://example.org/")
	}
	for range 2 { // in whatever order they are found
		found := map[string][]string{}
		for _, path := range []string{dir, filepath.Join(dir, "two"), filepath.Join(dir, "one", "..", "one", "x.warc")} {
			if err := find(path, found); err != nil {
				t.Fatal(err)
			}
		}
		var names []string
		for name, path := range byName(found) {
			names = append(names, strings.TrimPrefix(name, dir)+" "+strings.TrimPrefix(path, dir))
		}
		slices.Sort(names)
		if got, want := strings.Join(names, "\n"), "/one/x.warc /one/x.warc\n/two/x.warc /two/x.warc\ny.warc /two/y.warc"; got != want {
			t.Errorf("found\n%s\nwant\n%s", got, want)
		}
	}
}
