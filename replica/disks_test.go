package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// disksOf returns a cluster of two nodes, of which north-1 has several disks of a made-up size, with that many files
// on the first.
func disksOf(t *testing.T, disks, files int) (*cluster, *node, []catalog.FileName) {
	t.Helper()
	c := newCluster(t, "north-1", "south-1")
	north := c.node("north-1")
	north.roots = []string{filepath.Join(north.dir, "files")}
	for i := 1; i < disks; i++ {
		north.roots = append(north.roots, filepath.Join(north.dir, fmt.Sprint("disk", i)))
	}
	stop := c.run("north-1", "south-1") // with its first disk
	var names []catalog.FileName
	for i := range files {
		names = append(names, fileName(i))
		c.node("south-1").put(fileName(i), uint64(i), 5000)
	}
	c.complete(names...)
	stop()
	north.open()
	north.sized(100_000)
	return c, north, names
}

// sized makes the node's disks so large, with nothing on them but what the archive has there.
func (n *node) sized(total int64) {
	n.r.store.free = func(path string) (uint64, uint64, error) {
		used := int64(0)
		err := filepath.WalkDir(path, func(_ string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == ManifestName {
				return nil
			}
			if info, err := e.Info(); err == nil {
				used += info.Size()
			}
			return nil
		})
		return uint64(max(total-used, 0)), uint64(total), err
	}
}

// state returns how the disk with the number stands.
func (n *node) state(number int) DiskState {
	n.t.Helper()
	report, err := n.r.Disks.Report()
	if err != nil {
		n.t.Fatal(err)
	}
	return report.Disks[number]
}

// sound audits all nodes and demands that every file is right, everywhere, and counted once.
func (c *cluster) sound(files int) {
	c.t.Helper()
	for _, n := range c.nodes {
		if got := n.audited(); got.State != AuditDone || got.Excepted > 0 || got.Unknowns > 0 ||
			got.Files != int64(files) {
			c.t.Errorf("audit of %s: %+v", n.replica, got)
		}
		checkManifests(c.t, n.r.store)
	}
}

// TestADiskIsDrainedAndTakenAway empties a disk while the node works, over a restart, and starts the node without it.
func TestADiskIsDrainedAndTakenAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, names := disksOf(t, 2, 8)
		stop := c.run("north-1", "south-1")
		first := north.roots[0]
		if _, err := north.r.Disks.Drain(filepath.Join(north.dir, "other")); !errors.Is(err, ErrNoDisk) {
			t.Errorf("an unknown disk: %v", err)
		}
		if _, err := north.r.Disks.Drain(first); err != nil {
			t.Fatal(err)
		}
		if _, err := north.r.Disks.Drain(north.roots[1]); !errors.Is(err, ErrLastDisk) {
			t.Errorf("the last disk: %v", err)
		}
		sleep(t.Context(), 20*time.Second)
		stop()
		north.open()
		north.sized(100_000)
		stop = c.run("north-1", "south-1")
		sleep(t.Context(), 30*time.Minute)
		if got := north.state(0); got.State != DiskEmptied || got.Shards != 0 {
			t.Fatalf("after the drain: %+v", got)
		}
		c.node("south-1").put(fileName(100), 100, 5000)
		c.complete(fileName(100))
		c.sound(len(names) + 1)
		if err := os.RemoveAll(first); err != nil { // while the node runs
			t.Fatal(err)
		}
		if gone, got := north.r.store.Mounted(), north.state(0); gone != nil || got.State != DiskEmptied || got.Why != "" {
			t.Errorf("an emptied disk that is taken away is missed: %v, %+v", gone, got)
		}
		sleep(t.Context(), time.Hour)
		c.sound(len(names) + 1)
		stop()
		north.open() // still in the settings: not used, and no empty folder is taken for a disk
		if got := north.state(1); got.Path != first || got.State != DiskGone {
			t.Errorf("an emptied disk that is gone: %+v", got)
		}
		if _, err := os.Stat(first); err == nil {
			t.Error("its folder was made again")
		}
		north.roots = north.roots[1:]
		north.open()
		north.sized(100_000)
		if text, err := os.ReadFile(filepath.Join(north.dir, "disks.json")); err != nil || bytes.Contains(text,
			[]byte(first)) {
			t.Errorf("what is asked of disks still has the old one: %s, %v", text, err)
		}
		defer c.run("north-1", "south-1")()
		sleep(t.Context(), time.Hour)
		c.sound(len(names) + 1)
		if problems := north.r.store.Mounted(); problems != nil {
			t.Error(problems)
		}
	})
}

