package archive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/replica"
)

// unreachable is the state of a node's part about which nobody can say anything now, or that the node never began.
const unreachable = "unreachable"

// gatherAudits makes the API's audits from what each node reports about its own part, the newest first. For an audit
// of several nodes, it names those that did not report.
func gatherAudits(parts []auditPart) []api.Audit {
	byID := map[string]*api.Audit{}
	expected := map[string][]catalog.NodeID{}
	for _, part := range parts {
		for _, one := range part.audits {
			id := one.GroupID(part.member.Name)
			if byID[id] == nil {
				byID[id] = &api.Audit{ID: id, Began: one.Began}
			}
			addPart(byID[id], part.member, one)
			expected[id] = append(expected[id], one.Nodes...)
		}
	}
	out := make([]api.Audit, 0, len(byID))
	for id, one := range byID {
		addMissed(one, expected[id], parts)
		conclude(one)
		out = append(out, *one)
	}
	slices.SortFunc(out, func(x, y api.Audit) int { return y.Began.Compare(x.Began) })
	return out
}

// owedLevel is the level of the programs that report which of a node's copies are still to be made.
const owedLevel = 3

// addPart makes a node's audit part of the API's.
func addPart(whole *api.Audit, m catalog.Member, one replica.Audit) {
	if name := string(m.Replica); !slices.Contains(whole.Replicas, name) {
		whole.Replicas = append(whole.Replicas, name)
	}
	part := api.AuditNode{Node: string(m.ID), Name: m.Name, State: string(one.State),
		Files: one.Files, Bytes: one.Bytes, Total: one.TotalFiles, Owed: one.Owed, OwedBytes: one.OwedBytes,
		Missing: int64(one.Missing), Corrupt: int64(one.Corrupt), Lines: int64(one.Relisted)}
	if one.Missing+one.Corrupt+one.Relisted < one.Excepted { // of a program that counted them together
		part.Missing = 0
		for _, e := range one.Exceptions {
			if e.FileList == catalog.FileListMissing {
				part.Missing++
			}
		}
		part.Corrupt = int64(one.Excepted-one.Relisted) - part.Missing
	}
	part.Findings = []api.AuditFinding{}
	for _, e := range one.Exceptions {
		found := api.AuditFinding{File: string(e.Name), State: "corrupt"}
		if e.FileList == catalog.FileListMissing {
			found.State = "missing"
		} else if !e.Found.IsZero() {
			found.SHA256 = e.Found.String()
		}
		part.Findings = append(part.Findings, found)
	}
	part.Extra = int64(one.Unknowns + one.Uncounted)
	for _, x := range one.Lines {
		part.Findings = append(part.Findings, api.AuditFinding{File: string(x.Name), State: "manifest", Detail: x.Why})
	}
	for _, x := range one.Extras {
		part.Findings = append(part.Findings, api.AuditFinding{File: string(x.Name), State: "extra", Detail: x.Why})
	}
	part.Wrong, part.Refused = int64(one.Wrong), int64(one.Refused)
	part.Late, part.Unreached = int64(one.Late), int64(one.Unreached)
	part.Answered = int64(one.Answered)
	part.Findings = append(part.Findings, unansweredFindings(one.Unanswered)...)
	beside := len(one.Lines) + len(one.Extras)
	part.Omitted = part.Missing + part.Corrupt + part.Wrong + part.Refused + part.Late + part.Unreached -
		int64(len(part.Findings)-beside)
	if len(one.Extras) > 0 { // an earlier program lists none
		part.Omitted += part.Extra - int64(len(one.Extras))
	}
	if len(one.Lines) > 0 {
		part.Omitted += part.Lines - int64(len(one.Lines))
	}
	part.Detail = auditDetail(one)
	if m.Level < owedLevel && one.State == replica.AuditDone {
		part.State = string(replica.AuditIncomplete)
		part.Detail = strings.TrimPrefix(part.Detail+
			"; its program is older and counts copies that it has not got yet as read", "; ")
	}
	whole.Nodes = append(whole.Nodes, part)
	describe(whole, &one)
	whole.Files += one.Files
	whole.Bytes += one.Bytes
	whole.Total += one.TotalFiles
	whole.Owed += part.Owed
	whole.OwedBytes += part.OwedBytes
	whole.Missing += part.Missing
	whole.Corrupt += part.Corrupt
	whole.Lines += part.Lines
	whole.Extra += part.Extra
	whole.Wrong += part.Wrong
	whole.Refused += part.Refused
	whole.Late += part.Late
	whole.Unreached += part.Unreached
	whole.Answered += part.Answered
	whole.Unheld = max(whole.Unheld, one.Unheld.Files) // every part says the same of the whole
	if one.Began.Before(whole.Began) {
		whole.Began = one.Began
	}
	if one.Ended.After(whole.Ended) {
		whole.Ended = one.Ended
	}
}

