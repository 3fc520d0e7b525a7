package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestSmallFilesObeyTheBandwidth copies 64 files of 64 KiB, 4 MiB in all, at 256 KiB/s: each is less than one block. Either
// the node that copies has that limit, or the one that gives.
func TestSmallFilesObeyTheBandwidth(t *testing.T) {
	t.Run("taken", func(t *testing.T) { copySmall(t, "south-1", func(c *Config) { c.Bandwidth = 256 << 10 }) })
	t.Run("given", func(t *testing.T) { copySmall(t, "north-1", func(c *Config) { c.Giving = 256 << 10 }) })
}

func copySmall(t *testing.T, name string, limit func(*Config)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		limit(&c.node(name).config)
		c.node(name).open()
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
