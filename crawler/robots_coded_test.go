package crawler

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// coded returns text in a content coding.
func coded(t *testing.T, coding, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default: // a word that names no coding
		return []byte(text)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A robots.txt means the same when it is read again from the WARC files, after a crash, as when it was fetched: what it
// allows is fetched, what it forbids is not, and nobody asks for it again.
func TestCodedRobotsAfterACrash(t *testing.T) {
	t.Parallel()
	const rules = "User-agent: *\nDisallow: /private\n"
	for _, tt := range []struct {
		coding string
		body   func(whole []byte) []byte
		cut    bool // the server breaks off
	}{
		{"br", nil, false}, {"gzip", nil, false}, {"deflate", nil, false}, {"zstd", nil, false},
		{"utf-8", nil, false}, {"none", nil, false},
		{"gzip", func(whole []byte) []byte { return append(whole, "\n<!-- cached -->"...) }, false},
		{"gzip", func(whole []byte) []byte { return whole[:len(whole)-8] }, false}, // without its trailer
		{"br", func(whole []byte) []byte { return append(whole, '\n') }, false},
		{"utf-8", nil, true},
	} {
		t.Run(fmt.Sprintf("%s, cut %t, changed %t", tt.coding, tt.cut, tt.body != nil), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
				body := coded(t, tt.coding, rules)
				if tt.body != nil {
					body = tt.body(body)
				}
				w.Header().Set("Content-Encoding", tt.coding)
				w.Header().Set("Content-Type", "text/plain")
				w.Write(body)
				w.(http.Flusher).Flush() // in chunks
				if tt.cut {
					panic(http.ErrAbortHandler)
				}
			})
			s.html("/{$}", "<a href=/private>p</a>")
			s.html("/open", "open")
			s.html("/private", "private")
			first, second := t.TempDir(), t.TempDir()
			run(t, first, newJob(s.URL+"/"))
			asked := s.counts()["/robots.txt"]

			// The files are there, the frontier is lost.
			files, err := filepath.Glob(filepath.Join(first, "warcs", "*.warc.gz"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			if err := os.CopyFS(filepath.Join(second, "warcs"), os.DirFS(filepath.Join(first, "warcs"))); err != nil {
				t.Fatal(err)
			}
			run(t, second, newJob(s.URL+"/", s.URL+"/open", s.URL+"/private"))
			for path, want := range map[string]string{"/open": "200", "/private": "-9998"} {
				if status, _ := logged(t, second, s.URL+path); status != want {
					t.Errorf("%s has status %s, want %s", path, status, want)
				}
			}
			if n := s.counts()["/robots.txt"]; n != asked {
				t.Errorf("robots.txt was asked for %d times, then %d more", asked, n-asked)
			}
		})
	}
}

// A robots.txt of which no rule arrived, or that cannot be read, says nothing: it does not allow all.
func TestRobotsThatSayNothing(t *testing.T) {
	t.Parallel()
	const rules = "User-agent: *\nDisallow: /private\n"
	cut := func(sent string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "400")
			w.Write([]byte(sent))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for name, tt := range map[string]struct {
		answer  http.HandlerFunc
		open    string // status of a page that the rules allow
		private string // and of one that they forbid
	}{
		"nothing came":             {cut(""), "-61", "-61"},
		"cut off before a rule":    {cut(rules[:len("User-agent: *\n")]), "-61", "-61"},
		"cut off within a rule":    {cut(rules[:len(rules)-4]), "-61", "-61"},
		"cut off behind an allow":  {cut("User-agent: *\nAllow: /\n"), "-61", "-61"},
		"cut off behind all rules": {cut(rules), "200", "-9998"},
		"a cut off gzip head": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			cut(string(coded(t, "gzip", rules)[:10]))(w, r)
		}, "-61", "-61"},
		"an unknown coding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "dcb")
			w.Write(coded(t, "br", rules))
		}, "-61", "-61"},
		"coded twice": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(coded(t, "gzip", string(coded(t, "gzip", rules))))
		}, "-61", "-61"},
		"not modified": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, "-61", "-61"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.mux.HandleFunc("/robots.txt", tt.answer)
			s.html("/open", "open")
			s.html("/private", "private")
			dir := t.TempDir()
			run(t, dir, newJob(s.URL+"/open", s.URL+"/private"))
			for path, want := range map[string]string{"/open": tt.open, "/private": tt.private} {
				if status, _ := logged(t, dir, s.URL+path); status != want {
					t.Errorf("%s has status %s, want %s", path, status, want)
				}
			}
		})
	}
}
