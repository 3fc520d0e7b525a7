//go:build browser

package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pages is a web of which all is said beforehand.
type pages struct {
	mu    sync.Mutex
	asked []string
	have  map[string]string // by URL
	slow  func(ctx context.Context, r *Request)
}

func (p *pages) Answer(ctx context.Context, r *Request) *Answer {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.URL)
	body, ok := p.have[r.URL]
	p.mu.Unlock()
	if p.slow != nil {
		p.slow(ctx, r)
	}
	kind := "text/html; charset=utf-8"
	switch {
	case strings.Contains(r.URL, ".js"):
		kind = "text/javascript"
	case strings.Contains(r.URL, ".svg"):
		kind = "image/svg+xml"
	case strings.Contains(r.URL, ".bin"):
		kind = "application/octet-stream"
	}
	status := 200
	if !ok {
		status, body = 404, "not here"
	}
	return &Answer{Status: status, Header: http.Header{"Content-Type": {kind}}, Body: strings.NewReader(body), Size: int64(len(body))}
}

func (p *pages) has(what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.asked {
		if a == what {
			return true
		}
	}
	return false
}

// start starts a browser. Where none is installed the test fails: `make browser` needs one.
func start(t *testing.T, cfg Config) *Browser {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	t.Cleanup(func() {
		if err := Clean(cfg.Dir); err != nil {
			t.Error(err)
		}
	})
	b, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

const dot = `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10" fill="red"/></svg>`

// What a page makes by script is there afterwards: text, links, images that come with scrolling, frames. Nothing that a page
// must not do is done.
func TestPageByScript(t *testing.T) {
	b := start(t, Config{UserAgent: "tester/1.0"})
	for _, origin := range []string{"http://example.test", "https://secure.test"} {
		w := &pages{have: map[string]string{
			origin + "/": `<title>Made</title><div id=to>before</div><script src=/app.js></script>
				<div style="height:4000px"></div><img loading=lazy src=/late.svg width=10 height=10><iframe src=/frame></iframe>`,
			origin + "/app.js": `fetch('/part').then(r => r.text()).then(x => document.getElementById('to').innerHTML = x);
				alert('a dialog'); window.open('/popup'); navigator.serviceWorker && navigator.serviceWorker.register('/sw.js');
				new WebSocket(location.origin.replace('http', 'ws') + '/socket'); fetch('/post', {method: 'POST', body: 'said'});
				setTimeout(() => location = '/elsewhere', 300);`,
			origin + "/part":     `<a href="/made">a link</a> made by script <a href="mailto:x@y">no</a><img src="/made.svg">`,
			origin + "/frame":    `<p>framed <a href=/inframe>x</a>`,
			origin + "/late.svg": dot, origin + "/made.svg": dot, origin + "/post": "ok"}}
		r, err := b.Load(t.Context(), Page{URL: origin + "/", Web: w, Time: 20 * time.Second, Quiet: 300 * time.Millisecond, Screenshot: true})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Text, "made by script") || !strings.Contains(r.Text, "framed") || r.Title != "Made" || r.TimedOut {
			t.Errorf("%s: %+v", origin, r)
		}
		if got := fmt.Sprint(r.Links); got != fmt.Sprintf("[{%s/made a/@href} {%[1]s/inframe a/@href}]", origin) {
			t.Errorf("links %s", got)
		}
		if r.Left != origin+"/elsewhere" {
			t.Errorf("left for %q", r.Left)
		}
		picture, err := png.Decode(bytes.NewReader(r.Screenshot))
		if err != nil || picture.Bounds().Dy() < 4000 || picture.Bounds().Dx() != windowWidth {
			t.Errorf("picture: %v", err)
		}
		for _, path := range []string{"/late.svg", "/made.svg", "/frame"} {
			if !w.has("GET " + origin + path) {
				t.Errorf("%s was not asked for", path)
			}
		}
		if !w.has("POST " + origin + "/post") {
			t.Error("nothing was posted")
		}
		for _, path := range []string{"/popup", "/sw.js", "/socket", "/elsewhere"} {
			if w.has("GET " + origin + path) {
				t.Errorf("%s was asked for", path)
			}
		}
		for _, a := range w.asked {
			if !strings.Contains(a, " "+origin+"/") {
				t.Errorf("the browser asked by itself: %s", a)
			}
		}
		t.Logf("%s: %v, %d MiB, asked %v", origin, r.Took, r.Memory>>20, w.asked)
	}
}

