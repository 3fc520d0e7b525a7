//go:build browser

package crawler

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/crawler/browser"
	"holdfast/warc"
)

// pictureSite has pages that show pictures by script, some of them on every page.
func pictureSite(t *testing.T) *site {
	s := newSite(t)
	s.mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<p>start</p><script src=/show.js></script><a href=/page/1>1</a> <a href=/page/2>2</a>`)
	})
	s.mux.HandleFunc("/page/{n}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<p>page %s</p><script src=/show.js></script>`, r.PathValue("n"))
	})
	s.file("/show.js", "text/javascript", `for (let i = 0; i < 6; i++) {
		const img = document.createElement('img');
		img.src = '/picture' + (i < 3 ? '/' + i : location.pathname + '/' + i) + '.svg';
		document.body.append(img);
	}`)
	s.mux.HandleFunc("/picture/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		fmt.Fprintf(w, "<!-- %s -->%s", r.URL.Path, redDot)
	})
	return s
}

// A crawl that is killed while pages are in the browser loses nothing when it goes on, and records nothing twice but as
// a revisit; its browsers die with it.
func TestBrowserKill(t *testing.T) {
	s := pictureSite(t)
	dir := t.TempDir()
	for kill := range 4 {
		reached := make(chan struct{})
		s.mu.Lock()
		target := len(s.log) + 4 + 3*kill
		s.seen = func(n int) {
			if n == target {
				close(reached)
			}
		}
		s.mu.Unlock()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), envCrawlDir+"="+dir, envCrawlSeed+"="+s.URL+"/", fmt.Sprint(envCrawlBytes, "=", killBytes), envCrawlBrowser+"=1")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-reached:
			if err := cmd.Process.Kill(); err != nil {
				t.Log(err)
			}
			<-ended
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
		case <-time.After(time.Minute):
			t.Fatalf("no more requests: %s", said.String())
		}
		s.mu.Lock()
		s.seen = nil
		s.mu.Unlock()
		noProcessOf(t, dir)
	}
	sum := run(t, dir, browserJob(s.URL+"/"))
	if sum.Reason != "completed" {
		t.Errorf("%+v", sum)
	}
	seen := captures(t, dir)
	for uri, n := range seen {
		if n != 1 {
			t.Errorf("%s is recorded %d times", uri, n)
		}
	}
	for _, page := range []string{"/", "/page/1", "/page/2"} {
		for i := range 6 {
			from := page
			if i < 3 {
				from = "/"
			}
			if uri := s.URL + "/picture" + strings.TrimSuffix(from, "/") + fmt.Sprintf("/%d.svg", i); seen[uri] != 1 {
				t.Errorf("%s is recorded %d times", uri, seen[uri])
			}
		}
	}
	texts := map[string]int{}
	for _, f := range warcFiles(t, dir) {
		eachRecord(t, f, func(r *warc.Record) {
			if r.Type == warc.TypeResource {
				texts[r.TargetURI()]++
			}
		})
	}
	for _, kind := range []string{"text", "fullPage"} {
		for _, page := range []string{"/", "/page/1", "/page/2"} {
			if n := texts["urn:"+kind+":"+s.URL+page]; n != 1 {
				t.Errorf("%s of %s is recorded %d times", kind, page, n)
			}
		}
	}
	for _, place := range browser.Places(filepath.Join(dir, "state", "browser")) {
		if left, err := os.ReadDir(place); err == nil {
			t.Errorf("left in %s: %v", place, left)
		}
	}
}

// noProcessOf waits until no process has a folder of the crawl's browsers in its arguments.
func noProcessOf(t *testing.T, dir string) {
	t.Helper()
	places := browser.Places(filepath.Join(dir, "state", "browser"))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		left := 0
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil && slices.ContainsFunc(places, func(p string) bool { return bytes.Contains(text, []byte(p)) }) {
				left++
			}
		}
		if left == 0 {
			return
		}
		<-tick.C
	}
	t.Error("processes of a killed crawl are left")
}
