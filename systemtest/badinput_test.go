//go:build e2e

package systemtest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// alone is a cluster of one node, founded and running.
func alone(t *testing.T) *Cluster {
	t.Helper()
	return foundTrial(t, "", []Spec{{Name: "north-1", Replica: "north", Kind: "bitarchive", IP: "127.0.0.1"}})
}

// ran is what a command did.
type ran struct {
	code       int
	out, err   string
	rss        int64 // bytes at the most
	tookAtMost time.Duration
}

// run runs the program without a cluster.
func run(t *testing.T, args ...string) ran {
	t.Helper()
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	began := time.Now()
	if err := cmd.Run(); err != nil && ExitCode(err) < 0 {
		t.Fatal(err)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return ran{cmd.ProcessState.ExitCode(), out.String(), problems.String(), usage.Maxrss << 10, time.Since(began)}
}

// refuses checks that a command ends with the code and says all the words on stderr.
func refuses(t *testing.T, what string, got ran, code int, words ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("%s: exit code %d, want %d; %s", what, got.code, code, got.err)
	}
	for _, w := range words {
		if !strings.Contains(got.err, w) {
			t.Errorf("%s: nothing of %q in: %s", what, w, got.err)
		}
	}
	if lines := strings.Count(got.err, "\n"); lines > 8 || strings.Contains(got.err, "goroutine ") {
		t.Errorf("%s: not an error for people: %s", what, got.err)
	}
}

// refusedBy is refuses for a command against a cluster.
func refusedBy(t *testing.T, c *Cluster, code int, words []string, args ...string) {
	t.Helper()
	_, err := c.Do(t.Context(), "north-1", args...)
	if err == nil {
		t.Errorf("%s: went well", strings.Join(args, " "))
		return
	}
	refuses(t, strings.Join(args, " "), ran{code: ExitCode(err), err: err.Error()}, code, words...)
}

// archived crawls a handler's pages from / and returns the WARC file.
func archived(t *testing.T, handler http.Handler) (file, base string) {
	t.Helper()
	base = serve(t, handler)
	dir := filepath.Join(t.TempDir(), "crawl")
	got := run(t, "crawl", "--out", dir, "--allow-private", "--ignore-robots", "--min-delay", "0s", base+"/page/1")
	files, err := filepath.Glob(filepath.Join(dir, "warcs", "*.warc.gz"))
	if got.code != 0 || err != nil || len(files) != 1 {
		t.Fatalf("crawl: %+v, %v %v", got, files, err)
	}
	return files[0], base
}

// TestTruncatedWARC gives a WARC file whose end is missing to whatever reads WARC files.
func TestTruncatedWARC(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	file, base := archived(t, &chain{pages: 20})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn.warc.gz")
	if err := os.WriteFile(torn, text[:len(text)*2/3], 0o644); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "warc", "check", torn); got.code != 1 || !strings.Contains(got.out+got.err, "torn.warc.gz") || !strings.Contains(got.out+got.err, "trunc") {
		t.Errorf("warc check: %+v", got)
	}
	got := run(t, "cdx", torn)
	refuses(t, "cdx", got, 1, "torn.warc.gz", "offset")
	if !strings.Contains(got.out, "/page/1\"") {
		t.Errorf("cdx lists nothing of what is whole: %s", got.out)
	}
	showsTorn(t, torn, base)

	c := alone(t)
	if _, err := c.Do(ctx, "north-1", "file", "put", "--copies", "0", torn); err != nil {
		t.Fatalf("the archive keeps what it is given: %v", err)
	}
	must(t, 30*time.Second, "the node says that the file is damaged", func() error {
		out, err := c.Do(ctx, "north-1", "index", "status", "--json")
		if err != nil || !strings.Contains(string(out), "torn.warc.gz") {
			return fmt.Errorf("%s %w", out, err)
		}
		return nil
	})
	must(t, 30*time.Second, "and shows the pages before the damage", func() error {
		page, err := get(ctx, http.DefaultClient, "http://"+c.Address("north-1", "access")+"/web/2026id_/"+base+"/page/2")
		if err == nil && !strings.Contains(page, chainText(2)) {
			err = errors.New(page)
		}
		return err
	})
}

// showsTorn lets replay serve a damaged file: it says so, and shows what is whole.
func showsTorn(t *testing.T, torn, base string) {
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	origin, stop := replayed(t, program, &problems, torn)
	page, err := get(t.Context(), http.DefaultClient, "http://"+origin+"/web/2026id_/"+base+"/page/2")
	if err != nil || !strings.Contains(page, chainText(2)) {
		t.Errorf("replay: %q %v", page, err)
	}
	stop()
	if !strings.Contains(problems.String(), "torn.warc.gz is damaged") {
		t.Errorf("replay says: %s", problems.String())
	}
}

