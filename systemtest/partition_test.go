//go:build e2e

package systemtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/api/wire"
)

// chain is a site whose pages form a chain: each links to the next.
type chain struct {
	pages int
	asked atomic.Int64
}

func (s *chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var page int
	if n, _ := fmt.Sscanf(r.URL.Path, "/page/%d", &page); n != 1 || page > s.pages {
		http.NotFound(w, r)
		return
	}
	s.asked.Add(1)
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<html><body><p>%s</p><a href=\"/page/%d\">next</a></body></html>", chainText(page), page+1)
}

func chainText(page int) string { return fmt.Sprintf("this is page %d of the chain", page) }

// trialOf makes a cluster that the test owns, founded and running, and prints the logs' ends if the test fails.
func trialOf(t *testing.T, top string, specs []Spec) *Cluster {
	t.Helper()
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c, err := NewCluster(program, dir, top, specs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", filepath.Base(log), lastLines(text, 25))
		}
	})
	return c
}

func foundTrial(t *testing.T, top string, specs []Spec) *Cluster {
	t.Helper()
	c := trialOf(t, top, specs)
	if err := c.Found(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range specs { // one that has just joined refuses what it is asked until it has the catalog
		must(t, 30*time.Second, "there is a leader", func() error { _, err := oneLeader(t.Context(), c, s.Name); return err })
	}
	return c
}

// must fails the test unless check holds within the limit.
func must(t *testing.T, limit time.Duration, what string, check func() error) {
	t.Helper()
	began := time.Now()
	if err := Eventually(t.Context(), limit, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Logf("%s: held after %.1f s", what, time.Since(began).Seconds())
}

// statusOf asks a node how things stand. An unhealthy cluster is an answer as well.
func statusOf(ctx context.Context, c *Cluster, node string) (st wire.Status, err error) {
	err = c.Answer(ctx, &st, node, "status")
	return st, err
}

// complete checks that every file of the catalog is complete, and that there are some.
func complete(ctx context.Context, c *Cluster, node string) error {
	var all struct {
		Items []wire.File `json:"items"`
	}
	if err := c.JSON(ctx, &all, node, "file", "list"); err != nil {
		return err
	}
	if len(all.Items) == 0 {
		return errors.New("the archive is empty")
	}
	for _, f := range all.Items {
		if !f.Complete {
			return fmt.Errorf("%s is not complete: %+v", f.Name, f.Copies)
		}
	}
	return nil
}

// oneLeader checks that all nodes name the same leader, and returns its name.
func oneLeader(ctx context.Context, c *Cluster, nodes ...string) (string, error) {
	var leaders []string
	for _, n := range nodes {
		st, err := statusOf(ctx, c, n)
		if err != nil {
			return "", err
		}
		if !st.Cluster.Quorum {
			return "", fmt.Errorf("%s has no quorum", n)
		}
		leaders = append(leaders, st.Cluster.LeaderName)
	}
	if len(slices.Compact(slices.Clone(leaders))) != 1 || leaders[0] == "" {
		return "", fmt.Errorf("leaders %v", leaders)
	}
	return leaders[0], nil
}

// stateAt returns the state of a file's copy in a replica.
func stateAt(ctx context.Context, c *Cluster, node, name, replica string) (wire.Copy, error) {
	var f wire.File
	if err := c.JSON(ctx, &f, node, "file", "show", name); err != nil {
		return wire.Copy{}, err
	}
	for _, one := range f.Copies {
		if string(one.Replica) == replica {
			return one, nil
		}
	}
	return wire.Copy{}, fmt.Errorf("%s has no copy in %s", name, replica)
}

// write makes a file of n bytes that is no other's.
func write(t *testing.T, name string, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := strings.Repeat(name+"\n", n/(len(name)+1)+1)[:n]
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPartition cuts one node of three off, once the one that crawls and once the one that leads.
func TestPartition(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	network, err := NewNetwork(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	specs := Three(network.IP)
	for i := range specs {
		specs[i].Prefix = network.Enter(i + 1)
		if specs[i].Name != "south-1" {
			specs[i].Extra = "crawls = 0"
		}
	}
	c := foundTrial(t, "", specs)
	site := &chain{pages: 200}
	l, err := network.Listen(2, 8000)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: site, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })

	p := &partition{t: t, c: c, network: network, site: site, base: "http://" + l.Addr().String()}
	p.begin()
	p.cutOff(2, "first.bin")
	must(t, 60*time.Second, "the job ends", func() error { return p.jobIs(wire.JobDone) })
	must(t, 60*time.Second, "all files are complete", func() error { return complete(ctx, c, "north-1") })
	p.replays("south-1", 2, site.pages)
	leader, err := oneLeader(ctx, c, "north-1", "south-1", "third-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s leads", leader)
	p.cutOff(1+slices.IndexFunc(specs, func(s Spec) bool { return s.Name == leader }), "second.bin")
	for _, s := range specs {
		must(t, 60*time.Second, "all files are complete as "+s.Name+" sees it", func() error { return complete(ctx, c, s.Name) })
	}
}

type partition struct {
	t       *testing.T
	c       *Cluster
	network *Network
	site    *chain
	base    string
	job     wire.Job
}

// begin archives the chain's last pages, so that there is something to replay, and starts to crawl it from its first.
func (p *partition) begin() {
	t, ctx := p.t, p.t.Context()
	flags := []string{"--allow-private", "--contact", "http://test.invalid/", "--max-hops", "1000", "--ignore-robots"}
	var first wire.Job
	must(t, 60*time.Second, "a short job is done", func() error {
		args := append([]string{"job", "create", "--name", "short", "--wait", "--min-delay", "10ms", fmt.Sprintf("%s/page/%d", p.base, p.site.pages-2)}, flags...)
		return p.c.JSON(ctx, &first, "north-1", args...)
	})
	must(t, 60*time.Second, "its files are complete", func() error { return complete(ctx, p.c, "north-1") })
	p.replays("south-1", 2, p.site.pages-1)
	args := append([]string{"job", "create", "--name", "long", "--min-delay", "100ms", p.base + "/page/1"}, flags...)
	if err := p.c.JSON(ctx, &p.job, "north-1", args...); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "the long job has begun", func() error {
		if n := p.site.asked.Load(); n < 20 {
			return fmt.Errorf("%d pages", n)
		}
		return p.jobIs(wire.JobStarted)
	})
}

func (p *partition) jobIs(state wire.JobState) error {
	var job wire.Job
	if err := p.c.JSON(p.t.Context(), &job, "north-1", "job", "show", fmt.Sprint(p.job.ID)); err != nil {
		return err
	}
	if job.State != state {
		return fmt.Errorf("job %d is %s %s", job.ID, job.State, job.Reason)
	}
	return nil
}

// replays checks that a node shows a page as it was archived.
func (p *partition) replays(node string, host, page int) {
	p.t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: p.network.Dial(host), DisableKeepAlives: true}, Timeout: 20 * time.Second}
	url := fmt.Sprintf("http://%s/web/2026id_/%s/page/%d", p.c.Address(node, "access"), p.base, page)
	must(p.t, 20*time.Second, fmt.Sprintf("%s shows page %d", node, page), func() error {
		text, err := get(p.t.Context(), client, url)
		if err == nil && !strings.Contains(text, chainText(page)) {
			err = fmt.Errorf("got %q", text)
		}
		return err
	})
}

