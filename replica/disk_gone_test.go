package replica

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// judging judges disputed copies as a leader would: bad, if another node has good bytes.
func (c *cluster) judging() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sleep(ctx, 10*time.Second) == nil {
			var bad []catalog.Verdict
			err := c.View(func(v catalog.View) error {
				files, err := v.Disputed("", 1000)
				for _, f := range files {
					if holders, err := v.CoveringFile(&f); err != nil || len(holders) == 0 {
						continue
					}
					for _, one := range f.Copies {
						if one.Disputed {
							bad = append(bad, catalog.Verdict{Name: f.Name, Replica: one.Replica, Bad: true})
						}
					}
				}
				return err
			})
			if err != nil {
				c.t.Error(err)
			}
			if len(bad) > 0 {
				c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: bad})
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// withDisks returns a cluster of two nodes, of which north-1 has two disks and gives up one that is away for a day, with
// 12 files on both, and the names on its second disk.
func withDisks(t *testing.T, d disk.Disk) (c *cluster, north *node, all, second []catalog.FileName) {
	t.Helper()
	c = newCluster(t, "north-1", "south-1")
	north = c.node("north-1")
	north.config.DiskGrace, north.disk = 24*time.Hour, d
	north.roots = []string{filepath.Join(north.dir, "one"), filepath.Join(north.dir, "two")}
	north.open()
	north.sized(1_000_000)
	stop := c.run("north-1", "south-1")
	for i := range 12 {
		all = append(all, fileName(i))
		c.node("south-1").put(fileName(i), uint64(i), 1000)
	}
	c.complete(all...)
	sleep(t.Context(), time.Minute)
	stop()
	for _, name := range all {
		if strings.HasPrefix(north.r.store.Path(name), north.roots[1]) {
			second = append(second, name)
		}
	}
	if len(second) == 0 || len(second) == len(all) {
		t.Fatalf("%d of %d files are on the second disk", len(second), len(all))
	}
	return c, north, all, second
}

