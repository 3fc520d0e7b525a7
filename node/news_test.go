package node

import (
	"testing"

	"holdfast/gossip"
	"holdfast/node/membership"
	"holdfast/node/owed"
)

func TestANodeThatComesMayHaveWhatIsOwed(t *testing.T) {
	t.Parallel()
	n := &Node{log: quiet(), company: company{changed: membership.NewChanges()}, keeping: keeping{bell: owed.NewBell()}}
	due, deaf := n.bell.Listen()
	defer deaf()
	rang := func() bool {
		select {
		case <-due:
			return true
		default:
			return false
		}
	}
	n.tellOf(gossip.Event{Kind: gossip.NodeUpdated})
	if rang() {
		t.Error("news of a node that was there already begins a walk over what is owed")
	}
	n.tellOf(gossip.Event{Kind: gossip.NodeJoined})
	if !rang() {
		t.Error("a node came, and nothing asks it for what is owed")
	}
}
