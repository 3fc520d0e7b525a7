package api

import (
	"crypto/sha256"
	"slices"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// TestCopiesOnDisksThatAreAway are told of in the status, in a file's entry, and by an alert that every node gives.
func TestCopiesOnDisksThatAreAway(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader)
	b.holdAll()
	name := catalog.FileName("a.warc.gz")
	sum := catalog.Digest(sha256.Sum256([]byte(name)))
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 2, SHA256: sum, Collection: "web", Source: self}}})
	b.must(catalog.ReportCopies, catalog.CopyReports{Node: self, Copies: []catalog.CopyReport{{Name: name, State: catalog.UploadCompleted, SHA256: sum}}})
	look := func() (away int64, told, alerted bool) {
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range st.Replicas {
			away += r.Away
		}
		f, err := c.Files().Show(t.Context(), "a.warc.gz")
		if err != nil {
			t.Fatal(err)
		}
		told = slices.ContainsFunc(f.Copies, func(one wire.Copy) bool { return one.Away })
		all, err := c.Alerts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return away, told, slices.ContainsFunc(all.Items, func(a wire.Alert) bool { return a.Kind == "copies-away" })
	}
	if away, told, alerted := look(); away != 0 || told || alerted {
		t.Errorf("all disks are there: %d, %t, %t", away, told, alerted)
	}
	is := agreed.Away{Node: self}
	for n := range catalog.Shard(catalog.Shards) {
		is.Add(n)
	}
	b.must(agreed.NoteAway, is)
	if away, told, alerted := look(); away == 0 || !told || !alerted {
		t.Errorf("the disks are away: %d, %t, %t", away, told, alerted)
	}
}
