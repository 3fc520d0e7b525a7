//go:build e2e

package systemtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// TestBrowserPages crawls a page in Chromium that has nothing in it until its scripts have run, and shows it from the archive when its
// site is gone, with what the scripts fetch.
func TestBrowserPages(t *testing.T) {
	t.Parallel()
	program, err := Program()
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var asked atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!DOCTYPE html><title>Empty</title><body><div id="to"></div><script src="app.js"></script></body>`)
		case "/app.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, `fetch('data/' + ['news', 'json'].join('.')).then(r => r.json()).then(d => {
				document.getElementById('to').innerHTML = '<h1>' + d.title + '</h1><img src="pic/' + d.pic + '">'; document.title = 'Filled'; });`)
		case "/data/news.json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"title": "made by script", "pic": "`+"one.svg"+`"}`)
		case "/pic/one.svg":
			w.Header().Set("Content-Type", "image/svg+xml")
			fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><rect width="30" height="20"/></svg>`)
		default:
			http.NotFound(w, r)
		}
	}))
	page := site.URL + "/"
	dir := t.TempDir()
	out, err := exec.CommandContext(ctx, program, "crawl", "--out", dir, "--allow-private", "--min-delay", "0", "--set", "delay_factor=0",
		"--set", `browser_rules=[{"rule":"accept"}]`, "--set", "browser_quiet=500ms", page).CombinedOutput()
	if err != nil {
		t.Fatalf("crawl: %v: %s", err, out)
	}
	site.Close()
	files, err := filepath.Glob(filepath.Join(dir, "warcs", "*.warc.gz"))
	check(t, err)
	if out, err := exec.CommandContext(ctx, program, append([]string{"warc", "check"}, files...)...).CombinedOutput(); err != nil {
		t.Errorf("warc check: %v: %s", err, out)
	}

	origin, stop := replayed(t, program, nil, files...)
	defer stop()
	b := newBrowser(ctx, t)
	b.call("Page.navigate", map[string]any{"url": "http://" + origin + "/web/2/" + page})
	check(t, Eventually(ctx, 30*time.Second, func() error {
		if text := b.evaluate(shown); text != "made by script 30" {
			return fmt.Errorf("the archived page shows %q; it asked for %v", text, b.requests)
		}
		return nil
	}))
	b.outside(origin, "the archived page")
	t.Logf("%d requests to the site, %d to the archive", asked.Load(), len(b.requests))
}

// shown is run in the page: it tells the heading and the picture's width, in the document or in the frame that replay puts it in.
const shown = `(() => {
	const d = [document, ...[...document.querySelectorAll('iframe')].map(f => f.contentDocument)].filter(d => d && d.querySelector('h1') && d.images.length).pop();
	return d ? d.querySelector('h1').innerText + ' ' + d.images[0].naturalWidth : '';
})()`
