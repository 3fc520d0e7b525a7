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
	cfg.Known, cfg.Shards = filepath.Join(dir, "roots"), filepath.Join(dir, "shards")
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
	away := func(when string) {
		t.Helper()
		s, err := OpenStore(cfg, disk.New(), discard())
		if err != nil || s.Has("a.warc") || !s.Away("a.warc") || !errors.Is(s.Mounted(), ErrNotMounted) || !strings.Contains(s.Mounted().Error(), more) {
			t.Fatalf("%s: %v", when, err)
		}
		if err := keep(s, "a.warc", []byte("bytes")); !errors.Is(err, ErrNotMounted) {
			t.Fatalf("%s, it is stored elsewhere: %v", when, err)
		}
	}
	away("without the disk")
	if left, err := os.ReadDir(more); err != nil || len(left) > 0 {
		t.Fatalf("the empty folder now holds %v, %v", left, err)
	}
	if err := os.Remove(more); err != nil {
		t.Fatal(err)
	}
	away("without its folder")
	s, err := OpenStore(cfg, disk.New(), discard())
	if err != nil {
		t.Fatal(err)
	}
	mount()
	if err := s.Mounted(); !errors.Is(err, ErrNotMounted) || !strings.Contains(err.Error(), "next start") {
		t.Fatalf("mounted while the node runs: %v", err)
	}
	if err := keep(s, "a.warc", []byte("bytes")); !errors.Is(err, ErrNotMounted) {
		t.Fatalf("it is written before it was looked at: %v", err)
	}
	if s.Has("a.warc") {
		t.Fatal("it counts before it was looked at")
	}
	if err := s.Delete("a.warc"); !errors.Is(err, ErrNotMounted) || !isFile(s.Path("a.warc")) {
		t.Fatalf("it is deleted before it was looked at: %v", err)
	}
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

// TestANodeStartsWithoutOneOfItsDisks starts it while a disk is away: nothing that lies there is taken for gone, by no
// audit, and the rest works; when it is back at a start, all is as before.
func TestANodeStartsWithoutOneOfItsDisks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		north := c.node("north-1")
		one, two := filepath.Join(north.dir, "one"), filepath.Join(north.dir, "two")
		north.roots = []string{one, two}
		north.open()
		stop := c.run("north-1", "south-1")
		var names []catalog.FileName
		for i := range 12 {
			north.put(fileName(i), uint64(i), 1000)
			names = append(names, fileName(i))
		}
		c.complete(names...)
		sleep(t.Context(), time.Minute)
		var here, gone int
		for _, name := range names {
			if strings.HasPrefix(north.r.store.Path(name), two) {
				gone++
			} else {
				here++
			}
		}
		if here == 0 || gone == 0 {
			t.Fatalf("%d files on one disk, %d on the other", here, gone)
		}
		stop()
		mount := unmount(t, two)
		north.open()
		stop = c.run("north-1", "south-1")
		for _, name := range names {
			if len(north.get(name)) != 1000 {
				t.Errorf("%s cannot be read", name)
			}
		}
		started, err := north.r.StartAudit("", nil)
		if err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), 8*time.Hour) // strays are looked for, too
		if got, err := north.r.Audit(started.ID); err != nil || got.State != AuditIncomplete || got.Excepted > 0 || got.Faulty != gone || got.Files != int64(here) {
			t.Errorf("audit: %+v, %v", got, err)
		}
		report, err := north.r.Disks.Report()
		if err != nil || report.Disks[0].State+report.Disks[1].State != DiskInUse+DiskGone && report.Disks[0].State+report.Disks[1].State != DiskGone+DiskInUse {
			t.Errorf("disks: %+v, %v", report, err)
		}
		good := func(when string) {
			t.Helper()
			c.View(func(v catalog.View) error {
				for _, name := range names {
					if f, err := v.File(name); err != nil || !f.Copy("north").Good() {
						t.Errorf("%s: copy of %s: %+v, %v", when, name, f.Copy("north"), err)
					}
				}
				return nil
			})
		}
		good("while the disk is away")
		if left, err := os.ReadDir(two); err != nil || len(left) > 0 {
			t.Errorf("the mount point now holds %v, %v", left, err)
		}
		stop()
		mount()
		north.open()
		defer c.run("north-1", "south-1")()
		if got := north.audited(); got.State != AuditDone || got.Excepted > 0 || got.Files != int64(len(names)) {
			t.Errorf("audit after the disk came back: %+v", got)
		}
		good("after it came back")
	})
}

