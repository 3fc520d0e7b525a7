package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/catalog/files"
)

const asideF files.AsideName = "f.20260101000000000"

// TestTheOnlyBytesStayInTheQuarantine asks, in each state of a file, for the deletion of bytes set aside, as a person and
// as the node itself. Each answer is checked when the wish is made and again when the node carries it out.
func TestTheOnlyBytesStayInTheQuarantine(t *testing.T) {
	t.Parallel()
	spoil := func(c *cluster, node string, replica catalog.ReplicaName) {
		c.must(t, catalog.FindCopies, catalog.Findings{Node: id(node), Files: []catalog.Finding{{Name: "f", FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("other")}}})
		c.must(t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: "f", Replica: replica, Bad: true}}})
	}
	for _, tt := range []struct {
		name   string
		change func(c *cluster)
		node   string
		wish   bool // a person's is taken
		alone  bool // the node may by itself
	}{
		{"complete", func(*cluster) {}, "north-1", true, true},
		{"one copy is left", func(c *cluster) {
			spoil(c, "south-1", "south")
			c.must(t, catalog.FindSources, catalog.Findings{Node: id("south-2"), Files: []catalog.Finding{{Name: "f", FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
		}, "south-1", true, false},
		{"a source elsewhere", func(c *cluster) {
			spoil(c, "north-1", "north")
			spoil(c, "south-1", "south")
		}, "north-1", true, false},
		{"a source here", func(c *cluster) {
			spoil(c, "north-1", "north")
			spoil(c, "south-1", "south")
		}, "south-2", false, false},
		{"only a checksum is verified", func(c *cluster) {
			spoil(c, "north-1", "north")
			spoil(c, "south-1", "south")
			c.must(t, catalog.FindSources, catalog.Findings{Node: id("south-2"), Files: []catalog.Finding{{Name: "f", FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
		}, "north-1", false, false},
		{"the last holders were removed as lost", func(c *cluster) {
			spoil(c, "north-1", "north")
			for _, node := range []string{"south-2", "south-1"} {
				c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id(node), Lost: true})
			}
		}, "north-1", false, false},
		{"disputed everywhere", func(c *cluster) {
			for _, node := range []string{"north-1", "south-1"} {
				c.must(t, catalog.FindCopies, catalog.Findings{Node: id(node), Files: []catalog.Finding{{Name: "f", FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("other")}}})
			}
			c.must(t, catalog.FindSources, catalog.Findings{Node: id("south-2"), Files: []catalog.Finding{{Name: "f", FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
		}, "north-1", false, false},
		{"after a recovery", func(c *cluster) {
			c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "x"})
		}, "south-1", false, false},
		{"removed", func(c *cluster) {
			c.must(t, catalog.RemoveFile, catalog.FileRemoval{Name: "f", SHA256: digest("f"), Reason: "x"})
		}, "north-1", true, true},
		{"unknown", func(*cluster) {}, "north-1", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			aside := asideF
			if tt.name == "unknown" {
				aside = "g.20260101000000000"
			}
			wish := files.Discard{Node: id(tt.node), Aside: aside, SHA256: digest("bad"), Reason: "x"}
			drop := files.Drop{Node: id(tt.node), Aside: aside, SHA256: digest("bad")}
			c := challenged(t, files.LevelOfAside)
			tt.change(c)
			if r := c.apply(t, files.DiscardAside, wish).Refusal; (r == nil) != tt.wish || r != nil && r.Code != catalog.Unsafe {
				t.Errorf("a person's wish: %v", r)
			}
			if got := c.dropped(t, drop); got.Allowed != tt.alone || !got.Allowed && got.Why == "" {
				t.Errorf("by itself: %+v", got)
			}
			if right := (files.Drop{Node: id(tt.node), Aside: aside, SHA256: digest("f")}); tt.name != "removed" && c.dropped(t, right).Allowed {
				t.Error("by itself, the right bytes")
			}
			if c.dropped(t, files.Drop{Node: id(tt.node), Aside: aside}).Allowed {
				t.Error("by itself, bytes that cannot be read")
			}
			c = challenged(t, files.LevelOfAside) // the state changes between wish and deletion
			c.must(t, files.DiscardAside, wish)
			tt.change(c)
			drop.Wished = true
			if got := c.dropped(t, drop); got.Allowed != tt.wish {
				t.Errorf("carried out later: %+v", got)
			}
			if r := c.apply(t, files.DropAside, drop).Refusal; r == nil {
				t.Error("one wish deletes twice")
			}
		})
	}
}

func (c *cluster) dropped(t *testing.T, b files.Drop) (out files.Dropped) {
	t.Helper()
	r := c.apply(t, files.DropAside, b)
	if r.Refusal != nil {
		t.Fatal(r.Refusal)
	}
	if err := json.Unmarshal(r.Value, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWishesAboutTheQuarantine: other bytes than those named stay, with an entry in the trail; a removed member leaves no
// wish behind; names that are none, and earlier levels, are refused.
func TestWishesAboutTheQuarantine(t *testing.T) {
	t.Parallel()
	c := challenged(t, files.LevelOfAside)
	wish := files.Discard{Node: id("south-2"), Aside: asideF, SHA256: digest("bad"), Reason: "x"}
	c.must(t, files.DiscardAside, wish)
	got := c.dropped(t, files.Drop{Node: id("south-2"), Aside: asideF, SHA256: digest("others"), Wished: true})
	if got.Allowed || !strings.Contains(got.Why, digest("others").String()) {
		t.Errorf("other bytes: %+v", got)
	}
	c.must(t, files.DiscardAside, wish)
	if got := c.dropped(t, files.Drop{Node: id("south-2"), Aside: asideF, SHA256: digest("bad"), Wished: true, Why: "no"}); got.Allowed || got.Why != "no" {
		t.Errorf("the node cannot: %+v", got)
	}
	c.must(t, files.DiscardAside, wish)
	if all, err := c.view().Discards(id("south-2"), 10); err != nil || len(all) != 1 || all[0].Aside != asideF || all[0].By == "" {
		t.Errorf("%+v, %v", all, err)
	}
	c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("south-2"), Lost: true})
	if all, err := c.view().Discards(id("south-2"), 10); err != nil || len(all) != 0 {
		t.Errorf("of a removed member: %+v, %v", all, err)
	}
	for _, bad := range []files.AsideName{"", "f", "f.1", "f.2026010100000000x", ".20260101000000000", "a/b.20260101000000000"} {
		if r := c.apply(t, files.DiscardAside, files.Discard{Node: id("north-1"), Aside: bad, SHA256: digest("bad")}).Refusal; r == nil || r.Code != catalog.Invalid {
			t.Errorf("%q: %v", bad, r)
		}
	}
	old := challenged(t, files.LevelOfAside-1)
	if r := old.apply(t, files.DropAside, files.Drop{Node: id("north-1"), Aside: asideF, SHA256: digest("bad")}).Refusal; r == nil || r.Code != catalog.Unsupported {
		t.Errorf("before its level: %v", r)
	}
}

// TestADeletionFromTheQuarantineLapses: what is proposed about bytes set aside is granted as long as the file as which
// they lay there is what it was, and they are not its only ones.
func TestADeletionFromTheQuarantineLapses(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		aside  files.AsideName
		before func(*town)
		code   catalog.Code // empty: it is granted
	}{
		"nothing happened":         {asideF, func(*town) {}, ""},
		"a file that nobody knows": {"g.20260101000000000", func(*town) {}, ""},
		"a copy was found bad":     {asideF, func(c *town) { c.found(c.t, "south-1", digest("bad")) }, agree.Stale},
		"the archive got such a file": {"g.20260101000000000", func(c *town) {
			c.must(c.t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "g", Size: 1, SHA256: digest("g"), Collection: "web", Source: id("south-1")}}})
		}, agree.Stale},
		"they are the only ones of it": {"h.20260101000000000", func(*town) {}, catalog.Unsafe},
		"the node is gone": {asideF, func(c *town) {
			c.does(berta, approvals.Grant, c.propose(anna, catalog.RemoveMember, catalog.MemberRemoval{ID: id("south-1"), Lost: true, Reason: "x"}))
		}, agree.Stale},
	} {
		t.Run(what, func(t *testing.T) {
			c := guarded(t)
			c.must(t, catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "h", Size: 1, SHA256: digest("h"), Collection: "web", Source: id("south-1")}}})
			d := c.propose(anna, files.DiscardAside, files.Discard{Node: id("south-1"), Aside: tt.aside, SHA256: digest("bad"), Reason: "x"})
			tt.before(c)
			r := c.as(berta, approvals.Grant, d)
			if (r == nil) != (tt.code == "") || r != nil && r.Code != tt.code {
				t.Errorf("%v, want %q", r, tt.code)
			}
			if all, err := c.view().Discards(id("south-1"), 0); err != nil || len(all) != map[bool]int{true: 1}[r == nil] {
				t.Errorf("%d deletions are asked for: %v", len(all), err)
			}
		})
	}
	c := guarded(t)
	for _, bad := range []files.Discard{{Node: id("south-1"), Aside: "f", SHA256: digest("bad")}, {Node: id("none"), Aside: asideF}} {
		if r := c.as(anna, approvals.Propose, c.proposing(files.DiscardAside, bad)); r == nil {
			t.Errorf("%+v is proposed", bad)
		}
	}
}
