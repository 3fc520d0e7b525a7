package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/catalog/files"
)

const (
	anna  = "person:anna"
	berta = "person:berta"
	clara = "person:clara"
)

// guarded returns a cluster with a file in which all acts wait for a second person. Anna and Berta are administrators at
// the north and at the south, Clara is a curator.
func guarded(t *testing.T) *town {
	t.Helper()
	c := &town{challenged(t, catalog.Level), t}
	c.must(t, catalog.ReleaseFiles, catalog.Releases{Node: id("south-2"), Files: []catalog.FileName{"f"}})
	c.person("anna", admin)
	c.person("berta", admin)
	c.person("clara", curator)
	for who, place := range map[catalog.PersonID]string{"anna": "north", "berta": "south", "clara": "south"} {
		c.does(local, catalog.ChangePerson, catalog.PersonChange{ID: who, Institution: &place})
	}
	c.does(anna, approvals.Set, approvals.Setting{Acts: approvals.Classes(), Reason: "test"})
	return c
}

// removal is the act that is proposed in most tests: it names what was shown.
func (c *town) removal() catalog.FileRemoval {
	c.t.Helper()
	f, err := c.view().File("f")
	if err != nil {
		c.t.Fatal(err)
	}
	return catalog.FileRemoval{Name: "f", SHA256: f.SHA256, Version: f.Version, Reason: "broken seed"}
}

func (c *town) proposing(kind catalog.Kind, body any) approvals.Proposing {
	c.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	return approvals.Proposing{Kind: kind, Body: raw}
}

// propose has somebody propose an act, and returns what a second person decides about.
func (c *town) propose(actor string, kind catalog.Kind, body any) approvals.Decision {
	c.t.Helper()
	res := c.send(c.t, catalog.Command{Kind: approvals.Propose, Actor: actor}, c.proposing(kind, body))
	if res.Refusal != nil {
		c.t.Fatalf("%s is not proposed by %s: %v", kind, actor, res.Refusal)
	}
	var p approvals.Proposal
	if err := json.Unmarshal(res.Value, &p); err != nil {
		c.t.Fatal(err)
	}
	return approvals.Decision{ID: p.ID, Sum: p.Sum, Reason: "seen"}
}

