package replica

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
					synctest.Wait() // a checksum is not taken of what is looked after just then
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

// TestASourceThatIsGoneIsMissed takes the bytes that a source keeps out of its outbox. An audit tells so, the archive counts
// on them no more, and the file can be put again.
func TestASourceThatIsGoneIsMissed(t *testing.T) {
	for how, find := range map[string]func(n *node){
		"asked for": func(n *node) {
			if a := n.audited(); a.Excepted != 1 || len(a.Exceptions) != 1 || a.Exceptions[0].FileList != catalog.FileListMissing {
				n.t.Errorf("audit: %+v", a)
			}
		},
		"due": func(n *node) { sleep(n.t.Context(), 25*time.Hour) },
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, "north-1", "south-1", "sums-1")
				c.raise()
				name, sums := fileName(1), c.node("sums-1")
				sums.put(name, 1, 1000)
				if err := sums.r.store.Discharge(name); err != nil {
					t.Fatal(err)
				}
				sums.open()
				defer c.run("sums-1")()
				find(sums)
				if c.sourced(name, "sums-1") {
					t.Error("the archive still counts on bytes that are gone")
				}
				sums.put(name, 1, 1000)
				if !c.sourced(name, "sums-1") {
					t.Error("put again, the file has no source")
				}
			})
		})
	}
}

// TestAFilePutAgainAfterARecoveryIsNotLost recovers a cluster from a state in which both replicas have a file that they have
// deleted since, and puts it again before they have noticed.
func TestAFilePutAgainAfterARecoveryIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "sums-1")
		c.raise()
		name := fileName(1)
		c.node("sums-1").put(name, 1, 1000)
		stop := c.run("north-1", "south-1", "sums-1")
		c.complete(name)
		stop()
		for _, n := range []string{"north-1", "south-1"} {
			if err := c.node(n).r.store.Delete(name); err != nil {
				t.Fatal(err)
			}
			c.node(n).open()
		}
		c.node("sums-1").open()
		c.must(catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "test"})
		c.node("sums-1").put(name, 1, 1000)
		defer c.run("north-1", "south-1", "sums-1")()
		sleep(t.Context(), time.Hour)
		if !c.sourced(name, "sums-1") {
			t.Error("nobody counts on the bytes that were put again, and they are the last ones")
		}
	})
}

// TestALostFileIsNotTakenBackByWrongBytes declares a file lost whose source has wrong bytes, which nobody has looked at
// since: they are not the file, and do not make it count again.
func TestALostFileIsNotTakenBackByWrongBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2")
		c.raise()
		name, source := fileName(1), c.node("north-2")
		source.put(name, 1, 1000)
		source.open()
		flip(t, source.r.store.outboxPath(name))
		defer c.run("north-2")()
		sleep(t.Context(), time.Minute)
		var f catalog.File
		if err := c.View(func(v catalog.View) (err error) { f, err = v.File(name); return err }); err != nil {
			t.Fatal(err)
		}
		checked := []catalog.NodeID{nodeID("north-1"), nodeID("south-1"), nodeID("north-2")}
		c.must(catalog.LoseFile, catalog.FileLoss{Name: name, SHA256: f.SHA256, Reason: "test", Checked: checked})
		sleep(t.Context(), 10*time.Minute)
		if c.sourced(name, "north-2") {
			t.Error("wrong bytes have made a lost file count again")
		}
	})
}

// TestAnOutboxFileOfNobodyIsNoSuccess damages the note of a file that was put without a quorum. The archive does not know the
// file, and nobody can tell whether its bytes are right: an audit does not end as if they were.
func TestAnOutboxFileOfNobodyIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		c.raise()
		c.cut = true
		north, name := c.node("north-1"), fileName(1)
		path, _ := sourceFile(t, 1, 1000)
		if _, err := north.r.Put(t.Context(), path, catalog.Addition{Name: name, Collection: "web"}, Foreign); !errors.Is(err, ErrPending) {
			t.Fatal(err)
		}
		if err := os.WriteFile(north.r.store.notePath(name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.cut = false
		north.open()
		defer c.run("north-1")()
		if a := north.audited(); a.State != AuditIncomplete || !strings.Contains(a.OutboxFault, string(name)) || a.Files != 0 {
			t.Errorf("audit: %+v", a)
		}
	})
}

// TestALostFileIsTakenBackByItsSource declares a file lost while its source is being given the bytes again. The source offers
// them without being started again.
func TestALostFileIsTakenBackByItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2")
		c.raise()
		name, source := fileName(1), c.node("north-2")
		defer c.run("north-2")()
		synctest.Wait()
		source.put(name, 1, 1000)
		f, err := source.r.entry(name)
		if err != nil {
			t.Fatal(err)
		}
		checked := []catalog.NodeID{nodeID("north-1"), nodeID("south-1"), nodeID("north-2")} // before it was put
		c.must(catalog.LoseFile, catalog.FileLoss{Name: name, SHA256: f.SHA256, Reason: "test", Checked: checked})
		sleep(t.Context(), time.Hour)
		if !c.sourced(name, "north-2") {
			t.Error("the file is lost, though its source has the bytes")
		}
	})
}
