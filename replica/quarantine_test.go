package replica

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// layAside lays bytes into the node's quarantine, as if set aside at a time.
func (n *node) layAside(name catalog.FileName, at time.Time, b []byte) (files.AsideName, string) {
	n.t.Helper()
	stamp := at.UTC().Format("20060102150405.000")
	id := files.AsideName(string(name) + "." + stamp[:14] + stamp[15:])
	path := filepath.Join(n.r.store.cfg.Quarantine, string(id))
	if err := os.WriteFile(path, b, 0o644); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path+reasonSuffix, []byte("a test\n"), 0o644); err != nil {
		n.t.Fatal(err)
	}
	return id, path
}

// oneAside returns what the node says of bytes in its quarantine.
func (n *node) oneAside(id files.AsideName) (Aside, bool) {
	n.t.Helper()
	all, err := n.r.Quarantine()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, one := range all {
		if one.ID == id {
			return one, true
		}
	}
	return Aside{}, false
}

// TestBytesAreRestoredFromTheQuarantine restores the last right bytes of a file, and tries to restore others.
func TestBytesAreRestoredFromTheQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "sums-1")
		c.raiseTo(files.LevelOfAside)
		source, north := c.node("sums-1"), c.node("north-1")
		b := source.put(fileName(1), 1, 3000)
		source.put(fileName(2), 2, 3000)
		c.must(catalog.RemoveMember, catalog.MemberRemoval{ID: nodeID("sums-1"), Lost: true})
		right, path := north.layAside(fileName(1), time.Now(), b)
		wrong, wrongPath := north.layAside(fileName(2), time.Now(), b)
		strange, _ := north.layAside(fileName(3), time.Now(), b)
		defer c.run("south-1")() // north makes no copies by itself
		for _, id := range []files.AsideName{wrong, strange} {
			if err := north.r.RestoreAside(t.Context(), id); !errors.Is(err, ErrStaysAside) {
				t.Errorf("%s: %v", id, err)
			}
		}
		if err := north.r.RestoreAside(t.Context(), "f.20260101000000000"); !errors.Is(err, ErrNotAside) {
			t.Errorf("what is not there: %v", err)
		}
		if err := north.r.RestoreAside(t.Context(), "../outbox/f.20260101000000000"); !errors.Is(err, ErrNotAside) {
			t.Errorf("another folder: %v", err)
		}
		if err := north.r.RestoreAside(t.Context(), right); err != nil {
			t.Fatal(err)
		}
		if isFile(path) || isFile(path+reasonSuffix) || !isFile(wrongPath) {
			t.Error("the quarantine has what it had, or lost what it has")
		}
		c.until("south has its copy", func(v catalog.View) bool {
			f, err := v.File(fileName(1))
			return err == nil && f.Copy("south").Good()
		})
		defer c.run("north-1")()
		c.until("north has its copy", func(v catalog.View) bool {
			f, err := v.File(fileName(1))
			return err == nil && f.Copy("north").Good()
		})
		if !bytes.Equal(read(t, north.r.store, string(fileName(1))), b) {
			t.Error("other bytes were stored")
		}
	})
}

// TestBytesAreDeletedFromTheQuarantine deletes bytes when somebody asks, those bytes alone, and never the only ones.
func TestBytesAreDeletedFromTheQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		c.raiseTo(files.LevelOfAside)
		north := c.node("north-1")
		defer c.run("north-1", "south-1")()
		c.node("south-1").put(fileName(1), 1, 3000)
		c.complete(fileName(1))
		bad := []byte("bad")
		id, path := north.layAside(fileName(1), time.Now(), bad)
		other, otherPath := north.layAside(fileName(1), time.Now().Add(time.Second), []byte("other"))
		wish := func(id files.AsideName) {
			c.must(files.DiscardAside, files.Discard{Node: north.id, Aside: id, SHA256: heldOf("", bad).SHA256, Reason: "x"})
		}
		one, err := north.r.ShowAside(t.Context(), id)
		if err != nil || one.State != strayDamaged || one.SHA256 != heldOf("", bad).SHA256 || one.Reason != "a test" || one.Kept != "" {
			t.Errorf("%+v, %v", one, err)
		}
		wish(id)
		wish(other)
		wish("gone.20260101000000000")
		c.until("the wishes are carried out", func(v catalog.View) bool {
			all, err := v.Discards(north.id, 0)
			return err == nil && len(all) == 0
		})
		sleep(t.Context(), time.Second)
		if isFile(path) || isFile(path+reasonSuffix) || !isFile(otherPath) {
			t.Errorf("kept: %t, others: %t", isFile(path), isFile(otherPath))
		}
		if _, ok := north.oneAside(id); ok {
			t.Error("it is still listed")
		}
		if one, ok := north.oneAside(other); !ok || one.SHA256 != heldOf("", []byte("other")).SHA256 {
			t.Errorf("%+v %t", one, ok)
		}
	})
}