// cutOff cuts one node off, looks at both sides, plugs it in again, and sees that all is as before without help.
func (p *partition) cutOff(host int, name string) {
	t, ctx, c := p.t, p.t.Context(), p.c
	nodes := []string{"north-1", "south-1", "third-1"}
	alone := nodes[host-1]
	others := slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n == alone })
	if err := p.network.Cut(ctx, host); err != nil {
		t.Fatal(err)
	}
	must(t, 10*time.Second, alone+" says that it has no quorum", func() error {
		st, err := statusOf(ctx, c, alone)
		if err != nil || st.Cluster.Quorum || st.Healthy {
			return fmt.Errorf("quorum %t, healthy %t, %w", st.Cluster.Quorum, st.Healthy, err)
		}
		return nil
	})
	began := time.Now()
	if _, err := c.Do(ctx, alone, "node", "invite", "--replica", "north"); ExitCode(err) != 69 || !strings.Contains(err.Error(), "quorum") {
		t.Errorf("%s makes a token without a quorum: %v", alone, err)
	}
	if spent := time.Since(began); spent > 10*time.Second {
		t.Errorf("it took %v to say that there is no quorum", spent)
	}
	kept := "kept-" + name
	if _, err := c.Do(ctx, alone, "file", "put", "--copies", "0", write(t, kept, 1000)); ExitCode(err) != 69 || !strings.Contains(err.Error(), "is stored on this node") {
		t.Errorf("a file put without a quorum is to be kept: %v", err)
	}
	must(t, 20*time.Second, "the majority has a leader", func() error { _, err := oneLeader(ctx, c, others...); return err })
	if _, err := c.Do(ctx, others[0], "node", "invite", "--replica", "north"); err != nil {
		t.Error(err)
	}
	if alone == "south-1" {
		asked := p.site.asked.Load()
		must(t, 30*time.Second, "the crawl goes on alone", func() error {
			if n := p.site.asked.Load(); n < asked+30 {
				return fmt.Errorf("%d pages were asked for, %d before", n, asked)
			}
			return nil
		})
	}
	if alone != "third-1" {
		p.replays(alone, host, p.site.pages-1)
	}
	if _, err := c.Do(ctx, others[0], "file", "put", "--copies", "0", write(t, name, 300_000)); err != nil {
		t.Error(err)
	}
	for _, other := range others {
		replica, _, _ := strings.Cut(other, "-")
		must(t, 30*time.Second, name+" is at "+replica, func() error { return good(ctx, c, others[0], name, replica) })
	}
	if err := p.network.Heal(ctx, host); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "all have one leader again", func() error { _, err := oneLeader(ctx, c, nodes...); return err })
	for _, n := range nodes {
		for _, file := range []string{name, kept} {
			must(t, 60*time.Second, file+" is everywhere as "+n+" sees it", func() error { return isComplete(ctx, c, n, file) })
		}
	}
}

