package replica

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// sourced reports whether the catalog counts on the node as the file's source.
func (c *cluster) sourced(name catalog.FileName, node string) (counts bool) {
	c.View(func(v catalog.View) error {
		f, err := v.File(name)
		counts = err == nil && f.Source == nodeID(node) && !f.Released
		return err
	})
	return counts
}

// TestTheOutboxIsAudited spoils the bytes that a source keeps, or lets the disk lose them, before any copy was made. An
// audit asked for, the one that is due, and a node that asks for a checksum find that out: the archive counts on the bytes
// no more, they are offered to nobody, and the file can be put again.
func TestTheOutboxIsAudited(t *testing.T) {
	name := fileName(1)
	for what, bad := range map[string]func(t *testing.T, s *Store){
		"a flipped bit":  func(t *testing.T, s *Store) { flip(t, s.outboxPath(name)) },
		"an unread file": func(t *testing.T, s *Store) { spoil(t, s, s.outboxPath(name), syscall.EUCLEAN) },
	} {
		for how, find := range map[string]func(n *node){
			"asked for": func(n *node) {
				if a := n.audited(); a.Excepted != 1 || len(a.Exceptions) != 1 || a.Exceptions[0].Name != name || a.Files != 2 || a.TotalFiles != 2 {
					n.t.Errorf("audit: %+v", a)
				}
			},
			"due": func(n *node) { sleep(n.t.Context(), 25*time.Hour) },
			"by a checksum": func(n *node) {
				_, _ = n.r.Checksum(n.t.Context(), "x", name)
			},
		} {
			t.Run(what+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, "north-1", "south-1", "sums-1")
					c.raise()
					sums := c.node("sums-1")
					b := sums.put(name, 1, 1000)
					stop := c.run("sums-1")
					sleep(t.Context(), time.Minute)
					if !c.sourced(name, "sums-1") {
						t.Fatal("a good source does not count")
					}
					stop()
					bad(t, sums.r.store)
					stop = c.run("sums-1")
					find(sums)
					synctest.Wait()
					if c.sourced(name, "sums-1") {
						t.Error("the archive still counts on the wrong bytes")
					}
					if in, err := sums.r.store.Open(name); err == nil {
						in.Close()
						t.Error("the wrong bytes are offered")
					}
					aside, err := filepath.Glob(filepath.Join(sums.dir, "quarantine", "*.reason"))
					if err != nil || len(aside) != 1 {
						t.Errorf("quarantine: %v, %v", aside, err)
					}
					defer stop()
					sums.put(name, 1, 1000)
					defer c.run("north-1", "south-1")()
					c.complete(name)
					if got := read(t, c.node("north-1").r.store, string(name)); !bytes.Equal(got, b) {
						t.Error("other bytes were stored")
					}
				})
			})
		}
	}
}

// TestAHolderFindsItsOutboxWrong lets the node that holds a file's shard be its source, with bytes that are wrong by the
// time it makes its copy from them; another node has put the same file.
func TestAHolderFindsItsOutboxWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		c.raise()
		name, north := fileName(1), c.node("north-1")
		b := north.put(name, 1, 1000)
		c.node("south-1").put(name, 1, 1000)
		flip(t, north.r.store.outboxPath(name))
		defer c.run("north-1", "south-1")()
		c.complete(name)
		for _, n := range []string{"north-1", "south-1"} {
			if got := read(t, c.node(n).r.store, string(name)); !bytes.Equal(got, b) {
				t.Errorf("%s has other bytes", n)
			}
		}
		if _, err := os.Stat(north.r.store.outboxPath(name)); err == nil {
			t.Error("the wrong bytes are still in the outbox")
		}
	})
}
