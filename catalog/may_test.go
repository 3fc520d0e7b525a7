package catalog_test

import (
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

// TestMay is the whole decision: who has a role in a scope may do an act where it touches what it touches.
func TestMay(t *testing.T) {
	type need struct {
		role   catalog.Role
		extent catalog.Extent
	}
	const reader, curator, operator, admin = catalog.RoleReader, catalog.RoleCurator, catalog.RoleOperator, catalog.RoleAdmin
	needs := map[catalog.Act]need{
		"": {}, "fly": {},
		catalog.Look: {reader, catalog.Anywhere}, catalog.KeepOwn: {reader, catalog.Anywhere},
		people.Acknowledge: {curator, catalog.Anywhere}, catalog.LookAtDisks: {operator, catalog.Anywhere},
		catalog.RunJob: {curator, catalog.Collections}, catalog.PutFile: {curator, catalog.Collections},
		people.KeepDomain: {curator, catalog.Collections}, people.KeepHarvest: {curator, catalog.Collections},
		people.AcknowledgeWork: {curator, catalog.Collections}, people.KeepNotices: {curator, catalog.Collections},
		people.RunBatch: {curator, catalog.Collections}, people.ReadBatch: {reader, catalog.Collections},
		people.BackUp: {operator, catalog.Whole}, people.ChangeLayout: {operator, catalog.Whole},
		catalog.LookAtNode: {operator, catalog.Places}, catalog.ChangeNode: {operator, catalog.Places},
		catalog.CheckCopies: {operator, catalog.Places}, catalog.RebuildIndex: {operator, catalog.Places},
		people.AcknowledgeNode: {operator, catalog.Places},
		catalog.Define:         {curator, catalog.Whole}, catalog.ReachInside: {operator, catalog.Whole},
		catalog.InviteNode: {admin, catalog.Whole}, catalog.RemoveNode: {admin, catalog.Whole},
		catalog.ChangeReplica: {admin, catalog.Whole}, catalog.ChangeCollection: {admin, catalog.Whole},
		catalog.EraseFile: {admin, catalog.Whole}, catalog.ChangeLevel: {admin, catalog.Whole},
		catalog.KeepPeople: {admin, catalog.Whole}, people.Approve: {admin, catalog.Whole},
		people.KeepAccess: {curator, catalog.Whole},
	}
	rights := []catalog.Right{{Role: catalog.RoleReader}, {Role: catalog.RoleCurator}, {Role: catalog.RoleOperator}, {Role: catalog.RoleAdmin},
		{Role: catalog.RoleCurator, Collection: "web"}, {Role: catalog.RoleCurator, Collection: "radio"},
		{Role: catalog.RoleOperator, Place: "north"}, {Role: catalog.RoleOperator, Place: "south"}, {Role: "king"}, {}}
	wheres := map[string]catalog.Where{"": {}, "web": {Collections: []catalog.CollectionName{"web"}}, "web+radio": {Collections: []catalog.CollectionName{"web", "radio"}},
		"north": {Places: []string{"north"}}, "north+south": {Places: []string{"north", "south"}},
		"unknown": {Collections: []catalog.CollectionName{""}, Places: []string{""}}, "web+unknown": {Collections: []catalog.CollectionName{"web", ""}, Places: []string{"north", ""}}}
	// Who may an act of a role, by its extent and where it is done. all: a role in the whole archive that includes it.
	scoped := map[catalog.Extent]map[string]string{
		catalog.Collections: {"web": "web"},
		catalog.Places:      {"north": "north"},
	}
	for act, want := range needs {
		role, extent := act.Needs()
		if (need{role, extent}) != want {
			t.Errorf("%s needs %s, measured by %d; want %s by %d", act, role, extent, want.role, want.extent)
		}
		for name, where := range wheres {
			for _, r := range rights {
				in := string(r.Collection) + r.Place
				may := r.Role.Includes(want.role) && want.extent != catalog.Nowhere &&
					(in == "" || want.extent == catalog.Anywhere || in == scoped[want.extent][name])
				if err := catalog.May([]catalog.Right{r}, act, where); (err == nil) != may {
					t.Errorf("%+v: %s of %q: %v, want %t", r, act, name, err, may)
				}
			}
			if err := catalog.May(nil, act, where); err == nil {
				t.Errorf("nobody may %s of %q", act, name)
			}
		}
	}
	both := []catalog.Right{{Role: catalog.RoleCurator, Collection: "web"}, {Role: catalog.RoleCurator, Collection: "radio"}}
	if err := catalog.May(both, catalog.RunJob, wheres["web+radio"]); err != nil {
		t.Errorf("a curator of both: %v", err)
	}
	err := catalog.May(both[:1], catalog.RunJob, wheres["web+radio"])
	if err == nil || !strings.Contains(err.Error(), "needs the role curator for collection radio; you have curator for collection web") {
		t.Errorf("%v", err)
	}
}

// TestVouch plays a member that forwards what it likes.
func TestVouch(t *testing.T) {
	c := newTown(t)
	c.person("anna", admin)
	c.person("berta", curatorWeb)
	c.person("otto", operatorOne)
	c.person("dora", admin)
	c.does(local, catalog.DisablePerson, catalog.PersonRef{ID: "dora"})
	c.invite("inga")
	c.does("person:anna", catalog.MakeToken, catalog.TokenMaking{Token: access("robot", catalog.RoleCurator), Owner: "anna", Program: true})
	c.does("person:anna", catalog.MakeToken, catalog.TokenMaking{Token: access("gone", catalog.RoleAdmin), Owner: "anna", Program: true})
	c.does("person:anna", catalog.RevokeAccess, catalog.Named{ID: "gone"})
	c.must(t, catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "radio", Spec: []byte(`{"name":"j","seeds":["http://example.org/"]}`)})
	south, weight := id("south-1"), 5
	job := catalog.JobCreation{Collection: "web"}
	for name, tt := range map[string]struct {
		kind  catalog.Kind
		actor string
		local catalog.Role
		body  any
		good  bool
	}{
		"its own report":                 {catalog.ReportCopies, string(south), "", catalog.CopyReports{}, true},
		"its own report, unsigned":       {catalog.ReportCopies, "", "", catalog.CopyReports{}, true},
		"a report in a person's name":    {catalog.ReportCopies, "person:anna", "", catalog.CopyReports{}, false},
		"a report in another's name":     {catalog.ReportCopies, string(id("north-1")), "", catalog.CopyReports{}, false},
		"what it says of itself":         {catalog.UpdateMember, string(south), "", catalog.MemberChange{ID: south, Weight: &weight}, true},
		"what it says of another":        {catalog.UpdateMember, string(south), "", catalog.MemberChange{ID: id("north-1"), Weight: &weight}, false},
		"a grant by itself":              {catalog.GiveGrant, string(south), "", catalog.Giving{}, false},
		"a removal by itself":            {catalog.RemoveFile, "", "", catalog.FileRemoval{}, false},
		"a free name":                    {catalog.RemoveFile, "root", "", catalog.FileRemoval{}, false},
		"its local token, trusted":       {catalog.RemoveFile, catalog.Local(south), catalog.RoleAdmin, catalog.FileRemoval{}, true},
		"its local token, a reader here": {catalog.RemoveFile, catalog.Local(south), catalog.RoleReader, catalog.FileRemoval{}, false},
		"its local token, not trusted":   {catalog.CreateJob, catalog.Local(south), "", job, false},
		"another's local token":          {catalog.RemoveFile, local, catalog.RoleAdmin, catalog.FileRemoval{}, false},
		"an administrator":               {catalog.GiveGrant, "person:anna", "", catalog.Giving{}, true},
		"one who is disabled":            {catalog.GiveGrant, "person:dora", "", catalog.Giving{}, false},
		"one who is not there":           {catalog.GiveGrant, "person:nobody", "", catalog.Giving{}, false},
		"a curator":                      {catalog.GiveGrant, "person:berta", "", catalog.Giving{}, false},
		"a curator's job":                {catalog.CreateJob, "person:berta", "", job, true},
		"a curator's job elsewhere":      {catalog.CreateJob, "person:berta", "", catalog.JobCreation{Collection: "radio"}, false},
		"a curator's end of another job": {catalog.WishJob, "person:berta", "", catalog.JobWishing{ID: 1}, false},
		"a program's end of a job":       {catalog.WishJob, "program:robot", "", catalog.JobWishing{ID: 1}, true},
		"a program's above its role":     {catalog.RemoveFile, "program:robot", "", catalog.FileRemoval{}, false},
		"a program that was revoked":     {catalog.RemoveFile, "program:gone", "", catalog.FileRemoval{}, false},
		"a person's token as a program":  {catalog.RemoveFile, "program:anna-own", "", catalog.FileRemoval{}, false},
		"an operator drains his":         {catalog.UpdateMember, "person:otto", "", catalog.MemberChange{ID: id("north-1")}, true},
		"an operator drains another's":   {catalog.UpdateMember, "person:otto", "", catalog.MemberChange{ID: south}, false},
		"one's own language":             {catalog.ChangePerson, "person:berta", "", catalog.PersonChange{ID: "berta"}, true},
		"another's language":             {catalog.ChangePerson, "person:berta", "", catalog.PersonChange{ID: "anna"}, false},
		"one's own name":                 {catalog.ChangePerson, "person:berta", "", map[string]string{"id": "berta", "name": "x"}, false},
		"one's own invitation":           {catalog.AcceptInvitation, "person:inga", "", catalog.Acceptance{Invitation: "inga-invitation"}, true},
		"another's invitation":           {catalog.AcceptInvitation, "person:berta", "", catalog.Acceptance{Invitation: "inga-invitation"}, false},
		"an invited person's grant":      {catalog.GiveGrant, "person:inga", "", catalog.Giving{}, false},
		"one's own token goes":           {catalog.RevokeAccess, "person:berta", "", catalog.Named{ID: "berta-own"}, true},
		"another's token goes":           {catalog.RevokeAccess, "person:berta", "", catalog.Named{ID: "anna-own"}, false},
		"one's own session":              {people.EndSession, "person:berta", "", people.SessionEnd{Owner: "person:berta", ID: "s"}, true},
		"a session without rights":       {people.EndSession, "person:inga", "", people.SessionEnd{Owner: "person:inga", ID: "s"}, true},
		"another's session":              {people.EndSession, "person:inga", "", people.SessionEnd{Owner: "person:berta", ID: "s"}, false},
		"a session of its local token":   {people.EndSession, catalog.Local(south), catalog.RoleReader, people.SessionEnd{Owner: catalog.Local(south)}, true},
		"an identity by invitation":      {people.EnterIdentified, "person:inga", "", people.Identification{Invitation: "inga-invitation"}, true},
		"another's, by invitation":       {people.EnterIdentified, "person:berta", "", people.Identification{Invitation: "inga-invitation"}, false},
		"groups by a local token":        {people.Regroup, catalog.Local(south), catalog.RoleAdmin, people.Grouping{}, true},
		"groups by a lesser local token": {people.Regroup, catalog.Local(south), catalog.RoleOperator, people.Grouping{}, false},
		"logout by any local token":      {people.EndIdentified, catalog.Local(south), catalog.RoleReader, people.IdentityEnd{}, true},
		"logout by a person":             {people.EndIdentified, "person:inga", "", people.IdentityEnd{}, false},
		"groups by a node itself":        {people.Regroup, string(south), "", people.Grouping{}, false},
		"a person by a lesser token":     {people.AdmitPerson, catalog.Local(south), catalog.RoleReader, people.Admission{}, false},
		"one's own identity goes":        {people.UnlinkIdentity, "person:berta", "", people.Unlinking{Person: "berta"}, false},
		"a level":                        {catalog.RaiseLevel, "person:berta", "", catalog.LevelChange{}, false},
	} {
		cmd := catalog.Command{Kind: tt.kind, Actor: tt.actor, Node: south, Body: raw(t, tt.body)}
		if err := c.people().Vouch(south, &cmd, tt.local, c.now); (err == nil) != tt.good {
			t.Errorf("%s: %v, want it accepted: %t", name, err, tt.good)
		}
	}
	low := foundCluster(t)
	cmd := catalog.Command{Kind: catalog.RemoveFile, Actor: "root", Node: south, Body: raw(t, catalog.FileRemoval{})}
	if err := catalog.PeopleIn(low.view()).Vouch(south, &cmd, "", low.now); err != nil {
		t.Errorf("below level 3: %v", err)
	}
}
