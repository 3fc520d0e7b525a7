package catalog_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"holdfast/catalog"
	agreed "holdfast/catalog/cluster"
	"holdfast/catalog/files"
	"holdfast/catalog/history"
	"holdfast/catalog/jobs"
	"holdfast/catalog/people"

	"pgregory.net/rapid"
)

// hostile draws well-formed commands of every kind whose fields are plausible, extreme or wrong.
type hostile struct{ t *rapid.T }

func pick[T any](h hostile, label string, of ...T) T { return rapid.SampledFrom(of).Draw(h.t, label) }

func (h hostile) node() catalog.NodeID {
	return pick(h, "node", id("north-1"), id("north-1"), id("south-1"), id("south-1"), id("sums-1"), id("north-2"), "", "a/b")
}

func (h hostile) file() catalog.FileName {
	return pick[catalog.FileName](h, "file", "f1", "f1", "f2", "f2", "f3", "", ".x", "a/b")
}

func (h hostile) shard() catalog.Shard {
	return pick[catalog.Shard](h, "shard", catalog.FileName("f1").Shard(), catalog.FileName("f2").Shard(), catalog.FileName("f3").Shard(), 0, 4095, 4096, 65535)
}

func (h hostile) replica() catalog.ReplicaName {
	return pick[catalog.ReplicaName](h, "replica", "north", "north", "south", "sums", "east", "", "a/b")
}

func (h hostile) digest(of catalog.FileName) catalog.Digest {
	return pick(h, "digest", digest(string(of)), digest(string(of)), digest(string(of)), digest("other"), catalog.Digest{})
}

func (h hostile) aside() files.AsideName {
	return files.AsideName(h.file() + pick[catalog.FileName](h, "stamp", ".20260101000000000", ".1", ""))
}

func (h hostile) time() catalog.Time {
	return pick[catalog.Time](h, "time", 0, -1, 1, 5000, 1<<40, 1<<62)
}

func (h hostile) text() string {
	return pick(h, "text", "", "x", "web", "radio", "a/b", "\x00\xff", string(make([]byte, 3000)))
}

func (h hostile) collections() []catalog.CollectionName {
	return pick(h, "collections", nil, []catalog.CollectionName{"web"}, []catalog.CollectionName{"radio", "radio"}, []catalog.CollectionName{"tv"})
}

func (h hostile) number() int { return pick(h, "number", 1, 1, 2, 2, 3, 0, -1, 1<<62) }

// staging draws a command about staged changes.
func (h hostile) staging() (catalog.Kind, any) {
	switch rapid.IntRange(0, 3).Draw(h.t, "staging") {
	case 0:
		return agreed.ApplyLayout, agreed.ApplyChanges{Version: uint64(h.number()), Reason: h.text()}
	case 1:
		return agreed.RevertLayout, agreed.RevertChanges{Change: uint64(h.number()), Version: uint64(h.number() - 1), Reason: h.text()}
	case 2:
		return agreed.StageAlways, agreed.SetStaging{Always: rapid.Bool().Draw(h.t, "always"), Reason: h.text()}
	}
	return agreed.StageLayout, agreed.StageChange{Step: pick(h, "step", agreed.StepDrain, agreed.StepUndrain, agreed.StepWeight, agreed.StepRemove, agreed.StepCollections, "", "x"),
		Node: h.node(), Weight: pick(h, "weight", 0, 0, 1, -1, 1<<62), Replica: pick[catalog.ReplicaName](h, "of", "", "", "north", "a/b"), Collections: h.collections(), Reason: h.text()}
}

