package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// unmount takes the disk at path away: its content is elsewhere, and the mount point is empty.
func unmount(t *testing.T, path string) (mount func()) {
	t.Helper()
	away := path + "-away"
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(path, away)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		move(away, path)
	}
}

func twoRoots(dir string) StoreConfig {
	cfg := storeConfig(dir)
	cfg.Roots = append(cfg.Roots, filepath.Join(dir, "more"))
	cfg.Known = filepath.Join(dir, "roots")
	return cfg
}

// TestARootThatIsNotMountedIsRefused opens a store without one of its disks, with the disks at each other's place, with
// one under another name, and with one given up.
func TestARootThatIsNotMountedIsRefused(t *testing.T) {
	t.Parallel()
	cfg := twoRoots(t.TempDir())
	s := openStore(t, cfg, disk.New())
	s.roots[0].promised = 1 << 50
	if err := keep(s, "a.warc", []byte("bytes")); err != nil {
		t.Fatal(err)
	}
	refused := func(when, path string) {
		t.Helper()
		if _, err := OpenStore(cfg, disk.New(), discard()); !errors.Is(err, ErrNotMounted) || !strings.Contains(err.Error(), path) {
			t.Fatalf("%s: %v", when, err)
		}
	}
	holds := func(when string, want bool) {
		t.Helper()
		s, err := OpenStore(cfg, disk.New(), discard())
		if err != nil || s.Has("a.warc") != want {
			t.Fatalf("%s: %v", when, err)
		}
	}
	more := cfg.Roots[1]
	mount := unmount(t, more)
	refused("without the disk", more)
	if left, err := os.ReadDir(more); err != nil || len(left) > 0 {
		t.Fatalf("the empty folder now holds %v, %v", left, err)
	}
	if err := os.Remove(more); err != nil {
		t.Fatal(err)
	}
	refused("without its folder", more)
	mount()
	holds("mounted again", true)

	cfg.Roots[0], cfg.Roots[1] = cfg.Roots[1], cfg.Roots[0]
	holds("the other way round", true)
	cfg.Roots = cfg.Roots[1:]
	refused("no longer in the settings", more)
	cfg.Roots = append(cfg.Roots, more+"-moved")
	if err := os.Rename(more, more+"-moved"); err != nil {
		t.Fatal(err)
	}
	holds("under another name", true)

	cfg.Roots = cfg.Roots[:1]
	text, err := os.ReadFile(cfg.Known)
	if err != nil {
		t.Fatal(err)
	}
	var rest string
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "-moved\n") {
			rest += line
		}
	}
	if err := os.WriteFile(cfg.Known, []byte(rest), 0o644); err != nil {
		t.Fatal(err)
	}
	holds("given up", false)
}

// TestARootIsMarkedWhateverFails opens a new store, failing or crashing at each step of the disk.
func TestARootIsMarkedWhateverFails(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		dir := t.TempDir()
		cfg := twoRoots(dir)
		twin := disk.NewFaulty(t.TempDir())
		twin.FailAt(step, fmt.Errorf("step %d fails", step))
		_, err := OpenStore(cfg, twin.Disk(), discard())
		if err := twin.Crash(); err != nil {
			t.Fatal(err)
		}
		s, again := OpenStore(cfg, disk.New(), discard())
		if again != nil {
			t.Fatalf("after a crash at step %d: %v", step, again)
		}
		if err := s.Mounted(); err != nil {
			t.Fatalf("after a crash at step %d: %v", step, err)
		}
		if err == nil {
			return
		}
	}
}

// TestADiskThatGoesAwayIsNotLoss audits while the disk is away, puts a further file, reads, and mounts the disk again.
func TestADiskThatGoesAwayIsNotLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1")
		north := c.node("north-1")
		north.put(fileName(1), 1, 1000)
		c.complete(fileName(1))
		sleep(t.Context(), time.Minute)
		root := filepath.Join(north.dir, "files")
		mount := unmount(t, root)
		if err := north.r.store.Mounted(); !errors.Is(err, ErrNotMounted) || !strings.Contains(err.Error(), root) {
			t.Errorf("Mounted: %v", err)
		}
		one, err := north.r.StartAudit("", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.node("south-1").put(fileName(2), 2, 1000)
		sleep(t.Context(), 10*time.Minute)
		if got, err := north.r.Audit(one.ID); err != nil || got.State != AuditIncomplete || got.Excepted > 0 ||
			got.Faulty != 1 || got.Faults[0].Shard != fileName(1).Shard() || !strings.Contains(got.Faults[0].Reason, root) {
			t.Errorf("audit: %+v, %v", got, err)
		}
		if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
			t.Errorf("the mount point now holds %v, %v", left, err)
		}
		if len(north.get(fileName(1))) != 1000 {
			t.Error("the file cannot be read from the other node")
		}
		mount()
		sleep(t.Context(), 20*time.Minute)
		c.complete(fileName(2))
		if got := north.audited(); got.State != AuditDone || got.Excepted > 0 || got.Files != 2 {
			t.Errorf("audit after the disk came back: %+v", got)
		}
		c.View(func(v catalog.View) error {
			f, err := v.File(fileName(1))
			if err != nil || f.Copy("north").Disputed || !f.Copy("north").Good() {
				t.Errorf("copy: %+v, %v", f.Copy("north"), err)
			}
			return nil
		})
	})
}
