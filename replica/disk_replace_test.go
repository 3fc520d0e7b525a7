package replica

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

func folder(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAGoneDiskIsReplaced replaces a disk that is gone, by one at another path and by one that is mounted in its place:
// after the next start all its files are copied again, and nothing waits for the old disk.
func TestAGoneDiskIsReplaced(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"two", "new"} {
		synctest.Test(t, func(t *testing.T) {
			c, north, all, second := withDisks(t, disk.New())
			north.config.DiskGrace = 0
			old := north.roots[1]
			unmount(t, old)
			start := func() (stop func()) {
				north.open()
				north.sized(1_000_000)
				return c.run("north-1", "south-1")
			}
			stop := start()
			defer c.judging()()
			sleep(t.Context(), 48*time.Hour)
			if n, got := c.good(all), north.state(1); n != len(all) || got.Shards != len(second) {
				t.Errorf("without a grace time: %d good, %+v", n, got)
			}
			path := folder(t, filepath.Join(north.dir, where))
			is, err := north.r.Disks.Replacing(old, path)
			if err != nil || is.There || is.Sole > 0 || is.Shards != len(second) || is.Files != int64(len(second)) {
				t.Errorf("what it does: %+v, %v", is, err)
			}
			if _, err := north.r.Disks.Replace(old, path); err != nil {
				t.Fatal(err)
			}
			if got := north.state(1); !strings.Contains(got.Why, "replaced") {
				t.Errorf("before the start: %+v", got)
			}
			stop()
			north.roots[1] = path
			stop = start()
			sleep(t.Context(), time.Hour)
			c.sound(len(all))
			if got := north.state(1); got.Path != path || got.State != DiskInUse || got.Why != "" {
				t.Errorf("the new disk: %+v", got)
			}
			stop()
			for range 2 { // nothing is asked for the old disk any more
				start()()
			}
			text, err := os.ReadFile(filepath.Join(north.dir, "roots"))
			if err != nil || strings.Contains(string(text), is.Mark) {
				t.Errorf("the list of disks: %s, %v", text, err)
			}
			asked, _ := north.r.store.asked.look()
			if len(asked.Added) > 0 || where != "two" && len(asked.Lost) > 0 {
				t.Errorf("what is asked: %+v", asked)
			}
			stop = start()
			defer stop()
			c.sound(len(all))
		})
	}
}

// TestADiskWithTheOnlyBytesIsNotReplaced tries to replace a disk that is there and has the only good copy of a file. When
// the disk is gone, it is said how many files have no other copy.
func TestADiskWithTheOnlyBytesIsNotReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, second := withDisks(t, disk.New())
		north.open()
		north.sized(1_000_000)
		defer c.run("north-1")()
		path := folder(t, filepath.Join(north.dir, "new"))
		if is, err := north.r.Disks.Replacing(north.roots[1], path); err != nil || !is.There || is.Sole > 0 {
			t.Errorf("all are elsewhere: %+v, %v", is, err)
		}
		c.must(catalog.FindCopies, catalog.Findings{Node: nodeID("south-1"),
			Files: []catalog.Finding{missingFinding(second[0])}})
		if _, err := north.r.Disks.Replace(north.roots[1], path); !errors.Is(err, ErrOnlyBytes) {
			t.Errorf("replaced: %v", err)
		}
		if exists(filepath.Join(path, MarkName)) {
			t.Error("the new disk is marked all the same")
		}
		if asked, _ := north.r.store.asked.look(); len(asked.Lost)+len(asked.Added) > 0 {
			t.Errorf("noted all the same: %+v", asked)
		}
		mount := unmount(t, north.roots[1])
		if is, err := north.r.Disks.Replacing(north.roots[1], path); err != nil || is.There || is.Sole != 1 {
			t.Errorf("when the disk is gone: %+v, %v", is, err)
		}
		mount()
		if c.good(all) != len(all) {
			t.Error("copies count no more")
		}
	})
}