// layout draws a command about members, replicas and shards.
func (h hostile) layout() (catalog.Kind, any) {
	switch rapid.IntRange(0, 23).Draw(h.t, "layout") {
	case 21, 22, 23:
		return h.staging()
	case 20:
		name := h.file()
		return files.RecordLedger, files.Ledger{Replica: h.replica(), Serial: uint64(h.number()), Name: name, SHA256: h.digest(name), Node: h.node(),
			Time: h.time(), First: uint64(h.number()), Last: uint64(h.number()), Signed: []catalog.NodeID{h.node()},
			Unsigned: []files.LedgerRefusal{{Node: h.node(), Reason: h.text()}}}
	case 0:
		return catalog.SetReplica, catalog.Replica{Name: h.replica(), Kind: pick(h, "kind", catalog.Bitarchive, catalog.Checksum, "x"), Place: h.text(), Collections: h.collections()}
	case 1:
		return catalog.RemoveMember, catalog.MemberRemoval{ID: h.node(), Lost: rapid.Bool().Draw(h.t, "lost"), Reason: h.text()}
	case 2:
		draining, weight := rapid.Bool().Draw(h.t, "draining"), h.number()
		return catalog.UpdateMember, catalog.MemberChange{ID: h.node(), Draining: &draining, Weight: &weight}
	case 3, 4, 5:
		return catalog.AssignShards, catalog.Assignment{Replica: h.replica(), Shards: []catalog.Shard{h.shard(), h.shard()}, Node: h.node()}
	case 6:
		return catalog.SwitchShard, catalog.Switch{Replica: h.replica(), Shard: h.shard(), Node: h.node()}
	case 7:
		return catalog.LeaveShard, catalog.Leaving{Replica: h.replica(), Shard: h.shard(), Node: h.node()}
	case 8:
		return catalog.FillReplica, catalog.FillStep{Replica: h.replica(), Shard: h.shard(), After: h.file()}
	case 9:
		return catalog.PassShard, catalog.ShardPass{Replica: h.replica(), Shard: h.shard(), Node: h.node(), Began: h.time(), Ended: h.time()}
	case 10:
		return catalog.JoinMember, catalog.Joining{Token: h.text(), Secret: []byte(h.text()), Member: member("south-2")}
	case 11:
		return files.DrawLots, files.Drawing{Node: h.node(), Number: uint64(h.number())}
	case 12:
		return files.FindAnswers, files.Answers{Node: h.node(), Replica: h.replica(), Draw: uint64(h.number()), Files: []files.Answer{{Name: h.file(), Since: h.time()}}}
	case 15:
		return files.DiscardAside, files.Discard{Node: h.node(), Aside: h.aside(), SHA256: digest(h.text()), Reason: h.text()}
	case 16:
		return files.DropAside, files.Drop{Node: h.node(), Aside: h.aside(), SHA256: digest(h.text()), Wished: rapid.Bool().Draw(h.t, "wished")}
	case 17:
		return files.SetChecksum, files.Correction{Name: h.file(), Was: h.digest(h.file()), SHA256: digest(h.text()), Reason: h.text()}
	case 18:
		return files.SetCopyState, files.CopySetting{Name: h.file(), Replica: h.replica(), SHA256: h.digest(h.file()), State: pick(h, "state", catalog.UploadStarted, catalog.UploadFailed, catalog.UploadCompleted), Reason: h.text()}
	case 14:
		return files.ReplaceCopy, files.Replacement{Name: h.file(), Replica: h.replica(), SHA256: digest(h.text()), Reason: h.text()}
	case 19:
		return files.NoteAway, files.Away{Node: h.node(), Shards: pick(h, "shards", []byte(nil), make([]byte, catalog.Shards/8), bytes.Repeat([]byte{0xa5}, catalog.Shards/8), []byte{1})}
	case 13:
		return files.NoteCheck, files.Check{Node: h.node(), Replica: h.replica(), Kind: pick(h, "check", "presence", "challenge", ""), Ended: h.time(), Missed: int64(h.number())}
	}
	return catalog.CreateToken, catalog.JoinToken{ID: h.text(), SecretHash: digest("x"), Replica: h.replica(), Expires: h.time()}
}

// files draws a command about files and their copies.
func (h hostile) files() (catalog.Kind, any) {
	name := h.file()
	switch rapid.IntRange(0, 9).Draw(h.t, "files") {
	case 0, 1:
		return catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: int64(h.number()), SHA256: h.digest(name),
			Collection: pick[catalog.CollectionName](h, "collection", "web", "web", "radio", "tv"), Source: h.node()}}}
	case 2, 3, 4:
		r := catalog.CopyReport{Name: name, SHA256: h.digest(name), Reason: h.text(),
			State: pick(h, "state", catalog.UploadCompleted, catalog.UploadCompleted, catalog.UploadFailed, catalog.DataUploaded, "X")}
		return catalog.ReportCopies, catalog.CopyReports{Node: h.node(), Copies: []catalog.CopyReport{r, r}}
	case 5:
		return catalog.ReleaseFiles, catalog.Releases{Node: h.node(), Files: []catalog.FileName{name, h.file()}}
	case 6:
		return pick(h, "of", catalog.FindCopies, catalog.FindSources), catalog.Findings{Node: h.node(), Files: []catalog.Finding{{Name: name, Found: h.digest(name),
			FileList: pick(h, "list", catalog.FileListOK, catalog.FileListMissing, "X"), Checksum: pick(h, "sum", catalog.ChecksumOK, catalog.ChecksumCorrupt, "")}}}
	case 7:
		return catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: name, Replica: h.replica(), Bad: rapid.Bool().Draw(h.t, "bad"), Votes: h.text()}}}
	}
	if rapid.Bool().Draw(h.t, "take") {
		return catalog.TakeSources, catalog.Takeovers{Node: h.node(), Files: []catalog.Takeover{{Name: name, SHA256: h.digest(name), From: h.node(), Why: h.text()}}}
	}
	return catalog.RemoveFile, catalog.FileRemoval{Name: name, SHA256: h.digest(name), Reason: h.text()}
}

