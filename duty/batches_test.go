package duty_test

import (
	"slices"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
	"holdfast/duty"
)

// TestWhoDrivesBatches loses the node that drives two batches, one of them paused; others claim what runs.
func TestWhoDrivesBatches(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.level = catalog.Level
	s.replica("north", nil)
	s.apply(catalog.RaiseLevel, catalog.LevelChange{Level: catalog.Level})
	members, err := s.view().Members()
	s.check(err)
	node := members[0].ID
	for _, id := range []string{"a", "b", "c"} {
		s.apply(batches.Open, batches.Beginning{ID: id, Program: "files", Node: node})
	}
	s.apply(batches.Wish, batches.Wishing{ID: "b", Wish: "pause"})
	s.apply(batches.Wish, batches.Wishing{ID: "c", Wish: "stop"})
	ids := func(all []batches.Holder, err error) (out []string) {
		t.Helper()
		s.check(err)
		for _, h := range all {
			out = append(out, h.ID)
		}
		return out
	}
	now := time.Now()
	lost := func(silent, leads time.Duration) []string {
		return ids(duty.LostBatches(s.view(), duty.Contacts{Since: now.Add(-leads),
			Heard: map[catalog.NodeID]time.Time{node: now.Add(-silent)}}, now, time.Minute))
	}
	for name, tt := range map[string]struct {
		silent, leads time.Duration
		want          []string
	}{
		"it was heard":             {time.Second, time.Hour, nil},
		"it was silent":            {2 * time.Minute, time.Hour, []string{"a", "b"}},
		"nobody could hear it yet": {time.Hour, 10 * time.Second, nil},
	} {
		if got := lost(tt.silent, tt.leads); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if got := ids(duty.BatchClaims(s.view(), node, 0)); got != nil {
		t.Errorf("what is driven is claimed: %q", got)
	}
	for _, id := range []string{"a", "b"} {
		s.apply(batches.Release, batches.Holder{ID: id, Node: node, Term: 1})
	}
	if got := ids(duty.BatchClaims(s.view(), node, 0)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q are claimed", got)
	}
	if got := ids(duty.BatchClaims(s.view(), node, 4)); got != nil {
		t.Errorf("by a node that drives enough: %q", got)
	}
}