// TestAMovedShardWaitsForADiskThatIsAway moves a shard, and starts without the disk that it came from, and without the one
// that it went to: neither is given the shard by mistake.
func TestAMovedShardWaitsForADiskThatIsAway(t *testing.T) {
	t.Parallel()
	cfg := twoRoots(t.TempDir())
	s := openStore(t, cfg, disk.New())
	s.roots[0].promised = 1 << 50
	if err := keep(s, "a.warc", []byte("bytes")); err != nil {
		t.Fatal(err)
	}
	n, old, now := catalog.FileName("a.warc").Shard(), s.roots[1], s.roots[0]
	// As behind step 3 of a move: both have the folder, and the new one says where it came from.
	if err := os.CopyFS(now.folder(n), os.DirFS(old.folder(n))); err != nil {
		t.Fatal(err)
	}
	if err := writeMoved(disk.New(), now.folder(n), old); err != nil {
		t.Fatal(err)
	}
	mount := unmount(t, old.path)
	if s, err := OpenStore(cfg, disk.New(), discard()); err != nil || !s.Has("a.warc") || now.movedFrom(n) != old.mark {
		t.Fatalf("without the old disk: %v, moved from %q", err, now.movedFrom(n))
	}
	mount()
	if s, err := OpenStore(cfg, disk.New(), discard()); err != nil || !s.Has("a.warc") || s.shards.on(n).path != now.path {
		t.Fatalf("with both: %v", err)
	}
	if err := os.Rename(old.folder(n), old.left(n)); err != nil { // step 4
		t.Fatal(err)
	}
	mount = unmount(t, now.path)
	if s, err := OpenStore(cfg, disk.New(), discard()); err != nil || s.Has("a.warc") || !s.Away("a.warc") {
		t.Fatalf("without the new disk: %v", err)
	}
	if _, err := os.Lstat(old.left(n)); err != nil {
		t.Fatalf("the remains were taken back: %v", err)
	}
	mount()
	if s, err := OpenStore(cfg, disk.New(), discard()); err != nil || !s.Has("a.warc") || s.shards.on(n).path != now.path {
		t.Fatalf("with both again: %v", err)
	}
}

// TestFilesAreDeletedBesideADiskThatIsAway deletes files of two shards, the first of which lies on a disk that is away.
func TestFilesAreDeletedBesideADiskThatIsAway(t *testing.T) {
	t.Parallel()
	cfg := twoRoots(t.TempDir())
	s := openStore(t, cfg, disk.New())
	gone, here := catalog.FileName("a.warc"), catalog.FileName("b.warc")
	if gone.Shard() > here.Shard() {
		gone, here = here, gone
	}
	for i, name := range []catalog.FileName{here, gone} { // here on the first disk, gone on the second
		s.roots[0].promised, s.roots[1].promised = int64(i)<<50, int64(1-i)<<50
		if err := keep(s, string(name), []byte("bytes")); err != nil || s.shards.on(name.Shard()) != s.roots[i] {
			t.Fatal(err)
		}
	}
	mount := unmount(t, cfg.Roots[1])
	s, err := OpenStore(cfg, disk.New(), discard())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(gone, here); !errors.Is(err, ErrNotMounted) || !strings.Contains(err.Error(), string(gone)) {
		t.Errorf("what lies on the disk that is away: %v", err)
	}
	if isFile(s.Path(here)) {
		t.Error("the other file is still there")
	}
	mount()
	if s, err := OpenStore(cfg, disk.New(), discard()); err != nil || !s.Has(gone) || s.Has(here) {
		t.Errorf("when the disk is back: %v", err)
	}
}

// TestADiskThatCannotBeReadIsLeftOut makes the mark of a disk unreadable, and then the only other one.
func TestADiskThatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	cfg := twoRoots(t.TempDir())
	openStore(t, cfg, disk.New())
	spoil := func(path string) {
		t.Helper()
		mark := filepath.Join(path, MarkName)
		if err := os.Remove(mark); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(mark, 0o755); err != nil { // reading it fails
			t.Fatal(err)
		}
	}
	spoil(cfg.Roots[1])
	s, err := OpenStore(cfg, disk.New(), discard())
	if err != nil || !errors.Is(s.Mounted(), ErrNotMounted) || !strings.Contains(s.Mounted().Error(), cfg.Roots[1]) {
		t.Fatalf("one: %v, %v", err, s.Mounted())
	}
	spoil(cfg.Roots[0])
	if _, err := OpenStore(cfg, disk.New(), discard()); err == nil {
		t.Fatal("both: the node starts without any disk")
	}
}