// jobs draws a command about jobs or the cluster.
func (h hostile) jobs() (catalog.Kind, any) {
	ref := catalog.JobRef{ID: uint64(h.number()), Node: h.node(), Attempt: h.number()}
	end := catalog.JobEnd{ID: ref.ID, Node: ref.Node, Attempt: ref.Attempt, Failed: rapid.Bool().Draw(h.t, "failed"), Reason: h.text()}
	switch kind := pick(h, "job", catalog.CreateJob, catalog.SubmitJob, catalog.ClaimJob, catalog.StartJob, catalog.FinishJob, catalog.LoseJob,
		catalog.WishJob, catalog.ResubmitJob, catalog.RejectJob, catalog.RaiseEpoch, catalog.RaiseLevel,
		jobs.OpenJob, jobs.AddPart, jobs.AddPart, jobs.CloseJob, jobs.DropJob, jobs.MakeJob, jobs.WalkJobs,
		jobs.AddStatistics, jobs.DropStatistics, history.Keep); kind {
	case jobs.AddStatistics:
		return kind, jobs.JobStatistics{ID: ref.ID, Node: ref.Node, Attempt: ref.Attempt, Number: h.number(),
			Last: rapid.Bool().Draw(h.t, "last"), Statistics: []jobs.Statistic{{Domain: pick(h, "of", "a.org", h.text()),
				Name: pick(h, "name", "x", h.text()), Objects: int64(h.number()), Stop: h.text()}}}
	case history.Keep:
		return kind, history.Step{Job: ref.ID, After: pick(h, "after", 0, h.number())}
	case jobs.MakeJob:
		return kind, jobs.JobMaking{Opening: jobs.JobOpening{Harvest: h.text(), Collection: "web", Channel: h.text(),
			Number: uint64(h.number()), Run: uint64(h.number()), After: uint64(h.number())},
			Parts: []jobs.Part{{Kind: pick(h, "kind", jobs.PartJob, jobs.PartSeeds), Text: h.text(), Domains: pick(h, "domains", nil, []string{h.text()})}}}
	case jobs.OpenJob:
		return kind, jobs.JobOpening{Harvest: h.text(), Collection: "web", Channel: h.text(), Number: uint64(h.number()),
			Run: uint64(h.number()), After: uint64(h.number()), Uses: pick(h, "uses", nil, nil, []string{"s"})}
	case jobs.AddPart:
		return kind, jobs.JobAddition{ID: ref.ID, Number: h.number(), Part: jobs.Part{Items: h.number(), Text: h.text(),
			Kind: pick(h, "part", jobs.PartJob, jobs.PartSeeds, jobs.PartConfigurations, "x")},
			Uses: pick(h, "uses", nil, nil, []string{"s"})}
	case jobs.CloseJob:
		return kind, jobs.JobClosing{ID: ref.ID, Parts: h.number(), Sum: digest("x"), Submit: rapid.Bool().Draw(h.t, "submit")}
	case jobs.WalkJobs:
		return kind, jobs.WalkStep{After: uint64(h.number()), Piece: h.number()}
	case catalog.CreateJob:
		return kind, catalog.JobCreation{Harvest: h.text(), Collection: catalog.CollectionName(h.text()), Channel: h.text(),
			Spec: json.RawMessage(pick(h, "spec", `{}`, `null`, `[]`, `{"name":"j","seeds":["\u0000"]}`, `{"settings":{}}`))}
	case catalog.FinishJob, catalog.LoseJob:
		end.Statistics = pick(h, "statistics", 0, 0, 1, h.number())
		return kind, end
	case catalog.WishJob:
		return kind, catalog.JobWishing{ID: ref.ID, Wish: pick(h, "wish", catalog.WishRun, catalog.WishPause, catalog.WishStop, "x"), Reason: h.text()}
	case catalog.RaiseEpoch:
		return kind, catalog.EpochChange{Epoch: uint64(h.number()), Reason: h.text()}
	case catalog.RaiseLevel:
		return kind, catalog.LevelChange{Level: h.number()}
	default:
		return kind, ref
	}
}