// TestFilesChangeWhileTheyArePut changes files when they have been hashed and are about to be sent.
func TestFilesChangeWhileTheyArePut(t *testing.T) {
	t.Parallel()
	c := alone(t)
	node, err := url.Parse("http://" + c.Address("north-1", "api"))
	if err != nil {
		t.Fatal(err)
	}
	var change func() error
	pass := httputil.NewSingleHostReverseProxy(node)
	pass.ErrorLog = log.New(io.Discard, "", 0) // a broken transfer is what is wanted
	between := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut { // the client sends the bytes when they are asked for
			if err := change(); err != nil {
				t.Error(err)
			}
		}
		pass.ServeHTTP(w, r)
	}))
	for _, tt := range []struct {
		name   string
		change func(f *os.File) error
	}{
		{"overwritten.bin", func(f *os.File) error { _, err := f.WriteAt([]byte{0}, 7*mib); return err }},
		{"growing.bin", func(f *os.File) error { return f.Truncate(9 * mib) }},
		{"shrinking.bin", func(f *os.File) error { return f.Truncate(5 * mib) }},
	} {
		path := write(t, tt.name, 8*mib)
		change = func() error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			return errors.Join(tt.change(f), f.Close())
		}
		got := run(t, "file", "put", "--copies", "0", path, "--server", between, "--token", "@"+filepath.Join(c.Dir, "north-1", "identity", "api-token"))
		refuses(t, "put "+tt.name, got, 1, tt.name, "changed")
		refusedBy(t, c, 1, []string{tt.name, "not found"}, "file", "show", tt.name)
	}
	must(t, 10*time.Second, "nothing is left over", func() error {
		left, err := filepath.Glob(filepath.Join(c.Dir, "north-1", "incoming", "*"))
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%v", left)
		}
		return err
	})
}

// TestRefusals are mistakes that a user makes, each with an answer that says what is wrong.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := alone(t)
	refusedBy(t, c, 1, []string{"nothing.warc.gz", "not found"}, "file", "get", "nothing.warc.gz", "-o", filepath.Join(t.TempDir(), "x"))
	refusedBy(t, c, 1, []string{"no such file"}, "file", "put", "--copies", "0", filepath.Join(t.TempDir(), "nothing"))
	refusedBy(t, c, 1, []string{"another process"}, "start")
	refuses(t, "wrong token", run(t, "status", "--server", "http://"+c.Address("north-1", "api"), "--token", "holdfast-local-wrong"), 1, "token")
	refuses(t, "no token", run(t, "status", "--server", "http://"+c.Address("north-1", "api")), 1, "token")
	refuses(t, "nobody there", run(t, "status", "--server", "http://127.0.0.1:1", "--token", "x"), 69, "127.0.0.1:1")
	for _, seed := range []string{"http://[::1", "http://", "ftp://host.invalid/", "no url at all", "http://host name/"} {
		got := run(t, "crawl", "--out", filepath.Join(t.TempDir(), "out"), seed)
		refuses(t, "crawl "+seed, got, 64, "seed")
		_, err := c.Do(ctx, "north-1", "job", "create", "--name", "bad", seed)
		if err == nil {
			t.Errorf("job create %s: went well", seed)
			continue
		}
		refuses(t, "job create "+seed, ran{code: ExitCode(err), err: err.Error()}, 1, "seed")
	}

	text, err := os.ReadFile(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	unknown := filepath.Join(t.TempDir(), "cluster.toml")
	if err := os.WriteFile(unknown, bytes.Replace(text, []byte("reserve ="), []byte("reserv ="), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"config", "check"}, {"start", "--node", "north-1"}, {"status", "--node", "north-1"}} {
		refuses(t, args[0], run(t, append(args, "--config", unknown)...), 78, "cluster.toml:4", `unknown key "reserv"`, `"reserve"`)
	}
	portsInUse(t, c)
}

// portsInUse starts the node while somebody has one of its ports.
func portsInUse(t *testing.T, c *Cluster) {
	c.Stop("north-1")
	for _, key := range []string{"api", "access", "peer"} {
		address := c.Address("north-1", key)
		var taken io.Closer
		var err error
		if key == "peer" {
			taken, err = net.ListenPacket("udp", address)
		} else {
			taken, err = net.Listen("tcp", address)
		}
		if err != nil {
			t.Fatal(err)
		}
		refusedBy(t, c, 1, []string{address, "address already in use"}, "start", "--verbose=false")
		_ = taken.Close()
	}
	if err := c.Start("north-1"); err != nil {
		t.Fatal(err)
	}
	must(t, 30*time.Second, "the node starts when its ports are free", func() error { _, err := statusOf(t.Context(), c, "north-1"); return err })
}

