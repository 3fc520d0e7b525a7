//go:build e2e

package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/harvest"
)

// gated is a web server whose pages are answered one by one, as the test lets them through.
type gated struct {
	mu   sync.Mutex
	log  map[string]int
	gate chan struct{}
}

func (g *gated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.log[r.URL.Path]++
	g.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	switch {
	case r.URL.Path == "/robots.txt":
		http.NotFound(w, r)
	case r.URL.Path == "/":
		for i := range 30 {
			_, _ = fmt.Fprintf(w, "<a href=/p/%d>page</a>\n", i)
		}
	default:
		select {
		case <-g.gate:
		case <-r.Context().Done():
		}
		_, _ = fmt.Fprintf(w, "page %s", r.URL.Path)
	}
}

func (g *gated) asked(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log[path]
}

// serveGated serves on an address of loopback.
func serveGated(t *testing.T, at string) (g *gated, host string) {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	check(t, err)
	g = &gated{log: map[string]int{}, gate: make(chan struct{})}
	s := &http.Server{Handler: g}
	go func() { _ = s.Serve(listener) }() // ends with Close
	t.Cleanup(func() { check(t, s.Close()) })
	return g, listener.Addr().String()
}

// ordered gives an order by the command line, to a job of a node or a crawl in a folder.
type ordered func(ctx context.Context, v any, args ...string) error

// steer gives a crawl of two gated sites all kinds of orders, and sees what comes of each. What is blocked and changed stays.
func steer(t *testing.T, order ordered, job string, g *gated, host, other string) {
	t.Helper()
	do := func(args ...string) (n int64) {
		t.Helper()
		var r harvest.Reply
		if err := order(t.Context(), &r, append(args[:1:1], append([]string{job}, args[1:]...)...)...); err != nil {
			t.Fatal(err)
		}
		return r.Count
	}
	waiting := func(n int) func() error {
		return func() error {
			var r struct {
				Items []harvest.QueuedURI `json:"items"`
			}
			if err := order(t.Context(), &r, "uris", job, "--match", "/p/"); err != nil {
				return err
			}
			if len(r.Items) != n {
				return fmt.Errorf("%d URIs wait, not %d", len(r.Items), n)
			}
			return nil
		}
	}
	check(t, Eventually(t.Context(), time.Minute, waiting(60)))
	if n := do("delete", "--match", `//`+host+`/p/1\d$`); n != 10 {
		t.Errorf("%d deleted", n)
	}
	do("never", "http://"+host+"/p/20")
	do("forget", "http://"+host+"/p/21")
	do("block", other, "--reason", "their wish")
	do("freeze", strings.ReplaceAll(host, ".", `\.`))
	do("thaw", strings.ReplaceAll(host, ".", `\.`))
	do("set", "max_trans_hops=1", "workers=3")
	var live harvest.Live
	check(t, order(t.Context(), &live, "live", job))
	if live.State != "RUNNING" || live.Discovered < 62 {
		t.Errorf("live %+v", live)
	}
	var domains struct {
		Items []harvest.DomainCount `json:"items"`
	}
	check(t, order(t.Context(), &domains, "domains", job))
	if len(domains.Items) != 2 || domains.Items[0].Objects < 1 || domains.Items[0].Stopped != "" {
		t.Errorf("domains %+v", domains.Items)
	}
	var why harvest.Explained
	check(t, order(t.Context(), &why, "explain", job, "http://"+other+"/p/3"))
	if why.Decision != "reject" || why.Status != -5001 {
		t.Errorf("explained %+v", why)
	}
	var all struct {
		Items []harvest.Checkpoint `json:"items"`
	}
	check(t, order(t.Context(), &all, "checkpoint", job, "--name", "here"))
	if len(all.Items) != 1 || all.Items[0].Name != "here" {
		t.Errorf("checkpoints %+v", all)
	}
	if err := order(t.Context(), &all, "set", job, "warc_writers=2"); err == nil || !strings.Contains(err.Error(), "warc_writers") {
		t.Errorf("a setting that cannot be changed: %v", err)
	}
	if err := order(t.Context(), &all, "kill", job, "http://"+host+"/nothing"); err == nil {
		t.Error("what is not fetched was killed")
	}
}

