package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
)

// many returns n shards from the first on.
func many(first catalog.Shard, n int) (out []catalog.Shard) {
	for i := range n {
		out = append(out, first+catalog.Shard(i))
	}
	return out
}

// TestShardsWithoutFilesSwitchManyAtATime moves 512 shards of which one has a file and one had one that was removed.
func TestShardsWithoutFilesSwitchManyAtATime(t *testing.T) {
	c := foundCluster(t)
	c.join(t, "north-2")
	c.assignAll(t, "north-1")
	c.raise(t)
	file, gone := catalog.FileName("f1"), catalog.FileName("f3")
	for _, name := range []catalog.FileName{file, gone} {
		c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 1, SHA256: digest(string(name)), Collection: "web", Source: id("north-1")}}})
	}
	c.must(t, catalog.RemoveFile, catalog.FileRemoval{Name: gone, SHA256: digest(string(gone)), Reason: "test"})
	first := min(file.Shard(), gone.Shard())
	shards := many(first, 512)
	if file.Shard()-first >= 512 || gone.Shard()-first >= 512 {
		shards = append(many(first, 511), max(file.Shard(), gone.Shard()))
	}
	c.must(t, catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: shards, Node: id("north-2")})
	c.must(t, catalog.SwitchShards, catalog.Switches{Replica: "north", Shards: shards, Node: id("north-2")})
	for _, shard := range shards {
		p, err := c.view().Placement("north", shard)
		if err != nil {
			t.Fatal(err)
		}
		want := catalog.Placement{Holder: id("north-2")}
		if shard == file.Shard() {
			want = catalog.Placement{Holder: id("north-1"), Next: id("north-2")}
		}
		if p != want {
			t.Errorf("shard %s is at %+v, want %+v", shard, p, want)
		}
	}
	left, err := c.view().Left(id("north-1"))
	if err != nil || len(left) != 1 || left[0].Shard != gone.Shard() {
		t.Errorf("north-1 has to give up %v, %v; want only the shard of the removed file", left, err)
	}
	c.must(t, catalog.LeaveShards, catalog.Leavings{Node: id("north-1"), Replica: "north", Shards: shards})
	if left, err = c.view().Left(id("north-1")); err != nil || len(left) > 0 {
		t.Errorf("after leaving, north-1 has to give up %v, %v", left, err)
	}
	again := c.apply(t, catalog.SwitchShards, catalog.Switches{Replica: "north", Shards: shards, Node: id("north-2")})
	if again.Refusal == nil {
		t.Error("a command that switches nothing is carried out")
	}
	other := c.send(t, catalog.Command{Kind: catalog.SwitchShards, Node: id("north-1"), Boot: 1, Seq: 1},
		catalog.Switches{Replica: "north", Shards: shards, Node: id("north-2")})
	if other.Refusal == nil || other.Refusal.Code != catalog.Denied {
		t.Errorf("a node switches for another: %v", other.Refusal)
	}
}

// TestTheOnlyNodeIsNotDrained: from level 2 on, a drain that cannot end is refused.
func TestTheOnlyNodeIsNotDrained(t *testing.T) {
	c := foundCluster(t)
	drain := func(node string, draining bool) *catalog.Refusal {
		return c.apply(t, catalog.UpdateMember, map[string]any{"id": id(node), "draining": draining}).Refusal
	}
	if r := drain("north-1", true); r != nil {
		t.Errorf("at level 1: %v", r)
	}
	if r := drain("north-1", false); r != nil {
		t.Fatal(r)
	}
	c.join(t, "north-2")
	c.raise(t)
	if r := drain("north-2", true); r != nil {
		t.Errorf("one of two: %v", r)
	}
	if r := drain("north-1", true); r == nil || r.Code != catalog.Unsafe || !strings.Contains(r.Message, "north") {
		t.Errorf("the other one: %v", r)
	}
}
