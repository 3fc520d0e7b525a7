package replica

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// orphan is a cluster in which a file has entered of which only north-2, which holds no shards, has the bytes.
func orphan(t *testing.T, level int) (c *cluster, name catalog.FileName, b []byte) {
	t.Helper()
	c = newCluster(t, "north-1", "south-1", "north-2", "south-2")
	if level > 1 {
		c.raiseTo(level)
	}
	name = fileName(1)
	b = c.node("north-2").put(name, 1, 1000)
	return c, name, b
}

// lose lets the disk lose what the node has in its outbox under the name.
func (n *node) lose(name catalog.FileName) {
	n.t.Helper()
	if err := errors.Join(os.Remove(n.r.store.outboxPath(name)), os.Remove(n.r.store.notePath(name))); err != nil {
		n.t.Fatal(err)
	}
}

// TestAFileThatIsPutAgainGetsASourceThatCanServe puts a file again whose only source is not reached, or has lost its bytes. The
// node that has them now becomes the source, and the file is completed without the old one.
func TestAFileThatIsPutAgainGetsASourceThatCanServe(t *testing.T) {
	for what, fail := range map[string]func(*node, catalog.FileName){
		"the source is not reached":      func(n *node, _ catalog.FileName) { n.setDown(true) },
		"the source has lost its outbox": (*node).lose,
	} {
		for again, node := range map[string]string{"at a holder": "south-1", "at another node": "south-2"} {
			t.Run(what+" "+again, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, name, b := orphan(t, takeLevel)
					fail(c.node("north-2"), name)
					defer c.run("north-1", "south-1", "south-2")()
					sleep(t.Context(), time.Hour)
					if !c.sourced(name, "north-2") {
						t.Fatal("nobody has the bytes, and the source has changed")
					}
					if !bytes.Equal(c.node(node).put(name, 1, 1000), b) {
						t.Fatal("other bytes")
					}
					c.complete(name)
					for _, holder := range []string{"north-1", "south-1"} {
						if !bytes.Equal(read(t, c.node(holder).r.store, string(name)), b) {
							t.Errorf("%s has other bytes", holder)
						}
					}
				})
			})
		}
	}
}

// TestTheOldSourceKeepsItsBytes brings the old source back: before the file is complete, with the new source gone, it takes its
// place back; afterwards it releases what it has. It is never released while the file is not complete.
func TestTheOldSourceKeepsItsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, name, b := orphan(t, takeLevel)
		old, next := c.node("north-2"), c.node("south-2")
		old.setDown(true)
		stop := c.run("south-2")
		next.put(name, 1, 1000)
		sleep(t.Context(), 5*time.Minute)
		if !c.sourced(name, "south-2") {
			t.Fatal("the source was not taken over")
		}
		stop()
		next.setDown(true)
		old.setDown(false)
		defer c.run("north-2")()
		sleep(t.Context(), 30*time.Minute)
		if !old.r.store.InOutbox(name) || !next.r.store.InOutbox(name) {
			t.Fatal("bytes were deleted while no copy is good")
		}
		if !c.sourced(name, "north-2") {
			t.Fatal("the old source is back, and does not offer its bytes")
		}
		defer c.run("north-1", "south-1")()
		c.complete(name)
		next.setDown(false)
		defer c.run("south-2")()
		sleep(t.Context(), time.Hour)
		for _, n := range []*node{old, next} {
			if n.r.store.InOutbox(name) {
				t.Error("an outbox still has the file after it is complete")
			}
		}
		if !bytes.Equal(read(t, c.node("north-1").r.store, string(name)), b) {
			t.Error("the copy has other bytes")
		}
	})
}

// TestNoTakeoverWithoutNeed puts a file again whose source is well, whose cluster is of an earlier level, or of which wrong bytes
// lie in the outbox by then: the source stays as it is.
func TestNoTakeoverWithoutNeed(t *testing.T) {
	for what, tt := range map[string]struct {
		level int
		down  bool
		spoil bool
	}{
		"the source serves":        {takeLevel, false, false},
		"level 2":                  {2, true, false},
		"the bytes have gone bad":  {takeLevel, true, true},
		"level 2, bytes gone bad":  {2, true, true},
		"level 1, as it was early": {1, true, false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, name, _ := orphan(t, tt.level)
				c.node("north-2").setDown(tt.down)
				again := c.node("south-2")
				again.put(name, 1, 1000)
				if tt.spoil {
					flip(t, again.r.store.outboxPath(name))
				}
				defer c.run("south-2")()
				sleep(t.Context(), time.Hour)
				if !c.sourced(name, "north-2") {
					t.Error("the source has changed")
				}
				if n := c.counts[catalog.TakeSources]; n > 0 {
					t.Errorf("%d takeovers were asked for", n)
				}
			})
		})
	}
}

// TestTwoThatPutAtOnce has two nodes put the file at once, which do not reach the source, nor each other. One is the source at a
// time, neither loses its bytes, and they do not take it from each other all the time.
func TestTwoThatPutAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, name, _ := orphan(t, takeLevel)
		c.node("north-2").setDown(true)
		defer c.run("south-1", "south-2")()
		var both sync.WaitGroup
		for _, n := range []string{"south-1", "south-2"} {
			c.node(n).setDown(true) // reaches the catalog alone
			both.Go(func() { c.node(n).put(name, 1, 1000) })
		}
		both.Wait()
		sleep(t.Context(), time.Hour)
		c.mu.Lock()
		took := c.counts[catalog.TakeSources]
		c.mu.Unlock()
		if took < 2 || took > 15 {
			t.Errorf("the source was taken over %d times in an hour", took)
		}
		for _, n := range []string{"south-1", "south-2"} {
			c.node(n).setDown(false)
		}
		sleep(t.Context(), 20*time.Minute)
		if f, err := c.node("south-1").r.entry(name); err != nil || !f.Copy("south").Good() {
			t.Errorf("south has no copy: %v", err)
		}
		defer c.run("north-1")()
		c.complete(name)
	})
}
