package catalog_test

import (
	"testing"

	"holdfast/catalog"
)

// TestAMemberIsRemovedAsItWasLookedAt removes a member that has changed, or whose fellows have, since its standing was looked at.
func TestAMemberIsRemovedAsItWasLookedAt(t *testing.T) {
	for what, tt := range map[string]struct {
		change  func(c *cluster)
		refused bool
	}{
		"nothing":        {func(*cluster) {}, false},
		"it was renamed": {func(c *cluster) { c.must(t, catalog.UpdateMember, map[string]any{"id": id("south-2"), "name": "far"}) }, false},
		"it got a shard": {func(c *cluster) {
			c.must(t, catalog.AssignShards, catalog.Assignment{Replica: "south", Shards: []catalog.Shard{7}, Node: id("south-2")})
		}, true},
		"another one is to go": {func(c *cluster) { c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("sums-1"), Lost: true}) }, true},
		"another one drains": {func(c *cluster) {
			c.must(t, catalog.UpdateMember, map[string]any{"id": id("south-1"), "draining": true})
		}, true},
	} {
		t.Run(what, func(t *testing.T) {
			c := emptyCluster(t)
			for _, name := range []string{"south-1", "sums-1", "south-2"} {
				c.join(t, name)
			}
			for _, name := range []string{"north-1", "south-1", "sums-1"} {
				c.assignAll(t, name)
			}
			if standing, err := catalog.Standing(c.view(), id("south-2")); err != nil || !standing.IsZero() {
				t.Fatalf("level 1 knows a standing: %v, %v", standing, err)
			}
			if r := c.apply(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("south-2"), Lost: true, Standing: digest("x")}).Refusal; r == nil || r.Code != catalog.Invalid {
				t.Fatalf("at level 1: %v", r)
			}
			c.raiseTo(t, 3)
			standing, err := catalog.Standing(c.view(), id("south-2"))
			if err != nil || standing.IsZero() {
				t.Fatal(standing, err)
			}
			tt.change(c)
			r := c.apply(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("south-2"), Lost: true, Standing: standing}).Refusal
			if (r != nil) != tt.refused || r != nil && r.Code != catalog.Conflict {
				t.Errorf("refusal: %v", r)
			}
		})
	}
}
