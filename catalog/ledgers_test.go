package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

func TestLedgersFollowEachOther(t *testing.T) {
	c := foundCluster(t)
	c.assignAll(t, "north-1")
	add := func(name string) {
		c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: catalog.FileName(name), Size: 1,
			SHA256: digest(name), Collection: "web", Source: id("north-1")}}})
	}
	add("l1")
	add("l2")
	ledger := func(change func(*files.Ledger)) files.Ledger {
		l := files.Ledger{Replica: "north", Serial: 1, Name: "l1", SHA256: digest("l1"), Node: id("north-1"), First: 1, Last: 9,
			Signed: []catalog.NodeID{id("south-1")}}
		if change != nil {
			change(&l)
		}
		return l
	}
	second := func(l *files.Ledger) { l.Serial, l.Name, l.SHA256, l.First, l.Last = 2, "l2", digest("l2"), 10, 9 }
	if r := c.apply(t, files.RecordLedger, ledger(nil)); r.Refusal == nil || r.Refusal.Code != catalog.Unsupported {
		t.Errorf("before level 5: %v", r.Refusal)
	}
	c.raiseTo(t, files.LevelOfLedgers)
	for name, tt := range map[string]struct {
		change func(*files.Ledger)
		want   string
	}{
		"no first":         {second, "the newest is number 0"},
		"no replica":       {func(l *files.Ledger) { l.Replica = "east" }, "no replica"},
		"another's":        {func(l *files.Ledger) { l.Replica = "south" }, "holds no bytes of replica south"},
		"stranger":         {func(l *files.Ledger) { l.Node = "nobody" }, ""},
		"no file":          {func(l *files.Ledger) { l.Name = "l3" }, "no file"},
		"another digest":   {func(l *files.Ledger) { l.SHA256 = digest("l2") }, "is not in the archive with"},
		"trail cut":        {func(l *files.Ledger) { l.First = 2 }, "does not follow"},
		"trail backwards":  {func(l *files.Ledger) { l.Last = 0; l.First = 1; l.Files = -1 }, "does not follow"},
		"from the future":  {func(l *files.Ledger) { l.Time = 1 << 60 }, "does not follow"},
		"unknown signer":   {func(l *files.Ledger) { l.Signed = []catalog.NodeID{"x"} }, "no member"},
		"unknown refusing": {func(l *files.Ledger) { l.Unsigned = []files.LedgerRefusal{{Node: "x"}} }, "no member"},
	} {
		if r := c.apply(t, files.RecordLedger, ledger(tt.change)); r.Refusal == nil || !strings.Contains(r.Refusal.Message, tt.want) {
			t.Errorf("%s: %v", name, r.Refusal)
		}
	}
	c.must(t, files.RecordLedger, ledger(nil))
	if r := c.apply(t, files.RecordLedger, ledger(nil)); r.Refusal == nil || r.Refusal.Code != catalog.Conflict {
		t.Errorf("twice: %v", r.Refusal)
	}
	c.must(t, files.RecordLedger, ledger(second))
	all, err := c.view().Ledgers("north", 0, 10)
	if err != nil || len(all) != 2 || all[0].Serial != 2 || all[1].Name != "l1" {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err = c.view().Ledgers("north", 2, 10); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if newest, err := c.view().NewestLedger("north"); err != nil || newest.Serial != 2 {
		t.Errorf("%+v, %v", newest, err)
	}
	trail, err := c.view().Trail(0, 0)
	if last := trail[len(trail)-1]; err != nil || last.Act != "ledger.record" || !strings.HasPrefix(last.Detail, "l2 sha256=") {
		t.Errorf("%+v, %v", last, err)
	}
}

// TestFilesOfLedgersAreNotRemoved tries to remove a file of a replica's ledgers, before and after one was recorded, and
// files that only look like one.
func TestFilesOfLedgersAreNotRemoved(t *testing.T) {
	c := foundCluster(t)
	c.assignAll(t, "north-1")
	remove := func(name string) *catalog.Refusal {
		c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: catalog.FileName(name), Size: 1,
			SHA256: digest(name), Collection: "web", Source: id("north-1")}}})
		return refusal(c.apply(t, catalog.RemoveFile, catalog.FileRemoval{Name: catalog.FileName(name), SHA256: digest(name), Reason: "x"}))
	}
	c.raiseTo(t, files.LevelOfLedgers)
	if r := remove("ledger-north-1.txt"); r != nil {
		t.Errorf("while the replica has no ledger: %v", r)
	}
	const head = "ledger-north-20261124T030000Z-000001.txt"
	c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: head, Size: 1, SHA256: digest(head), Collection: "web", Source: id("north-1")}}})
	c.must(t, files.RecordLedger, files.Ledger{Replica: "north", Serial: 1, Name: head, SHA256: digest(head), Node: id("north-1"), First: 1, Last: 9})
	for name, want := range map[string]bool{head: true, "ledger-north-20261124T030000Z-000001-trail.txt": true,
		"ledger-south-20261124T030000Z-000001.txt": false, "ledger-northern.txt": false, "a-ledger-north-1.txt": false} {
		if r := remove(name); (r != nil) != want || r != nil && !strings.Contains(r.Message, "ledgers of replica north") {
			t.Errorf("%s: %v", name, r)
		}
	}
}
