// Package browsertest lets tests look at our own pages in Chromium as a person does: by tabs with a width, a colour
// scheme and a language, with clicks and keys. It tells what the browser complained of and what axe-core finds.
//
// It is for pages that the test itself serves on loopback. Pages of strangers are for package crawler/browser.
package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long the browser may take for one thing.
const Patience = 60 * time.Second

// Browser is a running Chromium. Tabs of it can be used at the same time, each by one goroutine.
type Browser struct {
	to   *os.File
	said string // its last output, a file

	writing sync.Mutex
	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	tabs    map[string]*Tab // by session
	axe     func() (string, error)
}

// message is one of the DevTools protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a browser that ends with the test. The test fails where there is no Chromium.
func Start(t testing.TB) *Browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("these tests need Debian's package chromium: %v", err)
	}
	dir, err := os.MkdirTemp("", "hf-b-") // Chromium makes a socket below it: the path must be short
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{said: filepath.Join(dir, "said"), waiting: map[int]chan message{}, tabs: map[string]*Tab{},
		axe: sync.OnceValues(axe)}
	cmd := exec.Command(program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--no-first-run",
		"--no-startup-window", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--password-store=basic",
		"--disable-breakpad", "--disable-features=Translate,OptimizationHints,MediaRouter,PaintHolding",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost", "--lang=en",
		"--user-data-dir="+filepath.Join(dir, "data"))
	said, err := os.Create(b.said)
	if err != nil {
		t.Fatal(err)
	}
	theirIn, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b.to = to
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "TZ=UTC",
		"DBUS_SESSION_BUS_ADDRESS=disabled:"}
	cmd.Dir, cmd.Stderr, cmd.ExtraFiles = dir, said, []*os.File{theirIn, theirOut} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _, _ = theirIn.Close(), theirOut.Close(), said.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(bufio.NewReaderSize(from, 1<<20))
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		<-read
		_, _ = to.Close(), from.Close()
		_ = os.RemoveAll(dir)
	})
	b.call(t, "", "Target.setDiscoverTargets", map[string]any{"discover": true}, nil)
	return b
}

// read hands out what the browser says, until it ends.
func (b *Browser) read(from *bufio.Reader) {
	for {
		line, err := from.ReadBytes(0)
		var m message
		if err != nil || json.Unmarshal(line[:len(line)-1], &m) != nil {
			break
		}
		b.mu.Lock()
		answer, tab := b.waiting[m.ID], b.tabs[m.Session]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer <- m
		case m.ID == 0 && tab != nil:
			tab.heard(m)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, answer := range b.waiting {
		close(answer)
		delete(b.waiting, id)
	}
}

// call sends a command and waits for its result.
func (b *Browser) call(t testing.TB, session, method string, params, result any) {
	t.Helper()
	if err := b.try(session, method, params, result); err != nil {
		said, _ := os.ReadFile(b.said)
		t.Fatalf("Chromium: %v; its last output: %s", err, said[max(0, len(said)-500):])
	}
}

func (b *Browser) try(session, method string, params, result any) error {
	if params == nil {
		params = struct{}{}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.waiting[id] = answer
	b.mu.Unlock()
	text, err := json.Marshal(message{ID: id, Session: session, Method: method, Params: raw})
	if err != nil {
		return err
	}
	b.writing.Lock()
	_, err = b.to.Write(append(text, 0))
	b.writing.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: no answer in %s", method, Patience)
	case m, ok := <-answer:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser ended", method)
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}