func (c *town) proposal(d approvals.Decision) approvals.Proposal {
	c.t.Helper()
	p, err := catalog.ApprovalsIn(c.view()).Proposal(d.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func (c *town) removed() bool {
	c.t.Helper()
	f, err := c.view().File("f")
	if err != nil {
		c.t.Fatal(err)
	}
	return f.RemovedAt() != 0
}

// TestASecondPersonGrants is the whole road: refused, proposed, granted, carried out, and in the trail.
func TestASecondPersonGrants(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.refused(agree.Unapproved, anna, catalog.RemoveFile, c.removal())
	d := c.propose(anna, catalog.RemoveFile, c.removal())
	p := c.proposal(d)
	if p.Person != "anna" || p.Place != "north" || p.Subject != "f" || p.Files != 1 || p.Bytes != 1 || p.SHA256 != digest("f") ||
		p.Reason != "broken seed" || p.Until-p.Made != approvals.DefaultLimit || p.State != approvals.Waiting {
		t.Errorf("%+v", p)
	}
	if c.removed() {
		t.Fatal("carried out when it was proposed")
	}
	c.does(berta, approvals.Grant, d)
	if p = c.proposal(d); !c.removed() || p.State != approvals.Granted || p.DecidedBy != berta {
		t.Errorf("%+v", p)
	}
	c.refused(catalog.Conflict, berta, approvals.Grant, d) // it is carried out once
	for act, actor := range map[string]string{"approval.propose": anna, "approval.grant": berta, "file.remove": anna} {
		if e := c.lastEvent(t, act); e.Actor != actor {
			t.Errorf("%s: %+v", act, e)
		}
	}
	if waiting, err := catalog.ApprovalsIn(c.view()).Waiting(); err != nil || len(waiting) != 0 {
		t.Errorf("%+v, %v", waiting, err)
	}
}

// TestNobodyElseGrants tries everybody who is no second person with the right to do the act.
func TestNobodyElseGrants(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	program := func(token, owner string) {
		c.does("person:"+owner, catalog.MakeToken, catalog.TokenMaking{Token: access(token, catalog.RoleAdmin), Owner: catalog.PersonID(owner), Program: true})
	}
	program("annas", "anna")
	program("bertas", "berta")
	for _, by := range []string{anna, "program:annas"} { // with a token, a session, or by a program of hers
		d := c.propose(by, catalog.RemoveFile, c.removal())
		for what, actor := range map[string]string{"herself": anna, "her program": "program:annas", "another's program": "program:bertas",
			"a node's local token": local, "another node's local token": catalog.Local(id("south-1")), "a node": string(id("north-1")),
			"nobody": "", "no person": "person:nobody", "who has not the role": clara, "a name": "anna", "an unknown program": "program:none"} {
			r := c.send(t, catalog.Command{Kind: approvals.Grant, Actor: actor, Node: id("north-1"), Boot: 1, Seq: uint64(c.index)}, d).Refusal
			if r == nil || r.Code != catalog.Denied || c.removed() {
				t.Errorf("%s grants what %s proposed: %v", what, by, r)
			}
		}
	}
	d := c.propose(anna, catalog.RemoveFile, c.removal())
	wrong := d
	wrong.Sum = digest("other")
	c.refused(catalog.Conflict, berta, approvals.Grant, wrong)
	wrong = d
	wrong.ID = 99
	c.refused(catalog.NotFound, berta, approvals.Grant, wrong)
	c.does(local, catalog.DisablePerson, catalog.PersonRef{ID: "berta", Reason: "left"})
	c.refused(catalog.Denied, berta, approvals.Grant, d)
	c.does(local, catalog.EnablePerson, catalog.PersonRef{ID: "berta"})
	grants, err := c.people().GrantsOf("berta")
	if err != nil || len(grants) != 1 {
		t.Fatal(grants, err)
	}
	c.does(anna, catalog.EndGrant, catalog.Ending{Person: "berta", ID: grants[0].ID, Reason: "x"})
	c.refused(catalog.Denied, berta, approvals.Grant, d)
	c.does(anna, catalog.GiveGrant, catalog.Giving{Person: "berta", Role: catalog.RoleAdmin, Until: c.now + 60_000})
	c.now += 120_000 // her grant is over, by the catalog's time
	c.refused(catalog.Denied, berta, approvals.Grant, d)
	c.does(anna, catalog.GiveGrant, catalog.Giving{Person: "berta", Role: catalog.RoleAdmin})
	c.does(berta, approvals.Grant, d)
}

// TestAProposalLapses: nothing is granted that is not what was proposed, in its time, by somebody who still may.
func TestAProposalLapses(t *testing.T) {
	t.Parallel()
	touch := func(c *town) { // the entry's version grows
		c.found(c.t, "south-1", digest("bad"))
	}
	for what, tt := range map[string]struct {
		by     string
		before func(*town, approvals.Decision)
		code   catalog.Code // empty: it is granted
	}{
		"nothing happened":   {anna, func(*town, approvals.Decision) {}, ""},
		"a day later":        {anna, func(c *town, _ approvals.Decision) { c.now += catalog.Day }, ""},
		"eight days later":   {anna, func(c *town, _ approvals.Decision) { c.now += 8 * catalog.Day }, catalog.Conflict},
		"denied":             {anna, func(c *town, d approvals.Decision) { c.does(berta, approvals.Deny, d) }, catalog.Conflict},
		"withdrawn":          {anna, func(c *town, d approvals.Decision) { c.does(anna, approvals.Withdraw, d) }, catalog.Conflict},
		"the copies changed": {anna, func(c *town, _ approvals.Decision) { touch(c) }, agree.Stale},
		"changed and back": {anna, func(c *town, _ approvals.Decision) {
			touch(c)
			c.found(c.t, "south-1", catalog.Digest{})
		}, agree.Stale},
		"it could be restored, and could not be any more": {anna, func(c *town, _ approvals.Decision) {
			c.does(anna, files.SetRemovals, files.RemovalSetting{Days: 0, Reason: "x"})
		}, agree.Stale},
		"the cluster was recovered": {anna, func(c *town, _ approvals.Decision) {
			c.must(c.t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "test"})
		}, agree.Stale},
		"the file was removed by another one": {anna, func(c *town, _ approvals.Decision) {
			c.does(anna, approvals.Grant, c.propose(berta, catalog.RemoveFile, c.removal()))
		}, agree.Stale},
		"the proposer was disabled": {anna, func(c *town, _ approvals.Decision) {
			c.does(local, catalog.DisablePerson, catalog.PersonRef{ID: "anna", Reason: "left"})
		}, catalog.Denied},
		"the proposer lost her role": {anna, func(c *town, _ approvals.Decision) {
			grants, _ := c.people().GrantsOf("anna")
			c.does(berta, catalog.EndGrant, catalog.Ending{Person: "anna", ID: grants[0].ID, Reason: "x"})
		}, catalog.Denied},
		"the program's token was revoked": {"program:annas", func(c *town, _ approvals.Decision) {
			c.does(anna, catalog.RevokeAccess, catalog.Named{ID: "annas"})
		}, catalog.Denied},
		"the rule ended": {anna, func(c *town, _ approvals.Decision) {
			c.does(berta, approvals.Grant, c.propose(anna, approvals.Set, approvals.Setting{Version: 1, Reason: "off"}))
		}, ""},
		"the rule became stricter": {anna, func(c *town, _ approvals.Decision) {
			south := "north"
			c.does(local, catalog.ChangePerson, catalog.PersonChange{ID: "clara", Institution: &south})
			c.does(berta, approvals.Grant, c.propose(anna, approvals.Set, approvals.Setting{Acts: approvals.Classes(), OtherPlace: true, Version: 1, Reason: "x"}))
			c.does(local, catalog.ChangePerson, catalog.PersonChange{ID: "berta", Institution: &south})
		}, catalog.Denied},
		"the clock was far ahead, and set back": {anna, func(c *town, _ approvals.Decision) {
			c.put("clock", "\x01"+"5000")
			c.now = 5000
		}, catalog.Conflict},
	} {
		t.Run(what, func(t *testing.T) {
			c := guarded(t)
			c.does(anna, catalog.MakeToken, catalog.TokenMaking{Token: access("annas", catalog.RoleAdmin), Owner: "anna", Program: true})
			d := c.propose(tt.by, catalog.RemoveFile, c.removal())
			tt.before(c, d)
			was := c.removed()
			before := c.sum()
			r := c.as(berta, approvals.Grant, d)
			if tt.code == "" {
				if r != nil || !c.removed() {
					t.Errorf("%v", r)
				}
				return
			}
			if r == nil || r.Code != tt.code || c.removed() != was || c.sum() != before {
				t.Errorf("%v, want it refused: %s", r, tt.code)
			}
		})
	}
}

// TestOfAnotherPlace: if the rule says so, the second person is of another institution than the first.
func TestOfAnotherPlace(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.person("dora", admin)
	place := func(who catalog.PersonID, place string) {
		t.Helper()
		c.does(local, catalog.ChangePerson, catalog.PersonChange{ID: who, Institution: &place})
	}
	place("dora", "north")
	c.does(berta, approvals.Grant, c.propose(anna, approvals.Set, approvals.Setting{Acts: approvals.Classes(), OtherPlace: true, Version: 1, Reason: "x"}))
	d := c.propose(anna, catalog.RemoveFile, c.removal())
	r := c.as("person:dora", approvals.Grant, d)
	if r == nil || r.Code != catalog.Denied || !strings.Contains(r.Message, `"north"`) {
		t.Errorf("of the same place: %v", r)
	}
	place("dora", "")
	c.refused(catalog.Denied, "person:dora", approvals.Grant, d) // of no place
	place("anna", "south")                                       // who moves meanwhile is of both places
	c.refused(catalog.Denied, berta, approvals.Grant, d)
	place("anna", "north")
	c.does(berta, approvals.Grant, d)
	place("anna", "")
	c.refused(catalog.Conflict, berta, approvals.Grant, d)
}

// TestNobodyActsAsTheSecondPerson: who invites somebody again is shown what gives a token of hers.
func TestNobodyActsAsTheSecondPerson(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		by    string
		after catalog.Time
		code  catalog.Code
	}{
		"the proposer":                 {anna, 0, catalog.Denied},
		"a program of hers":            {"program:annas", 0, catalog.Denied},
		"with a local token":           {local, 0, catalog.Denied},
		"the proposer, a month before": {anna, 31 * catalog.Day, ""},
		"somebody else":                {"person:dora", 0, ""},
	} {
		c := guarded(t)
		c.person("dora", admin)
		c.does(anna, catalog.MakeToken, catalog.TokenMaking{Token: access("annas", catalog.RoleAdmin), Owner: "anna", Program: true})
		again := access("again", catalog.RoleReader)
		again.Expires = c.now + 1e9
		c.does(tt.by, catalog.ReinvitePerson, catalog.Invitation{Person: catalog.Person{ID: "berta"}, Token: again})
		c.does(berta, catalog.AcceptInvitation, catalog.Acceptance{Invitation: "again", Token: access("stolen", catalog.RoleAdmin)})
		if tt.code != "" { // that another one invites her, too, gives nothing back
			more := access("more", catalog.RoleReader)
			more.Expires = c.now + 1e9
			c.does("person:dora", catalog.ReinvitePerson, catalog.Invitation{Person: catalog.Person{ID: "berta"}, Token: more})
		}
		c.now += tt.after
		d := c.propose(anna, catalog.RemoveFile, c.removal())
		if r := c.as(berta, approvals.Grant, d); (r == nil) != (tt.code == "") || r != nil && r.Code != tt.code || c.removed() != (r == nil) {
			t.Errorf("invited again by %s: %v", what, r)
		}
	}
}

