package archive

import (
	"testing"

	"holdfast/catalog"
	"holdfast/replica"
)

// TestAPartDoesNotEndAnAlert follows an audit that found something with others: one of a part that is right does not say
// that the rest is.
func TestAPartDoesNotEndAnAlert(t *testing.T) {
	done := func(kind replica.AuditKind, scope replica.AuditScope) replica.Audit {
		return replica.Audit{State: replica.AuditDone, Kind: kind, Scope: scope}
	}
	failed := done(replica.AuditChallenge, replica.AuditScope{})
	failed.Wrong, failed.Unanswered = 1, []replica.Unanswered{{Name: "f", Replica: "south", Outcome: replica.AnswerWrong}}
	faulty := done("", replica.AuditScope{})
	faulty.Faulty, faulty.Faults = 1, []replica.ShardFault{{Shard: 1, Reason: "broken"}}
	shard := catalog.Shard(7)
	for what, tt := range map[string]struct {
		next  replica.Audit
		ended bool // the alert of challenges, or of shards
	}{
		"challenges of a file":      {done(replica.AuditChallenge, replica.AuditScope{Files: []catalog.FileName{"g"}}), false},
		"challenges of a replica":   {done(replica.AuditChallenge, replica.AuditScope{Replica: "east"}), false},
		"challenges of all":         {done(replica.AuditChallenge, replica.AuditScope{}), true},
		"a look at what is there":   {done(replica.AuditPresence, replica.AuditScope{}), false},
		"a reading of one shard":    {done("", replica.AuditScope{Shard: &shard}), false},
		"a reading of some files":   {done("", replica.AuditScope{Prefix: "a"}), false},
		"a reading of all":          {done("", replica.AuditScope{}), true},
		"challenges that still run": {replica.Audit{State: replica.AuditRunning, Kind: replica.AuditChallenge}, false},
	} {
		all := []replica.Audit{failed, faulty, tt.next}
		if tt.next.Kind == replica.AuditChallenge {
			if got := unanswered(all); (len(got) == 0) != tt.ended {
				t.Errorf("%s: %v", what, got)
			}
			continue
		}
		if got := unaudited(all); (len(got) == 0) != tt.ended {
			t.Errorf("%s: %v", what, got)
		}
	}
}
