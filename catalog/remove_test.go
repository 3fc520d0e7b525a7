package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast/catalog"
)

// TestAReplicaAddedByMistakeIsRemoved adds a replica that has no nodes, so that no file is complete any more, and removes it.
func TestAReplicaAddedByMistakeIsRemoved(t *testing.T) {
	c := emptyCluster(t)
	for _, name := range []string{"south-1", "sums-1"} {
		c.join(t, name)
	}
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(t, name)
	}
	for i := range 300 {
		name := catalog.FileName(fmt.Sprint("f", i))
		c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 1, SHA256: digest(string(name)), Collection: "web", Source: id("north-1")}}})
		for _, node := range []string{"north-1", "south-1", "sums-1"} {
			c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{{Name: name, State: catalog.UploadCompleted, SHA256: digest(string(name))}}})
		}
	}
	remove := func(name catalog.ReplicaName) *catalog.Refusal {
		return c.apply(t, catalog.RemoveReplica, catalog.ReplicaRemoval{Replica: name, Reason: "a typo"}).Refusal
	}
	if r := remove("south"); r == nil || r.Code != catalog.Unsupported {
		t.Errorf("at level 1: %v", r)
	}
	c.raise(t)
	before := c.sum()
	c.must(t, catalog.SetReplica, catalog.Replica{Name: "suoth", Kind: catalog.Bitarchive, Place: "x"})
	fillAll(t, c)
	if f, err := c.view().File("f7"); err != nil || f.Complete() {
		t.Fatalf("%v, complete: %t", err, f.Complete())
	}
	for name, want := range map[catalog.ReplicaName]string{"south": "south-1", "sums": "sums-1", "none": "no replica"} {
		if r := remove(name); r == nil || !strings.Contains(r.Message, want) {
			t.Errorf("remove %s: %v, want %q", name, r, want)
		}
	}
	if r := remove("suoth"); r != nil {
		t.Fatal(r)
	}
	if r := remove("suoth"); r != nil {
		t.Errorf("again: %v", r)
	}
	for kind, body := range map[catalog.Kind]any{
		catalog.CreateToken: catalog.JoinToken{ID: "late", SecretHash: digest("x"), Replica: "suoth", Expires: c.now + 1<<40},
		catalog.SetReplica:  catalog.Replica{Name: "suoth", Kind: catalog.Bitarchive, Place: "y"},
	} {
		if r := c.apply(t, kind, body).Refusal; r == nil {
			t.Errorf("%s of a replica that is being removed is carried out", kind)
		}
	}
	c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "late", Size: 1, SHA256: digest("late"), Collection: "web", Source: id("north-1")}}})
	if f, err := c.view().File("late"); err != nil || f.Copy("suoth") != nil {
		t.Errorf("%v: a new file is to be held by a replica that is being removed", err)
	}
	fillAll(t, c)
	if _, err := c.view().Replica("suoth"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("the replica is there still: %v", err)
	}
	for i := range 300 {
		if f, err := c.view().File(catalog.FileName(fmt.Sprint("f", i))); err != nil || !f.Complete() || f.Copy("suoth") != nil {
			t.Fatalf("%v, %+v", err, f)
		}
	}
	for key := range c.All() {
		if strings.Contains(key, "suoth") {
			t.Errorf("key %s is left", key)
		}
	}
	if before == c.sum() {
		t.Error("the trail says nothing of it")
	}
}

// fillAll takes all walks to their ends.
func fillAll(t *testing.T, c *cluster) {
	t.Helper()
	for {
		fills, err := c.view().Fills()
		if err != nil {
			t.Fatal(err)
		}
		if len(fills) == 0 {
			return
		}
		c.must(t, catalog.FillReplica, catalog.FillStep{Replica: fills[0].Replica, Shard: fills[0].Shard, After: fills[0].After})
	}
}

// TestACollectionWithoutFilesIsRemoved refuses the removal of one that anything belongs to.
func TestACollectionWithoutFilesIsRemoved(t *testing.T) {
	c := emptyCluster(t)
	c.raise(t)
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "rdaio"})
	remove := func(name catalog.CollectionName) *catalog.Refusal {
		return c.apply(t, catalog.RemoveCollection, catalog.CollectionRemoval{Collection: name, Reason: "a typo"}).Refusal
	}
	c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "f1", Size: 1, SHA256: digest("f1"), Collection: "web", Source: id("north-1")}}})
	if r := remove("web"); r == nil || r.Code != catalog.Conflict {
		t.Errorf("one with a file: %v", r)
	}
	c.must(t, catalog.SetReplica, catalog.Replica{Name: "extra", Kind: catalog.Bitarchive, Place: "x", Collections: []catalog.CollectionName{"rdaio"}})
	if r := remove("rdaio"); r == nil || !strings.Contains(r.Message, "extra") {
		t.Errorf("one that a replica names: %v", r)
	}
	c.must(t, catalog.RemoveReplica, catalog.ReplicaRemoval{Replica: "extra"})
	fillAll(t, c)
	if r := remove("rdaio"); r != nil {
		t.Errorf("one that nothing belongs to: %v", r)
	}
	if r := remove("rdaio"); r == nil || r.Code != catalog.NotFound {
		t.Errorf("one that is not there: %v", r)
	}
}
