package batches

import (
	"slices"
	"testing"

	"holdfast/catalog"
)

func TestWhoIsAskedFirst(t *testing.T) {
	t.Parallel()
	n := Nearest{Self: "here", Place: "north",
		Alive: func() map[catalog.NodeID]bool {
			return map[catalog.NodeID]bool{"here": true, "near": true, "mute": true, "far": true}
		},
		Doubted: func(id catalog.NodeID) bool { return id == "mute" }}
	given := []catalog.Holding{{Node: "dead", Place: "north"}, {Node: "far", Place: "south"}, {Node: "mute", Place: "north"},
		{Node: "near", Place: "north"}, {Node: "here", Place: "north"}}
	before := slices.Clone(given)
	var got []catalog.NodeID
	for _, h := range n.Order(given) {
		got = append(got, h.Node)
	}
	if want := []catalog.NodeID{"here", "near", "far", "dead", "mute"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if !slices.Equal(given, before) {
		t.Error("what the catalog gave is changed")
	}
}
