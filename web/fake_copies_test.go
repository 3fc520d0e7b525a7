package web

import (
	"net/url"
	"strings"
	"time"

	"holdfast/api/wire"
)

// preserved is what the API answers about copies, what waits for a second person, ledgers and backups.
func preserved(name string) map[string]any {
	at, bad, good := now().Add(-3*time.Hour), strings.Repeat("cd", 32), strings.Repeat("ab", 32)
	found := wire.Copy{Replica: "north", State: wire.UploadCompleted, Checksum: wire.ChecksumCorrupt, Found: bad, Reason: name, Tries: 3}
	checks := wire.ReplicaChecks{Replica: wire.Replica{Name: "north", Kind: wire.Bitarchive, Place: name, Collections: []string{name}, Files: 10, Bytes: 5e9, Good: 7, Owed: 3, Disputed: 1, Held: 4095, Moving: 1},
		Missing: 1, Changed: 2, Partly: true, Checks: []wire.ReplicaCheck{{Kind: "checksum", Oldest: at.AddDate(-1, 0, 0), Newest: at, Checked: 9, Never: 1, Findings: 2},
			{Kind: "presence", Oldest: at, Newest: at, Checked: 2}, {Kind: "challenge", Never: 1}}}
	waits := wire.Approval{ID: 7, State: "waiting", Act: "file-remove", Subject: name, Replica: name, SHA256: bad, Files: 1, Bytes: 1 << 30, Effects: []string{name, "its bytes are deleted"},
		Command: "RemoveFile", Parameters: map[string]any{"name": name, "reason": name}, Reason: name, By: "person:p2", ByName: name, Person: "p2", PersonName: name, Place: name, OtherPlace: true,
		Made: at, Until: now().Add(time.Hour), Sum: strings.Repeat("ef", 32)}
	own := waits
	own.ID, own.Person, own.Act = 8, "p1", "of-the-future"
	over := waits
	over.ID, over.State, over.Decided, over.DecidedByName, over.Why = 9, "denied", at, name, name
	granted, denied, withdrawn := waits, waits, own
	granted.State, denied.State, withdrawn.State = "granted", "denied", "withdrawn"
	signer := wire.LedgerSigner{Node: "id-1", Name: name}
	ledger := wire.Ledger{Replica: "north", Serial: 12, Name: name, SHA256: bad, Time: at, Recorded: at, Node: name, Files: 10, Bytes: 5e9, Missing: 1, Signed: []wire.LedgerSigner{signer},
		Unsigned: []wire.LedgerUnsigning{{LedgerSigner: signer, Reason: name}}}
	unsigned := ledger
	unsigned.Serial, unsigned.Signed, unsigned.Unsigned, unsigned.Missing = 11, nil, nil, 0
	ledgers := wire.Page[wire.Ledger]{Items: []wire.Ledger{ledger, unsigned}, Next: "l-11"}
	making := wire.Page[wire.LedgerMaking]{Items: []wire.LedgerMaking{{Node: name, State: "running", Stage: name, Began: at}, {Node: name, State: "failed", Detail: name},
		{Node: name, State: "unreachable", Detail: name}, {Node: name, State: "idle"}}}
	aside := wire.Aside{ID: "a.warc.1", Name: name, Path: name, Size: 5, Since: at, Reason: name, SHA256: bad, State: name, Known: true, Good: 2}
	kept, going := aside, aside
	kept.ID, kept.Kept, kept.Known = "a.warc.2", name, false
	going.ID, going.Going = "a.warc.3", true
	file := wire.File{Name: "bad.warc", Size: 5, SHA256: strings.Repeat("ab", 32), Version: 4, Copies: []wire.Copy{found, {Replica: "south", State: wire.UploadCompleted, Verified: at}}}
	hidden := wire.File{Name: name, Size: 5, SHA256: good, Collection: name, Removed: at, RemovedBy: "person:p2", RemoverName: name, Reason: name, Until: now().Add(24 * time.Hour)}
	sole := int64(7)
	listed := url.PathEscape(name)
	layout := wire.Layout{Version: 5, Always: true, Changes: []wire.LayoutChange{{ID: 3, Step: "drain", Node: "id-1", NodeName: name, By: "person:p2", ByName: name, At: at, Reason: name},
		{ID: 4, Step: "undrain", NodeName: name, Joined: true, At: at}, {ID: 5, Step: "undrain", NodeName: name, At: at}, {ID: 6, Step: "weight", NodeName: name, Weight: 50, At: at}, {ID: 7, Step: "remove", Node: "id-9", At: at},
		{ID: 8, Step: "collections", Replica: name, At: at}, {ID: 9, Step: "collections", Replica: name, Collections: []string{name, "b"}, At: at}, {ID: 10, Step: "of-the-future", At: at}},
		Plan: &wire.LayoutPlan{Refused: []wire.LayoutRefusal{{Change: 7, Why: name}}, Links: []wire.LayoutLink{{Replica: name, FromName: name, ToName: name, Files: 10, Bytes: 5e9, Rate: 1e6, Seconds: 5000}, {Replica: name, Files: 2, Bytes: 5}, {Replica: name, Files: 2}},
			Short: []wire.LayoutShort{{Replica: name, Fewer: 9, OnePlace: 4, None: 1}}, Full: []wire.LayoutFull{{NodeName: name, Free: 5, Bytes: 9e9}}, Stuck: []wire.LayoutStuck{{NodeName: name, Shards: 12}}, Unsettled: []string{name}, Effects: []string{name}}}
	return map[string]any{
		"/replica-checks": wire.Page[wire.ReplicaChecks]{Items: []wire.ReplicaChecks{checks, {Replica: wire.Replica{Name: name, Kind: wire.Checksum}}}}, "/replicas/north/checks": checks,
		"/replicas/north/shards": wire.Page[wire.Shard]{Items: []wire.Shard{{Shard: "000", Holder: name}, {Shard: "001", Holder: name, Next: "id-2"}, {Shard: "002"}}},
		"/approvals":             wire.Page[wire.Approval]{Items: []wire.Approval{waits, own}}, "/approvals?waiting=false": wire.Page[wire.Approval]{Items: []wire.Approval{waits, over}},
		"/approvals/7": waits, "/approvals/8": own, "/approvals/9": over,
		"/approval-rule":          wire.ApprovalRule{Acts: []string{"file-remove", "of-the-future"}, OtherPlace: true, Limit: "168h", Version: 3},
		"POST /approvals/7/grant": granted, "POST /approvals/7/deny": denied, "POST /approvals/8/withdraw": withdrawn,
		"PUT /approval-rule":      wire.ApprovalRule{Acts: []string{"file-remove"}},
		"/replicas/north/ledgers": ledgers, "/replicas/" + listed + "/ledgers": ledgers, "/replicas/" + name + "/ledgers": ledgers,
		"/replicas/north/ledger-making": making, "/replicas/" + name + "/ledger-making": making,
		"POST /replicas/north/ledgers": wire.LedgerMaking{State: "running"},
		"/quarantine": wire.Page[wire.NodeQuarantine]{Items: []wire.NodeQuarantine{{Name: name, Files: 3, Bytes: 15, Fault: name, Aside: []wire.Aside{aside, kept, going}}, {Name: name, Unreachable: name},
			{Name: "away-1", Files: 5, Bytes: 15}, {Name: "north-9", Files: 2, Aside: []wire.Aside{aside, kept}}}},
		"POST /nodes/north-9/quarantine/a.warc.1/restore": nil, "POST /nodes/north-9/quarantine/a.warc.1/delete": nil,
		"/strays": wire.Page[wire.NodeStrays]{Items: []wire.NodeStrays{{Name: name, Files: 1, Bytes: 5, Fault: name, Strays: []wire.Stray{{Name: name, Where: "files", Path: name, Size: 5, State: name}}},
			{Name: name, Unreachable: name}, {Name: "away-1", Unreachable: name}, {Name: "north-9", Files: 1, Strays: []wire.Stray{{Name: "a.warc", Where: "files", Path: name, Size: 5, State: name}}}}},
		"POST /nodes/north-9/strays/a.warc/adopt": wire.File{Name: "a.warc"}, "POST /nodes/north-9/strays/a.warc/set-aside": nil,
		"/files/bad.warc": file, "POST /files/bad.warc/replace": file, "POST /files/bad.warc/checksum": file, "POST /files/bad.warc/state": file,
		"/copies?limit=100&replica=north&state=corrupt": wire.Page[wire.FileCopy]{Items: []wire.FileCopy{{File: "bad.warc", Size: 5, Copy: found}}},
		"/files?limit=100&state=hidden":                 wire.Page[wire.File]{Items: []wire.File{hidden}, Next: "f-1"}, "/files/hidden.warc": hidden, "POST /files/hidden.warc/restore": file,
		"/nodes/north-1/sole-files": wire.Page[wire.File]{Items: []wire.File{hidden}, Total: &sole, Next: "n-1"}, "POST /nodes/north-1/remove": nil,
		"/join-tokens":      wire.Page[wire.JoinToken]{Items: []wire.JoinToken{{ID: "j1", Replica: name, State: "open", Created: at, Expires: now().Add(time.Hour)}, {ID: name, Replica: name, State: "used", UsedBy: name}, {ID: "j3", State: "expired"}, {ID: "j4", State: "revoked"}, {ID: "j5", State: "of the future"}}},
		"POST /join-tokens": wire.JoinToken{ID: "j2", Replica: name, State: "open", Expires: now().Add(time.Hour), Text: "holdfast-join-SECRET"}, "DELETE /join-tokens/j1": nil,
		"/layout": layout, "POST /layout/apply": wire.Layout{Version: 6}, "POST /layout/revert": wire.Layout{Version: 6}, "PUT /layout/setting": wire.Layout{Version: 5},
		"POST /nodes/north-1/stage": wire.LayoutChange{ID: 11}, "POST /nodes/north-1/stage-removal": wire.LayoutChange{ID: 12},
		"/index": wire.Page[wire.IndexStatus]{Items: []wire.IndexStatus{{Node: "id-1", Name: name, Files: 5, Captures: 70, Detail: name}, {Node: "id-2", Name: "north-1", Pending: 3}, {Node: "id-3", Name: "south-1", Silent: true, Detail: name},
			{Node: "id-4", Name: "third-1", Rebuilding: true}, {Node: "id-5", Name: "fourth-1", Files: 5}}},
		"POST /index/rebuild": nil,
		"/config":             map[string]any{"name": name, "files": []string{name, "/b"}, "limits": map[string]any{"Crawls": 3, "Memory": "1GiB", name: nil}},
		"/removal-rule":       wire.RemovalRule{Days: 30, Version: 2}, "PUT /removal-rule": wire.RemovalRule{Days: 7},
		"/catalog/backups": wire.CatalogBackups{Node: name, Scheduled: true, Folder: name, Every: "24h", Keep: 7, Key: name, Failure: name, Failed: at,
			Items: []wire.CatalogBackup{{Name: name, Bytes: 5e6, Index: 99, At: at, SHA256: bad, Key: name}}},
	}
}

