package catalog_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
)

// town is a cluster of level 3 with people.
type town struct {
	*cluster
	t *testing.T
}

func newTown(t *testing.T) *town {
	t.Helper()
	c := foundCluster(t)
	c.raiseTo(t, catalog.LevelOfPeople)
	return &town{c, t}
}

func (c *town) people() catalog.People { return catalog.PeopleIn(c.view()) }

// as applies a command in somebody's name.
func (c *town) as(actor string, kind catalog.Kind, body any) *catalog.Refusal {
	c.t.Helper()
	return c.send(c.t, catalog.Command{Kind: kind, Actor: actor}, body).Refusal
}

func (c *town) does(actor string, kind catalog.Kind, body any) {
	c.t.Helper()
	if r := c.as(actor, kind, body); r != nil {
		c.t.Fatalf("%s by %s: %v", kind, actor, r)
	}
}

func (c *town) refused(code catalog.Code, actor string, kind catalog.Kind, body any) {
	c.t.Helper()
	before := c.sum()
	if r := c.as(actor, kind, body); r == nil || r.Code != code {
		c.t.Errorf("%s by %s: %+v, want it refused: %s", kind, actor, r, code)
	}
	if c.sum() != before {
		c.t.Errorf("%s was refused and changed something", kind)
	}
}

var local = catalog.Local(id("north-1"))

func access(id string, role catalog.Role) catalog.AccessToken {
	return catalog.AccessToken{ID: id, Name: id, SecretHash: digest(id), Role: role}
}

// invite invites a person; her invitation is the token ID-invitation.
func (c *town) invite(id catalog.PersonID) {
	c.t.Helper()
	token := access(string(id)+"-invitation", catalog.RoleReader)
	token.Expires = c.now + 1e9
	c.does(local, catalog.InvitePerson, catalog.Invitation{Person: catalog.Person{ID: id, Name: string(id), Mail: string(id) + "@example.org"}, Token: token})
}

// accept makes the person active; her token is ID-own.
func (c *town) accept(id catalog.PersonID) {
	c.t.Helper()
	c.does(id.Actor(), catalog.AcceptInvitation, catalog.Acceptance{Invitation: string(id) + "-invitation", Token: access(string(id)+"-own", catalog.RoleAdmin)})
}

func (c *town) person(id catalog.PersonID, grants ...catalog.Giving) {
	c.t.Helper()
	c.invite(id)
	c.accept(id)
	for _, g := range grants {
		g.Person = id
		c.does(local, catalog.GiveGrant, g)
	}
}

func (c *town) caller(token string) (catalog.Caller, error) {
	c.t.Helper()
	kept, err := c.view().AccessToken(token)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.people().Caller(kept, c.now)
}

// may reports whether who has the token may do the act now.
func (c *town) may(token string, act catalog.Act, where catalog.Where) bool {
	c.t.Helper()
	caller, err := c.caller(token)
	if err != nil && !errors.Is(err, catalog.ErrDisabled) {
		c.t.Fatal(err)
	}
	return catalog.May(caller.Rights, act, where) == nil
}

var (
	admin       = catalog.Giving{Role: catalog.RoleAdmin}
	curator     = catalog.Giving{Role: catalog.RoleCurator}
	curatorWeb  = catalog.Giving{Role: catalog.RoleCurator, Collection: "web"}
	operatorOne = catalog.Giving{Role: catalog.RoleOperator, Place: "Northtown"}
	web         = catalog.Where{Collections: []catalog.CollectionName{"web"}}
	radio       = catalog.Where{Collections: []catalog.CollectionName{"radio"}}
)