// TestNobodyAcceptsForTheSecondPerson: who invites again somebody who has not accepted yet could accept in her name, and
// be a second person with the role that others gave her.
func TestNobodyAcceptsForTheSecondPerson(t *testing.T) {
	t.Parallel()
	for by, code := range map[string]catalog.Code{anna: catalog.Denied, berta: "", local: ""} {
		c := guarded(t)
		c.invite("dora")
		c.does(local, catalog.GiveGrant, catalog.Giving{Person: "dora", Role: catalog.RoleAdmin})
		again := access("again", catalog.RoleReader)
		again.Expires = c.now + 1e9
		c.does(by, catalog.ReinvitePerson, catalog.Invitation{Person: catalog.Person{ID: "dora"}, Token: again})
		c.does("person:dora", catalog.AcceptInvitation, catalog.Acceptance{Invitation: "again", Token: access("hers", catalog.RoleAdmin)})
		d := c.propose(anna, catalog.RemoveFile, c.removal())
		if r := c.as("person:dora", approvals.Grant, d); (r == nil) != (code == "") || r != nil && r.Code != code || c.removed() != (r == nil) {
			t.Errorf("invited again by %s: %v", by, r)
		}
	}
}

// TestNoRoadAround tries each act that waits directly, in every name, also as a guarded command, and proposes what does not
// wait.
func TestNoRoadAround(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.found(t, "south-1", digest("bad"))
	acts := map[catalog.Kind]any{
		catalog.RemoveFile:    c.removal(),
		catalog.LoseFile:      catalog.FileLoss{Name: "f", SHA256: digest("f"), Reason: "x"},
		files.SetChecksum:     files.Correction{Name: "f", Was: digest("f"), SHA256: digest("bad"), Reason: "x"},
		files.SetCopyState:    files.CopySetting{Name: "f", Replica: "south", SHA256: digest("f"), State: catalog.UploadStarted, Reason: "x"},
		files.ReplaceCopy:     files.Replacement{Name: "f", Replica: "south", SHA256: digest("bad"), Reason: "x"},
		files.DiscardAside:    files.Discard{Node: id("south-1"), Aside: asideF, SHA256: digest("bad"), Reason: "x"},
		catalog.RemoveMember:  catalog.MemberRemoval{ID: id("south-1"), Lost: true, Reason: "x"},
		catalog.RemoveReplica: catalog.ReplicaRemoval{Replica: "south", Reason: "x"},
		catalog.SetReplica:    catalog.Replica{Name: "south", Kind: catalog.Bitarchive, Place: "Southtown", Collections: []catalog.CollectionName{"web"}},
		approvals.Set:         approvals.Setting{Version: 1, Reason: "off"},
	}
	if waiting := catalog.WaitingKinds(); len(waiting) != len(acts) {
		t.Errorf("%q wait: try each", waiting)
	}
	for kind, body := range acts {
		for _, actor := range []string{anna, berta, local, "", "test", string(id("north-1")), "program:none"} {
			c.refused(agree.Unapproved, actor, kind, body)
		}
		once := agree.Guard{Once: strings.Repeat("0", 32), Digest: strings.Repeat("1", 32), Kind: kind, Body: c.proposing(kind, body).Body}
		c.refused(agree.Unapproved, anna, agree.Guarded, once)
		for _, actor := range []string{local, clara, "", "test", string(id("north-1")), "program:none", "person:nobody"} {
			c.refused(catalog.Denied, actor, approvals.Propose, c.proposing(kind, body))
		}
		d := c.propose(anna, kind, body)
		if p := c.proposal(d); p.Mark == "" || p.Subject == "" || p.Class == "" {
			t.Errorf("%s: %+v", kind, p)
		}
		c.does(anna, approvals.Withdraw, d)
	}
	for kind, body := range map[catalog.Kind]any{
		catalog.LoseFile:     catalog.FileLoss{Name: "f", SHA256: digest("f"), Reason: "x", Undo: true},
		catalog.RemoveMember: catalog.MemberRemoval{ID: id("south-2"), Reason: "x"},
		catalog.SetReplica:   catalog.Replica{Name: "south", Kind: catalog.Bitarchive, Place: "elsewhere"},
	} {
		c.refused(catalog.Conflict, anna, approvals.Propose, c.proposing(kind, body)) // takes nothing, and waits for nobody
		c.does(anna, kind, body)
	}
	c.refused(catalog.Invalid, anna, approvals.Propose, c.proposing(catalog.AddFiles, catalog.Additions{}))
	c.refused(catalog.Invalid, anna, approvals.Propose, c.proposing(approvals.Grant, approvals.Decision{}))
	// What the machine does by itself goes on: a verdict sets a bad copy aside.
	c.must(t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{{Name: "f", Replica: "south", Bad: true}}})
}