// TestTimeDeletesNoOnlyBytes leaves bytes in the quarantine for longer than the limit: of a file that misses a copy, of one
// that is complete only in the node's own memory of an earlier reading, and of a complete one.
func TestTimeDeletesNoOnlyBytes(t *testing.T) {
	for _, level := range []int{files.LevelOfAside, files.LevelOfAside - 1} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, "north-1", "south-1")
			c.raiseTo(level)
			north := c.node("north-1")
			stop := c.run("north-1", "south-1")
			c.node("south-1").put(fileName(1), 1, 3000)
			b := c.node("south-1").put(fileName(3), 3, 3000)
			c.complete(fileName(1), fileName(3))
			stop()
			stop = c.run("north-1") // nobody copies to the south
			c.node("south-1").put(fileName(2), 2, 3000)
			old := time.Now().Add(-40 * 24 * time.Hour)
			_, complete := north.layAside(fileName(1), old, []byte("bad"))
			_, incomplete := north.layAside(fileName(2), old, []byte("bad"))
			_, unknown := north.layAside(fileName(9), old, []byte("bad"))
			_, right := north.layAside(fileName(3), old, []byte("bad"))
			// An earlier reading took the right bytes for wrong ones.
			if err := os.WriteFile(right, b, 0o644); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(right)
			if err != nil {
				t.Fatal(err)
			}
			north.r.strays.mu.Lock()
			north.r.strays.read = map[string]asideRead{right: {size: info.Size(), at: info.ModTime(), digest: heldOf("", []byte("bad")).SHA256}}
			north.r.strays.mu.Unlock()
			sleep(t.Context(), time.Hour)
			stop()
			if isFile(complete) || !isFile(incomplete) || !isFile(unknown) || !isFile(right) {
				t.Errorf("level %d: kept %t %t %t %t", level, isFile(complete), isFile(incomplete), isFile(unknown), isFile(right))
			}
		})
	}
}

// TestNobodyDeletesWithoutAnAnswer lets bytes expire while no quorum can say that they may go.
func TestNobodyDeletesWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		c.raiseTo(files.LevelOfAside)
		north := c.node("north-1")
		defer c.run("north-1", "south-1")()
		c.node("south-1").put(fileName(1), 1, 3000)
		c.complete(fileName(1))
		sleep(t.Context(), time.Second)
		c.mu.Lock()
		c.cut = true
		c.mu.Unlock()
		_, path := north.layAside(fileName(1), time.Now().Add(-40*24*time.Hour), []byte("bad"))
		sleep(t.Context(), time.Hour)
		if !isFile(path) {
			t.Error("deleted without an answer")
		}
		c.mu.Lock()
		c.cut = false
		c.mu.Unlock()
		sleep(t.Context(), time.Hour)
		if isFile(path) {
			t.Error("kept for ever")
		}
	})
}

// failing is a catalog of which the next look fails.
type failing struct {
	*cluster
	why error
}

func (f *failing) View(see func(catalog.View) error) error {
	if why := f.why; why != nil {
		f.why = nil
		return why
	}
	return f.cluster.View(see)
}

