package steward

import (
	"time"

	"holdfast/catalog"
	"holdfast/duty"
)

// quietFor is how long this leader itself has heard nothing of a node before the node counts as silent: one that comes
// and goes all day is not made again each time that it goes.
const quietFor = 10 * time.Minute

// quiet is since when this leader has heard nothing of nodes, by this machine's steady clock.
type quiet map[catalog.NodeID]time.Time

// note keeps which of the members are heard now.
func (q *quiet) note(members []catalog.Member, heard func(catalog.NodeID) bool, steady time.Time) {
	was := *q
	*q = quiet{}
	for i := range members {
		id := members[i].ID
		if heard(id) {
			continue
		}
		(*q)[id] = steady
		if since, known := was[id]; known {
			(*q)[id] = since
		}
	}
}

// silent returns the nodes whose shards are made again on others. While the time cannot be relied on it is nobody: a
// clock that jumped a day ahead would make everybody who is away now silent.
func (s *Steward) silent(v catalog.View, members []catalog.Member, lives func(catalog.NodeID) bool,
	contacts map[catalog.NodeID]time.Duration, now time.Time, trusted bool) (map[catalog.NodeID]bool, error) {
	steady := time.Now()
	s.quiet.note(members, func(id catalog.NodeID) bool {
		since, known := contacts[id] // it may answer the leader although nobody hears its gossip
		return lives(id) || known && since < time.Minute
	}, steady)
	if !trusted {
		return nil, nil
	}
	unheard := func(id catalog.NodeID) bool {
		since, known := s.quiet[id]
		return known && steady.Sub(since) >= quietFor
	}
	return duty.Silent(v, unheard, now, s.cfg.RebuildAfter)
}
