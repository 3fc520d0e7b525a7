package replica

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestAuditsNameWhatLiesBesideTheCopies: a file that the catalog does not know, one that another collection's replica is to
// have alone, and lines of the manifest that are wrong, missing, or of no file. No copy is disputed for them.
func TestAuditsNameWhatLiesBesideTheCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := runCluster(t, "north-1", "south-1")
		names := siblings(6)
		for i, name := range names[:3] {
			c.node("north-1").put(catalog.FileName(name), uint64(i), 1000)
		}
		c.complete(catalog.FileName(names[0]), catalog.FileName(names[1]), catalog.FileName(names[2]))
		// south alone is to have the collection of a file whose bytes lie at north
		c.must(catalog.SetReplica, catalog.Replica{Name: "north", Kind: catalog.Bitarchive, Place: "north", Collections: []catalog.CollectionName{"web"}})
		c.must(catalog.SetCollection, catalog.Collection{Name: "other"})
		body := content(9, 500)
		h := heldOf(names[3], body)
		c.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: h.Name, Size: h.Size, SHA256: h.SHA256, Collection: "other", Source: nodeID("south-1")}}})
		sleep(t.Context(), time.Minute)
		north := c.node("north-1")
		for _, name := range names[3:5] {
			if err := keep(north.r.store, name, body); err != nil {
				t.Fatal(err)
			}
		}
		rewrite(t, filepath.Join(filepath.Dir(north.r.store.Path(catalog.FileName(names[0]))), ManifestName), func(text string) string {
			lines := strings.SplitAfter(text, "\n")
			out := ""
			for _, line := range lines {
				switch {
				case strings.Contains(line, names[0]):
					line = strings.Repeat("0", 64) + line[64:]
				case strings.Contains(line, names[1]):
					line = ""
				case strings.Contains(line, names[2]):
					line += strings.Repeat("1", 64) + "  " + names[5] + "\n"
				}
				out += line
			}
			return out
		})
		a := north.audited()
		found := map[string]string{}
		for _, x := range append(a.Extras, a.Lines...) {
			found[string(x.Name)] = x.Why
		}
		for i, want := range []string{"SHA-256 0000", "missing", "", "not to have it", "does not know", "without a file"} {
			if got := found[names[i]]; want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("file %d: %q, want %q", i, got, want)
			}
		}
		if a.State != AuditDone || a.Unknowns != 1 || a.Uncounted != 1 || a.Relisted != 3 || a.Missing+a.Corrupt != 0 || len(a.Extras) != 2 || len(a.Lines) != 3 {
			t.Errorf("%+v", a)
		}
		if again := north.audited(); again.Relisted != 0 || len(again.Lines) != 0 || len(again.Extras) != 2 {
			t.Errorf("again: %+v", again)
		}
		for _, name := range names[:3] {
			if one := c.copyOf(catalog.FileName(name), "north"); !one.Good() {
				t.Errorf("%+v", one)
			}
		}
		if _, err := os.Stat(north.r.store.Path(catalog.FileName(names[3]))); err != nil {
			t.Error(err)
		}
	})
}