// TestControlOverTheSocket steers a crawl without a cluster by its folder, one with a long name, kills it, and finds what it was told still in force.
func TestControlOverTheSocket(t *testing.T) {
	t.Parallel()
	program, err := Program()
	check(t, err)
	g, host := serveGated(t, "127.0.19.1:0")
	blocked, other := serveGated(t, "127.0.19.2:0")
	dir := filepath.Join(t.TempDir(), strings.Repeat("a-folder-with-a-long-name/", 6), "crawl")
	begin := func(flags ...string) (*exec.Cmd, *bytes.Buffer) {
		var said bytes.Buffer
		args := append([]string{"crawl", "--out", dir, "--allow-private", "--min-delay", "0s", "--set", "delay_factor=0", "--workers", "2", "--json"}, flags...)
		cmd := exec.CommandContext(t.Context(), program, append(args, "http://"+host+"/", "http://"+other+"/")...)
		cmd.Stdout, cmd.Stderr = &said, &said
		check(t, cmd.Start())
		return cmd, &said
	}
	order := func(ctx context.Context, v any, args ...string) error {
		out, err := exec.CommandContext(ctx, program, append(append([]string{"job"}, args...), "--json")...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("job %v: %w: %s", args, err, out)
		}
		return json.Unmarshal(out, v)
	}
	first, _ := begin()
	steer(t, order, dir, g, host, other)
	check(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	again, said := begin()
	close(g.gate)
	if err := again.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	finished(t, filepath.Join(dir, "logs", "crawl.log"), g, blocked, host, other)
	if settings, err := os.ReadFile(filepath.Join(dir, "settings", "job.json")); err != nil || !strings.Contains(string(settings), `"max_trans_hops": 1`) {
		t.Errorf("%v: %s", err, settings)
	}
	from, said := begin("--checkpoint", "here")
	if err := from.Wait(); err != nil {
		t.Fatalf("from the checkpoint: %v: %s", err, said)
	}
	if n := g.asked("/p/5"); n < 2 {
		t.Errorf("after the checkpoint was restored, a page was asked for %d times in all", n)
	}
	finished(t, filepath.Join(dir, "logs", "crawl.log"), g, blocked, host, other)
	files, err := filepath.Glob(filepath.Join(dir, "warcs", "*"))
	check(t, err)
	check(t, (&Cluster{Program: program}).Valid(t.Context(), validator, files))
}

// finished looks at the end of the crawl that steer steered: each URI once in the log, with what became of it.
func finished(t *testing.T, log string, g, blocked *gated, host, other string) {
	t.Helper()
	text, err := os.ReadFile(log)
	check(t, err)
	lines := map[string]string{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Fields(line)
		if lines[columns[3]] != "" {
			t.Errorf("%s is logged twice", columns[3])
		}
		lines[columns[3]] = columns[1]
	}
	for path, want := range map[string]string{"/p/0": "200", "/p/10": "-6000", "/p/19": "-6000", "/p/20": "-5001", "/p/29": "200", "/p/21": ""} {
		if got := lines["http://"+host+path]; got != want {
			t.Errorf("%s ended with %q, want %q", path, got, want)
		}
	}
	if got := lines["http://"+other+"/p/29"]; got != "-5001" || blocked.asked("/p/29") != 0 || g.asked("/p/10") != 0 || g.asked("/p/20") != 0 {
		t.Errorf("a blocked host's page ended with %q; asked for: %v and %v", got, blocked.log, g.log)
	}
}

// TestOrdersInACluster steers a job from a node that does not crawl it.
func TestOrdersInACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "127.0.20", "crawls = 1\n")
	g, host := serveGated(t, "127.0.20.101:0")
	blocked, other := serveGated(t, "127.0.20.102:0")
	var job wire.Job
	check(t, c.JSON(t.Context(), &job, "north-1", "job", "create", "--name", "steered", "--allow-private", "--contact", "test@demo.test", "--workers", "2", "--min-delay", "0s",
		"--set", "delay_factor=0", "http://"+host+"/", "http://"+other+"/"))
	check(t, Eventually(t.Context(), time.Minute, func() (err error) {
		if job, err = c.Job(t.Context(), "north-1", job.ID); err == nil && job.NodeName == "" {
			err = fmt.Errorf("job %d is %s", job.ID, job.State)
		}
		return err
	}))
	from := "south-1"
	if job.NodeName == from {
		from = "north-1"
	}
	order := func(ctx context.Context, v any, args ...string) error {
		return c.JSON(ctx, v, from, append([]string{"job"}, args...)...)
	}
	steer(t, order, fmt.Sprint(job.ID), g, host, other)
	c.Kill(job.NodeName)
	check(t, c.Start(job.NodeName))
	check(t, Eventually(t.Context(), time.Minute, func() error {
		var live harvest.Live
		return order(t.Context(), &live, "live", fmt.Sprint(job.ID))
	}))
	close(g.gate)
	_, err := c.Done(t.Context(), from, job.ID, 2*time.Minute)
	check(t, err)
	logs, err := filepath.Glob(filepath.Join(c.Dir, job.NodeName, "jobs", fmt.Sprintf("%d_*", job.ID), "logs", "crawl.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	finished(t, logs[0], g, blocked, host, other)
	if err := order(t.Context(), &struct{}{}, "live", fmt.Sprint(job.ID)); err == nil {
		t.Error("a job that ended takes orders")
	}
}
