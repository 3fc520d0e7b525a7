//go:build e2e

package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/demo"
)

// siege is a cluster under work while its nodes are killed.
type siege struct {
	t    *testing.T
	c    *Cluster
	site *demo.Site
	dir  string
	seed uint64

	mu    sync.Mutex
	acked map[string]string // SHA-256 of each file whose put was acknowledged
	big   int               // of these, copies of the file with many captures
	last  struct {          // what was begun last, where
		put, indexed string
	}
}

// manyCaptures is how many captures the file has that is put for the sake of the index.
const manyCaptures = 20_000

// TestKillAnywhere kills nodes while they crawl, copy, index and start. Whatever was acknowledged is there in the end,
// and everything that was begun completes. HOLDFAST_SEED repeats a run, HOLDFAST_KILLS makes it longer.
func TestKillAnywhere(t *testing.T) {
	t.Parallel()
	s := &siege{t: t, seed: number(t, "HOLDFAST_SEED", uint64(time.Now().UnixNano())), dir: t.TempDir(), acked: map[string]string{}}
	kills := number(t, "HOLDFAST_KILLS", 10)
	t.Logf("HOLDFAST_SEED=%d HOLDFAST_KILLS=%d", s.seed, kills)
	s.c = newCluster(t, "127.0.11", "")
	var err error
	s.site, err = demo.Serve(t.Context())
	check(t, err)
	defer func() { check(t, s.site.Close()) }()

	calm, stop := context.WithCancel(t.Context()) // until no more work is begun
	var work sync.WaitGroup
	for i, traffic := range []func(context.Context, *rand.Rand) error{s.crawls, s.puts, s.captures} {
		work.Go(func() {
			if err := traffic(calm, s.random(uint64(i))); err != nil {
				t.Errorf("traffic: %v", err)
			}
		})
	}
	began := time.Now()
	random := s.random(99)
	for k := range int(kills) {
		what, node := s.kill(random, k)
		t.Logf("%5.1f s  kill %d: %s, %s", time.Since(began).Seconds(), k+1, node, what)
	}
	stop()
	work.Wait()
	s.verify()
	t.Logf("%5.1f s  %d files were acknowledged", time.Since(began).Seconds(), len(s.acked))
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	check(t, err)
	return n
}

func (s *siege) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, stream)) }

func someNode(random *rand.Rand) string {
	return []string{"north-1", "south-1", "third-1"}[random.IntN(3)]
}

// pause waits for up to most.
func pause(ctx context.Context, random *rand.Rand, most time.Duration) {
	timer := time.NewTimer(time.Duration(random.Int64N(int64(most))))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// kill waits for a moment of the k-th kind, kills a node in it, starts it again, and waits until it takes part.
func (s *siege) kill(random *rand.Rand, k int) (what, node string) {
	ctx := s.t.Context()
	node = someNode(random)
	switch k % 5 {
	case 0:
		what = "while it crawls"
		check(s.t, Eventually(ctx, time.Minute, func() error {
			for _, asked := range []string{"north-1", "south-1", "third-1"} {
				st, err := s.c.Status(ctx, asked)
				if err == nil && len(st.Node.Running) > 0 {
					node = asked
					return nil
				}
			}
			return errors.New("nobody crawls")
		}))
		pause(ctx, random, 3*time.Second)
	case 1:
		what = "while a file is put and copied"
		s.next(func() string { return s.last.put }, &node)
		pause(ctx, random, time.Second)
	case 2:
		what = "while captures are indexed"
		s.next(func() string { return s.last.indexed }, &node)
		node = []string{"north-1", "south-1"}[random.IntN(2)]
		pause(ctx, random, time.Second)
	case 3:
		what = "while it starts"
		s.c.Kill(node)
		check(s.t, s.c.Start(node))
		pause(ctx, random, time.Second)
	default:
		what = "at any time"
		pause(ctx, random, 4*time.Second)
	}
	s.c.Kill(node)
	pause(ctx, random, 3*time.Second)
	check(s.t, s.c.Start(node))
	check(s.t, Eventually(ctx, time.Minute, func() error {
		st, err := s.c.Status(ctx, node)
		if err == nil && !(st.Node.Ready && st.Cluster.Quorum) {
			err = fmt.Errorf("%s: ready %v, quorum %v", node, st.Node.Ready, st.Cluster.Quorum)
		}
		return err
	}))
	return what, node
}

// next waits until what is begun next differs from what was begun before, and for a put tells its node.
func (s *siege) next(begun func() string, node *string) {
	look := func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return begun()
	}
	before := look()
	check(s.t, Eventually(s.t.Context(), time.Minute, func() error {
		now := look()
		if now == before {
			return errors.New("nothing new is begun")
		}
		*node, _, _ = strings.Cut(now, " ")
		return nil
	}))
}