func TestPeopleNeedLevelThree(t *testing.T) {
	c := &town{foundCluster(t), t}
	c.raiseTo(t, 2)
	for _, kind := range []catalog.Kind{catalog.InvitePerson, catalog.ReinvitePerson, catalog.AcceptInvitation, catalog.ChangePerson,
		catalog.DisablePerson, catalog.EnablePerson, catalog.GiveGrant, catalog.EndGrant, catalog.MakeToken, catalog.TakeToken, catalog.NoteUses} {
		c.refused(catalog.Unsupported, local, kind, map[string]any{})
	}
	c.does("anna", catalog.CreateAccess, access("old", catalog.RoleCurator))
	before, err := c.caller("old")
	if err != nil || before.Actor != "old" || before.Person != "" || !c.may("old", catalog.RunJob, radio) {
		t.Errorf("%+v %v", before, err)
	}
	c.raiseTo(t, 3)
	c.refused(catalog.Conflict, "anna", catalog.CreateAccess, access("another", catalog.RoleCurator))
	after, err := c.caller("old") // a program without an owner, that may what it could
	if err != nil || after.Actor != "program:old" || after.Person != "" || !after.Program || !c.may("old", catalog.RunJob, radio) {
		t.Errorf("%+v %v", after, err)
	}
	c.person("anna", curatorWeb)
	c.person("berta", curator)
	c.refused(catalog.Denied, catalog.PersonID("anna").Actor(), catalog.TakeToken, catalog.TokenTaking{ID: "old", Owner: "berta"})
	c.does(catalog.PersonID("berta").Actor(), catalog.TakeToken, catalog.TokenTaking{ID: "old", Owner: "berta"})
	c.refused(catalog.Conflict, catalog.PersonID("anna").Actor(), catalog.TakeToken, catalog.TokenTaking{ID: "old", Owner: "anna"})
	c.does(local, catalog.DisablePerson, catalog.PersonRef{ID: "berta"})
	if _, err := c.caller("old"); !errors.Is(err, catalog.ErrDisabled) {
		t.Errorf("the token that she took outlives her: %v", err)
	}
}

func TestAPersonActsWhenSheHasAccepted(t *testing.T) {
	c := newTown(t)
	c.invite("anna")
	c.does(local, catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleCurator})
	who, err := c.caller("anna-invitation")
	if err != nil || !who.Invited || len(who.Rights) != 0 || who.Actor != "person:anna" {
		t.Errorf("%+v %v", who, err)
	}
	c.refused(catalog.Denied, "person:berta", catalog.AcceptInvitation, catalog.Acceptance{Invitation: "anna-invitation", Token: access("b", catalog.RoleAdmin)})
	c.refused(catalog.Conflict, "person:anna", catalog.MakeToken, catalog.TokenMaking{Token: access("early", catalog.RoleReader), Owner: "anna"})
	c.accept("anna")
	c.refused(catalog.Denied, "person:anna", catalog.AcceptInvitation, catalog.Acceptance{Invitation: "anna-invitation", Token: access("again", catalog.RoleAdmin)})
	if !c.may("anna-own", catalog.RunJob, web) || c.may("anna-own", catalog.KeepPeople, catalog.Where{}) {
		t.Error("with her own token she may not what her grant says")
	}
	c.does(local, catalog.DisablePerson, catalog.PersonRef{ID: "anna", Reason: "left"})
	if _, err := c.caller("anna-own"); !errors.Is(err, catalog.ErrDisabled) {
		t.Errorf("disabled: %v", err)
	}
	again := access("anna-again", catalog.RoleReader)
	again.Expires = c.now + 1e9
	c.refused(catalog.Conflict, local, catalog.ReinvitePerson, catalog.Invitation{Person: catalog.Person{ID: "anna"}, Token: again})
	c.does(local, catalog.EnablePerson, catalog.PersonRef{ID: "anna"})
	if !c.may("anna-own", catalog.RunJob, web) {
		t.Error("enabled again, she may not act")
	}
	c.does(local, catalog.ReinvitePerson, catalog.Invitation{Person: catalog.Person{ID: "anna"}, Token: again})
	c.does("person:anna", catalog.AcceptInvitation, catalog.Acceptance{Invitation: "anna-again", Token: access("anna-third", catalog.RoleAdmin)})
	if !c.may("anna-third", catalog.RunJob, web) {
		t.Error("a further invitation gives no token")
	}
}