// hostile serves what no server should. It holds the bombs.
type hostile [2][]byte

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/page/1" {
		w.Header().Set("Content-Type", "text/html")
		for _, path := range []string{"silent", "headers", "header", "short", "long", "bomb", "bombs", "chunks", "status", "good"} {
			fmt.Fprintf(w, "<a href=\"/%s\">%s</a>\n", path, path)
		}
		return
	}
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	say := func(format string, args ...any) bool { _, err := fmt.Fprintf(conn, format, args...); return err == nil }
	switch r.URL.Path {
	case "/silent":
		_, _ = io.Copy(io.Discard, conn)
	case "/headers":
		for say("HTTP/1.1 200 OK\r\n"); say("X-Filler-%d: %s\r\n", time.Now().UnixNano(), strings.Repeat("x", 1000)); {
		}
	case "/header":
		for say("HTTP/1.1 200 OK\r\nX-Long: "); say("%s", strings.Repeat("x", 10_000)); {
		}
	case "/short":
		say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nonly this")
	case "/long":
		say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nonly this and more than was said")
	case "/bomb", "/bombs":
		codings := 1 + len(r.URL.Path) - len("/bomb")
		say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: %s\r\nConnection: close\r\n\r\n", strings.TrimSuffix(strings.Repeat("gzip, ", codings), ", "))
		_, _ = conn.Write(h[codings-1])
	case "/chunks":
		say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\nabc")
	case "/status":
		say("%s\r\n\r\n", strings.Repeat("no protocol at all ", 1000))
	default:
		say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\ngood")
	}
}

// bomb returns a GiB of text, packed once or twice.
func bomb(times int) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	block := []byte(strings.Repeat("<p>zeros", mib/8))
	for range 1024 {
		_, _ = z.Write(block)
	}
	_ = z.Close()
	for range times - 1 {
		inner := packed.Bytes()
		packed = bytes.Buffer{}
		z.Reset(&packed)
		_, _ = z.Write(inner)
		_ = z.Close()
	}
	return packed.Bytes()
}

// TestHostileServers crawls a site whose pages break every rule, and a seed that does not answer at all. It runs before the
// tests that run beside others: a process begins with the most memory that the process had that started it.
func TestHostileServers(t *testing.T) {
	dir := t.TempDir()
	template := filepath.Join(dir, "template.json")
	if err := os.WriteFile(template, []byte(`{"idle_timeout": "2s", "fetch_timeout": "20s", "max_retries": 1, "retry_delay": "100ms"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mute.Close() }()
	site := httptest.NewServer(&hostile{bomb(1), bomb(2)})
	defer site.Close()
	out := filepath.Join(dir, "crawl")
	got := run(t, "crawl", "--json", "--out", out, "--template", template, "--allow-private", "--ignore-robots", "--min-delay", "0s",
		site.URL+"/page/1", "http://"+mute.Addr().String()+"/", "http://127.0.0.1:1/")
	t.Logf("took %v, %d MiB at the most", got.tookAtMost, got.rss/mib)
	if got.code != 0 || got.rss > 600*mib {
		t.Errorf("exit code %d, %d MiB: %s", got.code, got.rss/mib, got.err)
	}
	log, err := os.ReadFile(filepath.Join(out, "logs", "crawl.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("crawl.log:\n%s", log)
	for path, want := range map[string]string{"/silent": "-4", "/headers": "-3 headerTrunc", "/header": "-3 headerTrunc", "/short": "200 midFetchTrunc",
		"/long": "200 bodyExcess", "/bomb": "200", "/bombs": "200", "/chunks": "200 badChunk", "/status": "-3 badStatusLine", "/good": "200",
		mute.Addr().String() + "/": "-4", "127.0.0.1:1/": "-2"} {
		logged := ""
		for line := range strings.Lines(string(log)) {
			if f := strings.Fields(line); strings.HasSuffix(f[3], path) {
				logged = f[1] + " " + f[11]
			}
		}
		status, note, _ := strings.Cut(want, " ")
		if !strings.HasPrefix(logged, status+" ") || !strings.Contains(logged, note) {
			t.Errorf("%s: crawl.log has %q, want %q", path, logged, want)
		}
	}
	files, err := filepath.Glob(filepath.Join(out, "warcs", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if checked := run(t, append([]string{"warc", "check"}, files...)...); checked.code != 0 {
		t.Errorf("warc check: %+v", checked)
	}
	var done struct{ Queued int }
	if err := json.Unmarshal([]byte(got.out), &done); err != nil || done.Queued != 0 {
		t.Errorf("%s %v", got.out, err)
	}
}