// A page that is never quiet is looked at when its time is over. Waits for turns do not count.
func TestNeverQuiet(t *testing.T) {
	b := start(t, Config{})
	w := &pages{have: map[string]string{"http://busy.test/": `<p>busy</p><script>setInterval(() => fetch('/tick'), 50)</script>`}}
	r, err := b.Load(t.Context(), Page{URL: "http://busy.test/", Web: w, Time: 2 * time.Second, Quiet: time.Second})
	if err != nil || !r.TimedOut || r.Text != "busy" {
		t.Errorf("%+v, %v", r, err)
	}
	w = &pages{have: map[string]string{"http://slow.test/": `<p>slow</p><img src=/a.svg><img src=/b.svg>`}, slow: func(ctx context.Context, r *Request) {
		if r.Page {
			return
		}
		r.Waits(true)
		defer r.Waits(false)
		timer := time.NewTimer(3 * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}}
	r, err = b.Load(t.Context(), Page{URL: "http://slow.test/", Web: w, Time: 2 * time.Second, Quiet: 200 * time.Millisecond})
	if err != nil || r.TimedOut || r.Took < 3*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
}

// What goes wrong in a browser is said, costs no more than its time, and leaves no process.
func TestTrouble(t *testing.T) {
	tests := []struct {
		name, script string
		limit        int64
		time         time.Duration
		during       func(b *Browser)
		want         error
	}{
		{"memory", `window.keep = []; setInterval(() => { for (let i = 0; i < 20; i++) { const b = new Uint8Array(1 << 20); for (let j = 0; j < b.length; j += 4096) b[j] = 1; keep.push(b); } }, 20)`,
			500 << 20, 60 * time.Second, nil, ErrMemory},
		{"page crashes", `fetch('/x')`, 0, 20 * time.Second, func(b *Browser) { crashTab(b) }, ErrCrashed},
		{"browser is killed", `fetch('/x')`, 0, 20 * time.Second, func(b *Browser) { _ = syscall.Kill(b.Pid(), syscall.SIGKILL) }, ErrCrashed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, Config{MaxMemory: tt.limit})
			var once sync.Once
			w := &pages{have: map[string]string{"http://bad.test/": `<p>bad</p><script>` + tt.script + `</script>`}}
			w.slow = func(_ context.Context, r *Request) {
				if !r.Page && tt.during != nil {
					once.Do(func() { tt.during(b) })
				}
			}
			family := b.process.family()
			begin := time.Now()
			_, err := b.Load(t.Context(), Page{URL: "http://bad.test/", Web: w, Time: tt.time, Quiet: 3 * time.Second})
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if took := time.Since(begin); took > 45*time.Second {
				t.Errorf("took %v", took)
			}
			profile := b.process.profile
			b.Close()
			if _, err := os.Stat(profile); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the profile is still there: %v", err)
			}
			gone(t, family)
			_, err = b.Load(t.Context(), Page{URL: "http://bad.test/", Web: w, Time: time.Second, Quiet: time.Second})
			if err == nil {
				t.Error("a browser that ended loads a page")
			}
		})
	}
}

// A browser starts wherever a crawl may lie: the path may be long, and closed to others.
func TestPlaces(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	closed := filepath.Join(t.TempDir(), "closed")
	for dir, mode := range map[string]os.FileMode{long: 0o755, closed: 0o700} {
		if err := os.MkdirAll(dir, mode); err != nil {
			t.Fatal(err)
		}
		b := start(t, Config{Dir: dir})
		w := &pages{have: map[string]string{"http://fine.test/": "<p>fine"}}
		r, err := b.Load(t.Context(), Page{URL: "http://fine.test/", Web: w, Time: 10 * time.Second, Quiet: 100 * time.Millisecond})
		if err != nil || r.Text != "fine" {
			t.Errorf("%s: %+v, %v", dir, r, err)
		}
	}
}

// crashTab makes Chromium kill the page's process.
func crashTab(b *Browser) {
	for _, pid := range b.process.family() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(text, []byte("--type=renderer")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// gone waits for processes to be no more.
func gone(t *testing.T, pids []int) {
	t.Helper()
	if len(pids) < 2 {
		t.Errorf("the browser had %d processes", len(pids))
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		left := 0
		for _, pid := range pids {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil && bytes.Contains(text, []byte("chromium")) {
				left++
			}
		}
		if left == 0 {
			return
		}
		<-tick.C
	}
	t.Error("processes of the browser are left")
}

// A page whose script leads away at once is looked at when it is quiet, not when its time is over; one that reloads
// itself does so a few times.
func TestNavigatesAtOnce(t *testing.T) {
	b := start(t, Config{})
	const origin = "http://example.test"
	for name, tt := range map[string]struct{ page, left, text string }{
		"location":     {`<title>x</title>one<script>location.href = '/away'</script>two`, origin + "/away", "one"},
		"click":        {`one<a id=a href=/away>go</a><script>document.getElementById('a').click()</script>two`, origin + "/away", "one"},
		"submit":       {`one<form id=f action=/away></form><script>document.getElementById('f').submit()</script>two`, origin + "/away?", "one"},
		"reload":       {`one<script>location.reload()</script>two`, "", "one"},
		"its own link": {`one<script>location.href = '/'</script>two`, "", "one"},
	} {
		w := &pages{have: map[string]string{origin + "/": tt.page}}
		r, err := b.Load(t.Context(), Page{URL: origin + "/", Web: w, Time: time.Minute, Quiet: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(name, err)
		}
		if r.TimedOut || r.Took > 30*time.Second || r.Left != tt.left || !strings.Contains(r.Text, tt.text) {
			t.Errorf("%s: took %v, timed out %v, left for %q, text %q", name, r.Took, r.TimedOut, r.Left, r.Text)
		}
		n := 0
		for _, a := range w.asked {
			if a == "GET "+origin+"/" {
				n++
			}
		}
		if w.has("GET "+origin+"/away") || n > 1+maxReloads {
			t.Errorf("%s: asked for %v", name, w.asked)
		}
	}
}
