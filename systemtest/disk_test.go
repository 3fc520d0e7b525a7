//go:build e2e

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/api/wire"
)

// tmpfs mounts a small disk at a folder until the test ends.
func tmpfs(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := mount(t, "-t", "tmpfs", "-o", "size="+size, "holdfast-test", dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v %s", dir, err, out)
		}
	})
}

func mount(t *testing.T, args ...string) error {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "mount", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("mount %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

func free(t *testing.T, dir string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

const mib = 1 << 20

// noise serves pages that do not compress, a MiB each, without end.
func noise(w http.ResponseWriter, r *http.Request) {
	var page int
	if n, _ := fmt.Sscanf(r.URL.Path, "/%d", &page); n != 1 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<a href=\"/%d\">next</a><a href=\"/%d\">another</a>", 2*page, 2*page+1)
	random := rand.NewChaCha8([32]byte{byte(page), byte(page >> 8), byte(page >> 16)})
	block := make([]byte, mib)
	_, _ = random.Read(block)
	_, _ = w.Write(block)
}

// smallDisk is a cluster of which south-1, the one that crawls, has all its data on a small disk.
func smallDisk(t *testing.T, size string, reserve int64) (c *Cluster, disk string) {
	t.Helper()
	specs := Three(func(int) string { return "127.0.0.1" })
	for i := range specs {
		specs[i].Extra = "crawls = 0"
		if specs[i].Name == "south-1" {
			specs[i].Extra = fmt.Sprintf("reserve = \"%d\"", reserve)
		}
	}
	c = trialOf(t, "", specs)
	disk = filepath.Join(c.Dir, "south-1")
	tmpfs(t, disk, size)
	t.Cleanup(c.Close) // before the disk goes
	if err := c.Found(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, disk
}

// TestFullDisk puts a file that has no room at one replica.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const reserve = 200 * mib
	c, disk := smallDisk(t, "1000M", reserve)
	if _, err := c.Do(ctx, "north-1", "file", "put", "--copies", "0", write(t, "begin.bin", 1000)); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "a first file is complete", func() error { return isComplete(ctx, c, "north-1", "begin.bin") })
	room := free(t, disk) - reserve
	t.Logf("south-1 has room for %d MiB", room/mib)
	if _, err := c.Do(ctx, "north-1", "file", "put", "--copies", "0", write(t, "large.bin", int(room+40*mib))); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "the copy fails for a clear reason", func() error {
		one, err := stateAt(ctx, c, "north-1", "large.bin", "south")
		if err != nil || one.State != wire.UploadFailed || !strings.Contains(one.Reason, "disk is full") {
			return fmt.Errorf("%+v %w", one, err)
		}
		return nil
	})
	if shown, err := c.Do(ctx, "north-1", "file", "show", "large.bin"); err != nil || !strings.Contains(string(shown), "disk is full") {
		t.Errorf("file show: %s %v", shown, err)
	}
	for i := range 3 {
		name := fmt.Sprintf("small-%d.bin", i)
		if _, err := c.Do(ctx, "north-1", "file", "put", "--copies", "0", write(t, name, 2*mib)); err != nil {
			t.Fatal(err)
		}
		must(t, 60*time.Second, name+" is complete", func() error { return isComplete(ctx, c, "south-1", name) })
	}
	// A file that its own node has no room for is refused at the door.
	tooLarge := write(t, "refused.bin", int(room+40*mib))
	if _, err := c.Do(ctx, "south-1", "file", "put", "--copies", "0", tooLarge); ExitCode(err) != 1 || !strings.Contains(err.Error(), "full") {
		t.Errorf("put at the full node: %v", err)
	}
	if left := free(t, disk); left < reserve {
		t.Errorf("%d bytes are left on the disk, less than the reserve", left)
	}
	if !c.Running("south-1") {
		t.Fatal("south-1 has ended")
	}
	if err := mount(t, "-o", "remount,size=1800M", disk); err != nil {
		t.Fatal(err)
	}
	must(t, 120*time.Second, "with room made, the file is complete", func() error { return isComplete(ctx, c, "north-1", "large.bin") })
	if err := sound(ctx, c, "south-1"); err != nil {
		t.Error(err)
	}
}

// TestCrawlOnAFullDisk crawls more than the disk holds.
func TestCrawlOnAFullDisk(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const reserve = 200 * mib
	c, disk := smallDisk(t, "1000M", reserve)
	base := serve(t, http.HandlerFunc(noise))
	var job wire.Job
	err := c.JSON(ctx, &job, "north-1", "job", "create", "--name", "endless", "--allow-private", "--ignore-robots", "--min-delay", "0s", "--max-hops", "1000", base+"/1")
	if err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "the crawl leaves the room that its settings ask for", func() error {
		st, err := statusOf(ctx, c, "south-1")
		if err != nil || !strings.Contains(strings.Join(st.Problems, "\n"), "min_free_disk") {
			return fmt.Errorf("%v %w", st.Problems, err)
		}
		return nil
	})
	if _, err := c.Do(ctx, "north-1", "job", "set", fmt.Sprint(job.ID), "min_free_disk=0"); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "the node says that the job waits for room", func() error {
		st, err := statusOf(ctx, c, "south-1")
		if err != nil || !strings.Contains(strings.Join(st.Problems, "\n"), "room") {
			return fmt.Errorf("%v %w", st.Problems, err)
		}
		return nil
	})
	if left := free(t, disk); left < reserve/2 {
		t.Errorf("%d MiB are left on the disk", left/mib)
	}
	if !c.Running("south-1") {
		t.Fatal("south-1 has ended")
	}
	if err := mount(t, "-o", "remount,size=2000M", disk); err != nil {
		t.Fatal(err)
	}
	var before, now wire.Job
	if err := c.JSON(ctx, &before, "north-1", "job", "show", fmt.Sprint(job.ID)); err != nil {
		t.Fatal(err)
	}
	must(t, 60*time.Second, "with room made, the crawl goes on", func() error {
		if err := c.JSON(ctx, &now, "north-1", "job", "show", fmt.Sprint(job.ID)); err != nil {
			return err
		}
		if now.Progress == nil || before.Progress == nil || now.Progress.Done <= before.Progress.Done {
			return fmt.Errorf("%+v after %+v", now.Progress, before.Progress)
		}
		return nil
	})
	if _, err := c.Do(ctx, "north-1", "job", "stop", fmt.Sprint(job.ID), "--reason", "enough"); err != nil {
		t.Fatal(err)
	}
	must(t, 120*time.Second, "the stopped job is done", func() error {
		err := c.JSON(ctx, &now, "north-1", "job", "show", fmt.Sprint(job.ID))
		if err == nil && now.State != wire.JobDone {
			err = fmt.Errorf("%s %s", now.State, now.Reason)
		}
		return err
	})
	must(t, 120*time.Second, "its files are complete", func() error { return complete(ctx, c, "north-1") })
	if err := sound(ctx, c, "north-1", "south-1"); err != nil {
		t.Error(err)
	}
}
