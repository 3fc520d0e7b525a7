package node

import (
	"testing"

	"holdfast/gossip"
)

func TestANodeThatComesMayHaveWhatIsOwed(t *testing.T) {
	t.Parallel()
	n := &Node{log: quiet(), bell: newBell(), changed: newChanges()}
	due, deaf := n.bell.listen()
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
