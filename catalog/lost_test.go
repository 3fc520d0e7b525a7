package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
)

// TestALostFileDoesNotHoldUpItsShard declares a file lost whose source is gone with the only bytes.
func TestALostFileDoesNotHoldUpItsShard(t *testing.T) {
	c := emptyCluster(t)
	for _, name := range []string{"south-1", "sums-1", "north-2"} {
		c.join(t, name)
	}
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(t, name)
	}
	const name = "lost.warc"
	lose := func(checked ...string) *catalog.Refusal {
		b := catalog.FileLoss{Name: name, SHA256: digest(name), Reason: "the disk of south-1 broke"}
		for _, node := range checked {
			b.Checked = append(b.Checked, id(node))
		}
		return c.apply(t, catalog.LoseFile, b).Refusal
	}
	add := func(source string) {
		c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 10, SHA256: digest(name), Collection: "web", Source: id(source)}}})
	}
	report := func(node string) *catalog.Refusal {
		return refusal(c.apply(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{{Name: name, State: catalog.UploadCompleted, SHA256: digest(name)}}}))
	}
	file := func() catalog.File {
		f, err := c.view().File(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	add("north-2")
	if r := lose("north-1", "north-2", "south-1"); r == nil || r.Code != catalog.Unsupported {
		t.Errorf("at level 1: %v", r)
	}
	c.raise(t)
	for _, asked := range [][]string{{}, {"north-1", "south-1"}, {"north-2", "south-1"}} {
		if r := lose(asked...); r == nil || r.Code != catalog.Unsafe {
			t.Errorf("with %v asked: %v", asked, r)
		}
	}
	if r := lose("north-1", "north-2", "south-1"); r != nil {
		t.Fatal(r)
	}
	if f := file(); f.Lost == 0 || f.Complete() || !f.Released || !strings.Contains(f.LostWhy, "south-1") {
		t.Errorf("%+v", f)
	}
	lost, err := c.view().Lost("", 10)
	if err != nil || len(lost) != 1 {
		t.Errorf("lost: %v, %v", lost, err)
	}
	for _, replica := range []catalog.ReplicaName{"north", "south", "sums"} {
		owed, _, err := c.view().Owed(replica, nil, catalog.Cursor{}, 10)
		needed, err2 := c.view().Needed(replica, nil, "", 10)
		totals, err3 := c.view().Totals(replica)
		if err != nil || err2 != nil || err3 != nil || len(owed)+len(needed) > 0 || totals != (catalog.Totals{}) {
			t.Errorf("%s owes %v, needs %v, counts %+v", replica, owed, needed, totals)
		}
	}
	// Its shard moves without it, and what lies of it at the old holder may go.
	shard := catalog.FileName(name).Shard()
	c.must(t, catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: []catalog.Shard{shard}, Node: id("north-2")})
	c.must(t, catalog.SwitchShard, catalog.Switch{Replica: "north", Shard: shard, Node: id("north-2")})
	release := func(node string) *catalog.Refusal {
		return refusal(c.apply(t, catalog.ReleaseFiles, catalog.Releases{Node: id(node), Files: []catalog.FileName{name}}))
	}
	if r := release("north-1"); r != nil {
		t.Errorf("the old holder gives up what it has: %v", r)
	}
	if r := release("north-2"); r == nil {
		t.Error("the holder gives up what it is to hold")
	}
	// It turns up with a holder, is lost again, and is put again.
	if r := report("sums-1"); r == nil {
		t.Error("a checksum brings a file back")
	}
	if r := report("south-1"); r != nil {
		t.Fatal(r)
	}
	if f := file(); f.Lost != 0 || f.Copy("south").State != catalog.UploadCompleted || f.Copy("north").State != catalog.UploadStarted {
		t.Errorf("after its bytes turned up: %+v", f)
	}
	if r := lose("north-1", "north-2", "south-1"); r == nil || !strings.Contains(r.Message, "south") {
		t.Errorf("with a verified copy: %v", r)
	}
	c.must(t, catalog.FindCopies, catalog.Findings{Node: id("south-1"), Files: []catalog.Finding{{Name: name, FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
	if r := lose("north-1", "north-2", "south-1"); r != nil {
		t.Fatal(r)
	}
	if disputed, err := c.view().Disputed("", 10); err != nil || len(disputed) > 0 {
		t.Errorf("disputed still: %v, %v", disputed, err)
	}
	add("south-1")
	if f := file(); f.Lost != 0 || f.Released || f.Source != id("south-1") {
		t.Errorf("after it was put again: %+v", f)
	}
	if root, err := c.view().Root("north", shard); err != nil || root.Files != 1 {
		t.Errorf("root %+v, %v", root, err)
	}
	if _, err := catalog.VerifyTrail(c); err != nil {
		t.Error(err)
	}
}