// crawls creates one job after another until calm ends.
func (s *siege) crawls(calm context.Context, random *rand.Rand) error {
	for n := 0; calm.Err() == nil; n++ {
		node := someNode(random)
		var job wire.Job
		err := s.c.JSON(s.t.Context(), &job, node, append([]string{"job", "create", "--name", fmt.Sprintf("siege%d", n), "--allow-private",
			"--min-delay", "150ms", "--contact", "e2e@demo.test", "--nameserver", s.site.Nameserver}, s.site.Seeds...)...)
		if err != nil {
			continue // the node is down, or has nobody to ask
		}
		if err := Eventually(s.t.Context(), 5*time.Minute, func() error {
			now, err := s.c.Job(s.t.Context(), someNode(random), job.ID)
			if err == nil && now.State != wire.JobDone {
				err = fmt.Errorf("job %d is %s at %s: %s", now.ID, now.State, now.NodeName, now.Reason)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// puts puts files of random bytes until calm ends, each until it is acknowledged.
func (s *siege) puts(calm context.Context, random *rand.Rand) error {
	bytes := rand.NewChaCha8([32]byte{byte(s.seed)})
	for n := 0; calm.Err() == nil; n++ {
		content := make([]byte, 1+random.IntN(48<<20))
		if _, err := bytes.Read(content); err != nil {
			return err
		}
		if err := s.put(random, fmt.Sprintf("random-%d.bin", n), content, func(node, name string) { s.last.put = node + " " + name }); err != nil {
			return err
		}
	}
	return nil
}

// captures puts a WARC file with many captures under one name after another.
func (s *siege) captures(calm context.Context, random *rand.Rand) error {
	for n := 0; calm.Err() == nil; n++ {
		name := fmt.Sprintf("many-%d.warc", n)
		if err := s.put(random, name, manyRecords(n), nil); err != nil {
			return err
		}
		s.mu.Lock()
		s.big++
		s.last.indexed = name
		s.mu.Unlock()
		pause(calm, random, 5*time.Second)
	}
	return nil
}

// put puts a file at one node after another until one says that it is in the archive.
func (s *siege) put(random *rand.Rand, name string, content []byte, begun func(node, name string)) error {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return err
	}
	err := Eventually(s.t.Context(), 3*time.Minute, func() error {
		node := someNode(random)
		if begun != nil {
			s.mu.Lock()
			begun(node, name)
			s.mu.Unlock()
		}
		_, err := s.c.Do(s.t.Context(), node, "file", "put", "--copies", "0", path)
		return err
	})
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	s.mu.Lock()
	s.acked[name] = fmt.Sprintf("%x", sha256.Sum256(content))
	s.mu.Unlock()
	return os.Remove(path)
}

// manyRecords returns a WARC file of small responses, the n-th of its kind.
func manyRecords(n int) []byte {
	var out bytes.Buffer
	for i := range manyCaptures {
		body := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\npage %07d", i)
		fmt.Fprintf(&out, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:%08x-0000-4000-8000-%012x>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"+
			"WARC-Target-URI: http://many.test/%d\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", n, i, i, len(body), body)
	}
	return out.Bytes()
}

// verify checks what must be true after all.
func (s *siege) verify() {
	t, c := s.t, s.c
	check(t, c.Settled(t.Context(), "north-1", time.Minute))
	var jobs wire.Page[wire.Job]
	check(t, c.JSON(t.Context(), &jobs, "south-1", "job", "list", "--limit", "0"))
	for _, job := range jobs.Items { // one whose creation was not acknowledged may be there too
		_, err := c.Done(t.Context(), "third-1", job.ID, 2*time.Minute)
		check(t, err)
	}
	_, err := c.Stored(t.Context(), "south-1", 3*time.Minute)
	check(t, err)
	files := audited(t, c, "north-1")
	there := map[string]string{}
	for _, f := range files {
		there[string(f.Name)] = f.SHA256
	}
	for name, sum := range s.acked {
		if there[name] != sum {
			t.Errorf("%s was acknowledged with SHA-256 %s; the archive has %q", name, sum, there[name])
		}
	}
	check(t, Eventually(t.Context(), 3*time.Minute, s.swept)) // what meets an error is looked at again after up to a minute, twice
	crawled := slices.DeleteFunc(slices.Clone(files), func(f wire.File) bool { return f.Job == 0 })
	intact(t, c, files, crawled)
	for _, job := range jobs.Items {
		s.once(job, crawled)
	}
	for _, node := range []string{"north-1", "south-1", "third-1"} {
		found, err := c.Captures(t.Context(), node, "http://many.test/*")
		check(t, err)
		if len(found) != s.big*manyCaptures {
			t.Errorf("%s finds %d captures of %d", node, len(found), s.big*manyCaptures)
		}
	}
}

// swept reports files that are left where they only pass through.
func (s *siege) swept() (err error) {
	for _, node := range []string{"north-1", "south-1", "third-1"} {
		for _, room := range []string{"incoming", "outbox"} {
			left, bad := os.ReadDir(filepath.Join(s.c.Dir, node, room))
			err = errors.Join(err, bad)
			for _, e := range left {
				if e.Type().IsRegular() {
					err = errors.Join(err, fmt.Errorf("%s is left in %s of %s", e.Name(), room, node))
				}
			}
		}
	}
	return err
}

// once checks that a job's files have each URL of the site, and no content twice.
func (s *siege) once(job wire.Job, files []wire.File) {
	paths, err := s.c.Paths("north-1")
	check(s.t, err)
	args := []string{"cdx", "--json", "--no-sort"}
	for _, f := range files {
		if f.Job == job.ID && !strings.Contains(string(f.Name), "-metadata-") {
			args = append(args, paths[string(f.Name)])
		}
	}
	out, err := exec.CommandContext(s.t.Context(), s.c.Program, args...).Output()
	check(s.t, err)
	seen := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var one struct{ URL, MIME string }
		check(s.t, json.Unmarshal(lines.Bytes(), &one))
		if one.MIME != "warc/revisit" {
			seen[one.URL]++
		}
	}
	for _, p := range s.site.URLs() {
		if seen[p.URL] != 1 {
			s.t.Errorf("job %d: %s is captured %d times", job.ID, p.URL, seen[p.URL])
		}
	}
	s.t.Logf("job %d, attempt %d, last on %s: %d URIs in %d files", job.ID, job.Attempt, job.NodeName, len(seen), len(args)-3)
}
