package membership

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/peer"
)

// TestOneMemberThatLetsANodeInIsEnough turns a node away as removed, as members do that have not heard yet that it
// joined again.
func TestOneMemberThatLetsANodeInIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRefusals()
		if got := r.removed(time.Now()); got != 0 {
			t.Errorf("without a word it counts as removed for %v", got)
		}
		r.Note(peer.Event{Kind: peer.EventRefused, Peer: "a", Refusal: peer.Stranger})
		<-time.After(time.Hour)
		if got := r.removed(time.Now()); got != 0 {
			t.Errorf("a stranger counts as removed for %v", got)
		}
		for range 3 {
			r.Note(peer.Event{Kind: peer.EventRefused, Peer: "a", Refusal: peer.Removed})
			<-time.After(time.Second)
		}
		if got := r.removed(time.Now()); got != 3*time.Second {
			t.Errorf("turned away for %v", got)
		}
		r.Note(peer.Event{Kind: peer.EventConnected, Peer: "b"})
		if got := r.removed(time.Now()); got != 0 {
			t.Errorf("let in, it counts as removed for %v", got)
		}
	})
}
