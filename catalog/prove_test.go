package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
)

// TestARecoveryAtLevel1IsComparedAtLevel3 recovers a cluster at the level at which nobody compares. Whoever was a member
// then compares when the cluster comes to a level that asks for it.
func TestARecoveryAtLevel1IsComparedAtLevel3(t *testing.T) {
	for recovered, want := range map[bool]uint64{true: 2, false: 0} {
		c := foundCluster(t)
		if recovered {
			c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "fire"})
		}
		c.raiseTo(t, 3)
		for _, name := range []string{"north-1", "south-1", "sums-1"} {
			if epoch, err := c.view().Unproved(id(name)); err != nil || epoch != want {
				t.Errorf("recovered %t: %s compares since epoch %d, want %d: %v", recovered, name, epoch, want, err)
			}
		}
	}
}

// TestNothingIsReleasedBeforeItIsCompared recovers a cluster from a state in which south-1 is said to have a file. Until
// south-1 has compared, nobody releases what counts on that.
func TestNothingIsReleasedBeforeItIsCompared(t *testing.T) {
	for _, level := range []int{1, 2} {
		c := emptyCluster(t)
		for _, name := range []string{"south-1", "sums-1", "south-2"} {
			c.join(t, name)
		}
		for _, name := range []string{"north-1", "south-1", "sums-1"} {
			c.assignAll(t, name)
		}
		if level == 2 {
			c.raise(t)
		}
		c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "f", Size: 1, SHA256: digest("f"), Collection: "web", Source: id("south-2")}}})
		for _, node := range []string{"north-1", "south-1", "sums-1"} {
			c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{{Name: "f", State: catalog.UploadCompleted, SHA256: digest("f")}}})
		}
		c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "fire"})
		release := func() *catalog.Refusal {
			return refusal(c.apply(t, catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"), Files: []catalog.FileName{"f"}}))
		}
		if level == 1 {
			if r := release(); r != nil {
				t.Errorf("at level 1: %v", r)
			}
			continue
		}
		if r := release(); r == nil || r.Code != catalog.Unsafe || !strings.Contains(r.Message, "compared") {
			t.Errorf("before anybody has compared: %v", r)
		}
		prove := func(node string, epoch uint64) *catalog.Refusal {
			return c.apply(t, catalog.ProveHolding, catalog.Proof{Node: id(node), Epoch: epoch}).Refusal
		}
		if r := prove("south-1", 1); r == nil {
			t.Error("a comparison from before the epoch counts")
		}
		for _, node := range []string{"north-1", "sums-1"} {
			if r := prove(node, 2); r != nil {
				t.Fatal(r)
			}
		}
		if r := release(); r == nil || !strings.Contains(r.Message, "south-1") {
			t.Errorf("before south-1 has compared: %v", r)
		}
		other := c.send(t, catalog.Command{Kind: catalog.ProveHolding, Node: id("north-1"), Boot: 1, Seq: 1}, catalog.Proof{Node: id("south-1"), Epoch: 2})
		if other.Refusal == nil {
			t.Error("a node proves for another")
		}
		if epoch, err := c.view().Unproved(id("south-1")); err != nil || epoch != 2 {
			t.Errorf("south-1 has to compare since epoch %d, %v", epoch, err)
		}
		if r := prove("south-1", 2); r != nil {
			t.Fatal(r)
		}
		if r := release(); r != nil {
			t.Errorf("when all have compared: %v", r)
		}
		c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 3})
		c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("sums-1"), Lost: true})
		if epoch, err := c.view().Unproved(id("sums-1")); err != nil || epoch != 0 {
			t.Errorf("a removed node has to compare: %d, %v", epoch, err)
		}
	}
}