// good counts the files of which the catalog counts on north's copy.
func (c *cluster) good(names []catalog.FileName) (n int) {
	c.t.Helper()
	err := c.View(func(v catalog.View) error {
		for _, name := range names {
			f, err := v.File(name)
			if err != nil {
				return err
			}
			if f.Copy("north").Good() {
				n++
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// TestADiskThatStaysAwayIsMadeAgain starts a node without one of its disks. For a day nothing is given up; then its
// files are copied again to the other disk, and when it is back, nothing is there twice.
func TestADiskThatStaysAwayIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, second := withDisks(t, disk.New())
		mount := unmount(t, north.roots[1])
		start := func() (stop func()) {
			north.open()
			north.sized(1_000_000)
			return c.run("north-1", "south-1")
		}
		stop := start()
		defer c.judging()()
		sleep(t.Context(), 20*time.Hour)
		stop() // what was counted outlives a start
		sleep(t.Context(), 100*time.Hour)
		stop = start()
		sleep(t.Context(), 3*time.Hour)
		if got := north.state(1); c.good(all) != len(all) || got.State != DiskGone || got.Shards != len(second) ||
			!strings.Contains(got.Why, "after 24h0m0s") {
			t.Errorf("before the time is over: %d good, %+v", c.good(all), got)
		}
		sleep(t.Context(), 3*time.Hour)
		if got := north.state(1); got.State != DiskGone || got.Shards != 0 || !strings.Contains(got.Why, "given up") {
			t.Errorf("given up: %+v", got)
		}
		if got := north.audited(); got.State != AuditDone || got.Files != int64(len(all)) || got.Excepted > 0 {
			t.Errorf("audit: %+v", got)
		}
		stop()
		stop = start() // without the disk still
		sleep(t.Context(), time.Hour)
		if got := north.audited(); got.State != AuditDone || got.Files != int64(len(all)) || c.good(all) != len(all) {
			t.Errorf("audit after another start: %+v", got)
		}
		stop()
		mount()
		defer start()()
		sleep(t.Context(), 3*time.Hour)
		for _, name := range second {
			if r := north.r.store.shards.on(name.Shard()); r == nil || r.path != north.roots[0] {
				t.Errorf("%s is on %+v", name, r)
			}
			if path := filepath.Join(north.roots[1], name.Shard().String()); exists(path) {
				t.Errorf("%s is still there", path)
			}
		}
		if got := north.state(1); got.State != DiskInUse || got.Why != "" {
			t.Errorf("the disk that is back: %+v", got)
		}
		if strays, err := north.r.Strays(), north.r.straysFault(); len(strays) > 0 || err != "" {
			t.Errorf("strays: %+v, %v", strays, err)
		}
		c.sound(len(all))
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestADiskThatIsBackInTimeIsUsed takes a disk away twice while the node works, each time for less than the grace time:
// nothing is made again.
func TestADiskThatIsBackInTimeIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, second := withDisks(t, disk.New())
		defer c.run("north-1", "south-1")()
		defer c.judging()()
		for range 2 {
			mount := unmount(t, north.roots[1])
			sleep(t.Context(), 20*time.Hour)
			mount()
			sleep(t.Context(), time.Hour)
		}
		if got := north.state(1); got.State != DiskInUse || got.Shards != len(second) || got.Why != "" {
			t.Errorf("%+v", got)
		}
		if asked, _ := north.r.store.asked.look(); len(asked.Gone) > 0 {
			t.Errorf("it is missed still: %+v", asked.Gone)
		}
		c.sound(len(all))
	})
}

// TestTheLastGoodBytesAreOnADiskThatComesBack gives up a disk that has the only good copy of a file, and lets it come
// back while the node works, before another file of it could be copied again: what nobody else has is offered and used,
// and what others have stays on the disk until it is copied.
func TestTheLastGoodBytesAreOnADiskThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, second := withDisks(t, disk.New())
		only := second[0]
		stop := c.run("north-1")
		c.node("south-1").setDown(true)
		c.must(catalog.FindCopies, catalog.Findings{Node: nodeID("south-1"), Files: []catalog.Finding{missingFinding(only)}})
		c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: only, Replica: "south", Bad: true}}})
		if err := c.node("south-1").r.store.Quarantine(only, "test"); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(c.node("south-1").dir, "quarantine")); err != nil {
			t.Fatal(err)
		}
		defer func() { stop() }()
		defer c.judging()()
		mount := unmount(t, north.roots[1])
		sleep(t.Context(), 26*time.Hour)
		if n := c.good(all); n != len(all)-len(second) {
			t.Errorf("%d copies count as good while %d are on the disk that is given up", n, len(second))
		}
		mount()
		sleep(t.Context(), 3*time.Hour)
		if c.good([]catalog.FileName{only}) != 1 {
			t.Error("the bytes that nobody else has are not used")
		}
		for _, name := range second[1:] {
			if !exists(filepath.Join(north.roots[1], leftMark+name.Shard().String(), string(name))) {
				t.Errorf("%s does not wait on the disk that is back", name)
			}
		}
		if err := os.Mkdir(filepath.Join(c.node("south-1").dir, "quarantine"), 0o755); err != nil {
			t.Fatal(err)
		}
		c.node("south-1").setDown(false)
		defer c.run("south-1")()
		sleep(t.Context(), 12*time.Hour)
		c.sound(len(all))
		if left := north.r.store.left.list(); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
	})
}

// TestShardsWithoutRoomWait gives up a disk while the other has room for only some of its files: the rest waits, is
// counted and said, and is used when the disk is back.
func TestShardsWithoutRoomWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, second := withDisks(t, disk.New())
		room := int64(len(all)-len(second)+1) * 1000 // for one more
		north.sized(room)
		stop := c.run("north-1", "south-1")
		defer c.judging()()
		mount := unmount(t, north.roots[1])
		sleep(t.Context(), 30*time.Hour)
		got := north.state(1)
		if got.Shards != len(second)-1 || !strings.Contains(got.Why, "no other disk has room") || c.good(all) != len(all) {
			t.Errorf("%+v, %d good", got, c.good(all))
		}
		if n, next := north.r.Disks.Lacking(100); n != len(second)-1 || len(next) != n {
			t.Errorf("others are asked to take %v of %d", next, n)
		}
		stop()
		mount()
		north.open()
		defer c.run("north-1", "south-1")()
		sleep(t.Context(), 3*time.Hour)
		c.sound(len(all))
		if n, next := north.r.Disks.Lacking(100); n+len(next) > 0 {
			t.Errorf("others are still asked to take %v of %d", next, n)
		}
	})
}

