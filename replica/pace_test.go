package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestSmallFilesObeyTheBandwidth copies 64 files of 64 KiB, 4 MiB in all, at 256 KiB/s: each is less than one block.
func TestSmallFilesObeyTheBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		south := c.node("south-1")
		south.config.Bandwidth = 256 << 10
		south.open()
		var names []catalog.FileName
		for i, name := range series("small", 64) {
			c.node("north-1").put(name, uint64(i), 64<<10)
			names = append(names, name)
		}
		defer c.run("north-1", "south-1")()
		began := time.Now()
		c.complete(names...)
		if took := time.Since(began); took < 14*time.Second {
			t.Errorf("4 MiB at 256 KiB/s came in %v", took)
		}
	})
}
