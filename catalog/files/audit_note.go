package files

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// AuditNote says that somebody has an audit begin, for the trail. What it is about is text for people.
type AuditNote struct {
	ID      string              `json:"id"`
	Kind    string              `json:"kind"`
	Replica cluster.ReplicaName `json:"replica,omitempty"` // empty: of all replicas
	Scope   string              `json:"scope"`
	Reason  string              `json:"reason,omitempty"`
}

// noteAudit changes nothing but the trail.
func noteAudit(s *state, b *AuditNote) (any, error) {
	if b.ID == "" || len(b.ID) > 200 || len(b.Kind) > 64 || len(b.Scope) > 500 {
		return nil, agree.Refuse(agree.Invalid, "an audit has an id of 1 to 200 bytes, a kind and what is audited")
	}
	replica := "all"
	if b.Replica != "" {
		if _, there, err := s.Replica(b.Replica); err != nil || !there {
			return nil, agree.OrNotFound(err, "no replica %q", agree.Clip(string(b.Replica), 64))
		}
		replica = string(b.Replica)
	}
	return nil, s.Event(NoteAudit, b.ID, "kind=%s replica=%s scope=%s reason=%s", b.Kind, replica, b.Scope,
		agree.ClipReason(b.Reason))
}