// isComplete checks that a node knows of verified copies of a file in every replica.
func isComplete(ctx context.Context, c *Cluster, node, name string) error {
	var f wire.File
	if err := c.JSON(ctx, &f, node, "file", "show", name); err != nil {
		return err
	}
	if !f.Complete {
		return fmt.Errorf("%+v", f.Copies)
	}
	return nil
}

func good(ctx context.Context, c *Cluster, node, name, replica string) error {
	one, err := stateAt(ctx, c, node, name, replica)
	if err == nil && one.State != wire.UploadCompleted {
		err = fmt.Errorf("%s %s", one.State, one.Reason)
	}
	return err
}

// get returns the body of a successful answer.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return string(text), err
}

// sound checks every file on the nodes' disks: its manifest with sha256sum, and WARC files with warc check.
func sound(ctx context.Context, c *Cluster, nodes ...string) error {
	for _, node := range nodes {
		manifests, err := filepath.Glob(filepath.Join(c.Dir, node, "files", "*", "manifest-sha256.txt"))
		if err != nil || len(manifests) == 0 {
			return fmt.Errorf("%s has no manifests: %w", node, err)
		}
		for _, m := range manifests {
			sums := exec.CommandContext(ctx, "sha256sum", "-c", "--quiet", filepath.Base(m))
			sums.Dir = filepath.Dir(m)
			if out, err := sums.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", m, err, out)
			}
		}
		files, err := filepath.Glob(filepath.Join(c.Dir, node, "files", "*", "[^.]*.warc.gz"))
		if err != nil || len(files) == 0 {
			continue
		}
		if _, err := c.Do(ctx, node, append([]string{"warc", "check"}, files...)...); err != nil {
			return err
		}
	}
	return nil
}

// serve serves on loopback until the test ends, and returns the URL.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
