package membership

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
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

// leaderless is an agreement of a voter that has heard no leader for an hour.
type leaderless struct{ Agreement }

func (leaderless) IsLeader() bool               { return false }
func (leaderless) Votes(catalog.NodeID) bool    { return true }
func (leaderless) Heard() (time.Duration, bool) { return time.Hour, false }

// TestTheFounderIsAMemberBeforeItsCatalogIsRead starts the first node of a cluster on a slow machine: its member list is
// still the one of the founding, in which it has no time of joining, and it leads only later.
func TestTheFounderIsAMemberBeforeItsCatalogIsRead(t *testing.T) {
	for name, tt := range map[string]struct {
		members []catalog.Member
		want    bool
	}{
		"the list of the founding": {members: []catalog.Member{memberOf("self")}},
		"a list without the node":  {members: []catalog.Member{memberOf("other")}, want: true},
	} {
		self := memberOf("self").ID
		known := Known{Cluster: catalog.Cluster{ID: "c", Epoch: 1}, Members: tt.members}
		roster := NewRoster(Folder{}, disk.New(), self, known, &links{}, slog.New(slog.DiscardHandler))
		m := Member{Roster: roster, Refusals: NewRefusals(), Agreement: leaderless{}}
		if got := m.Removed(time.Now()); got != tt.want {
			t.Errorf("%s: removed is %t", name, got)
		}
	}
}