func TestNoTwoPeopleAreTakenForOneAnother(t *testing.T) {
	c := newTown(t)
	c.person("anna")
	c.person("berta")
	name, mail, other := "Anna", "ANNA@example.org", "Clara Holm"
	c.refused(catalog.Conflict, local, catalog.ChangePerson, catalog.PersonChange{ID: "berta", Name: &name})
	c.refused(catalog.Conflict, local, catalog.ChangePerson, catalog.PersonChange{ID: "berta", Mail: &mail})
	token := access("i", catalog.RoleReader)
	token.Expires = c.now + 1e9
	for _, p := range []catalog.Person{{ID: "x", Name: "X", Mail: mail}, {ID: "x", Name: "anna", Mail: "x@example.org"}, {ID: "anna", Name: "X", Mail: "x@example.org"}} {
		c.refused(catalog.Conflict, local, catalog.InvitePerson, catalog.Invitation{Person: p, Token: token})
	}
	for _, bad := range []string{"", " x", "local:north-1", "program x", "a\u202eb", "a\u200bb", "a\x00b", strings.Repeat("x", 101)} {
		c.refused(catalog.Invalid, local, catalog.ChangePerson, catalog.PersonChange{ID: "berta", Name: &bad})
	}
	node := "north-1"
	c.refused(catalog.Conflict, local, catalog.ChangePerson, catalog.PersonChange{ID: "berta", Name: &node})
	for _, bad := range []string{"", "x", "@example.org", "a@b@c.org", "a b@c.org", "ä@example.org", "a/b@example.org"} {
		c.refused(catalog.Invalid, local, catalog.ChangePerson, catalog.PersonChange{ID: "berta", Mail: &bad})
	}
	// A name that somebody gave up is free, and hers stays hers in another writing.
	c.does(local, catalog.ChangePerson, catalog.PersonChange{ID: "anna", Name: &other})
	c.does(local, catalog.ChangePerson, catalog.PersonChange{ID: "berta", Name: &name})
	big := "clara holm"
	c.does(local, catalog.ChangePerson, catalog.PersonChange{ID: "anna", Name: &big})
	for text, want := range map[string]catalog.PersonID{"anna": "anna", "ANNA@Example.org": "anna", "Clara  Holm": "anna", "berta": "berta"} {
		if p, err := c.people().Find(text); err != nil || p.ID != want {
			t.Errorf("%s: %+v %v", text, p, err)
		}
	}
	if got, err := c.people().ActorName("person:anna"); err != nil || got != "clara holm" {
		t.Errorf("%q %v", got, err)
	}
	events, err := c.view().Trail(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if strings.Contains(e.Detail+e.Subject, "@") || strings.Contains(e.Detail, "Clara") {
			t.Errorf("the trail keeps what is personal for ever: %+v", e)
		}
	}
}

func TestGrantsCountWhileAndWhereTheyAreGiven(t *testing.T) {
	c := newTown(t)
	c.person("anna", curatorWeb)
	c.person("otto", operatorOne)
	c.person("zoe", catalog.Giving{Role: catalog.RoleCurator, Until: c.now + 60_000})
	if !c.may("anna-own", catalog.RunJob, web) || c.may("anna-own", catalog.RunJob, radio) ||
		c.may("anna-own", catalog.RunJob, catalog.Where{Collections: []catalog.CollectionName{"web", "radio"}}) {
		t.Error("a curator of web")
	}
	north, south := catalog.Where{Places: []string{"Northtown"}}, catalog.Where{Places: []string{"Southtown"}}
	if !c.may("otto-own", catalog.ChangeNode, north) || c.may("otto-own", catalog.ChangeNode, south) || c.may("otto-own", catalog.RunJob, web) {
		t.Error("an operator of Northtown")
	}
	if !c.may("zoe-own", catalog.RunJob, radio) {
		t.Error("a grant with an end, before it")
	}
	c.now += 100_000
	if c.may("zoe-own", catalog.RunJob, radio) || c.may("zoe-own", catalog.Look, catalog.Where{}) {
		t.Error("a grant that has expired counts")
	}
	grants, err := c.people().GrantsOf("anna")
	if err != nil || len(grants) != 1 || grants[0].By != local || grants[0].Since == 0 {
		t.Fatalf("%+v %v", grants, err)
	}
	c.does(local, catalog.EndGrant, catalog.Ending{Person: "anna", ID: grants[0].ID, Reason: "done"})
	if c.may("anna-own", catalog.RunJob, web) || c.may("anna-own", catalog.Look, catalog.Where{}) {
		t.Error("a grant that has ended counts")
	}
	if grants, err = c.people().GrantsOf("anna"); err != nil || grants[0].Ended == 0 || grants[0].EndedBy != local || grants[0].EndedWhy != "done" {
		t.Errorf("%+v %v", grants, err)
	}
	for _, bad := range []catalog.Giving{{Role: catalog.RoleAdmin, Collection: "web"}, {Role: catalog.RoleCurator, Place: "Northtown"},
		{Role: "king"}, {Role: catalog.RoleCurator, Collection: "web", Place: "Northtown"}, {Role: catalog.RoleReader, Until: 1}} {
		bad.Person = "anna"
		c.refused(catalog.Invalid, local, catalog.GiveGrant, bad)
	}
	for _, bad := range []catalog.Giving{{Role: catalog.RoleCurator, Collection: "tv"}, {Role: catalog.RoleOperator, Place: "Nowhere"}} {
		bad.Person = "anna"
		c.refused(catalog.NotFound, local, catalog.GiveGrant, bad)
	}
}