// TestGivingAShardAwaySurvivesACrashAnywhere cuts the power at each step, and starts without the disk and with it.
func TestGivingAShardAwaySurvivesACrashAnywhere(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} { // the other disk still has what it had before the shard moved away
		for step := 1; ; step++ {
			twin := disk.NewFaulty(t.TempDir())
			s, names := onTwoDisks(t, t.TempDir(), twin.Disk(), 2, 3000)
			n, name := catalog.FileName(names[0]).Shard(), catalog.FileName(names[0])
			from, to := s.roots[0], s.roots[1]
			if moved {
				if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
					t.Fatal(err)
				}
				from, to = to, from
			}
			mount := unmount(t, from.path)
			twin.FailAt(step, nil)
			done, err := s.left.giveTo(n, from, to)
			twin.FailAt(0, nil)
			if err := twin.Crash(); err != nil {
				t.Fatal(err)
			}
			s = reopen(t, s, disk.New())
			on := s.shards.on(n)
			switch {
			case on.path == from.path && (done || !s.Away(name)), on.path == to.path && s.Has(name) != moved:
				t.Fatalf("step %d, moved %v: done %v, %v; it is on %s", step, moved, done, err, on.path)
			}
			mount()
			s = reopen(t, s, disk.New()) // never refused because of two folders
			if again := s.shards.on(n); done && again.path != to.path || again.path == from.path && !s.Has(name) {
				t.Fatalf("step %d, moved %v: with the disk again it is on %s", step, moved, again.path)
			}
			for _, one := range names {
				if !s.Has(catalog.FileName(one)) && !exists(filepath.Join(from.folder(n), one)) {
					t.Fatalf("step %d, moved %v: %s is nowhere", step, moved, one)
				}
			}
			if err == nil && done {
				break
			}
		}
	}
}

// TestOnlyAGoneDiskIsGivenUp tries it with a disk that is there, and with one that a file is coming to.
func TestOnlyAGoneDiskIsGivenUp(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 2, 3000)
	n := catalog.FileName(names[0]).Shard()
	if done, err := s.left.giveTo(n, s.roots[0], s.roots[1]); done || err != nil {
		t.Errorf("a disk that is there: %v, %v", done, err)
	}
	_, release, err := s.claim(n, 1)
	if err != nil {
		t.Fatal(err)
	}
	mount := unmount(t, s.roots[0].path)
	defer mount()
	if done, err := s.left.giveTo(n, s.roots[0], s.roots[1]); done || err != nil {
		t.Errorf("while a file comes: %v, %v", done, err)
	}
	release()
	defer unmount(t, s.roots[1].path)()
	if done, err := s.left.giveTo(n, s.roots[0], s.roots[1]); done || !errors.Is(err, ErrNotMounted) {
		t.Errorf("to a disk that is gone as well: %v, %v", done, err)
	}
}

// TestADiskThatIsBackBeforeAnythingWasReported gives the shards of a disk to the other one, and stops before the catalog
// hears of it; the disk is back at the next start. What others have is copied again, and nothing is set aside.
func TestADiskThatIsBackBeforeAnythingWasReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, all, second := withDisks(t, disk.New())
		mount := unmount(t, north.roots[1])
		north.open()
		for _, name := range second {
			s := north.r.store
			if done, err := s.left.giveTo(name.Shard(), s.roots[1], s.roots[0]); !done || err != nil {
				t.Fatal(done, err)
			}
		}
		mount()
		north.open()
		north.sized(1_000_000)
		defer c.run("north-1", "south-1")()
		defer c.judging()()
		sleep(t.Context(), 3*time.Hour)
		c.sound(len(all))
		for _, dir := range north.r.store.quarantines() {
			if names, err := folderNames(dir); err != nil || len(names) > 0 {
				t.Errorf("set aside: %v, %v", names, err)
			}
		}
		if left := north.r.store.left.list(); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
	})
}

// TestWhatWasLeftIsReadSoon gives a shard back to the disk that it had moved away from: its files are read back as new ones
// are, and no proof of the bytes on the disk that is gone counts.
func TestWhatWasLeftIsReadSoon(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 2, 3000)
	n := catalog.FileName(names[0]).Shard()
	if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for { // those that came just now
		name, _, due := s.fresh.next(time.Now().Add(freshAfter + time.Minute))
		if !due {
			break
		}
		t.Log(name)
	}
	defer unmount(t, s.roots[1].path)()
	if done, err := s.left.giveTo(n, s.roots[1], s.roots[0]); !done || err != nil {
		t.Fatal(done, err)
	}
	waits := map[catalog.FileName]bool{}
	for {
		name, _, due := s.fresh.next(time.Now().Add(freshAfter + time.Minute))
		if !due {
			break
		}
		waits[name] = true
	}
	if len(waits) != len(names) {
		t.Errorf("to be read: %v", waits)
	}
	p := newProved()
	h := heldOf(names[0], content(0, 3000))
	if p.add(h); !p.has(h) {
		t.Error("not proved")
	}
	if p.forget(n); p.has(h) {
		t.Error("proved still")
	}
}
