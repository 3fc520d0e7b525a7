package crawler

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast/crawler/chain"
	"holdfast/warc"
)

// archive is what earlier jobs archived, by URL and digest.
type archive struct{ urls, digests map[string]*chain.Capture }

func (a *archive) Latest(_ context.Context, url string) (*chain.Capture, error) {
	return a.urls[url], nil
}

func (a *archive) Content(_ context.Context, digest string) (*chain.Capture, error) {
	return a.digests[digest], nil
}

// archived reads a crawl's response records as later jobs find them.
func archived(t *testing.T, dir string) *archive {
	a := &archive{map[string]*chain.Capture{}, map[string]*chain.Capture{}}
	for _, path := range warcFiles(t, dir) {
		eachRecord(t, path, func(r *warc.Record) {
			if r.Type != warc.TypeResponse || !r.IsHTTP() {
				return
			}
			date, err := r.Date()
			if err != nil {
				t.Fatal(err)
			}
			head, err := r.HTTP()
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.Position()
			if err != nil {
				t.Fatal(err)
			}
			c := &chain.Capture{URL: r.TargetURI(), Date: date, RecordID: r.Header.Get("WARC-Record-ID"), Digest: r.Header.Get("WARC-Payload-Digest"), Type: head.MIME(),
				File: filepath.Base(path), Offset: p.Offset, ETag: head.Header.Get("ETag"), LastModified: head.Header.Get("Last-Modified")}
			a.urls[c.URL] = c
			if a.digests[c.Digest] == nil {
				a.digests[c.Digest] = c
			}
		})
	}
	return a
}

// revisits are a crawl's revisit records by their URI.
func revisits(t *testing.T, dir string) map[string]warc.Header {
	out := map[string]warc.Header{}
	for _, path := range warcFiles(t, dir) {
		eachRecord(t, path, func(r *warc.Record) {
			if r.Type == warc.TypeRevisit {
				out[r.TargetURI()] = r.Header
			}
		})
	}
	return out
}

// twinSite has images and texts of which some are the same, and one that asks for its validators to be used.
func twinSite(t *testing.T) *site {
	s := newSite(t)
	s.html("/{$}", `<img src=/a.png> <img src=/b.png> <img src=/c.png> <a href=/1.txt>1</a> <a href=/2.txt>2</a> <a href=/page>page</a>`)
	s.file("/a.png", "image/png", "picture")
	s.file("/b.png", "image/png", "picture")
	s.file("/1.txt", "text/plain", "some text")
	s.file("/2.txt", "text/plain", "some text")
	validated := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 10:00:00 GMT")
			if r.Header.Get("If-None-Match") == `"v1"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, body)
		}
	}
	s.mux.HandleFunc("/c.png", validated("image/png", "another picture"))
	s.mux.HandleFunc("/page", validated("text/html", "<a href=/below>below</a>"))
	s.html("/below", "below")
	return s
}

// nasAnnotation is how NetarchiveSuite's tools look at the column of annotations: as a whole, and for its part.
const nasAnnotation = `^duplicate:"([^,]*),([^,]*),([^,]*)",(.*)$`

// checkRevisits holds revisit records and lines of the log against the records that they refer to.
func checkRevisits(t *testing.T, dir string, originals *archive, want map[string]string) {
	t.Helper()
	found := revisits(t, dir)
	if len(found) != len(want) {
		t.Errorf("%d revisits, want %d: %v", len(found), len(want), found)
	}
	for uri, of := range want {
		h, original := found[uri], originals.urls[of]
		if h == nil || original == nil {
			t.Errorf("%s is no revisit, or %s not archived", uri, of)
			continue
		}
		if h.Get("WARC-Refers-To-Target-URI") != of || h.Get("WARC-Refers-To-Date") != warc.FormatDate(original.Date) || h.Get("WARC-Refers-To") != original.RecordID ||
			h.Get("WARC-Payload-Digest") != original.Digest {
			t.Errorf("%s refers to %v\nwant %+v", uri, h, original)
		}
		_, notes := logged(t, dir, uri)
		m := regexp.MustCompile(nasAnnotation).FindStringSubmatch(notes)
		if m == nil || m[1] != original.File || m[2] != fmt.Sprint(original.Offset) || m[3] != original.Date.UTC().Format("20060102150405") || !strings.Contains(notes, `,deduplicate:"`+m[1]+`,`) {
			t.Errorf("%s has annotations %s, want %+v", uri, notes, original)
		}
	}
}

