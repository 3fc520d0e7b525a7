package catalog_test

import (
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/batches"
	"holdfast/catalog/files"
)

// TestARecoveredClusterReleasesNothingSoon: a state that is older than a file's restoration does not have its bytes
// released before somebody can have seen it.
func TestARecoveredClusterReleasesNothingSoon(t *testing.T) {
	t.Parallel()
	c := threeNodes(t, files.LevelOfHidden)
	completeFile(t, c, "f1")
	c.must(t, catalog.RemoveFile, removal("f1"))
	until := entryOf(t, c, "f1").Until
	c.now = until - 1000
	c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "fire"})
	expire := files.Expiry{Files: []catalog.FileName{"f1"}}
	for _, at := range []catalog.Time{until + 1000, until + 29*dayLong} {
		c.now = at
		refused(t, c.apply(t, files.ExpireFiles, expire), "because the cluster was recovered")
		if due, err := files.RemovalsIn(c).Expired(at, 10); err != nil || len(due) > 0 {
			t.Errorf("due: %v, %v", due, err)
		}
	}
	sound(t, c)
	c.now = until + 31*dayLong
	if due, err := files.RemovalsIn(c).Expired(c.now, 10); err != nil || len(due) != 1 {
		t.Errorf("due: %v, %v", due, err)
	}
	c.must(t, files.ExpireFiles, expire)
	sound(t, c)
}

// TestNodesOfferAHiddenFileAgain: bytes that a node still has are taken for the copies that are missing, and the file
// stays hidden. A person's put of the same bytes is refused.
func TestNodesOfferAHiddenFileAgain(t *testing.T) {
	t.Parallel()
	c := threeNodes(t, files.LevelOfHidden)
	completeFile(t, c, "f1")
	c.must(t, catalog.RemoveFile, removal("f1"))
	offer := func(by, text string) catalog.Result {
		return c.apply(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "f1", Size: 7,
			SHA256: digest(text), Collection: "web", Source: id("south-1"), By: by}}})
	}
	if r := refusal(offer("", "f1")); r != nil { // nothing is missing
		t.Error(r)
	}
	c.must(t, catalog.FindCopies, catalog.Findings{Node: id("north-1"), Files: []catalog.Finding{{Name: "f1",
		FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
	c.must(t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: "f1", Replica: "north", Bad: true}}})
	if f := entryOf(t, c, "f1"); !f.Released || f.Complete() {
		t.Fatalf("%+v", f)
	}
	refused(t, offer("person:p1", "f1"), "restore it")
	refused(t, offer("", "other"), "is in the archive with")
	if r := refusal(offer("", "f1")); r != nil {
		t.Error(r)
	}
	if f := entryOf(t, c, "f1"); f.Source != id("south-1") || f.Released || f.Hidden == 0 {
		t.Errorf("offered again: %+v", f)
	}
	sound(t, c)
}

// TestAShardMovesWhileAFileOfItIsHidden: the new holder needs the copy as before, and the file is restored with it.
func TestAShardMovesWhileAFileOfItIsHidden(t *testing.T) {
	t.Parallel()
	c := emptyCluster(t)
	for _, name := range []string{"south-1", "sums-1", "north-2"} {
		c.join(t, name)
	}
	c.raiseTo(t, files.LevelOfHidden)
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(t, name)
	}
	completeFile(t, c, "f1")
	shard := catalog.FileName("f1").Shard()
	c.must(t, catalog.RemoveFile, removal("f1"))
	c.must(t, catalog.AssignShards, catalog.Assignment{Replica: "north", Node: id("north-2"), Shards: []catalog.Shard{shard}})
	move := catalog.Switch{Replica: "north", Shard: shard, Node: id("north-2")}
	if r := refusal(c.apply(t, catalog.SwitchShard, move)); r == nil {
		t.Error("a shard moves without the bytes of a hidden file")
	}
	root, err := c.view().Root("north", shard)
	if err != nil || root.Files != 1 {
		t.Fatalf("%+v, %v", root, err)
	}
	move.Root = root
	c.must(t, catalog.SwitchShard, move)
	sound(t, c)
	c.must(t, files.RestoreFile, restoration("f1"))
	f := entryOf(t, c, "f1")
	if holders, err := c.view().CoveringFile(&f); err != nil || len(holders) != 2 || holders[0].Node != id("north-2") ||
		!f.Complete() {
		t.Errorf("%+v, %v", holders, err)
	}
	sound(t, c)
}

// TestBatchesLeaveOutHiddenFiles of which they begin after the removal, and know of those that are hidden meanwhile.
func TestBatchesLeaveOutHiddenFiles(t *testing.T) {
	t.Parallel()
	c := threeNodes(t, files.LevelOfHidden)
	completeFile(t, c, "f1")
	c.must(t, catalog.RemoveFile, removal("f1"))
	f := entryOf(t, c, "f1")
	for begun, want := range map[catalog.Time]bool{f.Hidden - 1: true, f.Hidden: false, f.Hidden + 1: false} {
		x, err := batches.NewSelector(&batches.Batch{Begun: begun, Selection: batches.Selection{Replica: "north"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Selects(&f); got != want {
			t.Errorf("a batch that began at %d, of a file that was hidden at %d: %t", begun, f.Hidden, got)
		}
	}
	c.must(t, files.RestoreFile, restoration("f1"))
	f = entryOf(t, c, "f1")
	if x, err := batches.NewSelector(&batches.Batch{Begun: c.now}); err != nil || !x.Selects(&f) {
		t.Error("a restored file is not selected")
	}
}
