//go:build e2e

package systemtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/demo"
)

// TestBrowser shows archived pages in Chromium after their site is gone: every image and style comes from the
// archive, and no request goes anywhere else.
func TestBrowser(t *testing.T) {
	t.Parallel()
	program, err := Program()
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	site, err := demo.Serve(ctx)
	check(t, err)
	dir := t.TempDir()
	out, err := exec.CommandContext(ctx, program, append([]string{"crawl", "--out", dir, "--allow-private", "--min-delay", "0",
		"--contact", "e2e@demo.test", "--nameserver", site.Nameserver}, site.Seeds...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("crawl: %v: %s", err, out)
	}
	check(t, site.Close())
	files, err := filepath.Glob(filepath.Join(dir, "warcs", "*.warc.gz"))
	check(t, err)

	origin, stop := replayed(t, program, nil, files...)
	defer stop()
	b := newBrowser(ctx, t)
	for _, seed := range site.Seeds {
		b.looksRight(origin, "http://"+origin+"/web/2/"+seed)
	}
	for _, seed := range site.Seeds[:1] {
		b.looksRight(origin, "http://"+origin+"/web/2/"+seed+"collections/")
	}
}

// replayed serves the files, as holdfast replay does, until stop is called, and returns where. What it complains about goes to
// problems.
func replayed(t *testing.T, program string, problems io.Writer, files ...string) (origin string, stop func()) {
	t.Helper()
	replay := exec.Command(program, append([]string{"replay", "--listen", "127.0.0.1:0"}, files...)...)
	replay.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	replay.Stderr = problems
	out, err := replay.StdoutPipe()
	check(t, err)
	check(t, replay.Start())
	stop = func() {
		check(t, replay.Process.Signal(syscall.SIGTERM))
		_ = replay.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(line, "http://")
	if err != nil || !found {
		stop()
		t.Fatalf("replay says %q, %v", line, err)
	}
	address, _, _ = strings.Cut(strings.Fields(address)[0], "/")
	return address, stop
}

// seen is what a page looks like from inside.
type seen struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Images []struct {
		URL   string `json:"url"`
		Width int    `json:"width"`
	} `json:"images"`
	Rules  int    `json:"rules"`
	Header string `json:"header"`
}

// look is run in the page: it looks into the document itself or, where replay frames it, into the frame.
const look = `(() => {
	const d = [document, ...[...document.querySelectorAll('iframe')].map(f => f.contentDocument)].filter(d => d && d.querySelector('header')).pop() || document;
	const header = d.querySelector('header');
	return JSON.stringify({
		url: d.URL, title: d.title, images: [...d.images].map(i => ({url: i.currentSrc || i.src, width: i.complete ? i.naturalWidth : -1})),
		rules: [...d.styleSheets].reduce((n, s) => n + s.cssRules.length, 0),
		header: header ? getComputedStyle(header).backgroundColor + ' ' + getComputedStyle(header).backgroundImage : ''});
})()`

// looksRight loads a page and checks that its images have a size, its style sheet applies, and all came from origin.
func (b *browser) looksRight(origin, page string) {
	b.t.Helper()
	b.requests = nil
	b.call("Page.navigate", map[string]any{"url": page})
	var s seen
	check(b.t, Eventually(b.t.Context(), 30*time.Second, func() error {
		s = seen{}
		if err := json.Unmarshal([]byte(b.evaluate(look)), &s); err != nil {
			return err
		}
		return s.right(origin)
	}))
	b.t.Logf("%s: %d images, %d style rules, header %s; %d requests, %d of them elsewhere", s.Title, len(s.Images), s.Rules, s.Header, len(b.requests), b.outside(origin, page))
}

// outside complains of the page's requests that went elsewhere than to origin, and counts them.
func (b *browser) outside(origin, page string) (n int) {
	b.t.Helper()
	for _, url := range b.requests {
		if !strings.HasPrefix(url, "http://"+origin+"/") && !strings.HasPrefix(url, "data:") {
			b.t.Errorf("%s asks for %s", page, url)
			n++
		}
	}
	return n
}

// right reports what is missing of a page whose parts all come from the archive.
func (s seen) right(origin string) error {
	if len(s.Images) == 0 || s.Rules < 5 {
		return fmt.Errorf("%s has %d images and %d style rules", s.URL, len(s.Images), s.Rules)
	}
	for _, i := range s.Images {
		if i.Width <= 0 || !strings.HasPrefix(i.URL, "http://"+origin+"/web/") {
			return fmt.Errorf("image %s is %d pixels wide", i.URL, i.Width)
		}
	}
	if strings.HasPrefix(s.Header, "rgba(0, 0, 0, 0)") || !strings.Contains(s.Header, "http://"+origin+"/web/") {
		return fmt.Errorf("the header's look is %s", s.Header)
	}
	return nil
}

// browser is a Chromium that is spoken to over a pipe.
type browser struct {
	t        *testing.T
	to       io.Writer
	from     *bufio.Reader
	id       int
	session  string
	requests []string
}

// message is one of its protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// newBrowser starts Chromium with a profile of its own and opens an empty page.
func newBrowser(ctx context.Context, t *testing.T) *browser {
	profile := t.TempDir()
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+profile, "--remote-debugging-pipe")
	theirs, ours, err := os.Pipe()
	check(t, err)
	answers, says, err := os.Pipe()
	check(t, err)
	cmd.Env = append(os.Environ(), "TMPDIR="+profile)
	cmd.ExtraFiles = []*os.File{theirs, says} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	check(t, cmd.Start())
	check(t, errors.Join(theirs.Close(), says.Close()))
	b := &browser{t: t, to: ours, from: bufio.NewReader(answers)}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it and its helpers
		_ = cmd.Wait()
		_ = errors.Join(ours.Close(), answers.Close())
	})
	var made struct{ TargetID, SessionID string }
	check(t, json.Unmarshal(b.call("Target.createTarget", map[string]any{"url": "about:blank"}), &made))
	check(t, json.Unmarshal(b.call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}), &made))
	b.session = made.SessionID
	b.call("Network.enable", nil)
	b.call("Page.enable", nil)
	return b
}

// evaluate returns what an expression is in the page, which must be a text.
func (b *browser) evaluate(expression string) string {
	b.t.Helper()
	var answer struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
	}
	check(b.t, json.Unmarshal(b.call("Runtime.evaluate", map[string]any{"expression": expression}), &answer))
	return answer.Result.Value
}

// call sends one command and returns its result; the requests that the page makes meanwhile are noted.
func (b *browser) call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	b.id++
	raw, err := json.Marshal(params)
	check(b.t, err)
	if params == nil {
		raw = nil
	}
	text, err := json.Marshal(message{ID: b.id, Session: b.session, Method: method, Params: raw})
	check(b.t, err)
	_, err = b.to.Write(append(text, 0))
	check(b.t, err)
	for {
		line, err := b.from.ReadBytes(0)
		check(b.t, err)
		var m message
		check(b.t, json.Unmarshal(line[:len(line)-1], &m))
		if m.Method == "Network.requestWillBeSent" {
			var sent struct{ Request struct{ URL string } }
			check(b.t, json.Unmarshal(m.Params, &sent))
			b.requests = append(b.requests, sent.Request.URL)
		}
		if m.ID == b.id {
			if m.Error != nil {
				b.t.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
	}
}