// TestADiskThatIsNotEmptiedIsMissed takes a disk out of the settings while it is being emptied.
func TestADiskThatIsNotEmptiedIsMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, north, _ := disksOf(t, 2, 2)
		if _, err := north.r.Disks.Drain(north.roots[0]); err != nil {
			t.Fatal(err)
		}
		cfg := north.storeConfig()
		cfg.Roots = cfg.Roots[1:]
		if _, err := OpenStore(cfg, disk.New(), discard()); !errors.Is(err, ErrNotMounted) ||
			!strings.Contains(err.Error(), "disk drain") {
			t.Errorf("without a disk that is not emptied: %v", err)
		}
	})
}

// TestANewDiskFillsUp adds a disk beside one that is nearly full: shards move until both are evenly full, and then
// no more.
func TestANewDiskFillsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, names := disksOf(t, 2, 16) // 80 of 100 kB
		defer c.run("north-1", "south-1")()
		sleep(t.Context(), time.Hour)
		report, err := north.r.Disks.Report()
		if err != nil || report.Moved < 6 || report.Moved > 8 || report.Balancing ||
			report.Disks[1].Shards != report.Moved {
			t.Fatalf("%+v, %v", report, err)
		}
		moved := report.Moved
		sleep(t.Context(), 24*time.Hour)
		if report, err := north.r.Disks.Report(); err != nil || report.Moved != moved {
			t.Errorf("it goes on: %+v, %v", report, err)
		}
		c.sound(len(names))
	})
}

// TestMovesCanBePausedAndStopped pauses the moves, over a restart too, and takes a drain back.
func TestMovesCanBePausedAndStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, names := disksOf(t, 2, 4)
		if _, err := north.r.Disks.Pause(); err != nil {
			t.Fatal(err)
		}
		if _, err := north.r.Disks.Drain(north.roots[0]); err != nil {
			t.Fatal(err)
		}
		north.open()
		north.sized(100_000)
		defer c.run("north-1", "south-1")()
		sleep(t.Context(), time.Hour)
		if report, err := north.r.Disks.Report(); err != nil || !report.Paused || report.Moved > 0 ||
			report.Disks[0].State != DiskDraining {
			t.Fatalf("paused: %+v, %v", report, err)
		}
		slow(north)
		if _, err := north.r.Disks.Resume(); err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), 3*time.Second)
		report, err := north.r.Disks.Report()
		if err != nil || report.Move == nil || report.Move.TotalFiles != 1 {
			t.Fatalf("no move is under way: %+v, %v", report, err)
		}
		if report, err = north.r.Disks.Undrain(north.roots[0]); err != nil {
			t.Fatal(err)
		}
		sleep(t.Context(), 2*time.Hour)
		if report, err = north.r.Disks.Report(); err != nil || report.Move != nil ||
			report.Disks[0].State != DiskInUse || report.Disks[0].Shards == 0 {
			t.Errorf("after the drain was taken back: %+v, %v", report, err)
		}
		if left, err := north.r.store.roots[1].stagings(); err != nil || len(left) > 0 {
			t.Errorf("copied and not used: %v, %v", left, err)
		}
		c.sound(len(names))
	})
}

// slow makes reads for moves between disks, and audits, wait for 1 kB/s.
func slow(n *node) { n.r.Disks.limit = newLimiter(1000) }

// TestAWrongCopyIsRepairedBeforeItMoves flips a bit on the disk that is to be emptied: the copy is set aside and
// fetched again from another node, and then the shard moves.
func TestAWrongCopyIsRepairedBeforeItMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, north, names := disksOf(t, 2, 4)
		flip(t, north.r.store.Path(names[2]))
		defer c.run("north-1", "south-1")()
		if _, err := north.r.Disks.Drain(north.roots[0]); err != nil {
			t.Fatal(err)
		}
		c.disputed(names[2], "north")
		c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: names[2], Replica: "north",
			Bad: true, Votes: "2:1"}}})
		sleep(t.Context(), 3*time.Hour)
		if got := north.state(0); got.State != DiskEmptied {
			t.Errorf("%+v", got)
		}
		if !bytes.Equal(read(t, north.r.store, string(names[2])), content(2, 5000)) {
			t.Error("the copy was not repaired")
		}
		c.sound(len(names))
	})
}

// TestATargetThatFailsStopsTheMoveCleanly lets the new disk be full, not give back what was written, and go away in the
// middle, and the old one too.
func TestATargetThatFailsStopsTheMoveCleanly(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"full", "unreadable", "gone", "source gone"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, north, names := disksOf(t, 2, 4)
				slow(north)
				var refuses atomic.Bool // what is written to the second disk cannot be read back
				north.r.store.open = func(path string) (*Bytes, error) {
					if refuses.Load() && strings.Contains(path, movingMark) {
						return nil, errBroken
					}
					return openBytes(path)
				}
				defer c.run("north-1", "south-1")()
				if _, err := north.r.Disks.Drain(north.roots[0]); err != nil {
					t.Fatal(err)
				}
				heal := breakDisk(t, north, how, &refuses)
				sleep(t.Context(), 2*time.Hour)
				report, err := north.r.Disks.Report()
				if err != nil || report.Disks[0].State == DiskEmptied ||
					report.Disks[0].Why+report.Disks[1].Why == "" {
					t.Fatalf("%+v, %v", report, err)
				}
				heal()
				sleep(t.Context(), 4*time.Hour)
				if got := north.state(0); got.State != DiskEmptied {
					t.Errorf("after the disk was well again: %+v", got)
				}
				c.sound(len(names))
			})
		})
	}
}