func TestDeduplicationWithinTheJob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		how   string
		types []string
		want  map[string]string
	}{
		{"none", []string{"*"}, nil},
		{"url", []string{"*"}, nil},
		{"digest", nil, map[string]string{"/b.png": "/a.png"}},
		{"digest", []string{"*"}, map[string]string{"/b.png": "/a.png", "/2.txt": "/1.txt"}},
		{"digest", []string{"text/plain"}, map[string]string{"/2.txt": "/1.txt"}},
		{"equivalent", []string{"*"}, nil},
	} {
		s := twinSite(t)
		job := newJob(s.URL + "/")
		job.Settings.Workers = 1
		job.Settings.Deduplicate = tt.how
		if tt.types != nil {
			job.Settings.DeduplicateTypes = tt.types
		}
		dir := t.TempDir()
		run(t, dir, job)
		want := map[string]string{}
		for uri, of := range tt.want {
			want[s.URL+uri] = s.URL + of
		}
		checkRevisits(t, dir, archived(t, dir), want)
	}
}

// A second job over an unchanged site records images as revisits of the first job's records, texts too if told so;
// conditional requests ask for what has no links alone; and its hosts report counts both.
func TestDeduplicationAgainstEarlierJobs(t *testing.T) {
	t.Parallel()
	s := twinSite(t)
	first := t.TempDir()
	job := newJob(s.URL + "/")
	job.Settings.Workers = 1
	run(t, first, job)
	earlier := archived(t, first)
	for _, tt := range []struct {
		how         string
		types       []string
		conditional bool
		want        []string
	}{
		{"url", []string{"!text/*"}, false, []string{"/a.png", "/b.png", "/c.png"}},
		{"url", []string{"*"}, false, []string{"/", "/a.png", "/b.png", "/c.png", "/1.txt", "/2.txt", "/page", "/below"}},
		{"equivalent", []string{"image/*"}, false, []string{"/a.png", "/b.png", "/c.png"}},
		{"none", nil, true, []string{"/c.png"}},
		{"url", []string{"!text/*"}, true, []string{"/a.png", "/b.png", "/c.png"}},
	} {
		job.Settings.Deduplicate, job.Settings.Conditional = tt.how, tt.conditional
		if tt.types != nil {
			job.Settings.DeduplicateTypes = tt.types
		}
		dir := t.TempDir()
		c, err := New(Config{Dir: dir, Job: job, Node: "node2", Earlier: earlier})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkFiles(t, dir)
		want := map[string]string{}
		for _, path := range tt.want {
			want[s.URL+path] = s.URL + path
		}
		checkRevisits(t, dir, earlier, want)
		c304, _ := logged(t, dir, s.URL+"/c.png")
		page, _ := logged(t, dir, s.URL+"/page")
		all := revisits(t, dir)
		profile := all[s.URL+"/c.png"].Get("WARC-Profile")
		for uri, h := range all {
			if cut := map[string]string{warc.ProfileIdenticalDigest: "length"}[h.Get("WARC-Profile")]; h.Get("WARC-Truncated") != cut || len(h.Get("WARC-Payload-Digest")) == 0 {
				t.Errorf("revisit of %s: %v", uri, h)
			}
		}
		if tt.conditional && (c304 != "304" || profile != warc.ProfileNotModified) || !tt.conditional && (c304 != "200" || profile != warc.ProfileIdenticalDigest) || page != "200" {
			t.Errorf("%+v: statuses %s and %s, profile %s", tt, c304, page, profile)
		}
		hosts, err := os.ReadFile(filepath.Join(dir, "reports", "hosts-report.txt"))
		line := regexp.MustCompile(`(?m)^(\d+) \d+ 127\.0\.0\.1 0 0 (\d+) \d+ (\d+) (\d+) (\d+) (\d+) ?$`).FindStringSubmatch(string(hosts))
		dup, same := len(tt.want), 0
		if tt.conditional {
			dup, same = dup-1, 1
		}
		if err != nil || line == nil || line[3] != fmt.Sprint(dup) || line[5] != fmt.Sprint(same) || line[1] != "9" || line[2] != fmt.Sprint(9-dup-same) {
			t.Errorf("%+v: hosts report\n%s", tt, hosts)
		}
	}
}

