package cluster

import (
	"crypto/sha256"
	"fmt"

	"holdfast/catalog/agree"
)

// LevelOfMarks is the level since which commands carry such marks.
const LevelOfMarks = 3

// Unmoved refuses an act on a member that has changed since it was looked at; no digest means that it was not looked
// at.
func Unmoved(s *agree.State, m *Member, standing agree.Digest) error {
	if standing.IsZero() {
		return nil
	}
	now, err := standingOf(In(s), m)
	if err != nil {
		return err
	}
	if now != standing {
		return agree.Refuse(agree.Conflict, "the members, or what %s holds, have changed since that was looked at",
			m.Name)
	}
	return nil
}

// standingOf is a digest of everything that a member's removal affects: the members, and the shards that it holds or
// takes over.
func standingOf(r Records, m *Member) (agree.Digest, error) {
	sum := sha256.New()
	members, err := agree.List[Member](r, PrefixMembers, "", 0)
	if err != nil {
		return agree.Digest{}, err
	}
	for i := range members {
		o := &members[i]
		fmt.Fprintf(sum, "%s %s %d %t %t\n", o.ID, o.Replica, o.Joined, o.OutOnly, o.Draining)
	}
	layout, err := r.Layout(m.Replica)
	if err != nil {
		return agree.Digest{}, err
	}
	for shard, p := range layout {
		if p.Holder == m.ID || p.Next == m.ID {
			fmt.Fprintf(sum, "%d %t\n", shard, p.Holder == m.ID)
		}
	}
	return agree.Digest(sum.Sum(nil)), nil
}

// StandingOf returns that digest, for an act on the member that waits for a second person.
func StandingOf(r agree.Reader, m *Member) (agree.Digest, error) { return standingOf(In(r), m) }

// Standing returns a mark of everything that the member's removal would affect, for MemberRemoval. A cluster of an
// earlier level has no such marks: then it is zero.
func (v View) Standing(id agree.NodeID) (agree.Digest, error) {
	c, err := v.Cluster()
	if err != nil || c.Level < LevelOfMarks {
		return agree.Digest{}, err
	}
	m, err := v.Member(id)
	if err != nil {
		return agree.Digest{}, err
	}
	return standingOf(v.records(), &m)
}
