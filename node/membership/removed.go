package membership

import (
	"context"
	"errors"
	"time"
)

// ErrRemoved reports that the cluster has removed this node. It could only hold elections that it cannot win, and
// would not learn what the archive has.
var ErrRemoved = errors.New("this node was removed from the cluster; to use it again, " +
	"let it join with a token from `holdfast node invite` (its files stay)")

const (
	removedEvery    = time.Second
	removedPatience = 10 * time.Second // without a leader, or with members that only turn this node away
)

// Stay ends the node when it is no longer a member: according to its own catalog, once it no longer matters to the
// cluster's consensus; or because members refuse it as removed, none has accepted it since, and it hears no leader. A
// single member that is behind, or lies, ends nobody.
func (m Member) Stay(ctx context.Context) error {
	tick := time.NewTicker(removedEvery)
	defer tick.Stop()
	for {
		if m.Removed(time.Now()) {
			return ErrRemoved
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Removed reports whether this node is no longer a member, as far as it can tell.
func (m Member) Removed(now time.Time) bool {
	if m.Agreement.IsLeader() { // one that leads hands over first
		return false
	}
	silent, _ := m.Agreement.Heard()
	if m.Refusals.removed(now) >= removedPatience && silent >= removedPatience {
		return true // with a leader it is a member, whatever a single one says
	}
	if m.Roster.Known().has(m.Roster.self) {
		return false
	}
	return !m.Agreement.Votes(m.Roster.self) || silent >= removedPatience
}
