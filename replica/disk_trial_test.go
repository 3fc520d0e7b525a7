package replica

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/disk"
)

// TestAReadOnlyDiskServesAndIsEmptied lets a disk take no writes while the node works: it is read and audited as before,
// gets no file, and its shards move to the other disk when that lasts for longer than the grace time; also over a start.
func TestAReadOnlyDiskServesAndIsEmptied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		twin := disk.NewFaulty(t.TempDir())
		c, north, all, second := withDisks(t, twin.Disk())
		start := func() (stop func()) {
			north.open()
			north.sized(1_000_000)
			return c.run("north-1", "south-1")
		}
		stop := start()
		twin.Refuse(north.roots[1], syscall.EROFS)
		for i := 24; i < 36; i++ { // some of them would come to that disk, before a trial tells that it takes no writes
			c.node("south-1").put(fileName(i), uint64(i), 1000)
			all = append(all, fileName(i))
		}
		sleep(t.Context(), 10*time.Minute)
		if got := north.state(1); got.State != DiskReadOnly || got.Shards != len(second) ||
			!strings.Contains(got.Why, "read-only file system") || !strings.Contains(got.Why, "after 24h0m0s") {
			t.Errorf("read-only: %+v", got)
		}
		if north.r.Disks.Takes(north.roots[1]) || !north.r.Disks.Takes(north.roots[0]) {
			t.Error("its room counts")
		}
		for i := 12; i < 24; i++ {
			c.node("south-1").put(fileName(i), uint64(i), 1000)
		}
		sleep(t.Context(), 20*time.Minute)
		for i := 12; i < 24; i++ {
			if strings.HasPrefix(north.r.store.Path(fileName(i)), north.roots[1]) {
				t.Errorf("%s is to come to the disk that takes no writes", fileName(i))
			}
			all = append(all, fileName(i))
		}
		c.complete(all...)
		for _, name := range second {
			if !north.r.store.Has(name) || len(north.get(name)) != 1000 {
				t.Errorf("%s is not served", name)
			}
		}
		c.sound(len(all))
		stop()
		stop = start() // it does not keep the node from starting
		sleep(t.Context(), 26*time.Hour)
		if got := north.state(1); got.State != DiskReadOnly || got.Shards > 0 || !strings.Contains(got.Why, "move to other") {
			t.Errorf("after the grace time: %+v", got)
		}
		c.sound(len(all))
		stop()
		defer start()()
		sleep(t.Context(), time.Hour)
		for _, name := range second {
			if path := north.r.store.Path(name); !strings.HasPrefix(path, north.roots[0]) {
				t.Errorf("after a start, %s is at %s", name, path)
			}
		}
		twin.Refuse(north.roots[1], nil)
		sleep(t.Context(), 3*time.Hour)
		if got := north.state(1); got.State != DiskInUse || got.Why != "" || len(north.r.store.left.list()) > 0 {
			t.Errorf("when it takes writes again: %+v, left %v", got, north.r.store.left.list())
		}
		c.sound(len(all))
	})
}

// TestADiskThatCannotBeWrittenIsToldFromOthers has a full disk, one on which bytes cannot be read, and one that is well.
func TestADiskThatCannotBeWrittenIsToldFromOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		twin := disk.NewFaulty(t.TempDir())
		c, north, _, second := withDisks(t, twin.Disk())
		north.open()
		north.sized(1_000_000)
		defer c.run("north-1", "south-1")()
		twin.Refuse(north.roots[1], syscall.ENOSPC)
		sleep(t.Context(), 10*time.Minute)
		if got := north.state(1); got.State != DiskInUse || got.Why != "" {
			t.Errorf("a full disk: %+v", got)
		}
		twin.Refuse(north.roots[1], nil)
		if exists(filepath.Join(north.roots[1], trialName)) {
			t.Error("the trial leaves a file")
		}
		var broken atomic.Bool
		north.r.store.open = func(path string) (*Bytes, error) {
			if broken.Load() && strings.HasSuffix(path, string(second[0])) && strings.HasPrefix(path, north.roots[1]) {
				return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EIO}
			}
			return openBytes(path)
		}
		broken.Store(true)
		if got := north.audited(); got.Excepted != 1 {
			t.Errorf("audit: %+v", got)
		}
		if got := north.state(1); got.State != DiskInUse || !strings.Contains(got.Why, "input/output error") {
			t.Errorf("a disk on which bytes cannot be read: %+v", got)
		}
		if got := north.state(0); got.Why != "" {
			t.Errorf("the other disk: %+v", got)
		}
		broken.Store(false)
		sleep(t.Context(), 25*time.Hour)
		if got := north.state(1); got.Why != "" {
			t.Errorf("a day later: %+v", got)
		}
	})
}

// TestAReadOnlyDiskWithoutRoomElsewhereIsOffered has a disk that takes no writes, and another without room: other nodes
// are told of the shards.
func TestAReadOnlyDiskWithoutRoomElsewhereIsOffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		twin := disk.NewFaulty(t.TempDir())
		c, north, all, second := withDisks(t, twin.Disk())
		north.open()
		north.sized(int64(len(all)-len(second)) * 1000)
		defer c.run("north-1", "south-1")()
		twin.Refuse(north.roots[1], syscall.EROFS)
		sleep(t.Context(), 20*time.Hour)
		if n, _ := north.r.Disks.Lacking(100); n > 0 {
			t.Errorf("before the grace time: %d", n)
		}
		sleep(t.Context(), 6*time.Hour)
		if n, next := north.r.Disks.Lacking(100); n != len(second) || len(next) != n {
			t.Errorf("%v of %d", next, n)
		}
		c.sound(len(all))
	})
}
