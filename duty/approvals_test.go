package duty

import (
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/approvals"
	"holdfast/catalog/files"
)

// by applies a command in somebody's name.
func (w *newswire) by(actor string, kind catalog.Kind, body any) {
	w.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	w.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(w.now), Actor: actor, Body: raw})
	if err != nil {
		w.t.Fatal(err)
	}
	if res, err := catalog.Apply(&w.Tx, w.index, data); err != nil || res.Refusal != nil {
		w.t.Fatalf("%s by %s: %v %v", kind, actor, res.Refusal, err)
	}
}

// People are told what they can grant: not what has expired or gone stale.
func TestApprovalsWaiting(t *testing.T) {
	w := newNewswire(t)
	local := catalog.Local(nodeID("north-1"))
	for _, id := range []catalog.PersonID{"anna", "berta"} {
		token := func(name string) catalog.AccessToken {
			return catalog.AccessToken{ID: string(id) + name, Name: name, SecretHash: sha256.Sum256([]byte(name)), Role: catalog.RoleAdmin}
		}
		invitation := token("-in")
		invitation.Expires = catalog.At(w.now.Add(time.Hour))
		w.by(local, catalog.InvitePerson, catalog.Invitation{Person: catalog.Person{ID: id, Name: string(id), Mail: string(id) + "@example.org"}, Token: invitation})
		w.by(id.Actor(), catalog.AcceptInvitation, catalog.Acceptance{Invitation: invitation.ID, Token: token("-own")})
		w.by(local, catalog.GiveGrant, catalog.Giving{Person: id, Role: catalog.RoleAdmin})
	}
	sum := sha256.Sum256([]byte("a"))
	w.do(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Collection: "web", Source: nodeID("north-1"), Size: 7, SHA256: sum}}})
	w.by("person:anna", approvals.Set, approvals.Setting{Acts: approvals.Classes(), Limit: 48 * approvals.LeastLimit})
	propose := func() {
		t.Helper()
		raw, err := json.Marshal(files.CopySetting{Name: "a.warc", Replica: "north", SHA256: sum, State: catalog.UploadStarted, Reason: "x"})
		if err != nil {
			t.Fatal(err)
		}
		w.by("person:anna", approvals.Propose, approvals.Proposing{Kind: files.SetCopyState, Body: raw})
	}
	told := func(want ...string) {
		t.Helper()
		got, err := ApprovalsWaiting(w.view(), w.now)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v, %v", got, err)
		}
		for i := range got {
			if got[i].Text() != want[i] {
				t.Errorf("%s", got[i].Text())
			}
		}
	}
	told()
	propose()
	told("proposal 1 waits for a second person until 2026-03-03 12:00 UTC: copy-state of a.warc, 1 files of 7 bytes; see `holdfast approval show 1`")
	w.do(catalog.AssignShards, catalog.Assignment{Replica: "north", Node: nodeID("north-1"), Shards: []catalog.Shard{catalog.FileName("a.warc").Shard()}})
	w.do(catalog.ReportCopies, catalog.CopyReports{Node: nodeID("north-1"), Copies: []catalog.CopyReport{{Name: "a.warc", State: catalog.UploadCompleted, SHA256: sum}}})
	told() // stale
	propose()
	w.now = w.now.Add(48*time.Hour - time.Second)
	told("proposal 2 waits for a second person until 2026-03-03 12:00 UTC: copy-state of a.warc, 1 files of 7 bytes; see `holdfast approval show 2`")
	w.now = w.now.Add(time.Second)
	told() // expired
}

// A correction of the catalog ends no dispute by votes: copies that were found with the new SHA-256 are read again.
func TestNoVerdictOnWhatTheCatalogWasCorrectedTo(t *testing.T) {
	w := newNewswire(t)
	old, right := sha256.Sum256([]byte("old")), sha256.Sum256([]byte("right"))
	shard := []catalog.Shard{catalog.FileName("a.warc").Shard()}
	w.do(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: "a.warc", Collection: "web", Source: nodeID("north-1"), Size: 7, SHA256: old}}})
	find := func(node string, finding catalog.Finding) {
		finding.Name, finding.FileList = "a.warc", catalog.FileListOK
		w.do(catalog.FindCopies, catalog.Findings{Node: nodeID(node), Files: []catalog.Finding{finding}})
	}
	both := []string{"north-1", "south-1"}
	for _, node := range both {
		w.do(catalog.AssignShards, catalog.Assignment{Replica: catalog.ReplicaName(node[:5]), Node: nodeID(node), Shards: shard})
		w.do(catalog.ReportCopies, catalog.CopyReports{Node: nodeID(node), Copies: []catalog.CopyReport{{Name: "a.warc", State: catalog.UploadCompleted, SHA256: old}}})
	}
	w.do(catalog.ReleaseFiles, catalog.Releases{Node: nodeID("north-1"), Files: []catalog.FileName{"a.warc"}})
	for _, node := range both {
		find(node, catalog.Finding{Checksum: catalog.ChecksumCorrupt, Found: right})
	}
	judged := func(undecided int) {
		t.Helper()
		if j, err := Verdicts(w.view(), 0, "", 10); err != nil || len(j.Verdicts) != 0 || len(j.Undecided) != undecided {
			t.Errorf("%+v, %v", j, err)
		}
	}
	judged(2)
	w.do(files.SetChecksum, files.Correction{Name: "a.warc", Was: old, SHA256: right, Reason: "x"})
	judged(0)
	find("north-1", catalog.Finding{Checksum: catalog.ChecksumOK}) // good bytes: from now on a verdict could be made
	judged(0)
}