// TestEachActIsCarriedOut grants an act of each kind.
func TestEachActIsCarriedOut(t *testing.T) {
	t.Parallel()
	view := func(c *town) (catalog.File, *catalog.Copy) {
		f, err := c.view().File("f")
		if err != nil {
			c.t.Fatal(err)
		}
		return f, f.Copy("south")
	}
	for kind, tt := range map[catalog.Kind]struct {
		body any
		done func(*town) bool
	}{
		files.ReplaceCopy: {files.Replacement{Name: "f", Replica: "south", SHA256: digest("bad"), Reason: "x"},
			func(c *town) bool { _, s := view(c); return s.State == catalog.UploadFailed }},
		files.SetCopyState: {files.CopySetting{Name: "f", Replica: "south", SHA256: digest("f"), State: catalog.UploadStarted, Reason: "x"},
			func(c *town) bool { _, s := view(c); return s.State == catalog.UploadStarted }},
		files.DiscardAside: {files.Discard{Node: id("south-1"), Aside: asideF, SHA256: digest("bad"), Reason: "x"},
			func(c *town) bool {
				all, err := c.view().Discards(id("south-1"), 0)
				return err == nil && len(all) == 1 && all[0].By == anna
			}},
		catalog.RemoveMember: {catalog.MemberRemoval{ID: id("south-1"), Lost: true, Reason: "x"},
			func(c *town) bool { _, err := c.view().Member(id("south-1")); return err != nil }},
		catalog.SetReplica: {catalog.Replica{Name: "south", Kind: catalog.Bitarchive, Place: "Southtown", Collections: []catalog.CollectionName{"radio"}},
			func(c *town) bool { r, _ := c.view().Replica("south"); return len(r.Collections) == 1 }},
		approvals.Set: {approvals.Setting{Acts: []approvals.Class{approvals.FileLost}, Version: 1, Reason: "less"},
			func(c *town) bool { return c.as(anna, catalog.RemoveFile, c.removal()) == nil }},
	} {
		c := guarded(t)
		c.found(t, "south-1", digest("bad"))
		d := c.propose(anna, kind, tt.body)
		if p := c.proposal(d); kind == catalog.SetReplica && (p.Files != 1 || p.Bytes != 1) {
			t.Errorf("the replica is not to hold %d files of %d bytes any more", p.Files, p.Bytes)
		}
		c.refused(catalog.Denied, anna, approvals.Grant, d)
		c.does(berta, approvals.Grant, d)
		if !tt.done(c) {
			t.Errorf("%s was granted, and is not carried out", kind)
		}
	}
	// What is refused when it is carried out is not granted: the last good copy.
	c := guarded(t)
	c.found(t, "north-1", digest("bad"))
	d := c.propose(anna, files.SetCopyState, files.CopySetting{Name: "f", Replica: "south", SHA256: digest("f"), State: catalog.UploadStarted, Reason: "x"})
	c.refused(catalog.Unsafe, berta, approvals.Grant, d)
	if p := c.proposal(d); p.State != approvals.Waiting {
		t.Errorf("%+v", p)
	}
}