// findingsListed is how many challenges are listed of one node.
const findingsListed = 100

// unansweredFindings lists the first challenges that were not answered rightly, those that still are not before those
// that were since.
func unansweredFindings(all []replica.Unanswered) (out []api.AuditFinding) {
	for _, settled := range []bool{false, true} {
		for _, u := range all {
			if u.Settled.IsZero() == settled || len(out) == findingsListed {
				continue
			}
			f := api.AuditFinding{File: string(u.Name), State: string(u.Outcome), Replica: string(u.Replica),
				Node: string(u.Node), Detail: u.Why, Tries: u.Tries}
			if u.Moot {
				f.Detail = strings.TrimPrefix(f.Detail+"; it is not to be asked for any more", "; ")
			} else {
				f.Answered = u.Settled
			}
			out = append(out, f)
		}
	}
	return out
}

// describe says what the audit is about, and how long its slowest part will go on.
func describe(whole *api.Audit, one *replica.Audit) {
	whole.Kind = cmp.Or(string(one.Kind), string(replica.AuditChecksum))
	whole.Prefix, whole.Challenged = string(one.Scope.Prefix), string(one.Scope.Replica)
	whole.Unseen = one.Scope.Copies // less is worked out when all parts are known
	if one.Scope.Shard != nil {
		whole.Shard = one.Scope.Shard.String()
	}
	whole.Named = nil
	for _, name := range one.Scope.Files {
		whole.Named = append(whole.Named, string(name))
	}
	if one.State == replica.AuditRunning {
		whole.Left = max(whole.Left, int64(one.Left().Seconds()))
	}
}

// auditDetail explains in words what the counts of a node's part do not show.
func auditDetail(one replica.Audit) string {
	var detail []string
	if one.Faulty > 0 {
		detail = append(detail, fmt.Sprintf("%d shards could not be read, among them %s: %s",
			one.Faulty, one.Faults[0].Shard, one.Faults[0].Reason))
	}
	if one.OutboxFault != "" {
		detail = append(detail, "the outbox could not be read: "+one.OutboxFault)
	}
	if one.Relisted > 0 {
		detail = append(detail, fmt.Sprintf("%d manifest lines were wrong and have been put right", one.Relisted))
	}
	if one.Unknowns > 0 {
		detail = append(detail, fmt.Sprintf("%d files on disk are not in the catalog", one.Unknowns))
	}
	if one.Uncounted > 0 {
		detail = append(detail, fmt.Sprintf("%d files on disk are no copies that the replica is to have",
			one.Uncounted))
	}
	return strings.Join(detail, "; ")
}

// addMissed names the nodes that were to take part and of which nothing is known: they do not answer, never began, or
// are members no more.
func addMissed(whole *api.Audit, nodes []catalog.NodeID, parts []auditPart) {
	for _, id := range nodes {
		if slices.ContainsFunc(whole.Nodes, func(p api.AuditNode) bool { return p.Node == string(id) }) {
			continue
		}
		missed := api.AuditNode{Node: string(id), Name: string(id), State: unreachable,
			Findings: []api.AuditFinding{}, Detail: "is no member any more"}
		for _, part := range parts {
			if part.member.ID != id {
				continue
			}
			missed.Name = part.member.Name
			missed.Detail = "was not reached when the audit began: its copies were not read"
			if part.err != nil {
				missed.Detail = "does not answer: " + part.err.Error()
			}
			if name := string(part.member.Replica); !slices.Contains(whole.Replicas, name) {
				whole.Replicas = append(whole.Replicas, name)
			}
		}
		whole.Nodes = append(whole.Nodes, missed)
	}
}

// conclude sets the state that follows from the parts: running while one runs, done only when all are.
func conclude(a *api.Audit) {
	slices.Sort(a.Replicas)
	slices.SortFunc(a.Nodes, func(x, y api.AuditNode) int { return strings.Compare(x.Name, y.Name) })
	for _, state := range []string{string(replica.AuditRunning), string(replica.AuditPaused),
		string(replica.AuditStopped), unreachable, string(replica.AuditIncomplete), string(replica.AuditDone)} {
		if slices.ContainsFunc(a.Nodes, func(p api.AuditNode) bool { return p.State == state }) {
			a.State = state
			break
		}
	}
	if a.Unseen = max(0, a.Unseen-a.Total-a.Unheld); a.State != string(replica.AuditDone) {
		a.Unseen = 0 // those who have not ended may not have counted yet
	} else if a.Unseen > 0 {
		a.State = string(replica.AuditIncomplete)
	}
	switch a.State {
	case unreachable:
		a.State = string(replica.AuditIncomplete)
	case string(replica.AuditRunning), string(replica.AuditPaused):
		a.Ended = time.Time{}
	}
}