// TestOneFileDoesNotEndTheList: of the first of two files in the quarantine nothing can be said.
func TestOneFileDoesNotEndTheList(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "north-1", "south-1")
	north := c.node("north-1")
	north.layAside(fileName(1), time.Now(), []byte("one"))
	north.layAside(fileName(2), time.Now(), []byte("two"))
	why := errors.New("damaged")
	north.r.catalog = &failing{c, why}
	if all, err := north.r.Quarantine(); len(all) != 1 || !errors.Is(err, why) {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestALookForStraysThatFailsSaysSo takes a folder away, and brings it back: what failed counts until that was looked at.
func TestALookForStraysThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "north-1", "south-1")
	north := c.node("north-1")
	fault := func() string {
		t.Helper()
		report, err := Answers{Replica: north.r}.Strays(t.Context(), "", struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return report.Fault
	}
	if err := north.r.lookForStrays(t.Context(), true); err != nil || fault() != "" {
		t.Fatalf("%q, %v", fault(), err)
	}
	mount := unmount(t, north.r.store.cfg.Quarantine)
	if err := os.Remove(north.r.store.cfg.Quarantine); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} {
		if err := north.r.lookForStrays(t.Context(), all); err == nil || !strings.Contains(fault(), "quarantine") {
			t.Errorf("a look at all: %t: %q, %v", all, fault(), err)
		}
	}
	mount()
	for all, whole := range []bool{false, true} {
		if err := north.r.lookForStrays(t.Context(), all == 1); err != nil || (fault() == "") != whole {
			t.Errorf("a look at all: %t: %q, %v", all == 1, fault(), err)
		}
	}
}

// TestAQuarantineThatCannotBeListedSaysSo takes the folder away.
func TestAQuarantineThatCannotBeListedSaysSo(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "north-1", "south-1")
	north := c.node("north-1")
	if err := os.RemoveAll(north.r.store.cfg.Quarantine); err != nil {
		t.Fatal(err)
	}
	report, err := Answers{Replica: north.r}.Quarantine(context.Background(), "", AsideRequest{Act: "list"})
	if err != nil || !strings.Contains(report.Fault, "quarantine") {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestADiskThatIsAwayMayHaveWhatWasSetAside starts a node without a disk: its quarantine is not said to be listed, and what
// is not found is not said to be gone, until the disk is back.
func TestADiskThatIsAwayMayHaveWhatWasSetAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		c.raiseTo(files.LevelOfAside)
		north := c.node("north-1")
		two := filepath.Join(north.dir, "two")
		north.roots = []string{filepath.Join(north.dir, "one"), two}
		north.open()
		north.r.store.roots[0].draining.Store(true)
		if err := keep(north.r.store, "f", []byte("bytes")); err != nil {
			t.Fatal(err)
		}
		mount := unmount(t, two)
		north.open()
		stop := c.run("north-1")
		report, err := Answers{Replica: north.r}.Quarantine(t.Context(), "", AsideRequest{Act: "list"})
		if err != nil || !strings.Contains(report.Fault, two) {
			t.Errorf("the list is said to be whole: %+v, %v", report, err)
		}
		strays, err := Answers{Replica: north.r}.Strays(t.Context(), "", struct{}{})
		if err != nil || !strings.Contains(strays.Fault, two) {
			t.Errorf("the list of strays is said to be whole: %+v, %v", strays, err)
		}
		const id files.AsideName = "f.20260101000000000"
		if _, err := north.r.ShowAside(t.Context(), id); !errors.Is(err, ErrNotMounted) || errors.Is(err, ErrNotAside) {
			t.Errorf("it is said not to be there: %v", err)
		}
		if err := north.r.AdoptStray(t.Context(), Adoption{Name: "f", Collection: "web"}); !errors.Is(err, ErrNotMounted) {
			t.Errorf("adopt: %v", err)
		}
		if err := north.r.SetStrayAside(t.Context(), "f", "x"); !errors.Is(err, ErrNotMounted) {
			t.Errorf("set aside: %v", err)
		}
		wishes := func() int {
			t.Helper()
			var all []files.Discarding
			if err := c.View(func(v catalog.View) (err error) { all, err = v.Discards(north.id, 0); return err }); err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		c.must(files.DiscardAside, files.Discard{Node: north.id, Aside: id, SHA256: catalog.Digest{1}, Reason: "x"})
		sleep(t.Context(), 5*time.Minute)
		if wishes() != 1 {
			t.Error("the wish ended while the bytes may be on the disk that is away")
		}
		stop()
		mount()
		north.open()
		defer c.run("north-1")()
		sleep(t.Context(), time.Minute)
		if wishes() != 0 {
			t.Error("the wish does not end")
		}
	})
}
