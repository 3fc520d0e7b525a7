package node

import (
	"errors"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/replica"
)

// TestAnAuditIsDoneOnlyWhenAllNodesAre puts together what nodes say of their parts of an audit of all of them, of which one
// does not answer, has never begun, is gone, or could not read all. What was not read must be named, and is no success.
func TestAnAuditIsDoneOnlyWhenAllNodesAre(t *testing.T) {
	north := catalog.Member{ID: "n", Name: "north-1", Replica: "north"}
	south := catalog.Member{ID: "s", Name: "south-1", Replica: "south"}
	all := []catalog.NodeID{"n", "s"}
	one := func(state replica.AuditState) []replica.Audit {
		a := replica.Audit{ID: "1", Group: "g", Nodes: all, State: state, Files: 3, TotalFiles: 3}
		if state == replica.AuditIncomplete {
			a.Faulty, a.Faults = 1, []replica.ShardFault{{Shard: 0x1ab, Reason: "the disk is not mounted"}}
		}
		return []replica.Audit{a}
	}
	done := auditPart{member: north, audits: one(replica.AuditDone)}
	for _, tt := range []struct {
		what   string
		parts  []auditPart
		state  string
		detail string // of south's part
	}{
		{"both done", []auditPart{done, {member: south, audits: one(replica.AuditDone)}}, "done", ""},
		{"one runs", []auditPart{done, {member: south, audits: one(replica.AuditRunning)}}, "running", ""},
		{"one was stopped", []auditPart{done, {member: south, audits: one(replica.AuditStopped)}}, "stopped", ""},
		{"one does not answer", []auditPart{done, {member: south, err: errors.New("no route")}}, "incomplete", "does not answer: no route"},
		{"one never began", []auditPart{done, {member: south}}, "incomplete", "was not reached when the audit began"},
		{"one was removed", []auditPart{done}, "incomplete", "is no member any more"},
		{"one could not read a shard", []auditPart{done, {member: south, audits: one(replica.AuditIncomplete)}}, "incomplete", "among them 1ab: the disk is not mounted"},
		{"one runs while another does not answer", []auditPart{{member: north, audits: one(replica.AuditRunning)}, {member: south, err: errors.New("no route")}},
			"running", "does not answer"},
	} {
		got := gatherAudits(tt.parts)
		if len(got) != 1 || got[0].State != tt.state || len(got[0].Nodes) != 2 {
			t.Errorf("%s: %+v", tt.what, got)
			continue
		}
		for _, p := range got[0].Nodes {
			if p.Node == "s" && !strings.Contains(p.Detail, tt.detail) {
				t.Errorf("%s: south's part says %q", tt.what, p.Detail)
			}
		}
	}
}
