//go:build e2e

package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/demo"
)

const (
	restLimit = 150 * mib
	workLimit = 1 << 30
)

// TestMemory measures the anonymous memory of each node at rest, and while a gibibyte is put and copied beside a crawl.
func TestMemory(t *testing.T) {
	c := newCluster(t, "127.0.12", "")
	nodes := []string{"north-1", "south-1", "third-1"}
	for _, node := range nodes {
		used, err := anonymous(c.PID(node))
		check(t, err)
		t.Logf("%s at rest: %d MiB", node, used/mib)
		if used > restLimit {
			t.Errorf("%s uses %d MiB at rest", node, used/mib)
		}
	}
	site, err := demo.Serve(t.Context())
	check(t, err)
	defer func() { check(t, site.Close()) }()
	path := filepath.Join(t.TempDir(), "large.bin")
	check(t, writeRandom(path, 1<<30))

	most := map[string]int64{}
	watching, stop := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			for _, node := range nodes {
				if used, err := anonymous(c.PID(node)); err == nil {
					most[node] = max(most[node], used)
				}
			}
			select {
			case <-tick.C:
			case <-watching.Done():
				return
			}
		}
	})
	var job wire.Job
	check(t, c.JSON(t.Context(), &job, "south-1", append([]string{"job", "create", "--name", "memory", "--allow-private", "--min-delay", "0",
		"--contact", "e2e@demo.test", "--nameserver", site.Nameserver}, site.Seeds...)...))
	began := time.Now()
	_, err = c.Do(t.Context(), "third-1", "file", "put", "--copies", "0", path)
	check(t, err)
	t.Logf("a gibibyte was put in %.1f s", time.Since(began).Seconds())
	_, err = c.Done(t.Context(), "north-1", job.ID, 2*time.Minute)
	check(t, err)
	_, err = c.Stored(t.Context(), "north-1", 5*time.Minute)
	check(t, err)
	t.Logf("it was everywhere after %.1f s", time.Since(began).Seconds())
	stop()
	watch.Wait()
	for _, node := range nodes {
		t.Logf("%s at work: at most %d MiB", node, most[node]/mib)
		if most[node] > workLimit || most[node] == 0 {
			t.Errorf("%s used %d MiB at work", node, most[node]/mib)
		}
	}
	for _, node := range nodes { // the runtime takes minutes to give back what it has used
		used, err := anonymous(c.PID(node))
		check(t, err)
		t.Logf("%s just after: %d MiB", node, used/mib)
	}
}

// anonymous returns the anonymous memory of a process in bytes.
func anonymous(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
	text, _, _ := strings.Cut(string(rest), " kB")
	kib, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return kib << 10, err
}

func writeRandom(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(f, rand.NewChaCha8([32]byte{1}), size); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