// later draws a command about the layout that came with level 2.
func (h hostile) later() (catalog.Kind, any) {
	name, shards := h.file(), []catalog.Shard{h.shard(), h.shard()}
	switch rapid.IntRange(0, 6).Draw(h.t, "later") {
	case 0:
		return catalog.SwitchShards, catalog.Switches{Replica: h.replica(), Shards: shards, Node: h.node()}
	case 1:
		return catalog.LeaveShards, catalog.Leavings{Replica: h.replica(), Shards: shards, Node: h.node()}
	case 2:
		return catalog.RemoveReplica, catalog.ReplicaRemoval{Replica: h.replica(), Reason: h.text()}
	case 3:
		return catalog.RemoveCollection, catalog.CollectionRemoval{Collection: catalog.CollectionName(h.text()), Reason: h.text()}
	case 4:
		return catalog.ProveHolding, catalog.Proof{Node: h.node(), Epoch: uint64(h.number())}
	case 5:
		return catalog.SetClock, catalog.ClockChange{}
	}
	return catalog.LoseFile, catalog.FileLoss{Name: name, SHA256: h.digest(name), Reason: h.text(), Checked: []catalog.NodeID{h.node(), h.node(), h.node()},
		Undo: rapid.Bool().Draw(h.t, "undo")}
}

// people draws a command about people, grants and tokens, in somebody's name.
func (h hostile) people() (catalog.Kind, any) {
	who := pick[catalog.PersonID](h, "person", "anna", "anna", "berta", "", "a/b")
	token := catalog.AccessToken{ID: pick(h, "token", "t1", "t2", "t3", "t4", "", "a/b"), Name: h.text(), SecretHash: digest("x"),
		Role: pick(h, "role", catalog.RoleReader, catalog.RoleCurator, catalog.RoleAdmin, "x"), Expires: h.time()}
	switch rapid.IntRange(0, 13).Draw(h.t, "people") {
	case 13:
		return h.identities(who, token)
	case 0, 1:
		return catalog.InvitePerson, catalog.Invitation{Token: token, Person: catalog.Person{ID: who, Name: pick(h, "name", string(who), "Anna", ""),
			Mail: pick(h, "mail", string(who)+"@x.org", "anna@x.org", h.text())}}
	case 2:
		return catalog.AcceptInvitation, catalog.Acceptance{Invitation: token.ID, Token: token}
	case 3:
		name := h.text()
		return catalog.ChangePerson, catalog.PersonChange{ID: who, Name: &name}
	case 4:
		return pick(h, "state", catalog.DisablePerson, catalog.EnablePerson), catalog.PersonRef{ID: who, Reason: h.text()}
	case 5:
		return catalog.GiveGrant, catalog.Giving{Person: who, Role: token.Role, Collection: catalog.CollectionName(h.text()), Until: h.time()}
	case 6:
		return catalog.EndGrant, catalog.Ending{Person: who, ID: uint64(h.number())}
	case 7:
		return catalog.MakeToken, catalog.TokenMaking{Token: token, Owner: who, Program: rapid.Bool().Draw(h.t, "program"), Collections: h.collections()}
	case 8:
		return catalog.TakeToken, catalog.TokenTaking{ID: token.ID, Owner: who}
	case 10:
		return people.SetPassword, people.PasswordSetting{ID: who, Hash: pick(h, "hash", "$argon2id$x", h.text())}
	case 11:
		return people.Enter, people.Entrance{Invitation: token.ID, Hash: pick(h, "hash", "$argon2id$x", h.text())}
	case 9:
		return people.EndSession, people.SessionEnd{Owner: pick(h, "owner", who.Actor(), h.text()), ID: token.ID, Until: h.time()}
	}
	return pick(h, "end", catalog.RevokeAccess, catalog.RevokeToken), catalog.Named{ID: token.ID}
}

