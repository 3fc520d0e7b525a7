package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
)

// sound fails if a check of the whole catalog finds anything.
func sound(t interface{ Fatalf(string, ...any) }, c *cluster) {
	found, _, err := checked(c)
	if err != nil || len(found) > 0 {
		t.Fatalf("the check found:\n%s\n%v", strings.Join(found, "\n"), err)
	}
}

// checked returns what a check finds.
func checked(c *cluster) (found []string, of catalog.Checked, err error) {
	of, err = catalog.Check(c.view(), func() error { return nil }, func(key, what string) {
		found = append(found, key+": "+what)
	})
	return found, of, err
}

// archived returns a cluster with files in all the states that a check tells apart.
func archived(t *testing.T) *cluster {
	c := threeNodes(t, catalog.Level)
	add := func(name string) catalog.FileName {
		c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: catalog.FileName(name), Size: 10, SHA256: digest(name),
			Collection: "web", Source: id("north-1")}}})
		return catalog.FileName(name)
	}
	report := func(name catalog.FileName, node string) {
		c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{{Name: name, State: catalog.UploadCompleted,
			SHA256: digest(string(name))}}})
	}
	done := func(name catalog.FileName) {
		for _, node := range []string{"north-1", "south-1", "sums-1"} {
			report(name, node)
		}
		c.must(t, catalog.ReleaseFiles, catalog.Releases{Node: id("north-1"), Files: []catalog.FileName{name}})
	}
	done(add("complete"))
	done(add("again"))
	report(add("halfway"), "north-1")
	done(add("disputed"))
	c.must(t, catalog.FindCopies, catalog.Findings{Node: id("south-1"), Files: []catalog.Finding{{Name: "disputed", FileList: catalog.FileListOK,
		Checksum: catalog.ChecksumCorrupt, Found: digest("x")}}})
	return c
}

// A check finds nothing in what commands made, and whatever is changed behind their backs.
func TestCheck(t *testing.T) {
	c := archived(t)
	sound(t, c)
	_, of, _ := checked(c)
	if of.Files != 4 || of.Keys < 50 || of.Events == 0 || of.Digest.IsZero() {
		t.Errorf("looked at: %+v", of)
	}
	keys := map[string][]byte{}
	if err := c.Scan(nil, nil, func(key, value []byte) bool {
		keys[string(key)] = slices.Clone(value)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	told := func(what, key string) {
		t.Helper()
		found, changed, err := checked(c)
		if err != nil || len(found) == 0 {
			t.Errorf("%s %s: nothing was found, %v", what, key, err)
		}
		if changed.Digest == of.Digest {
			t.Errorf("%s %s: the digest is the same", what, key)
		}
	}
	lists := []string{"shard", "source", "release", "owed", "need", "disputed", "root", "totals", "file", "word", "trail", "member", "name", "trailhead", "cluster"}
	seen := map[string]bool{}
	for key, value := range keys {
		prefix, _, _ := strings.Cut(key, "/")
		if !slices.Contains(lists, prefix) || key == "totals/"+"" {
			continue
		}
		seen[prefix] = true
		if prefix != "release" { // may be missing only where a removed file's is
			if err := c.Delete([]byte(key)); err != nil {
				t.Fatal(err)
			}
			told("without", key)
		}
		if err := c.Set([]byte(key), []byte("\x02")); err != nil {
			t.Fatal(err)
		}
		told("another version of", key)
		if err := c.Set([]byte(key), value); err != nil {
			t.Fatal(err)
		}
	}
	for _, prefix := range lists {
		if !seen[prefix] && prefix != "release" {
			t.Errorf("there is no %s to change", prefix)
		}
	}
	for _, key := range []string{"owed/north/000/nosuch", "need/north/complete", "source/" + string(id("north-1")) + "/complete", "disputed/complete/north",
		"lost/complete", "release/" + string(id("north-1")) + "/complete", "shard/000/complete", "root/fff/web", "totals/nosuch"} {
		value := "\x01"
		if strings.HasPrefix(key, "root") || strings.HasPrefix(key, "totals") {
			value = "\x01" + `{"files":1,"bytes":3}`
		}
		if err := c.Set([]byte(key), []byte(value)); err != nil {
			t.Fatal(err)
		}
		told("with", key)
		if err := c.Delete([]byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	sound(t, c)
}

// A check ends with the error of its pace, and what it has not looked at by then is not found; a catalog of a later
// level is known as such.
func TestCheckEnds(t *testing.T) {
	c := archived(t)
	stop := errors.New("stop")
	all := 0
	if _, err := catalog.Check(c.view(), func() error { all++; return nil }, func(string, string) {}); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < all; n++ {
		if n == 40 { // behind the values and the trail, which are most of it
			n = max(n, all-100)
		}
		left := n
		_, err := catalog.Check(c.view(), func() error {
			if left--; left < 0 {
				return stop
			}
			return nil
		}, func(key, what string) { t.Errorf("after %d keys: %s: %s", n, key, what) })
		if !errors.Is(err, stop) {
			t.Fatalf("after %d keys: %v", n, err)
		}
	}
	if err := c.Set([]byte("cluster"), fmt.Appendf(nil, "\x01"+`{"id":"x","epoch":1,"level":%d}`, catalog.Level+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := catalog.Known(c.view()); !errors.Is(err, catalog.ErrNewer) {
		t.Errorf("a later level: %v", err)
	}
}
