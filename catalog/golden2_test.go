package catalog_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"holdfast/catalog"
)

// golden is a cluster to which a fixed list of commands is played. It remembers the answers.
type golden struct {
	*cluster
	t       *testing.T
	answers []catalog.Result
	seq     uint64
}

// say sends a command as a node's request.
func (g *golden) say(node string, kind catalog.Kind, body any) {
	g.seq++
	g.answers = append(g.answers, g.send(g.t, catalog.Command{Kind: kind, Actor: `a "person"`, Node: id(node),
		Boot: 1 + g.seq/300, Seq: g.seq}, body))
}

// tell sends a command of nobody.
func (g *golden) tell(kind catalog.Kind, body any) {
	g.answers = append(g.answers, g.apply(g.t, kind, body))
}

// TestStoredBytesOfLevel2 plays a fixed list of commands at level 2. The digests are those of the program of commit
// 57f740d, which knew no level above it: members with that program and members with this one have to store and answer
// the same. A change of either is a change of what level 2 means, and needs a level of its own.
func TestStoredBytesOfLevel2(t *testing.T) {
	const (
		stored   = "2ba7d17fc83b86bbcc752b2a3fc2daa9acb910ea71b2f70dc27f4b5a49ae7d93"
		answered = "2c993cb87d2fa57172e7f24d6a2e72453b12e3c8e83aa4ef63f4ea489b5600dc"
	)
	g := &golden{cluster: emptyCluster(t), t: t}
	for _, name := range []string{"south-1", "sums-1", "south-2"} {
		g.join(t, name)
	}
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		g.assignAll(t, name)
	}
	g.tell(catalog.CreateJob, goldenJob("before the level"))
	g.raise(t)
	g.files()
	g.afterRecovery()
	g.lostAndRemoved()
	g.layoutAndClock()
	g.jobsWithSecrets(t)
	g.unknownFields()
	for _, data := range g.log[len(g.log)-200:] { // retries
		res, err := catalog.Apply(g, g.index, data)
		if err != nil {
			t.Fatal(err)
		}
		g.answers = append(g.answers, res)
	}
	text, err := json.Marshal(g.answers)
	if err != nil {
		t.Fatal(err)
	}
	if got := g.sum().String(); got != stored {
		t.Errorf("the stored state has the digest %s", got)
	}
	if got := digest(string(text)).String(); got != answered {
		t.Errorf("the answers have the digest %s", got)
	}
}

func goldenJob(harvest string) map[string]any {
	spec := `{"name":"j","seeds":["http://example.org/?a&b"],"settings":{"headers":["Cookie: hunter2"]}}`
	return map[string]any{"harvest": harvest, "collection": "web", "submit": true, "spec": json.RawMessage(spec)}
}

func goldenName(i int) catalog.FileName {
	return catalog.FileName(fmt.Sprintf("%d-1-20261120120000000-%05d-north-1.warc.gz", i%7, i))
}

// files puts, copies, audits and releases files, and finds their sources wrong and right.
func (g *golden) files() {
	reasons := []string{"", "plain", `"quoted" <&> é`, string(make([]byte, 600))}
	for i := range 80 {
		name, sum := goldenName(i), digest(string(goldenName(i)))
		g.say("north-1", catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{
			{Name: name, Size: int64(i) << 30, SHA256: sum, Collection: []catalog.CollectionName{"web", "radio",
				"none"}[i%3], Source: id("south-2"), Job: uint64(i % 4), Attempt: i % 2},
		}})
		g.say("south-2", catalog.FindSources, catalog.Findings{Node: id("south-2"), Files: []catalog.Finding{
			{Name: name, FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}, {Name: "nobody's",
				FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("x")}}})
		for j, node := range []string{"north-1", "south-1", "sums-1"} {
			r := catalog.CopyReport{Name: name, State: catalog.UploadCompleted, SHA256: sum}
			if (i+j)%5 == 0 {
				r.State, r.Reason = catalog.UploadFailed, reasons[i%len(reasons)]
			}
			g.say(node, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{r, r}})
		}
		if i%4 == 0 {
			found := catalog.Finding{Name: name, FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt,
				Found: digest("x")}
			g.say("south-1", catalog.FindCopies, catalog.Findings{Node: id("south-1"), Files: []catalog.Finding{found}})
			g.say("north-1", catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: "south",
				Bad: i%2 == 0, Votes: reasons[i%len(reasons)]}}})
		}
		if i%3 == 0 {
			g.say("south-2", catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"), Files: []catalog.FileName{name,
				"<&>"}})
		}
	}
}

