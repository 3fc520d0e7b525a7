package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// sourceFile writes n bytes to a file of the test and returns its path.
func sourceFile(t *testing.T, seed uint64, n int) (string, []byte) {
	t.Helper()
	b := content(seed, n)
	path := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path, b
}

func (n *node) put(name catalog.FileName, seed uint64, size int) []byte {
	n.t.Helper()
	path, b := sourceFile(n.t, seed, size)
	if _, err := n.r.Put(context.Background(), path, catalog.Addition{Name: name, Collection: "web"}, Foreign); err != nil {
		n.t.Fatal(err)
	}
	return b
}

// putSome puts that many files.
func (n *node) putSome(count, size int) (names []catalog.FileName) {
	n.t.Helper()
	for i := range count {
		names = append(names, fileName(i))
		n.put(fileName(i), uint64(i), size)
	}
	return names
}

func (n *node) get(name catalog.FileName) []byte {
	n.t.Helper()
	in, err := n.r.OpenRange(context.Background(), name, 0, -1)
	if err != nil {
		n.t.Fatal(err)
	}
	defer in.Close()
	b, err := io.ReadAll(in)
	if err != nil {
		n.t.Fatal(err)
	}
	return b
}

// TestFilesBecomeVerifiedCopies puts files on one node, and follows them to two replicas with bytes and one
// with checksums, and out of the outbox.
func TestFilesBecomeVerifiedCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "sums-1")
		north, south, sums := c.node("north-1"), c.node("south-1"), c.node("sums-1")
		var names []catalog.FileName
		var bodies [][]byte
		for i := range 20 {
			names = append(names, fileName(i))
			bodies = append(bodies, []*node{north, sums}[i%2].put(fileName(i), uint64(i), i*200_000))
		}
		c.complete(names...)
		synctest.Wait()
		for i, name := range names {
			for _, n := range []*node{north, south} {
				if !bytes.Equal(read(t, n.r.store, string(name)), bodies[i]) {
					t.Fatalf("%s has other bytes of %s", n.replica, name)
				}
			}
			if h, ok := sums.r.sums.Lookup(name); !ok || h != heldOf(string(name), bodies[i]) {
				t.Fatalf("recorded for %s: %v, %v", name, h, ok)
			}
			if !bytes.Equal(sums.get(name), bodies[i]) {
				t.Fatalf("the checksum replica's node gets other bytes of %s", name)
			}
		}
		for _, n := range []*node{north, sums} {
			if left, err := n.r.store.Outbox(); err != nil || len(left) > 0 {
				t.Fatalf("outbox: %v, %v", left, err)
			}
		}
		checkManifests(t, north.r.store)
		checkManifests(t, south.r.store)
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := c.counts[catalog.ReportCopies]; n > 20 {
			t.Fatalf("%d reports of 60 copies", n)
		}
	})
}

// TestAnAuditRepairsACopy breaks three copies in three ways; the audit finds them, the verdict is spoken, and
// the pull road brings them back.
func TestAnAuditRepairsACopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "sums-1")
		north, south, sums := c.node("north-1"), c.node("south-1"), c.node("sums-1")
		names := north.putSome(4, 5000)
		c.complete(names...)
		synctest.Wait()
		flip(t, south.r.store.Path(names[0]))
		if err := os.Remove(south.r.store.Path(names[1])); err != nil {
			t.Fatal(err)
		}
		if err := sums.r.sums.Record(Held{Name: names[2], Size: 5000, SHA256: catalog.Digest{1}}); err != nil {
			t.Fatal(err)
		}
		for _, n := range []*node{north, south, sums} {
			if _, err := n.r.StartAudit("", nil); err != nil {
				t.Fatal(err)
			}
		}
		wrong := map[catalog.FileName]catalog.ReplicaName{names[0]: "south", names[1]: "south", names[2]: "sums"}
		c.until("the three copies are disputed", func(v catalog.View) bool {
			for name, replica := range wrong {
				if f, err := v.File(name); err != nil || !f.Copy(replica).Disputed {
					return false
				}
			}
			return true
		})
		for name, replica := range wrong {
			c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: replica, Bad: true, Votes: "2:1"}}})
		}
		c.complete(names...)
		for range 10 { // the audits go on to their end
			sleep(t.Context(), time.Second)
		}
		for _, n := range []*node{north, south, sums} {
			a := n.r.Audits()[0]
			if a.State != AuditDone || a.Files != 4 || a.Passed != len(a.Shards) || len(a.Shards) > 4 {
				t.Fatalf("%s: audit %+v", n.replica, a.State)
			}
		}
		if a := south.r.Audits()[0]; a.Excepted != 2 {
			t.Fatalf("south: %d exceptions", a.Excepted)
		}
		set, err := filepath.Glob(filepath.Join(south.dir, "quarantine", "*.reason"))
		if err != nil || len(set) != 1 {
			t.Fatalf("quarantine: %v, %v", set, err)
		}
		for i, name := range names {
			if !bytes.Equal(read(t, south.r.store, string(name)), content(uint64(i), 5000)) {
				t.Fatalf("%s is not repaired", name)
			}
			f, err := south.r.entry(name)
			if err != nil {
				t.Fatal(err)
			}
			c.View(func(v catalog.View) error { f, err = v.Audited(f); return err })
			if err != nil || f.Copy("north").Checksum != catalog.ChecksumOK {
				t.Fatalf("%s in north: %+v, %v", name, f.Copy("north"), err)
			}
		}
		if h, ok := sums.r.sums.Lookup(names[2]); !ok || h != heldOf(string(names[2]), content(2, 5000)) {
			t.Fatalf("the record is not repaired: %v", h)
		}
		checkManifests(t, south.r.store)
	})
}

