package catalog_test

import (
	"bytes"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// TestNoteAway: only the node itself says which of its shards are on disks that are away, and says it whole; what a node
// said goes with it.
func TestNoteAway(t *testing.T) {
	all := bytes.Repeat([]byte{0xff}, catalog.Shards/8)
	if r := challenged(t, files.LevelOfAway-1).apply(t, files.NoteAway, files.Away{Node: id("north-1"), Shards: all}).Refusal; r == nil || r.Code != catalog.Unsupported {
		t.Errorf("before its level: %v", r)
	}
	c := challenged(t, files.LevelOfAway)
	view := func() files.Away {
		is, err := c.view().AwayOf(id("north-1"))
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	for _, tt := range []struct {
		what  string
		body  files.Away
		taken bool
		has   bool
	}{
		{"a stranger", files.Away{Node: id("gone"), Shards: all}, false, false},
		{"too few shards", files.Away{Node: id("north-1"), Shards: all[1:]}, false, false},
		{"all", files.Away{Node: id("north-1"), Shards: all}, true, true},
		{"none, in words", files.Away{Node: id("north-1"), Shards: make([]byte, catalog.Shards/8)}, true, false},
		{"all again", files.Away{Node: id("north-1"), Shards: all, Since: 77}, true, true},
		{"none", files.Away{Node: id("north-1")}, true, false},
	} {
		r := c.apply(t, files.NoteAway, tt.body).Refusal
		is := view()
		if (r == nil) != tt.taken || is.Has(0) != tt.has || is.Has(catalog.Shards-1) != tt.has || is.Since == 77 {
			t.Errorf("%s: %v, %+v", tt.what, r, is)
		}
	}
	c.must(t, files.NoteAway, files.Away{Node: id("north-1"), Shards: all})
	for replica, want := range map[catalog.ReplicaName]int64{"north": 1, "south": 0, "sums": 0} {
		if n, err := c.view().CopiesAway(replica); err != nil || n != want {
			t.Errorf("%s: %d copies away, want %d, %v", replica, n, want, err)
		}
	}
	c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("north-1"), Lost: true})
	if is := view(); is.Shards != nil {
		t.Errorf("of a node that was removed: %+v", is)
	}
	one := files.Away{}
	one.Add(9)
	if one.Has(8) || !one.Has(9) || one.Has(10) {
		t.Errorf("%x", one.Shards[:3])
	}
}