// afterRecovery raises the epoch: nothing is released until the members have compared what they have.
func (g *golden) afterRecovery() {
	g.tell(catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "fire"})
	release := func() {
		for i := range 80 {
			g.say("south-2", catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"),
				Files: []catalog.FileName{goldenName(i)}})
		}
	}
	release()
	for _, node := range []string{"north-1", "south-1", "sums-1", "south-2"} {
		g.say(node, catalog.ProveHolding, catalog.Proof{Node: id(node), Epoch: 1})
		g.say(node, catalog.ProveHolding, catalog.Proof{Node: id(node), Epoch: 2})
	}
	g.say("north-1", catalog.ProveHolding, catalog.Proof{Node: id("south-1"), Epoch: 2})
	release()
}

// lostAndRemoved declares files lost, takes that back, and removes some.
func (g *golden) lostAndRemoved() {
	for i := range 24 {
		name := goldenName(i)
		loss := catalog.FileLoss{Name: name, SHA256: digest(string(name)), Reason: "<fire>",
			Checked: []catalog.NodeID{id("north-1"), id("south-1")}}
		for _, node := range []string{"north-1", "south-1"} {
			g.say(node, catalog.FindCopies, catalog.Findings{Node: id(node), Files: []catalog.Finding{{Name: name,
				FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
			g.say("north-1", catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name,
				Replica: member(node).Replica, Bad: true, Votes: "0:2"}}})
			g.say(node, catalog.ReportCopies, catalog.CopyReports{Node: id(node), Copies: []catalog.CopyReport{{Name: name,
				State: catalog.UploadFailed, Reason: "gone"}}})
		}
		g.say("north-1", catalog.LoseFile, loss)
		loss.Checked = append(loss.Checked, id("south-2"))
		g.say("north-1", catalog.LoseFile, loss)
		switch i % 4 {
		case 0:
			loss.Undo = true
			g.say("south-1", catalog.LoseFile, loss)
		case 1:
			g.say("south-1", catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: int64(i) << 30,
				SHA256: digest(string(name)), Collection: "radio", Source: id("south-1")}}})
		case 2:
			g.say("sums-1", catalog.RemoveFile, catalog.FileRemoval{Name: name, SHA256: digest(string(name)), Reason: "law"})
			g.say("south-2", catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"), Files: []catalog.FileName{name}})
		}
	}
}

// layoutAndClock moves shards, removes members, a replica and collections, and sets the clock back.
func (g *golden) layoutAndClock() {
	g.late("north-2")
	g.late("south-3")
	used := goldenName(3).Shard()
	shards := []catalog.Shard{used}
	for shard := catalog.Shard(0); len(shards) < 100; shard++ {
		shards = append(shards, shard)
	}
	g.tell(catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: shards[1:], Node: id("north-2")})
	g.say("north-2", catalog.SwitchShards, catalog.Switches{Replica: "north", Shards: shards, Node: id("north-2")})
	g.say("north-1", catalog.LeaveShards, catalog.Leavings{Replica: "north", Shards: shards, Node: id("north-1")})
	draining := true
	g.tell(catalog.UpdateMember, catalog.MemberChange{ID: id("sums-1"), Draining: &draining})
	g.tell(catalog.UpdateMember, catalog.MemberChange{ID: id("south-3"), Draining: &draining})
	g.tell(catalog.SetReplica, catalog.Replica{Name: "typo", Kind: catalog.Bitarchive, Place: "Nowhere"})
	g.fill()
	g.tell(catalog.RemoveReplica, catalog.ReplicaRemoval{Replica: "south", Reason: "no"})
	g.tell(catalog.RemoveReplica, catalog.ReplicaRemoval{Replica: "typo", Reason: "a typo"})
	g.tell(catalog.SetReplica, catalog.Replica{Name: "typo", Kind: catalog.Bitarchive, Place: "again"})
	g.fill()
	g.tell(catalog.SetCollection, catalog.Collection{Name: "empty"})
	for _, name := range []catalog.CollectionName{"empty", "radio", "web", "none"} {
		g.tell(catalog.RemoveCollection, catalog.CollectionRemoval{Collection: name, Reason: "not used"})
	}
	g.tell(catalog.RemoveMember, catalog.MemberRemoval{ID: id("south-1")})
	g.tell(catalog.RemoveMember, catalog.MemberRemoval{ID: id("south-1"), Lost: true, Reason: "flood"})
	g.fill()
	g.tell(catalog.SetReplica, catalog.Replica{Name: "south", Kind: catalog.Bitarchive, Place: "Southtown",
		Collections: []catalog.CollectionName{"web"}})
	g.fill()
	now := g.now
	g.now += 3600_000
	g.tell(catalog.SetCollection, catalog.Collection{Name: "later"})
	g.now = now
	g.tell(catalog.SetClock, catalog.ClockChange{Ahead: 3600_000})
	g.tell(catalog.SetClock, catalog.ClockChange{Ahead: 3600_000})
}