// flip changes one bit of the file at path.
func flip(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestShardsMove gives all shards of north to a second node, which fetches and proves them; the first one
// then deletes what it had.
func TestShardsMove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "north-2", "sums-1", "sums-2")
		first, second := c.node("north-1"), c.node("north-2")
		names := first.putSome(6, 3000)
		c.complete(names...)
		c.assign("north", "north-2", 0, catalog.Shards)
		c.assign("sums", "sums-2", 0, catalog.Shards)
		c.until("the shards are north-2's and nothing is left to release", func(v catalog.View) bool {
			for _, move := range [][2]string{{"north-1", "north-2"}, {"sums-1", "sums-2"}} {
				layout, err := v.Layout(member(move[0]).Replica)
				if err != nil {
					return false
				}
				for _, p := range layout {
					if p.Holder != nodeID(move[1]) {
						return false
					}
				}
				if left, err := v.Left(nodeID(move[0])); err != nil || len(left) > 0 {
					return false
				}
			}
			return true
		})
		for i, name := range names {
			if !bytes.Equal(read(t, second.r.store, string(name)), content(uint64(i), 3000)) {
				t.Fatalf("north-2 has other bytes of %s", name)
			}
			if _, err := first.r.store.Open(name); !errors.Is(err, ErrNotHere) {
				t.Fatalf("north-1 still has %s: %v", name, err)
			}
			if _, ok := c.node("sums-1").r.sums.Lookup(name); ok {
				t.Fatalf("sums-1 still has a record of %s", name)
			}
		}
		c.complete(names...)
	})
}

// TestShardsAreMadeAgainWithoutTheirHolder moves the shards of a node that nobody reaches: another node of its replica
// makes the files again from other replicas, and the old holder gives up what it has when it is back.
func TestShardsAreMadeAgainWithoutTheirHolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2")
		defer c.run("south-1", "north-2")()
		first, second := c.node("north-1"), c.node("north-2")
		stop := c.run("north-1")
		names := c.node("south-1").putSome(4, 3000)
		c.complete(names...)
		stop()
		c.mu.Lock()
		first.down = true
		c.mu.Unlock()
		c.assign("north", "north-2", 0, catalog.Shards)
		moved := func(v catalog.View) bool {
			layout, err := v.Layout("north")
			return err == nil && !slices.ContainsFunc(layout, func(p catalog.Placement) bool { return p.Holder != nodeID("north-2") })
		}
		c.until("the shards are north-2's", moved)
		for i, name := range names {
			if !bytes.Equal(read(t, second.r.store, string(name)), content(uint64(i), 3000)) || !isFile(first.r.store.Path(name)) {
				t.Fatalf("north-2 has other bytes of %s, or north-1 lost its own while it was away", name)
			}
		}
		c.mu.Lock()
		first.down = false
		c.mu.Unlock()
		first.open()
		defer c.run("north-1")()
		c.until("north-1 has given up what it had", func(v catalog.View) bool {
			left, err := v.Left(first.id)
			return err == nil && len(left) == 0
		})
		c.complete(names...)
		if isFile(first.r.store.Path(names[0])) {
			t.Error("the file's second copy is still there")
		}
	})
}

