//go:build e2e

package systemtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/demo"
)

// validator checks WARC files and shares no code with this project.
const validator = "../warc/testdata/warccheck.py"

// web is a website under test and what an archive of it must hold.
type web struct {
	seeds [][]string // of each job
	flags []string   // of job create
	truth []Truth
	live  func(*http.Request) (*http.Response, error)
	moody map[string]bool // URLs that answer differently each time
}

// TestRealSites crawls documentation sites on a three-process cluster: every URL that an independent link checker
// finds is captured, every file valid and stored three times, and every capture replays byte for byte.
// The site is the demo's, unless HOLDFAST_REALWEB names the folder with the tools that serve documentation sites;
// HOLDFAST_SITES=medium takes the larger of these too.
func TestRealSites(t *testing.T) {
	t.Parallel()
	began := time.Now()
	step := func(what string, args ...any) {
		t.Logf("%5.1f s  %s", time.Since(began).Seconds(), fmt.Sprintf(what, args...))
	}
	site := sites(t)
	step("%d URLs in the ground truth", len(site.truth))
	c := newCluster(t, "127.0.10", "")
	step("cluster settled")
	var jobs []uint64
	for i, seeds := range site.seeds {
		args := append([]string{"job", "create", "--name", fmt.Sprintf("site%d", i), "--allow-private", "--min-delay", "0", "--max-hops", "1000"}, site.flags...)
		var job wire.Job
		check(t, c.JSON(t.Context(), &job, []string{"north-1", "south-1", "third-1"}[i%3], append(args, seeds...)...))
		jobs = append(jobs, job.ID)
	}
	var objects int64
	for _, id := range jobs {
		job, err := c.Done(t.Context(), "south-1", id, 20*time.Minute)
		check(t, err)
		objects += job.Stats.Objects
		if job.Stats.StopReason != "completed" {
			t.Errorf("job %d ended: %s", id, job.Stats.StopReason)
		}
		step("job %d on %s: %d objects, %d failed, %d bytes", id, job.NodeName, job.Stats.Objects, job.Stats.Failed, job.Stats.Bytes)
	}
	files, err := c.Stored(t.Context(), "third-1", 10*time.Minute)
	check(t, err)
	audited(t, c, "south-1")
	step("%d objects in %d files, stored, audited and indexed", objects, len(files))
	intact(t, c, files, files)
	step("files valid, manifests hold")
	for _, pair := range [][2]string{{"north-1", "south-1"}, {"third-1", "north-1"}} {
		compareReplay(t, c, site, pair)
		step("replayed by %s and %s", pair[0], pair[1])
	}
}

// sites returns the documentation sites, or the demo's.
func sites(t *testing.T) web {
	script := os.Getenv("HOLDFAST_REALWEB")
	if script == "" {
		return demoWeb(t)
	}
	dir, err := os.MkdirTemp("", "holdfast-realweb-")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	check(t, os.Chmod(dir, 0o755)) // its server may run as a user of its own
	w := RealWeb{Tools: script, Dir: dir, Debs: cmp.Or(os.Getenv("REALWEB"), filepath.Join(os.TempDir(), "realweb")), Port: cmp.Or(os.Getenv("PORT"), "8471")}
	check(t, w.Start(t.Context()))
	t.Cleanup(func() { check(t, w.Stop()) })
	names := []string{"httrack", "git", "policy", "devref", "exim", "debref", "jqueryui"}
	if os.Getenv("HOLDFAST_SITES") == "medium" {
		names = append(names, "python", "apache", "postgres", "django", "sqlite", "qt", "handbook")
	}
	all, err := w.Seeds(names...)
	check(t, err)
	truth, err := w.Truth(t.Context(), all)
	check(t, err)
	site := web{truth: truth, live: (&http.Transport{DisableCompression: true}).RoundTrip}
	for _, seed := range all {
		site.seeds = append(site.seeds, []string{seed})
	}
	return site
}

// demoWeb returns the demo's site, which knows itself what it has.
func demoWeb(t *testing.T) web {
	s, err := demo.Serve(t.Context())
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	_, port, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(s.Seeds[0], "/"), "http://"), ":")
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
	}
	w := web{seeds: [][]string{s.Seeds}, flags: []string{"--contact", "e2e@demo.test", "--nameserver", s.Nameserver}, moody: map[string]bool{},
		live: (&http.Transport{DisableCompression: true, DialContext: dial}).RoundTrip}
	for _, p := range s.URLs() {
		w.truth = append(w.truth, Truth{Status: p.Status, Type: p.Type, URL: p.URL})
		w.moody[p.URL] = p.Changes
	}
	return w
}

// audited runs an audit over all copies and checks every file after it.
func audited(t *testing.T, c *Cluster, node string) []wire.File {
	t.Helper()
	_, err := c.Do(t.Context(), node, "audit", "run", "--wait")
	check(t, err)
	var files []wire.File
	check(t, Eventually(t.Context(), time.Minute, func() (err error) {
		files, err = c.Files(t.Context(), node, "")
		for _, f := range files {
			err = errors.Join(err, Complete(f))
		}
		return err
	}))
	return files
}

