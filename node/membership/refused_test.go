package membership

import (
	"slices"
	"testing"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/peer"
)

func TestTheStatusSaysWhoRefusesThisNode(t *testing.T) {
	t.Parallel()
	r := NewRefusals()
	name := func(id catalog.NodeID) string { return "node " + string(id) }
	r.Note(peer.Event{Kind: peer.EventRefused, Peer: "b", Refusal: peer.OlderEpoch, Epoch: 2})
	r.Note(peer.Event{Kind: peer.EventRefused, Peer: "a", Refusal: peer.OtherCluster, Reason: "this node belongs to another cluster"})
	r.Note(peer.Event{Kind: peer.EventTurnedAway, Peer: "c", Refusal: peer.Stranger})
	want := []string{"refused by node a: this node belongs to another cluster",
		"refused by node b: the cluster was recovered without this node: " + joinAgain}
	if got := alert.Texts(r.Alerts(name)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Note(peer.Event{Kind: peer.EventConnected, Peer: "b"})
	if got := alert.Texts(r.Alerts(name)); !slices.Equal(got, want[:1]) {
		t.Errorf("%q, want %q", got, want[:1])
	}
}