// TestRemovedFilesGo removes a file from the archive.
func TestRemovedFilesGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "sums-1")
		b := c.node("north-1").put(fileName(0), 0, 100)
		c.complete(fileName(0))
		c.must(catalog.RemoveFile, catalog.FileRemoval{Name: fileName(0), SHA256: heldOf("x", b).SHA256, Reason: "a test"})
		c.until("all copies are released", func(v catalog.View) bool {
			f, err := v.File(fileName(0))
			return err == nil && len(f.Copies) == 0
		})
		sleep(t.Context(), time.Minute)
		for _, name := range []string{"north-1", "south-1"} {
			if _, err := c.node(name).r.store.Open(fileName(0)); !errors.Is(err, ErrNotHere) {
				t.Fatalf("%s still has the file: %v", name, err)
			}
		}
		if _, ok := c.node("sums-1").r.sums.Lookup(fileName(0)); ok {
			t.Fatal("the record is still there")
		}
		if _, err := c.node("south-1").r.OpenRange(t.Context(), fileName(0), 0, -1); !errors.Is(err, ErrUnknown) {
			t.Fatalf("OpenRange: %v", err)
		}
	})
}

// TestPutWaitsForAQuorum puts a file while nothing can be agreed, and restarts the node before it can.
func TestPutWaitsForAQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		north := c.node("north-1")
		c.cut = true
		path, _ := sourceFile(t, 1, 1000)
		_, err := north.r.Put(t.Context(), path, catalog.Addition{Name: fileName(1), Collection: "web"}, Owned)
		if !errors.Is(err, ErrPending) || !errors.Is(err, errNoQuorum) {
			t.Fatalf("Put: %v", err)
		}
		north.open()
		defer c.run("north-1", "south-1")()
		sleep(t.Context(), 10*time.Second)
		c.mu.Lock()
		c.cut = false
		c.mu.Unlock()
		c.complete(fileName(1))
	})
}

// TestCopyingGoesOnWithoutAQuorum lets south make all its copies while nothing can be agreed.
func TestCopyingGoesOnWithoutAQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		names := c.node("north-1").putSome(3*4, 1000)
		c.cut = true
		defer c.run("north-1", "south-1")()
		sleep(t.Context(), 10*time.Second)
		for _, name := range names {
			if !c.node("south-1").r.store.Has(name) {
				t.Fatalf("south has no copy of %s", name)
			}
		}
		c.mu.Lock()
		c.cut = false
		c.mu.Unlock()
		c.complete(names...)
	})
}

// TestACopyThatCannotBeOpenedIsReadElsewhere puts something else in the place of a copy.
func TestACopyThatCannotBeOpenedIsReadElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1")
		north := c.node("north-1")
		north.put(fileName(1), 1, 1000)
		c.complete(fileName(1))
		sleep(t.Context(), time.Minute)
		path := north.r.store.Path(fileName(1))
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
			t.Fatal(err)
		}
		if len(north.get(fileName(1))) != 1000 {
			t.Error("the file cannot be read")
		}
	})
}

// TestAReaderFindsADamagedCopy reads a whole file whose copy has a flipped bit, here and from another node; the reader is
// given the file from another copy, and this one is reported.
func TestAReaderFindsADamagedCopy(t *testing.T) {
	t.Parallel()
	for _, reader := range []string{"north-1", "sums-1"} {
		synctest.Test(t, func(t *testing.T) {
			c := runCluster(t, "north-1", "south-1", "sums-1")
			name := fileName(1)
			body := c.node("north-1").put(name, 1, 1_000_000)
			c.complete(name)
			sleep(t.Context(), time.Minute)
			path := c.node("north-1").r.store.Path(name)
			bad := bytes.Clone(body)
			bad[10] ^= 1
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if got := c.node(reader).get(name); !bytes.Equal(got, body) {
				t.Errorf("%s: %d bytes", reader, len(got))
			}
			c.disputed(name, "north")
		})
	}
}

// TestACopyThatIsGoneIsReportedWhenItIsVerified removes a copy's file: who verifies it is told, and so is the catalog.
func TestACopyThatIsGoneIsReportedWhenItIsVerified(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1", "sums-1")
		north, south := c.node("north-1"), c.node("south-1")
		names := north.putSome(2, 3000)
		c.complete(names...)
		synctest.Wait()
		if err := os.Remove(south.r.store.Path(names[0])); err != nil {
			t.Fatal(err)
		}
		if _, err := south.r.Again.Verify(t.Context(), names[0]); !errors.Is(err, ErrNotHere) {
			t.Errorf("verified: %v", err)
		}
		f, err := south.r.entry(names[0])
		if err != nil || !f.Copy("south").Disputed || f.Copy("south").FileList != catalog.FileListMissing {
			t.Errorf("%+v, %v", f.Copy("south"), err)
		}
		if _, err := south.r.Again.Verify(t.Context(), "never-put.warc.gz"); !errors.Is(err, ErrNotHere) {
			t.Errorf("a file that nobody knows: %v", err)
		}
	})
}
