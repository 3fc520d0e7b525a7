package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
)

// TestAtLevel1NothingIsReleasedAfterARecovery recovers a cluster at the level at which nobody compares, from a state in
// which south has a file that it deleted since. Nothing is released for its sake, until the level has come at which
// south compares.
func TestAtLevel1NothingIsReleasedAfterARecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		const name = "a.warc.gz"
		c.node("north-1").put(name, 1, 1000)
		stop := c.run("north-1", "south-1")
		c.complete(name)
		stop()
		south, north := c.node("south-1"), c.node("north-1")
		if err := south.r.store.Delete(name); err != nil {
			t.Fatal(err)
		}
		south.open()
		north.open()
		c.must(catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "test"})
		c.must(catalog.SetCollection, catalog.Collection{Name: "none"})
		c.must(catalog.SetReplica, catalog.Replica{Name: "north", Kind: catalog.Bitarchive, Place: "north", Collections: []catalog.CollectionName{"none"}})
		for c.fill("north") {
		}
		defer c.run("north-1")()
		time.Sleep(30 * time.Second)
		if !north.r.store.Has(name) {
			t.Fatal("the last copy was deleted, for the sake of one that is not there")
		}
		for _, n := range []*node{north, south} {
			level := 3
			c.must(catalog.UpdateMember, catalog.MemberChange{ID: n.id, Level: &level})
		}
		c.must(catalog.RaiseLevel, catalog.LevelChange{Level: 3})
		synctest.Wait() // north has asked for the release
		if !north.r.store.Has(name) {
			t.Fatal("the last copy was deleted before south has compared")
		}
		defer c.run("south-1")()
		c.until("south says that it has not", func(v catalog.View) bool {
			files, err := v.Disputed("", 1)
			return err == nil && len(files) == 1
		})
	})
}

// TestAfterARecoveryNothingIsReleasedOnTrust recovers a cluster from a state in which south has a file that it deleted
// since. When north is to hold nothing any more, it does not let its copy go before south has the file again.
func TestAfterARecoveryNothingIsReleasedOnTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "north-1", "south-1")
		c.raise()
		const name = "a.warc.gz"
		c.node("north-1").put(name, 1, 1000)
		stop := c.run("north-1", "south-1")
		c.complete(name)
		stop()
		south, north := c.node("south-1"), c.node("north-1")
		if err := south.r.store.Delete(name); err != nil {
			t.Fatal(err)
		}
		south.open()
		north.open()
		c.must(catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "test"})
		c.must(catalog.SetCollection, catalog.Collection{Name: "none"})
		c.must(catalog.SetReplica, catalog.Replica{Name: "north", Kind: catalog.Bitarchive, Place: "north", Collections: []catalog.CollectionName{"none"}})
		for c.fill("north") {
		}
		defer c.run("north-1")()
		synctest.Wait() // north has asked for the release
		if !north.r.store.Has(name) {
			t.Fatal("the last copy was deleted, for the sake of one that is not there")
		}
		defer c.run("south-1")()
		c.until("south says that it has not", func(v catalog.View) bool {
			files, err := v.Disputed("", 1)
			return err == nil && len(files) == 1
		})
		c.must(catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: "south", Bad: true, Votes: "test"}}})
		c.until("south has it, all is compared, and north has let it go", func(v catalog.View) bool {
			f, err := v.File(name)
			epoch, err2 := v.Unproved(south.id)
			return err == nil && err2 == nil && f.Complete() && epoch == 0 && f.Copy("north") == nil
		})
		if !south.r.store.Has(name) {
			t.Error("south has not got the file")
		}
	})
}
