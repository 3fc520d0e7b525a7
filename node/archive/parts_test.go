package archive

import (
	"errors"
	"strings"
	"testing"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/replica"
)

// TestAnAuditIsDoneOnlyWhenAllNodesAre puts together what nodes say of their parts of an audit of all of them, of which
// one does not answer, has never begun, is gone, or could not read all. What was not read must be named, and is no
// success.
func TestAnAuditIsDoneOnlyWhenAllNodesAre(t *testing.T) {
	north := catalog.Member{ID: "n", Name: "north-1", Replica: "north", Level: catalog.Level}
	south := catalog.Member{ID: "s", Name: "south-1", Replica: "south", Level: catalog.Level}
	old := catalog.Member{ID: "s", Name: "south-1", Replica: "south", Level: 2}
	all := []catalog.NodeID{"n", "s"}
	one := func(state replica.AuditState) []replica.Audit {
		a := replica.Audit{ID: "1", Group: "g", Nodes: all, State: state, Tally: replica.Tally{Files: 3}, TotalFiles: 3}
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
		{"one counts what it has not got as read", []auditPart{done, {member: old, audits: one(replica.AuditDone)}}, "incomplete", "its program is older"},
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

// TestAnAuditIsCleanOnlyWhenAllWasRead puts together parts that ended as they should, of which one has copies still to
// be made, there are shards that no node holds, or more was found than is listed.
func TestAnAuditIsCleanOnlyWhenAllWasRead(t *testing.T) {
	south := catalog.Member{ID: "s", Name: "south-1", Replica: "south", Level: catalog.Level}
	missing := catalog.Finding{Name: "a.warc", FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}
	corrupt := catalog.Finding{Name: "b.warc", FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: catalog.Digest{1}}
	for what, tt := range map[string]struct {
		part  replica.Audit
		clean bool
		want  api.AuditNode
	}{
		"nothing wrong": {replica.Audit{Tally: replica.Tally{Files: 3}}, true, api.AuditNode{}},
		"copies still to be made": {replica.Audit{Tally: replica.Tally{Files: 2, Owed: 1, OwedBytes: 7}}, false,
			api.AuditNode{Owed: 1, OwedBytes: 7}},
		"shards that no node holds":           {replica.Audit{Unheld: catalog.Root{Files: 5}}, false, api.AuditNode{}},
		"copies that were asked for and seen": {replica.Audit{TotalFiles: 3, Scope: replica.AuditScope{Prefix: "a", Copies: 3}}, true, api.AuditNode{}},
		"a shard that moved while it began":   {replica.Audit{TotalFiles: 3, Scope: replica.AuditScope{Prefix: "a", Copies: 4}}, false, api.AuditNode{}},
		"more than is listed": {replica.Audit{Exceptions: []catalog.Finding{missing, corrupt},
			Tally: replica.Tally{Excepted: 501, Missing: 300, Corrupt: 200, Relisted: 1}}, false,
			api.AuditNode{Missing: 300, Corrupt: 200, Lines: 1, Omitted: 498}},
		"of a program that did not tell missing from corrupt": {replica.Audit{Exceptions: []catalog.Finding{missing, corrupt},
			Tally: replica.Tally{Excepted: 12, Relisted: 2}}, false,
			api.AuditNode{Missing: 1, Corrupt: 9, Lines: 2, Omitted: 8}},
	} {
		tt.part.ID, tt.part.State = "1", replica.AuditDone
		got := gatherAudits([]auditPart{{member: south, audits: []replica.Audit{tt.part}}})
		if len(got) != 1 || got[0].Clean() != tt.clean || got[0].Unheld != tt.part.Unheld.Files {
			t.Errorf("%s: %+v", what, got)
			continue
		}
		p := got[0].Nodes[0]
		if p.Owed != tt.want.Owed || p.OwedBytes != tt.want.OwedBytes || p.Missing != tt.want.Missing || p.Corrupt != tt.want.Corrupt ||
			p.Lines != tt.want.Lines || p.Omitted != tt.want.Omitted {
			t.Errorf("%s: %+v", what, p)
		}
		if len(tt.part.Exceptions) > 0 && (len(p.Findings) != 2 || p.Findings[0].State != "missing" || p.Findings[1].SHA256 == "") {
			t.Errorf("%s: findings %+v", what, p.Findings)
		}
	}
}