// TestAReplacementIsTakenBack notes a replacement and takes it back before the start: the disk is used as before.
func TestAReplacementIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, _ := withDisks(t, disk.New())
		north.open()
		if _, err := north.r.Disks.Replace(north.roots[1], folder(t, filepath.Join(north.dir, "new"))); err != nil {
			t.Fatal(err)
		}
		if _, err := north.r.Disks.Undrain(north.roots[1]); err != nil {
			t.Fatal(err)
		}
		north.open()
		north.sized(1_000_000)
		defer c.run("north-1", "south-1")()
		if got := north.state(1); got.State != DiskInUse || got.Why != "" {
			t.Errorf("%+v", got)
		}
		c.sound(len(all))
	})
}

// TestAReplacedDiskIsLeftAlone starts with the old disk in the settings still: it is not used, nothing is written to it,
// and its place is not either when it is gone.
func TestAReplacedDiskIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, second := withDisks(t, disk.New())
		old := north.roots[1]
		north.open()
		if _, err := north.r.Disks.Replace(old, folder(t, filepath.Join(north.dir, "new"))); err != nil {
			t.Fatal(err)
		}
		for _, gone := range []bool{false, true} {
			if gone {
				defer unmount(t, old)()
			}
			north.open()
			north.sized(1_000_000)
			stop := c.run("north-1", "south-1")
			stopJudging := c.judging()
			sleep(t.Context(), time.Hour)
			if got := north.state(1); got.Path != old || got.Why != DiskReplaced {
				t.Errorf("gone %v: %+v", gone, got)
			}
			c.sound(len(all))
			stopJudging()
			stop()
			if gone {
				if left, err := os.ReadDir(old); err != nil || len(left) > 0 {
					t.Errorf("the place of the old disk holds %v, %v", left, err)
				}
				continue
			}
			for _, name := range second {
				if !exists(filepath.Join(old, name.Shard().String(), string(name))) {
					t.Errorf("%s is gone from the old disk", name)
				}
			}
		}
	})
}

// TestANewDiskIsMadeReady adds a disk, and starts with it not mounted, and mounted.
func TestANewDiskIsMadeReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, _ := withDisks(t, disk.New())
		north.open()
		path := folder(t, filepath.Join(north.dir, "new"))
		if _, err := north.r.Disks.Add(path); err != nil {
			t.Fatal(err)
		}
		mount := unmount(t, path)
		north.roots = append(north.roots, path)
		north.open()
		report, err := north.r.Disks.Report()
		if err != nil || len(report.Disks) != 3 || report.Disks[2].Why != DiskAwaited {
			t.Errorf("not mounted: %+v, %v", report.Disks, err)
		}
		if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
			t.Errorf("its mount point holds %v, %v", left, err)
		}
		mount()
		north.open()
		north.sized(1_000_000)
		defer c.run("north-1", "south-1")()
		if got := north.state(2); got.Path != path || got.State != DiskInUse || got.Why != "" {
			t.Errorf("mounted: %+v", got)
		}
		if asked, _ := north.r.store.asked.look(); len(asked.Added) > 0 {
			t.Errorf("still awaited: %+v", asked)
		}
		c.sound(len(all))
	})
}

// TestWhatCannotBeANewDisk names folders that cannot be new disks.
func TestWhatCannotBeANewDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, north, _, _ := withDisks(t, disk.New())
		north.open()
		file := filepath.Join(north.dir, "file")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		twin := folder(t, filepath.Join(north.dir, "twin"))
		if err := os.CopyFS(twin, os.DirFS(north.roots[1])); err != nil {
			t.Fatal(err)
		}
		for what, path := range map[string]string{"no path from the root": "new", "absent": filepath.Join(north.dir, "absent"),
			"a file": file, "in use": north.roots[0], "within a disk": folder(t, filepath.Join(north.roots[0], "in")),
			"around disks": north.dir, "the node's own": filepath.Join(north.dir, "outbox"), "a copy of a disk": twin,
			"with shards": folder(t, filepath.Join(north.dir, "old", "0ab"))[:len(filepath.Join(north.dir, "old"))]} {
			if _, err := north.r.Disks.Add(path); !errors.Is(err, ErrNewDisk) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := north.r.Disks.Replace(file, north.roots[0]); !errors.Is(err, ErrNoDisk) {
			t.Errorf("in place of no disk: %v", err)
		}
		if asked, _ := north.r.store.asked.look(); !slices.Equal(asked.Added, nil) {
			t.Errorf("noted all the same: %+v", asked)
		}
	})
}
