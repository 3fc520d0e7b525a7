//go:build browser

package crawler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast/crawler/chain"
	"holdfast/crawler/render"
	"holdfast/harvest"
	"holdfast/warc"
)

// scriptSite has a page all of whose content comes by script.
func scriptSite(t *testing.T) *site {
	s := newSite(t)
	s.html("/{$}", `<!DOCTYPE html><title>Made</title><div id=to></div><div style="height:3000px"></div><script src=/app.js></script>
		<img loading=lazy src=/late.svg width=10 height=10>`)
	s.file("/app.js", "text/javascript", `
		fetch('/part?' + [1, 2].join('-')).then(r => r.text()).then(x => { document.getElementById('to').innerHTML = x; });
		fetch('/api', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"ask":1}'});
		fetch('/forbidden/' + 'x').catch(() => 0);`)
	s.html("/part", `<p>made by script</p><a href="/ne`+`xt">next</a><img src="/made`+`.svg">`)
	s.html("/next", `<p>the next page</p><script src=/app.js></script><div id=to></div>`)
	s.file("/made.svg", "image/svg+xml", redDot)
	s.file("/late.svg", "image/svg+xml", redDot)
	s.file("/robots.txt", "text/plain", "User-agent: *\nDisallow: /forbidden/\n")
	s.mux.HandleFunc("POST /api", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"told":%q}`, body)
	})
	return s
}

// Pages in a browser: what they make by script is found, fetched once, recorded with the page's id and logged.
func TestBrowserPage(t *testing.T) {
	s := scriptSite(t)
	dir := t.TempDir()
	begin := time.Now()
	sum := run(t, dir, browserJob(s.URL+"/"))
	t.Logf("%v for two pages: %+v", time.Since(begin), sum.Counters)
	counts := s.counts()
	for _, path := range []string{"/", "/next", "/app.js", "/part?1-2", "/made.svg", "/late.svg", "/robots.txt"} {
		if counts[path] != 1 {
			t.Errorf("%s was asked for %d times", path, counts[path])
		}
	}
	// What a script posts is sent for each page; that the string looks like a URL leads to a GET.
	if counts["/api"] != 3 || counts["/forbidden/x"] != 0 {
		t.Errorf("requests %v", counts)
	}
	if status, notes := logged(t, dir, s.URL+"/"); status != "200" || !strings.Contains(notes, chain.NoteBrowser) {
		t.Errorf("page: %s %s", status, notes)
	}
	if status, notes := logged(t, dir, s.URL+"/made.svg"); status != "200" || !strings.Contains(notes, render.NoteSubresource) {
		t.Errorf("image: %s %s", status, notes)
	}
	if status, _ := logged(t, dir, s.URL+"/forbidden/x"); status != "-9998" {
		t.Errorf("what robots.txt forbids: %s", status)
	}
	checkPageRecords(t, dir, s.URL)
}

// checkPageRecords checks the records of scriptSite's first page.
func checkPageRecords(t *testing.T, dir, origin string) {
	t.Helper()
	ids := map[string]string{}
	found := map[string]bool{}
	for _, f := range warcFiles(t, dir) {
		eachRecord(t, f, func(r *warc.Record) {
			id := r.Header.Get("WARC-Page-ID")
			if r.Type == warc.TypeResponse {
				ids[r.TargetURI()] = id
			}
			block, err := io.ReadAll(r.Block)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case r.TargetURI() == "urn:fullPage:"+origin+"/":
				picture, err := png.Decode(bytes.NewReader(block))
				found["picture"] = err == nil && picture.Bounds().Dy() > 3000 && r.Type == warc.TypeResource && id == ids[origin+"/"]
			case r.TargetURI() == "urn:text:"+origin+"/":
				found["text"] = bytes.Contains(block, []byte("made by script"))
			case r.Type == warc.TypeRequest && r.TargetURI() == origin+"/api":
				found["body"] = bytes.HasSuffix(block, []byte(`{"ask":1}`))
			case r.Type == warc.TypeMetadata && r.TargetURI() == origin+"/":
				found["link"] = bytes.Contains(block, []byte("outlink: "+origin+"/next L browser\r\n"))
			}
		})
	}
	for _, what := range []string{"picture", "text", "body", "link"} {
		if !found[what] {
			t.Errorf("%s is not as it should be: %v", what, found)
		}
	}
	if id := ids[origin+"/"]; id == "" || ids[origin+"/made.svg"] != id || ids[origin+"/app.js"] != id {
		t.Errorf("page ids %v", ids)
	}
}

// A browser that fails costs what it would have found; the page is recorded as it was fetched. Addresses that are not
// allowed are not reached, whoever asks for them.
func TestBrowserTrouble(t *testing.T) {
	s := newSite(t)
	s.html("/{$}", `<a href=/hangs>1</a><a href=/grows>2</a><a href=/busy>3</a><a href=/fine>4</a>`)
	s.html("/hangs", `<p>hangs</p><script>setTimeout(() => { for (;;); }, 100)</script>`)
	s.html("/grows", `<p>grows</p><script>fetch('/never');window.k = []; setInterval(() => { for (let i = 0; i < 30; i++) { const b = new Uint8Array(1 << 20); for (let j = 0; j < b.length; j += 4096) b[j] = 1; k.push(b); } }, 20)</script>`)
	s.html("/busy", `<p>busy</p><script>let n = 0; setInterval(() => fetch('/tick?' + (n++ % 5)), 100)</script>`)
	s.html("/fine", `<p>fine</p><script>document.body.innerHTML += '<a href=/found>x</a>'</script>`)
	s.html("/found", `found`)
	s.file("/tick", "text/plain", "tick")
	s.mux.HandleFunc("/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	job := browserJob(s.URL + "/")
	job.Settings.BrowserTime = harvest.Duration(3 * time.Second)
	job.Settings.BrowserMemory = 600 << 20
	job.Settings.Sheets = []harvest.Sheet{{Name: "growing takes its time on a busy machine", Regex: "/(grows|never)$",
		Settings: map[string]json.RawMessage{"browser_time": []byte(`"2m"`)}}}
	dir := t.TempDir()
	sum := run(t, dir, job)
	if sum.Reason != "completed" {
		t.Errorf("%+v", sum)
	}
	for path, note := range map[string]string{"/hangs": render.NoteFailed, "/grows": render.NoteFailed, "/busy": render.NoteTimedOut, "/fine": chain.NoteBrowser, "/found": chain.NoteBrowser} {
		if status, notes := logged(t, dir, s.URL+path); status != "200" || !strings.Contains(notes, note) {
			t.Errorf("%s: %s %s", path, status, notes)
		}
	}
	for uri, n := range captures(t, dir) {
		if n != 1 {
			t.Errorf("%s is recorded %d times", uri, n)
		}
	}
}

// A page that another's script fetched before is loaded in the browser all the same, and recorded once; what is framed
// is no page of its own.
func TestBrowserPrefetch(t *testing.T) {
	s := newSite(t)
	s.html("/{$}", `<p>first</p><a href=/next>next</a><iframe src=/frame></iframe><script>fetch('/next'); fetch('/frag' + 'ment')</script>`)
	s.html("/next", `<p>next</p><script>document.body.append('by script')</script>`)
	s.html("/frame", `<p>frame</p>`)
	s.html("/fragment", `<p>fragment</p>`)
	dir := t.TempDir()
	sum := run(t, dir, browserJob(s.URL+"/"))
	if sum.Reason != "completed" || sum.Counters.Queued != 0 {
		t.Errorf("%+v", sum)
	}
	for uri, n := range captures(t, dir) {
		if n != 1 {
			t.Errorf("%s is recorded %d times", uri, n)
		}
	}
	texts := map[string]string{}
	for _, f := range warcFiles(t, dir) {
		eachRecord(t, f, func(r *warc.Record) {
			if strings.HasPrefix(r.TargetURI(), "urn:text:") {
				block, err := io.ReadAll(r.Block)
				if err != nil {
					t.Fatal(err)
				}
				texts[strings.TrimPrefix(r.TargetURI(), "urn:text:"+s.URL)] = string(block)
			}
		})
	}
	if len(texts) != 2 || !strings.Contains(texts["/"], "frame") || !strings.Contains(texts["/next"], "by script") {
		t.Errorf("texts %q", texts)
	}
	if n := s.counts(); n["/next"] != 2 || n["/frame"] != 1 || n["/fragment"] != 1 {
		t.Errorf("requests %v", n)
	}
}

// Pages over TLS with a certificate that nobody signed are loaded as they are fetched.
func TestBrowserTLS(t *testing.T) {
	mux := http.NewServeMux()
	secure := httptest.NewTLSServer(mux)
	t.Cleanup(secure.Close)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<script>fetch('/data').then(r => r.text()).then(x => document.body.append(x))</script><body>`)
	})
	mux.HandleFunc("/data", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "over TLS") })
	dir := t.TempDir()
	run(t, dir, browserJob(secure.URL+"/"))
	text := ""
	for _, f := range warcFiles(t, dir) {
		eachRecord(t, f, func(r *warc.Record) {
			if r.TargetURI() == "urn:text:"+secure.URL+"/" {
				block, err := io.ReadAll(r.Block)
				if err != nil {
					t.Fatal(err)
				}
				text = string(block)
			}
		})
	}
	if text != "over TLS" {
		t.Errorf("text %q", text)
	}
}