// What was recorded before a crash is still what later duplicates refer to, though the frontier did not learn of it.
func TestDeduplicationAfterACrash(t *testing.T) {
	t.Parallel()
	s := twinSite(t)
	job := newJob(s.URL + "/")
	job.Settings.Workers, job.Settings.Deduplicate, job.Settings.DeduplicateTypes, job.Settings.MaxObjects = 1, "digest", []string{"*"}, 2
	dir := t.TempDir()
	run(t, dir, job)
	if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil { // the worst of all crashes
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "logs")); err != nil {
		t.Fatal(err)
	}
	job.Settings.MaxObjects = 0
	job.Settings.LogExtra = true
	c, err := New(Config{Dir: dir, Job: job, Node: "node1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, dir)
	originals, n := archived(t, dir), 0
	for uri, h := range revisits(t, dir) {
		n++
		of := originals.urls[h.Get("WARC-Refers-To-Target-URI")]
		if of == nil || h.Get("WARC-Refers-To") != of.RecordID || h.Get("WARC-Payload-Digest") != of.Digest || h.Get("WARC-Refers-To-Date") != warc.FormatDate(of.Date) {
			t.Errorf("%s refers to %v", uri, h)
		}
	}
	if n != 2 {
		t.Errorf("%d revisits", n)
	}
	log, err := os.ReadFile(filepath.Join(dir, "logs", "crawl.log"))
	for uri, of := range originals.urls {
		want := fmt.Sprintf(`"warcFilename":"%s","warcFileOffset":%d`, of.File, of.Offset)
		if !strings.Contains(string(log), want) {
			t.Errorf("%v: the log does not say that %s is at %s:\n%s", err, uri, want, log)
		}
	}
}

// After a crash, a revisit counts with all that was received, though its record has only the head: in the log, and for
// its domain.
func TestRevisitsCountAfterACrash(t *testing.T) {
	t.Parallel()
	s := twinSite(t)
	job := newJob(s.URL + "/")
	job.Settings.Workers, job.Settings.Deduplicate, job.Settings.DeduplicateTypes = 1, "digest", []string{"*"}
	first, second := t.TempDir(), t.TempDir()
	run(t, first, job)
	if len(revisits(t, first)) == 0 {
		t.Fatal("there are no revisits")
	}
	// The files are there, the frontier is lost.
	if err := os.CopyFS(filepath.Join(second, "warcs"), os.DirFS(filepath.Join(first, "warcs"))); err != nil {
		t.Fatal(err)
	}
	run(t, second, job)
	sizes := func(dir string) map[string]string {
		all := map[string]string{}
		for _, l := range logLines(t, dir) {
			all[l[3]] = l[2]
		}
		return all
	}
	if want, got := sizes(first), sizes(second); !maps.Equal(got, want) {
		t.Errorf("the log has sizes %v, and %v after a crash", want, got)
	}
	domains := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "reports", "domains-report.txt"))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	if want, got := domains(first), domains(second); got != want {
		t.Errorf("the report of domains is\n%s, and after a crash\n%s", want, got)
	}
}