// TestTheRule is changed by administrators; once something waits, its changes wait, too.
func TestTheRule(t *testing.T) {
	t.Parallel()
	old := &town{challenged(t, approvals.Level-1), t}
	for _, kind := range []catalog.Kind{approvals.Set, approvals.Propose, approvals.Grant, approvals.Deny, approvals.Withdraw} {
		old.refused(catalog.Unsupported, local, kind, map[string]any{})
	}
	old.does("test", catalog.RemoveFile, old.removal())

	c := &town{challenged(t, approvals.Level), t}
	all := approvals.Setting{Acts: approvals.Classes(), Reason: "x"}
	c.refused(catalog.Unsafe, local, approvals.Set, all) // nobody could grant
	c.person("anna", admin)
	c.refused(catalog.Unsafe, local, approvals.Set, all)
	c.person("berta", admin)
	other := all
	other.OtherPlace = true
	c.refused(catalog.Unsafe, local, approvals.Set, other) // of no place
	for _, bad := range []approvals.Setting{{Acts: []approvals.Class{"fly"}}, {Acts: []approvals.Class{approvals.RuleChange}}, {Limit: 1}, {Limit: 1 << 50},
		{Acts: []approvals.Class{approvals.FileLost, approvals.FileLost}}} {
		c.refused(catalog.Invalid, local, approvals.Set, bad)
	}
	c.refused(catalog.Conflict, anna, approvals.Propose, c.proposing(approvals.Set, all)) // nothing waits yet
	c.does(local, approvals.Set, approvals.Setting{Acts: []approvals.Class{approvals.FileLost}, Limit: approvals.LeastLimit})
	c.does(anna, catalog.RemoveFile, c.removal()) // this does not wait
	c.refused(agree.Unapproved, local, approvals.Set, approvals.Setting{Version: 1})
	d := c.propose(anna, approvals.Set, approvals.Setting{Version: 1, Reason: "off"})
	late := c.propose(anna, approvals.Set, approvals.Setting{Acts: approvals.Classes(), Version: 1, Reason: "all"})
	c.does(berta, approvals.Grant, d)
	c.refused(agree.Stale, berta, approvals.Grant, late) // about the rule as it was
	rule, err := catalog.ApprovalsIn(c.view()).Rule()
	if err != nil || len(rule.Acts) != 0 || rule.Version != 2 || rule.By != anna {
		t.Errorf("%+v, %v", rule, err)
	}
	if e := c.lastEvent(t, string(approvals.Set)); !strings.Contains(e.Detail, "reason=off") {
		t.Errorf("%+v", e)
	}
}

