package replica

import (
	"bytes"
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

// TestStraysAreAdopted lays bytes where nobody asks for them, and adopts them: a new file, one that is declared lost, and
// each kind that is refused.
func TestStraysAreAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2")
		c.raiseTo(files.LevelOfAside)
		stray, s := c.node("north-2"), c.node("north-2").r.store
		lay := func(i int, b []byte) {
			t.Helper()
			if err := keep(s, string(fileName(i)), b); err != nil {
				t.Fatal(err)
			}
		}
		fresh, b := content(1, 3000), []byte("right")
		lay(1, fresh)
		lay(2, []byte("other bytes than its manifest says"))
		flip(t, s.Path(fileName(2)))
		if err := os.WriteFile(filepath.Join(s.cfg.Incoming, string(fileName(3))+partSuffix), b, 0o644); err != nil {
			t.Fatal(err)
		}
		lay(4, b) // complete elsewhere
		lay(5, b) // removed
		lay(6, b) // the archive has other bytes
		lay(7, b) // lost
		stop := c.run("north-1", "south-1")
		c.node("south-1").put(fileName(4), 4, 3000)
		c.node("south-1").put(fileName(5), 5, 3000)
		c.complete(fileName(4), fileName(5))
		stop()
		c.must(catalog.RemoveFile, catalog.FileRemoval{Name: fileName(5), SHA256: heldOf("", content(5, 3000)).SHA256, Reason: "x"})
		for i, sum := range map[int][]byte{6: content(6, 3000), 7: b} {
			c.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: fileName(i), Size: int64(len(sum)), SHA256: heldOf("", sum).SHA256, Collection: "web", Source: nodeID("south-1")}}})
			c.must(catalog.FindSources, catalog.Findings{Node: nodeID("south-1"), Files: []catalog.Finding{{Name: fileName(i), FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
		}
		adopt := func(i int, collection catalog.CollectionName) error {
			return stray.r.AdoptStray(t.Context(), Adoption{Name: fileName(i), Collection: collection})
		}
		if err := adopt(1, "web"); !errors.Is(err, ErrStaysAside) || !strings.Contains(err.Error(), "moment ago") {
			t.Errorf("bytes that somebody may still write: %v", err)
		}
		sleep(t.Context(), 2*time.Minute)
		old := time.Now().Add(-time.Hour) // the disk's clock is not the test's
		for i := range 8 {
			if path := s.Path(fileName(i)); isFile(path) {
				if err := os.Chtimes(path, old, old); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, want := range map[int]string{2: "its manifest has", 3: "part of a copy", 4: "complete", 5: "removed", 6: strayDamaged} {
			if err := adopt(i, "web"); !errors.Is(err, ErrStaysAside) || !strings.Contains(err.Error(), want) {
				t.Errorf("file %d, %s: %v", i, want, err)
			}
		}
		if err := adopt(1, ""); !errors.Is(err, ErrStaysAside) {
			t.Errorf("without a collection: %v", err)
		}
		if err := adopt(1, "nobody's"); err == nil {
			t.Error("into a collection that does not exist")
		}
		if stray.r.store.InOutbox(fileName(1)) {
			t.Error("a refused file stays in the outbox")
		}
		if err := stray.r.AdoptStray(t.Context(), Adoption{Name: fileName(1), Collection: "web", SHA256: catalog.Digest{1}}); !errors.Is(err, ErrStaysAside) {
			t.Errorf("other bytes than were named: %v", err)
		}
		if err := adopt(9, "web"); !errors.Is(err, ErrNotAside) {
			t.Errorf("nothing: %v", err)
		}
		for _, i := range []int{1, 7} {
			if err := adopt(i, "web"); err != nil {
				t.Fatal(err)
			}
		}
		defer c.run("north-1", "south-1", "north-2")()
		c.complete(fileName(1), fileName(7))
		if !bytes.Equal(read(t, c.node("south-1").r.store, string(fileName(1))), fresh) {
			t.Error("other bytes were stored")
		}
	})
}

// TestStraysAreSetAside sets a stray aside, and tries that with a copy of the archive, with the last bytes of a file, and
// with a file that is being copied.
func TestStraysAreSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1", "north-2")
		c.raiseTo(files.LevelOfAside)
		stray := c.node("north-2")
		stop := c.run("north-1", "south-1")
		c.node("south-1").put(fileName(1), 1, 3000)
		c.complete(fileName(1))
		stop()
		b := content(2, 3000)
		c.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: fileName(2), Size: 3000, SHA256: heldOf("", b).SHA256, Collection: "web", Source: nodeID("south-1")}}})
		c.must(catalog.FindSources, catalog.Findings{Node: nodeID("south-1"), Files: []catalog.Finding{{Name: fileName(2), FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
		for i, body := range [][]byte{2: b, 3: []byte("strange"), 4: []byte("busy")} {
			if body != nil {
				if err := keep(stray.r.store, string(fileName(i)), body); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := c.node("north-1").r.SetStrayAside(t.Context(), fileName(1), "x"); !errors.Is(err, ErrStaysAside) {
			t.Errorf("a copy of the archive: %v", err)
		}
		if err := stray.r.SetStrayAside(t.Context(), fileName(2), "x"); !errors.Is(err, ErrStaysAside) {
			t.Errorf("the last bytes: %v", err)
		}
		if stray.r.finder.pulls.start(catalog.File{Name: fileName(4)}, false) == nil {
			t.Fatal("not taken up")
		}
		if err := stray.r.SetStrayAside(t.Context(), fileName(4), "x"); !errors.Is(err, ErrStaysAside) {
			t.Errorf("a file that is being copied: %v", err)
		}
		if err := stray.r.SetStrayAside(t.Context(), fileName(9), "x"); !errors.Is(err, ErrNotAside) {
			t.Errorf("nothing: %v", err)
		}
		if err := stray.r.SetStrayAside(t.Context(), fileName(3), "x"); err != nil {
			t.Fatal(err)
		}
		all, err := stray.r.Quarantine()
		if err != nil || len(all) != 1 || all[0].Name != fileName(3) || all[0].Reason != "x" {
			t.Errorf("%+v, %v", all, err)
		}
		for i, there := range map[int]bool{2: true, 3: false, 4: true} {
			if isFile(stray.r.store.Path(fileName(i))) != there {
				t.Errorf("file %d is there: %t", i, !there)
			}
		}
	})
}