// A collection that is made again with an old name is another one.
func TestAGrantDoesNotPassToACollectionOfTheSameName(t *testing.T) {
	c := newTown(t)
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "tv"})
	tv := catalog.Where{Collections: []catalog.CollectionName{"tv"}}
	c.person("anna", catalog.Giving{Role: catalog.RoleCurator, Collection: "tv"}, curatorWeb)
	c.person("berta", curator)
	c.does("person:berta", catalog.MakeToken, catalog.TokenMaking{Token: access("robot", catalog.RoleCurator), Owner: "berta", Program: true, Collections: []catalog.CollectionName{"tv"}})
	if !c.may("anna-own", catalog.RunJob, tv) || !c.may("robot", catalog.RunJob, tv) {
		t.Error("before it was removed")
	}
	c.must(t, catalog.RemoveCollection, catalog.CollectionRemoval{Collection: "tv"})
	if c.may("anna-own", catalog.RunJob, tv) || c.may("robot", catalog.Look, tv) {
		t.Error("while it is gone")
	}
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "tv"})
	if c.may("anna-own", catalog.RunJob, tv) || c.may("robot", catalog.RunJob, tv) || !c.may("anna-own", catalog.RunJob, web) {
		t.Error("after another one was made")
	}
}

func TestTheLastAdministratorStays(t *testing.T) {
	c := newTown(t)
	c.person("anna")
	temporary := catalog.Giving{Person: "anna", Role: catalog.RoleAdmin, Until: c.now + 1e6}
	c.refused(catalog.Unsafe, local, catalog.GiveGrant, temporary)
	c.does(local, catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleAdmin})
	c.invite("berta")
	c.does(local, catalog.GiveGrant, catalog.Giving{Person: "berta", Role: catalog.RoleAdmin}) // invited: she does not count yet
	c.person("clara", temporary)                                                               // with an end: neither does she
	grant := func(id catalog.PersonID) catalog.Ending {
		grants, err := c.people().GrantsOf(id)
		if err != nil || len(grants) == 0 {
			t.Fatal(grants, err)
		}
		return catalog.Ending{Person: id, ID: grants[0].ID}
	}
	lose := map[catalog.Kind]any{catalog.DisablePerson: catalog.PersonRef{ID: "anna"}, catalog.EndGrant: grant("anna"), catalog.RevokeAccess: catalog.Named{ID: "anna-own"}}
	for kind, body := range lose {
		c.refused(catalog.Unsafe, "person:anna", kind, body)
		c.refused(catalog.Unsafe, local, kind, body)
	}
	c.does("person:anna", catalog.MakeToken, catalog.TokenMaking{Token: access("laptop", catalog.RoleAdmin), Owner: "anna"})
	c.does("person:anna", catalog.RevokeAccess, catalog.Named{ID: "anna-own"})
	c.refused(catalog.Unsafe, "person:anna", catalog.RevokeAccess, catalog.Named{ID: "laptop"})
	c.accept("berta")
	c.does("person:anna", catalog.RevokeAccess, catalog.Named{ID: "laptop"})
	c.does("person:anna", catalog.EndGrant, grant("anna")) // to step down is one's own affair
	c.refused(catalog.Unsafe, "person:clara", catalog.DisablePerson, catalog.PersonRef{ID: "berta"})
}

func TestNobodyGivesThemselvesMore(t *testing.T) {
	c := newTown(t)
	c.person("anna", admin)
	c.person("berta", curatorWeb)
	c.refused(catalog.Denied, "person:anna", catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleAdmin, Until: c.now + 1e9})
	c.does("person:anna", catalog.MakeToken, catalog.TokenMaking{Token: access("robot", catalog.RoleAdmin), Owner: "anna", Program: true})
	c.refused(catalog.Denied, "program:robot", catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleCurator})
	make := func(owner catalog.PersonID, role catalog.Role, program bool, in ...catalog.CollectionName) catalog.TokenMaking {
		return catalog.TokenMaking{Token: access("new", role), Owner: owner, Program: program, Collections: in}
	}
	c.refused(catalog.Denied, "person:berta", catalog.MakeToken, make("berta", catalog.RoleOperator, false))
	c.refused(catalog.Denied, "person:berta", catalog.MakeToken, make("berta", catalog.RoleCurator, true, "radio"))
	c.refused(catalog.Denied, "person:berta", catalog.MakeToken, make("anna", catalog.RoleAdmin, true))
	c.refused(catalog.Denied, local, catalog.MakeToken, make("anna", catalog.RoleAdmin, false))
	c.refused(catalog.Denied, "program:robot", catalog.MakeToken, make("anna", catalog.RoleAdmin, false))
	c.does("person:berta", catalog.MakeToken, make("berta", catalog.RoleCurator, true, "web"))
	if !c.may("new", catalog.RunJob, web) || c.may("new", catalog.RunJob, radio) {
		t.Error("her program may not what she may")
	}
	// Later she may more, and the program does not; then less, and it loses that at once.
	c.does("person:anna", catalog.GiveGrant, catalog.Giving{Person: "berta", Role: catalog.RoleAdmin})
	if c.may("new", catalog.RunJob, radio) || c.may("new", catalog.KeepPeople, catalog.Where{}) {
		t.Error("a token grew with its owner beyond its own limits")
	}
	grants, err := c.people().GrantsOf("berta")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range grants {
		c.does("person:anna", catalog.EndGrant, catalog.Ending{Person: "berta", ID: g.ID})
	}
	if c.may("new", catalog.RunJob, web) || c.may("new", catalog.Look, web) {
		t.Error("a token outlives its owner's grant")
	}
}