// TestVouchForApprovals: a member forwards what the actor may do, and proposes nothing by itself.
func TestVouchForApprovals(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	vouch := func(actor string, kind catalog.Kind, body any) error {
		cmd := catalog.Command{Version: 1, Kind: kind, Actor: actor, Node: id("south-1"), Body: c.proposing(kind, body).Body}
		return c.people().Vouch(id("south-1"), &cmd, "", c.now)
	}
	removal := c.proposing(catalog.RemoveFile, c.removal())
	for what, tt := range map[string]struct {
		actor string
		kind  catalog.Kind
		body  any
		fine  bool
	}{
		"an administrator proposes": {anna, approvals.Propose, removal, true},
		"a curator proposes":        {clara, approvals.Propose, removal, false},
		"a node proposes":           {"", approvals.Propose, removal, false},
		"what is for nodes":         {anna, approvals.Propose, c.proposing(catalog.AddFiles, catalog.Additions{}), false},
		"an administrator grants":   {berta, approvals.Grant, approvals.Decision{}, true},
		"a curator grants":          {clara, approvals.Grant, approvals.Decision{}, false},
		"a node grants":             {string(id("south-1")), approvals.Grant, approvals.Decision{}, false},
		"a node denies":             {"", approvals.Deny, approvals.Decision{}, false},
		"a node sets":               {"", approvals.Set, approvals.Setting{}, false},
	} {
		if err := vouch(tt.actor, tt.kind, tt.body); (err == nil) != tt.fine {
			t.Errorf("%s: %v", what, err)
		}
	}
}
