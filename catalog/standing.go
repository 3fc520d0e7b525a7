package catalog

import (
	"crypto/sha256"
	"fmt"

	"holdfast/catalog/agree"
)

// What cannot be undone is decided by a person who was shown what it does. The command carries a mark of what was shown, and is
// refused when that has changed before the command is applied.

// marksLevel is the level since which commands carry such marks.
const marksLevel = 3

// The bodies of the commands that carry such marks, as they were before.
type (
	fileRemovalUnmarked struct {
		Name   FileName `json:"name"`
		SHA256 Digest   `json:"sha256"`
		Reason string   `json:"reason"`
	}
	fileLossUnmarked struct {
		Name    FileName `json:"name"`
		SHA256  Digest   `json:"sha256"`
		Reason  string   `json:"reason"`
		Checked []NodeID `json:"checked,omitempty"`
		Undo    bool     `json:"undo,omitempty"`
	}
	memberRemovalUnmarked struct {
		ID     NodeID `json:"id"`
		Lost   bool   `json:"lost,omitempty"`
		Reason string `json:"reason,omitempty"`
	}
)

// unchanged refuses an act on a file's entry that is not the one that was looked at; 0 means that none was.
func unchanged(f *File, version uint64) error {
	if version == 0 || version == f.Version {
		return nil
	}
	return agree.Refuse(agree.Conflict, "file %s has changed since it was looked at: its entry is version %d now, it was %d",
		f.Name, f.Version, version)
}

// unmoved refuses an act on a member that does not stand as it was looked at; no digest means that it was not.
func unmoved(s *state, m *Member, standing Digest) error {
	if standing.IsZero() {
		return nil
	}
	now, err := standingOf(s.records, m)
	if err != nil {
		return err
	}
	if now != standing {
		return agree.Refuse(agree.Conflict, "the members, or what %s holds, have changed since that was looked at", m.Name)
	}
	return nil
}

// standingOf is a digest of what a member's removal touches: who the members are, and which shards it holds or takes over.
func standingOf(r records, m *Member) (Digest, error) {
	sum := sha256.New()
	members, err := agree.List[Member](r, PrefixMembers, "", 0)
	if err != nil {
		return Digest{}, err
	}
	for i := range members {
		o := &members[i]
		fmt.Fprintf(sum, "%s %s %d %t %t\n", o.ID, o.Replica, o.Joined, o.OutOnly, o.Draining)
	}
	layout, err := r.layout(m.Replica)
	if err != nil {
		return Digest{}, err
	}
	for shard, p := range layout {
		if p.Holder == m.ID || p.Next == m.ID {
			fmt.Fprintf(sum, "%d %t\n", shard, p.Holder == m.ID)
		}
	}
	return Digest(sum.Sum(nil)), nil
}

// Standing returns a mark of what the member's removal would touch, for MemberRemoval. A cluster of an earlier level knows no
// such marks: then it is zero.
func Standing(v View, id NodeID) (Digest, error) {
	c, err := v.Cluster()
	if err != nil || c.Level < marksLevel {
		return Digest{}, err
	}
	m, err := v.Member(id)
	if err != nil {
		return Digest{}, err
	}
	return standingOf(v.rec, &m)
}

// EntryMark returns the mark of a file's entry for FileRemoval and FileLoss: its version, and 0 in a cluster of an earlier level.
func EntryMark(v View, f File) (uint64, error) {
	c, err := v.Cluster()
	if err != nil || c.Level < marksLevel {
		return 0, err
	}
	return f.Version, nil
}
