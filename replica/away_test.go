package replica

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// TestCopiesOnADiskThatIsAwayAreSaidToBe unmounts one of a node's two disks: the catalog counts its copies as before, and
// says how many of them nobody can read, until the disk is back. Nothing is told below the level.
func TestCopiesOnADiskThatIsAwayAreSaidToBe(t *testing.T) {
	t.Parallel()
	for _, level := range []int{files.LevelOfAway - 1, files.LevelOfAway} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, "north-1", "south-1")
			c.raiseTo(level)
			north := c.node("north-1")
			north.roots = []string{filepath.Join(north.dir, "one"), filepath.Join(north.dir, "two")}
			north.open()
			stop := c.run("north-1", "south-1")
			all := north.putSome(12, 1000)
			c.complete(all...)
			sleep(t.Context(), time.Minute)
			lost := filepath.Dir(filepath.Dir(north.r.store.Path(all[0])))
			on := int64(0)
			for _, name := range all {
				if filepath.Dir(filepath.Dir(north.r.store.Path(name))) == lost {
					on++
				}
			}
			away := func(when string, want int64) {
				t.Helper()
				if level < files.LevelOfAway {
					want = 0
				}
				c.View(func(v catalog.View) error {
					n, err := v.CopiesAway("north")
					south, err2 := v.CopiesAway("south")
					f, err3 := v.File(all[0])
					one, err4 := v.CopyAway(&f, f.Copy("north"))
					other, err5 := v.CopyAway(&f, f.Copy("south"))
					totals, err6 := v.Totals("north")
					if n != want || south != 0 || one != (want > 0) || other || totals.Good != 12 {
						t.Errorf("level %d, %s: %d and %d away, want %d; %t, %t, %+v", level, when, n, south, want, one, other, totals)
					}
					for _, err := range []error{err, err2, err3, err4, err5, err6} {
						if err != nil {
							t.Error(err)
						}
					}
					return nil
				})
			}
			away("all there", 0)
			mount := unmount(t, lost)
			sleep(t.Context(), time.Minute)
			away("unmounted", on)
			before := c.counts[files.NoteAway]
			sleep(t.Context(), time.Hour)
			if n := c.counts[files.NoteAway]; n != before {
				t.Errorf("told %d times more", n-before)
			}
			stop()
			north.open()
			stop = c.run("north-1", "south-1")
			sleep(t.Context(), time.Minute)
			away("after a restart", on)
			stop()
			mount()
			north.open()
			defer c.run("north-1", "south-1")()
			sleep(t.Context(), time.Minute)
			away("there again", 0)
		})
	}
}