// breakDisk breaks the second disk of the node, or the first, in the middle of the second shard's move.
func breakDisk(t *testing.T, n *node, how string, refuses *atomic.Bool) (heal func()) {
	t.Helper()
	sleep(t.Context(), 8*time.Second)
	s := n.r.store
	switch how {
	case "full":
		s.roots[1].promise(1 << 50)
		return func() { s.roots[1].promise(-1 << 50) }
	case "unreadable":
		refuses.Store(true)
		return func() { refuses.Store(false) }
	case "gone":
		return unmount(t, s.roots[1].path)
	}
	return unmount(t, s.roots[0].path)
}

// TestNewFilesGoBeforeMoves: while other copies are made, a move takes an eighth of the time.
func TestNewFilesGoBeforeMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &Disks{busy: func() bool { return true }}
		began := time.Now()
		if err := d.rest(t.Context(), 2*time.Second); err != nil || time.Since(began) != 14*time.Second {
			t.Errorf("it waits for %v, %v", time.Since(began), err)
		}
		d.busy = func() bool { return false }
		began = time.Now()
		if err := d.rest(t.Context(), 2*time.Second); err != nil || time.Since(began) != 0 {
			t.Errorf("it waits for %v, %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if d.rest(ctx, time.Second) == nil {
			t.Error("it goes on though it was stopped")
		}
	})
}

// TestAnEmptiedDiskHasNothingLeft moves what was set aside to another disk, drops parts, and puts no new shard on
// a disk that is to be emptied.
func TestAnEmptiedDiskHasNothingLeft(t *testing.T) {
	t.Parallel()
	s, names := onTwoDisks(t, t.TempDir(), disk.New(), 3, 3000)
	first := s.roots[0]
	for _, f := range []*string{&first.incoming, &first.quarantine} { // as on a disk of its own
		*f = filepath.Join(first.path, filepath.Base(*f))
		if err := os.Mkdir(*f, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Quarantine(catalog.FileName(names[2]), "it was wrong"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(first.incoming, names[2]+partSuffix), []byte("part"), 0o644); err != nil {
		t.Fatal(err)
	}
	first.draining.Store(true)
	for n := range catalog.Shard(64) {
		if r, release, err := s.claim(n, 1); err != nil || r == first && n != catalog.FileName(names[0]).Shard() {
			t.Fatalf("shard %s went to %s, %v", n, r.path, err)
		} else {
			release()
		}
	}
	if left, err := (emptying{s, first}).run(t.Context()); err != nil || !strings.Contains(left, "1 shards") {
		t.Errorf("before its shards have moved: %q, %v", left, err)
	}
	if err := moveTo(s, names, 3000, 1).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := (emptying{s, first}).run(t.Context()); err != nil || left == "" {
		t.Errorf("before it is cleared: %q, %v", left, err)
	}
	clearAll(t, s)
	if left, err := (emptying{s, first}).run(t.Context()); err != nil || left != "" {
		t.Errorf("at the end: %q, %v", left, err)
	}
	for _, dir := range []string{first.incoming, first.quarantine} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s holds %v, %v", dir, left, err)
		}
	}
	aside, err := filepath.Glob(filepath.Join(s.roots[1].quarantine, names[2]+".*"))
	if err != nil || len(aside) != 2 {
		t.Fatal(aside, err)
	}
	if b, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(b, content(2, 3000)) {
		t.Error("what was set aside has changed on the way")
	}
}

// TestCopiesLeaveRoomForTheOutbox compares the room for copies on the outbox's disk and on another.
func TestCopiesLeaveRoomForTheOutbox(t *testing.T) {
	t.Parallel()
	cfg := storeConfig(t.TempDir())
	cfg.Reserve = 100
	s := openStore(t, cfg, disk.New())
	for total, want := range map[uint64]int64{10_000: 1000 - 100 - 200, 1 << 50: 1000 - 100 - outboxMost} {
		s.free = func(string) (uint64, uint64, error) { return 1000, total, nil }
		if room, err := s.room(s.roots[0]); err != nil || room != want {
			t.Errorf("on a disk of %d: room for %d, %v, want %d", total, room, err, want)
		}
	}
	s.roots[0].besideOutbox = false
	if room, err := s.room(s.roots[0]); err != nil || room != 900 {
		t.Errorf("on another disk: room for %d, %v", room, err)
	}
}