// triedOnCopies are the acts on copies, on what lies beside them, and on what waits for a second person.
func triedOnCopies(name string) []tried {
	bad, good, sum := strings.Repeat("cd", 32), strings.Repeat("ab", 32), strings.Repeat("ef", 32)
	return []tried{
		{"/files/bad.warc/replace", `POST /files/bad.warc/replace {"replica":"north","sha256":"` + bad + `","reason":"why"}`,
			[]string{"replica", "north", "sha256", strings.ToUpper(bad), "reason", "why", "confirm", "bad.warc"}},
		{"/files/bad.warc/checksum", `POST /files/bad.warc/checksum {"was":"` + good + `","sha256":"` + bad + `","reason":"why","version":4}`,
			[]string{"was", good, "sha256", bad, "version", "4", "reason", "why", "confirm", "bad.warc"}},
		{"/files/bad.warc/state", `POST /files/bad.warc/state {"replica":"south","sha256":"` + good + `","state":"UPLOAD_STARTED","reason":"why","version":4}`,
			[]string{"replica", "south", "sha256", good, "version", "4", "reason", "why", "confirm", "bad.warc"}},
		{"/files/hidden.warc/restore", `POST /files/hidden.warc/restore {"sha256":"` + good + `","reason":"why"}`, []string{"sha256", good, "reason", "why"}},
		{"/new/join-token", `POST /join-tokens {"replica":"north","lifetime":"12h"}`, []string{"replica", "north", "lifetime", "12h"}},
		{"/join-tokens/j1/revoke", `DELETE /join-tokens/j1 `, nil},
		{"/nodes/north-1/remove", `POST /nodes/north-1/remove {"reason":"why","confirm":"t0"}`, []string{"reason", "why", "shown", "t0", "confirm", "north-1"}},
		{"/nodes/north-1/remove-lost", `POST /nodes/north-1/remove {"lost":true,"files":7,"reason":"why","confirm":"t0"}`,
			[]string{"reason", "why", "files", "7", "shown", "t0", "confirm", "north-1"}},
		{"/layout/apply", `POST /layout/apply {"version":5,"reason":"why"}`, []string{"version", "5", "reason", "why", "confirm", name}},
		{"/layout/revert", `POST /layout/revert {"version":5,"reason":"why"}`, []string{"version", "5", "reason", "why"}},
		{"/layout/changes/3/revert", `POST /layout/revert {"change":3,"reason":"why"}`, []string{"reason", "why"}},
		{"/layout/setting", `PUT /layout/setting {"always":true,"reason":"why"}`, []string{"always", "yes", "reason", "why"}},
		{"/nodes/north-1/drain", `POST /nodes/north-1/stage {"step":"drain"}`, []string{"stage", "yes", "confirm", "north-1"}},
		{"/nodes/north-1/weight", `POST /nodes/north-1/stage {"step":"weight","weight":50}`, []string{"stage", "yes", "weight", "50"}},
		{"/nodes/north-1/remove", `POST /nodes/north-1/stage-removal {"reason":"why"}`, []string{"stage", "yes", "reason", "why", "confirm", "north-1"}},
		{"/disks/add", `POST /disks/wish {"wish":"add","path":"/c"}`, []string{"node", name, "path", "/c"}},
		{"/disks/%2Fa/replace", `POST /disks/wish {"wish":"replace","path":"/a","by":"/c","confirm":"t0"}`, []string{"node", name, "by", "/c", "shown", "t0", "confirm", "/a"}},
		{"/index/rebuild", `POST /index/rebuild {"reason":"why"}`, []string{"reason", "why"}},
		{"/nodes/north-1/rebuild-index", `POST /index/rebuild {"node":"north-1","reason":"why"}`, []string{"reason", "why"}},
		{"/removal-rule/edit", `PUT /removal-rule {"days":7,"version":2,"reason":"why"}`, []string{"days", "7", "version", "2", "reason", "why"}},
		{"/nodes/north-9/strays/a.warc/adopt", `POST /nodes/north-9/strays/a.warc/adopt {"collection":"tv","sha256":"` + bad + `"}`, []string{"collection", "tv", "sha256", bad}},
		{"/nodes/north-9/strays/a.warc/set-aside", `POST /nodes/north-9/strays/a.warc/set-aside {"reason":"why"}`, []string{"reason", "why"}},
		{"/nodes/north-9/quarantine/a.warc.1/restore", `POST /nodes/north-9/quarantine/a.warc.1/restore `, nil},
		{"/nodes/north-9/quarantine/a.warc.1/delete", `POST /nodes/north-9/quarantine/a.warc.1/delete {"sha256":"` + bad + `","reason":"why"}`,
			[]string{"sha256", bad, "reason", "why", "confirm", name}},
		{"/replicas/north/ledger", `POST /replicas/north/ledgers `, nil},
		{"/approvals/7/grant", `POST /approvals/7/grant {"sum":"` + sum + `"}`, []string{"sum", sum, "confirm", name}},
		{"/approvals/7/deny", `POST /approvals/7/deny {"sum":"` + sum + `","reason":"why"}`, []string{"sum", sum, "reason", "why"}},
		{"/approvals/8/withdraw", `POST /approvals/8/withdraw {"sum":"` + sum + `"}`, []string{"sum", sum}},
		{"/approval-rule/edit", `PUT /approval-rule {"acts":["file-remove","node-lost"],"otherPlace":true,"limit":"24h","version":3,"reason":"why"}`,
			[]string{"a.file-remove", "yes", "a.node-lost", "yes", "otherPlace", "yes", "limit", "24h", "version", "3", "reason", "why"}},
	}
}