// TestHostile plays well-formed but senseless commands. Whatever they say, the lists stay true to the entries,
// a release never goes through without a verified copy of the bytes elsewhere than at a source, and the same
// commands give the same bytes.
func TestHostile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := emptyCluster(rt)
		c.join(rt, "south-1")
		c.join(rt, "sums-1")
		if level := rapid.IntRange(1, catalog.Level).Draw(rt, "level"); level > 1 {
			c.raiseTo(rt, level)
		}
		h := hostile{rt}
		for range rapid.IntRange(1, 60).Draw(rt, "commands") {
			kind, body := rapid.SampledFrom([]func() (catalog.Kind, any){h.layout, h.files, h.files, h.files, h.jobs, h.later, h.people, h.people,
				h.domains, h.ingests, h.harvests, h.runs, h.notices, h.batches, h.rules, h.anything}).Draw(rt, "about")()
			asks := pick(h, "asks", "", "", id("north-1"))
			if kind == catalog.ReleaseFiles {
				asks = "" // so that the answer is not an old one
			}
			actor := pick(h, "actor", "test", "person:anna", "person:berta", "program:t1", "local:x")
			res := c.send(rt, catalog.Command{Kind: kind, Actor: actor, Node: asks, Boot: uint64(h.number()), Seq: uint64(h.number()), At: h.time()}, body)
			if kind == catalog.ReleaseFiles {
				releasedSafely(rt, c, res)
			}
			stepFills(rt, c)
		}
		sound(rt, c)
		settled(rt, c)
		sound(rt, c)
		listed(rt, c)
		defined(rt, c)
		readAll(t, c)
		again := new(mem)
		for i, data := range c.log {
			if _, err := catalog.Apply(again, uint64(i+1), data); err != nil {
				rt.Fatalf("%v", err)
			}
		}
		if again.sum() != c.sum() {
			rt.Fatalf("the same commands gave other bytes")
		}
	})
}

// settled ends all walks and fails unless every replica then has a copy of exactly the files it is to hold,
// and no copy or shard counts on a node that is not a member.
func settled(t *rapid.T, c *cluster) {
	v := c.view()
	for {
		fills, err := v.Fills()
		if err != nil {
			t.Fatalf("%v", err)
		}
		if len(fills) == 0 {
			break
		}
		c.must(t, catalog.FillReplica, catalog.FillStep{Replica: fills[0].Replica, Shard: fills[0].Shard, After: fills[0].After})
	}
	replicas, err := v.Replicas()
	files, err2 := v.Files("", "", 0)
	if err != nil || err2 != nil {
		t.Fatalf("%v %v", err, err2)
	}
	for _, r := range replicas {
		layout, err := v.Layout(r.Name)
		if err != nil {
			t.Fatalf("%v", err)
		}
		for shard, p := range layout {
			for _, node := range []catalog.NodeID{p.Holder, p.Next} {
				if _, err := v.Member(node); node != "" && err != nil {
					t.Fatalf("shard %d of %s is at %s: %v", shard, r.Name, node, err)
				}
			}
		}
		for _, f := range files {
			cp := f.Copy(r.Name)
			required := f.Removed == 0 && r.Holds(f.Collection)
			if required != (cp != nil && !cp.Surplus) {
				t.Fatalf("%s is required of %s: %t, its copy is %+v", f.Name, r.Name, required, cp)
			}
			if required && cp.State == catalog.UploadCompleted && layout[f.Name.Shard()].Holder == "" {
				t.Fatalf("%s is completed in %s, where nobody holds its shard", f.Name, r.Name)
			}
		}
	}
}

// releasedSafely fails when a file was released of which no holder has verified bytes.
func releasedSafely(t *rapid.T, c *cluster, res catalog.Result) {
	for _, r := range items(res) {
		f, err := c.view().File(r.Name)
		if r.Refusal != nil || err != nil || f.Removed != 0 || f.Lost != 0 { // of a lost file nothing is deleted, but set aside
			continue
		}
		holdings, err := c.view().CoveringFile(&f)
		if err != nil {
			t.Fatalf("%v", err)
		}
		safe := false
		for _, h := range holdings {
			safe = safe || !h.Source
		}
		if !safe {
			t.Fatalf("%s was released, but only %+v have it", r.Name, holdings)
		}
	}
}

// stepFills takes each walk a step further, sometimes.
func stepFills(t *rapid.T, c *cluster) {
	fills, err := c.view().Fills()
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, f := range fills {
		if rapid.Bool().Draw(t, "fill") {
			c.must(t, catalog.FillReplica, catalog.FillStep{Replica: f.Replica, Shard: f.Shard, After: f.After})
		}
	}
}