// intact checks the folders of both bitarchive nodes with sha256sum, and the crawled files with the validators.
func intact(t *testing.T, c *Cluster, files, crawled []wire.File) {
	t.Helper()
	for _, node := range []string{"north-1", "south-1"} {
		n, err := c.Manifests(t.Context(), node)
		check(t, err)
		if n != len(files) {
			t.Errorf("%s has %d files of %d", node, n, len(files))
		}
	}
	paths, err := c.Paths("south-1")
	check(t, err)
	var warcs []string
	for _, f := range crawled {
		if path := paths[string(f.Name)]; path == "" {
			t.Errorf("%s is not on south-1", f.Name)
		} else if IsWARC(path) {
			warcs = append(warcs, path)
		}
	}
	check(t, c.Valid(t.Context(), validator, warcs))
}

// compareReplay checks that the first node has a capture of each URL of the ground truth, and that both replay each
// capture with the status and the bytes of the server.
func compareReplay(t *testing.T, c *Cluster, w web, nodes [2]string) {
	t.Helper()
	captured := map[string][]wire.Capture{}
	loosely := map[string]bool{}
	for _, seeds := range w.seeds {
		for _, seed := range seeds {
			host, _, _ := strings.Cut(strings.TrimPrefix(seed, "http://"), "/")
			found, err := c.Captures(t.Context(), nodes[0], "http://"+host+"/*")
			check(t, err)
			for _, one := range found {
				captured[one.URL] = append(captured[one.URL], one)
				loosely[loose(one.URL)] = true
			}
		}
	}
	var missing []string
	for _, u := range w.truth {
		if u.Status != 0 && len(captured[u.URL]) == 0 && !loosely[loose(u.URL)] {
			missing = append(missing, u.URL)
		}
	}
	if len(missing) > 0 {
		t.Fatalf("%d of %d URLs are not captured: %s", len(missing), len(w.truth), strings.Join(missing[:min(20, len(missing))], "\n"))
	}
	var urls []string
	for url := range captured {
		urls = append(urls, url)
	}
	slices.Sort(urls)
	work := make(chan string)
	var wrong []error
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for url := range work {
				if err := sameReplay(t.Context(), c, w, nodes, captured[url]); err != nil {
					mu.Lock()
					wrong = append(wrong, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, url := range urls {
		work <- url
	}
	close(work)
	workers.Wait()
	if len(wrong) > 0 {
		t.Errorf("%d of %d URLs replay otherwise than the server sent them: %v", len(wrong), len(urls), errors.Join(wrong[:min(10, len(wrong))]...))
	}
	t.Logf("%s, %s: %d URLs captured, %d in the ground truth", nodes[0], nodes[1], len(urls), len(w.truth))
}

// loose returns a URL as the link checker would write it: it joins slashes that follow each other, and keeps a
// backslash, which is a slash to browsers and to the crawler.
func loose(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	rest = strings.ReplaceAll(rest, "%5C", "/")
	for strings.Contains(rest, "//") {
		rest = strings.ReplaceAll(rest, "//", "/")
	}
	return scheme + "://" + rest
}

// sameReplay compares what two nodes replay for each capture of one URL with what its server sends.
func sameReplay(ctx context.Context, c *Cluster, w web, nodes [2]string, captures []wire.Capture) error {
	url := captures[0].URL
	status, want, err := answerOf(ctx, w.live, url)
	if err != nil {
		return err
	}
	for _, one := range captures {
		for _, node := range nodes {
			at := fmt.Sprintf("http://%s/web/%sid_/%s", c.Address(node, "access"), one.Timestamp, url)
			replayed, got, err := answerOf(ctx, http.DefaultTransport.RoundTrip, at)
			if err != nil {
				return err
			}
			if replayed != status || !bytes.Equal(got, want) && !w.moody[url] {
				return fmt.Errorf("%s: %d, %d bytes; the server: %d, %d bytes", at, replayed, len(got), status, len(want))
			}
		}
	}
	return nil
}

// answerOf gets a URL and returns the answer's status and bytes.
func answerOf(ctx context.Context, trip func(*http.Request) (*http.Response, error), url string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Accept-Encoding", "identity")
	answer, err := trip(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// newCluster starts the valid minimum on addresses of its own, <net>.1 to <net>.3, and waits until it has settled.
func newCluster(t *testing.T, network, top string) *Cluster {
	t.Helper()
	program, err := Program()
	check(t, err)
	return startCluster(t, program, top, Three(func(i int) string { return fmt.Sprintf("%s.%d", network, i) }))
}

// startCluster starts nodes and waits until they have settled. If the test fails, it shows the ends of their logs.
func startCluster(t *testing.T, program, top string, specs []Spec) *Cluster {
	t.Helper()
	c, err := NewCluster(program, t.TempDir(), top, specs)
	check(t, err)
	t.Cleanup(func() {
		c.Close()
		if !t.Failed() {
			return
		}
		for _, s := range c.specs {
			log, _ := os.ReadFile(filepath.Join(c.Dir, s.Name+".log"))
			t.Logf("the end of %s.log:\n%s", s.Name, lastLines(log, 25))
		}
	})
	check(t, c.Found(t.Context()))
	check(t, c.Settled(t.Context(), "north-1", time.Minute))
	return c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