// What the API asks before it makes a token: no more than with the token that is used.
func TestATokenMakesNoStrongerToken(t *testing.T) {
	whole := []catalog.Right{{Role: catalog.RoleAdmin}}
	one := []catalog.Right{{Role: catalog.RoleCurator, Collection: "web"}}
	scoped := []catalog.Scope{{Collection: "web", Made: 1}}
	for name, tt := range map[string]struct {
		with    catalog.Caller
		role    catalog.Role
		program bool
		in      []catalog.CollectionName
		good    bool
	}{
		"her own":                         {catalog.Caller{Role: catalog.RoleAdmin, Rights: whole}, catalog.RoleAdmin, false, nil, true},
		"a higher role":                   {catalog.Caller{Role: catalog.RoleReader, Rights: whole}, catalog.RoleCurator, false, nil, false},
		"a program's own":                 {catalog.Caller{Role: catalog.RoleAdmin, Program: true, Rights: whole}, catalog.RoleReader, false, nil, false},
		"a program's":                     {catalog.Caller{Role: catalog.RoleAdmin, Program: true, Rights: whole}, catalog.RoleReader, true, nil, true},
		"without the scopes of the token": {catalog.Caller{Role: catalog.RoleCurator, Rights: one, Scopes: scoped}, catalog.RoleCurator, true, nil, false},
		"in another scope":                {catalog.Caller{Role: catalog.RoleCurator, Rights: one, Scopes: scoped}, catalog.RoleCurator, true, []catalog.CollectionName{"radio"}, false},
		"in its scope":                    {catalog.Caller{Role: catalog.RoleCurator, Rights: one, Scopes: scoped}, catalog.RoleCurator, true, []catalog.CollectionName{"web"}, true},
		"nothing":                         {catalog.Caller{Role: catalog.RoleAdmin}, catalog.RoleReader, true, nil, false},
	} {
		if err := tt.with.MayMake(tt.role, tt.program, tt.in, nil, 0); (err == nil) != tt.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUsesAreNotedOnceADay(t *testing.T) {
	c := newTown(t)
	c.person("anna")
	c.now = 20*catalog.Day + 5
	c.must(t, catalog.NoteUses, catalog.TokenUses{Day: 20 * catalog.Day, Tokens: []string{"anna-own", "nobody"}})
	c.must(t, catalog.NoteUses, catalog.TokenUses{Day: 19 * catalog.Day, Tokens: []string{"anna-own"}})
	if at, err := c.people().Used("anna-own"); err != nil || at != 20*catalog.Day {
		t.Errorf("%d %v", at, err)
	}
	if at, err := c.people().Used("nobody"); err != nil || at != 0 {
		t.Errorf("%d %v", at, err)
	}
	for _, bad := range []catalog.TokenUses{{Day: 20 * catalog.Day}, {Day: 5, Tokens: []string{"x"}}, {Day: 30 * catalog.Day, Tokens: []string{"x"}},
		{Day: 20 * catalog.Day, Tokens: slices.Repeat([]string{"x"}, catalog.MaxItems+1)}} {
		c.refused(catalog.Invalid, local, catalog.NoteUses, bad)
	}
	events, err := c.view().Trail(0, 0)
	if err != nil || slices.ContainsFunc(events, func(e catalog.Event) bool { return e.Act == string(catalog.NoteUses) }) {
		t.Errorf("uses are in the trail: %v", err)
	}
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
