package crawler

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/disk"
	"holdfast/warc"
)

// longHeads is a site with a page whose head has a very long line, one whose head has very many lines, and one
// that links to both.
func longHeads(t testing.TB) *site {
	s := newSite(t)
	s.html("/{$}", `<a href=/line>line</a> <a href=/lines>lines</a>`)
	s.mux.HandleFunc("/line", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 100<<10))
		io.WriteString(w, "behind a long line")
	})
	s.mux.HandleFunc("/lines", func(w http.ResponseWriter, r *http.Request) {
		for i := range 2000 {
			w.Header().Add("X-Many", strconv.Itoa(i))
		}
		io.WriteString(w, "behind many lines")
	})
	return s
}

// tear puts the only WARC file of one crawl into another's folder, as if its writer had been killed.
func tear(t *testing.T, from, to string) {
	t.Helper()
	files := warcFiles(t, from)
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(to, "warcs"), 0o755); err != nil {
		t.Fatal(err)
	}
	torn := append(data, data[:100]...) // the next record had begun
	if err := os.WriteFile(filepath.Join(to, "warcs", filepath.Base(files[0])+".open"), torn, 0o644); err != nil {
		t.Fatal(err)
	}
}

// What the crawler records of long heads can be read again: by the validator, by readers, and after a kill.
func TestLongHeads(t *testing.T) {
	t.Parallel()
	s := longHeads(t)
	dir, again := t.TempDir(), t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	tear(t, dir, again)
	for _, line := range logLines(t, dir) { // the end of each was found
		if strings.Contains(strings.Join(line, " "), "Trunc") {
			t.Errorf("%v", line)
		}
	}
	before := len(s.requests())
	if sum := run(t, again, newJob(s.URL+"/")); sum.Reason != "completed" || sum.Counters.Succeeded != 4 {
		t.Errorf("resumed: %+v", sum)
	}
	if n := len(s.requests()) - before; n > 0 {
		t.Errorf("%d requests after all was recorded", n)
	}
	want := map[string]string{s.URL + "/line": "behind a long line", s.URL + "/lines": "behind many lines"}
	for _, d := range []string{dir, again} {
		got := map[string]string{}
		for _, f := range warcFiles(t, d) {
			eachRecord(t, f, func(r *warc.Record) {
				if r.Type != warc.TypeResponse {
					return
				}
				content, err := r.Content()
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(content)
				if err != nil {
					t.Fatal(err)
				}
				got[r.TargetURI()] = string(text)
			})
		}
		for url, text := range want {
			if status, _ := logged(t, d, url); status != "200" || got[url] != text {
				t.Errorf("%s: status %s, payload %q", url, status, got[url])
			}
		}
	}
}

// A head that cannot be read is no damage: the resume accounts for its URI and keeps it and all that follows.
func TestUnreadableHeads(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/{$}", "never asked for")
	dir := t.TempDir()
	files, err := warc.NewFiles(disk.New(), warc.FilesConfig{Dir: filepath.Join(dir, "made", "warcs"), Prefix: "test", Node: "node1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	heads := []string{
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"no HTTP at all\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	}
	for i, head := range heads {
		url := s.URL + "/" + strings.Repeat("p", 2-i)
		meta := "seed: \r\nsourceTag: " + url + "\r\n"
		if _, err := files.Write(
			warc.Draft{Type: warc.TypeResponse, TargetURI: url, ContentType: "application/http; msgtype=response", Block: strings.NewReader(head), Size: int64(len(head))},
			warc.Draft{Type: warc.TypeMetadata, TargetURI: url, ContentType: "application/warc-fields", Block: strings.NewReader(meta), Size: int64(len(meta))},
		); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	crawl := filepath.Join(dir, "crawl")
	tear(t, filepath.Join(dir, "made"), crawl)
	for range 2 {
		c, err := New(Config{Dir: crawl, Job: newJob(s.URL + "/"), Node: "node1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"/pp": "0", "/p": "0", "/": "200"} {
		if status, _ := logged(t, crawl, s.URL+path); status != want || captures(t, crawl)[s.URL+path] != 1 {
			t.Errorf("%s: status %s, want %s; recorded %d times", path, status, want, captures(t, crawl)[s.URL+path])
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