// late has a member of level 2 join.
func (g *golden) late(name string) {
	m := member(name)
	m.Level = 2
	g.must(g.t, catalog.CreateToken, catalog.JoinToken{ID: "for-" + name, SecretHash: digest("secret"),
		Replica: m.Replica, Expires: g.now + 1e6})
	g.must(g.t, catalog.JoinMember, catalog.Joining{Token: "for-" + name, Secret: []byte("secret"), Member: m})
}

// fill ends the walks over replicas.
func (g *golden) fill() {
	for {
		fills, err := g.view().Fills()
		if err != nil {
			g.t.Fatal(err)
		}
		if len(fills) == 0 {
			return
		}
		g.tell(catalog.FillReplica, catalog.FillStep{Replica: fills[0].Replica, Shard: fills[0].Shard,
			After: fills[0].After})
	}
}

// jobsWithSecrets has a node publish its key, and jobs created, sealed again, claimed and ended.
func (g *golden) jobsWithSecrets(t *testing.T) {
	crawler := newSealer("north-9")
	m := crawler.Member
	m.Level = 2
	g.tell(catalog.CreateToken, catalog.JoinToken{ID: "nine", SecretHash: digest("secret"), Replica: "north",
		Expires: g.now + 1e6})
	g.must(t, catalog.JoinMember, catalog.Joining{Token: "nine", Secret: []byte("secret"), Member: m})
	crawls, local := true, digest("local")
	seq := uint64(0)
	as := func(kind catalog.Kind, body any) {
		seq++
		g.answers = append(g.answers, g.send(t, catalog.Command{Kind: kind, Node: m.ID, Boot: 1, Seq: seq}, body))
	}
	as(catalog.UpdateMember, catalog.MemberChange{ID: m.ID, Crawls: &crawls, Seal: crawler.seal("k"), Local: &local})
	for i := range 4 {
		secret := &catalog.Secret{ID: fmt.Sprintf("s%d", i), Text: []byte("x"), Boxes: []catalog.Box{box(crawler, "k")}}
		as(catalog.CreateJob, creation(secret))
		as(catalog.CreateJob, creation(secret))
	}
	as(catalog.SealToNodes, catalog.SealAgain{ID: "s1", Boxes: []catalog.Box{box(crawler, "k")}})
	as(catalog.SealToNodes, catalog.SealAgain{ID: "none"})
	jobs, err := g.view().Jobs("", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		as(catalog.ClaimJob, catalog.JobRef{ID: j.ID, Node: m.ID})
		as(catalog.StartJob, catalog.JobRef{ID: j.ID, Node: m.ID, Attempt: 1})
		as(catalog.WishJob, catalog.JobWishing{ID: j.ID, Wish: catalog.WishStop, Reason: "enough"})
		as(catalog.FinishJob, catalog.JobEnd{ID: j.ID, Node: m.ID, Attempt: 1, Failed: i%2 == 1, Reason: "<&>"})
		as(catalog.ResubmitJob, catalog.JobRef{ID: j.ID})
		as(catalog.RejectJob, catalog.JobRef{ID: j.ID})
	}
	as(catalog.SealOldJobs, catalog.SealStep{To: 1,
		Job: &catalog.SealedJob{Spec: json.RawMessage(`{"name":"j","seeds":["http://example.org/"]}`)}})
	as(catalog.CreateAccess, catalog.AccessToken{ID: "a", Name: "reader", SecretHash: digest("s"),
		Role: catalog.RoleReader})
	as(catalog.RevokeAccess, catalog.Named{ID: "a"})
	as(catalog.RevokeAccess, catalog.Named{ID: "none"})
}

// unknownFields sends commands of later levels, and fields that these brought: whatever else is wrong with the command,
// a program of level 2 says that it does not know them.
func (g *golden) unknownFields() {
	name := goldenName(5)
	for _, file := range []catalog.FileName{name, goldenName(2), goldenName(7), "none"} {
		for _, sum := range []catalog.Digest{digest(string(file)), digest("other")} {
			body := map[string]any{"name": file, "sha256": sum, "reason": "x", "version": 1}
			g.say("north-1", catalog.RemoveFile, body)
			g.say("north-1", catalog.LoseFile, body)
			body["undo"] = true
			body["version"] = "one"
			g.say("north-1", catalog.LoseFile, body)
		}
	}
	for _, node := range []string{"south-3", "nobody"} {
		g.say("north-1", catalog.RemoveMember, map[string]any{"id": id(node), "standing": digest("x")})
	}
	g.say("north-1", catalog.CreateJob, map[string]any{"harvest": "h", "collection": "none", "owner": "anna"})
	for _, kind := range []catalog.Kind{"source.take", "person.invite", "person.accept", "grant.give", "token.make",
		"nothing"} {
		g.say("north-1", kind, map[string]any{"node": id("north-1"), "files": []any{}})
	}
	g.say("north-1", catalog.RaiseLevel, catalog.LevelChange{Level: 3})
}
