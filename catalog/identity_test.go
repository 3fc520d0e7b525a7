package catalog_test

import (
	"errors"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

const (
	idp  = "https://idp.example.org"
	idp2 = "https://idp.example.net"
)

func TestIdentitiesNeedLevelFive(t *testing.T) {
	c := &town{foundCluster(t), t}
	c.raiseTo(t, 4)
	c.invite("anna")
	anna := catalog.PersonID("anna").Actor()
	enter := people.Identification{Invitation: "anna-invitation", Issuer: idp, Subject: "a"}
	c.refused(catalog.Unsupported, anna, people.EnterIdentified, enter)
	c.refused(catalog.Unsupported, local, people.AdmitPerson, people.Admission{})
	c.refused(catalog.Unsupported, local, people.UnlinkIdentity, people.Unlinking{})
	c.refused(catalog.Unsupported, local, people.Regroup, people.Grouping{})
	c.refused(catalog.Unsupported, local, people.EndIdentified, people.IdentityEnd{})
	c.raiseTo(t, 5)
	c.does(anna, people.EnterIdentified, enter)
}

// linked is a town with an administrator, and anna, whose identity is linked.
func linked(t *testing.T) *town {
	c := sessionTown(t)
	c.person("berta", admin)
	c.invite("anna")
	c.does("person:anna", people.EnterIdentified,
		people.Identification{Invitation: "anna-invitation", Issuer: idp, Subject: "a"})
	return c
}

// of returns the id of the person whose identity it is, empty if it is nobody's.
func (c *town) of(issuer, subject string) catalog.PersonID {
	c.t.Helper()
	p, _, err := c.people().Identified(issuer, subject)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		c.t.Fatal(err)
	}
	return p.ID
}

// counting returns the grants that count now.
func (c *town) counting(id catalog.PersonID) (out []catalog.Grant) {
	c.t.Helper()
	all, err := c.people().GrantsOf(id)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, g := range all {
		if g.Open(c.now) {
			out = append(out, g)
		}
	}
	return out
}

// An identity is the issuer and the subject, is one person's, and takes an invitation.
func TestIdentitiesAreLinkedByInvitation(t *testing.T) {
	c := linked(t)
	if c.of(idp, "a") != "anna" || c.of(idp2, "a") != "" || c.of(idp, "A") != "" || c.of(idp, "anna@example.org") != "" {
		t.Error("an identity is somebody else's")
	}
	enter := func(issuer, subject string) people.Identification {
		return people.Identification{Invitation: "carla-invitation", Issuer: issuer, Subject: subject}
	}
	c.invite("carla")
	c.refused(catalog.Denied, local, people.EnterIdentified, enter(idp, "c"))
	c.refused(catalog.Denied, "person:berta", people.EnterIdentified, enter(idp, "c"))
	c.refused(catalog.Conflict, "person:carla", people.EnterIdentified, enter(idp, "a"))
	for _, wrong := range [][2]string{{"", "c"}, {idp, ""}, {idp, "c\n"}, {idp, "ç"}, {idp + " x", "c"}} {
		c.refused(catalog.Invalid, "person:carla", people.EnterIdentified, enter(wrong[0], wrong[1]))
	}
	c.does("person:carla", people.EnterIdentified, enter(idp2, "a"))
	c.refused(catalog.Denied, "person:carla", people.EnterIdentified, enter(idp2, "a"))
	if c.of(idp2, "a") != "carla" || c.of(idp, "a") != "anna" {
		t.Error("identities of two issuers are mixed up")
	}
	before := c.standing("person:carla")
	c.does(local, people.UnlinkIdentity, people.Unlinking{Person: "carla", Identity: people.IdentityID(idp2, "a")})
	if c.of(idp2, "a") != "" || c.standing("person:carla") == before {
		t.Error("an unlinked identity is still linked, or its sessions go on")
	}
	c.refused(catalog.NotFound, local, people.UnlinkIdentity, people.Unlinking{Person: "anna", Identity: people.IdentityID(idp2, "a")})
}

// What groups give ends with the group, with the day, and with the identity; what was given by hand stays.
func TestGrantsOfGroups(t *testing.T) {
	c := linked(t)
	c.does(local, catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleReader})
	id := people.IdentityID(idp, "a")
	groups := func(grants ...people.GroupGrant) people.Grouping {
		return people.Grouping{Person: "anna", Identity: id, Grants: grants, Until: c.now + 10*catalog.Day}
	}
	curates, operates := people.GroupGrant{Role: catalog.RoleCurator, Collection: "web"}, people.GroupGrant{Role: catalog.RoleOperator}
	roles := func(want ...catalog.Role) {
		t.Helper()
		var got []catalog.Role
		for _, g := range c.counting("anna") {
			got = append(got, g.Role)
			if g.Identity != "" && (g.Until == 0 || g.Until > c.now+catalog.Day) {
				t.Errorf("a group's grant lasts until %d, now is %d", g.Until, c.now)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("grants %v, want %v", got, want)
		}
	}
	for _, actor := range []string{"person:anna", "person:berta", "test"} {
		c.refused(catalog.Denied, actor, people.Regroup, groups(operates))
	}
	c.refused(catalog.NotFound, local, people.Regroup, people.Grouping{Person: "berta", Identity: id, Until: c.now + 1e6})
	c.does(local, people.Regroup, groups(curates, operates, operates))
	roles(catalog.RoleReader, catalog.RoleCurator, catalog.RoleOperator)
	standing := c.standing("person:anna")
	c.does(local, people.Regroup, groups(operates, curates))
	if c.standing("person:anna") != standing {
		t.Error("a renewal ends sessions")
	}
	c.does(local, people.Regroup, groups(curates)) // a lost group
	roles(catalog.RoleReader, catalog.RoleCurator)
	if c.standing("person:anna") == standing {
		t.Error("a lost group leaves sessions as they were")
	}
	c.does(local, people.Regroup, groups(curates, people.GroupGrant{Role: catalog.RoleCurator, Collection: "nowhere"},
		people.GroupGrant{Role: catalog.RoleReader, Place: "x"}, people.GroupGrant{Role: "king"}))
	roles(catalog.RoleReader, catalog.RoleCurator)
	c.now += catalog.Day + 1
	roles(catalog.RoleReader)
	c.does(local, people.Regroup, groups(curates))
	roles(catalog.RoleReader, catalog.RoleCurator)
	c.does(local, people.UnlinkIdentity, people.Unlinking{Person: "anna", Identity: id})
	roles(catalog.RoleReader)
	c.refused(catalog.NotFound, local, people.Regroup, groups(curates))
}

// The same grant by hand is another one: it stays when the group's ends.
func TestAGrantByHandBesideAGroups(t *testing.T) {
	c := linked(t)
	until := c.now + catalog.Day/2
	c.does(local, people.Regroup, people.Grouping{Person: "anna", Identity: people.IdentityID(idp, "a"),
		Grants: []people.GroupGrant{{Role: catalog.RoleCurator}}, Until: until})
	c.does(local, catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleCurator, Until: until})
	c.does(local, people.Regroup, people.Grouping{Person: "anna", Identity: people.IdentityID(idp, "a"), Until: until})
	if left := c.counting("anna"); len(left) != 1 || left[0].Identity != "" {
		t.Errorf("left: %+v", left)
	}
}

// Groups make no first administrator, and no last one.
func TestAdministratorsByGroups(t *testing.T) {
	c := sessionTown(t)
	c.invite("anna")
	c.does("person:anna", people.EnterIdentified, people.Identification{Invitation: "anna-invitation", Issuer: idp, Subject: "a"})
	rule := people.Grouping{Person: "anna", Identity: people.IdentityID(idp, "a"), Until: c.now + catalog.Day,
		Grants: []people.GroupGrant{{Role: catalog.RoleAdmin}}}
	c.does(local, people.Regroup, rule)
	if got := c.counting("anna"); len(got) != 0 {
		t.Errorf("a group made the first administrator: %+v", got)
	}
	c.person("berta", admin)
	c.does(local, people.Regroup, rule)
	if got := c.counting("anna"); len(got) != 1 || got[0].Role != catalog.RoleAdmin {
		t.Errorf("%+v", got)
	}
	c.refused(catalog.Unsafe, "person:anna", catalog.DisablePerson, catalog.PersonRef{ID: "berta"})
	c.does(local, catalog.DisablePerson, catalog.PersonRef{ID: "anna"})
	c.refused(catalog.Denied, local, people.Regroup, rule)
}

// The last administrator keeps something by which to sign in.
func TestTheLastAdministratorsIdentity(t *testing.T) {
	c := sessionTown(t)
	c.invite("anna")
	c.does("person:anna", people.EnterIdentified, people.Identification{Invitation: "anna-invitation", Issuer: idp, Subject: "a"})
	c.does(local, catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleAdmin})
	gone := people.Unlinking{Person: "anna", Identity: people.IdentityID(idp, "a")}
	c.refused(catalog.Unsafe, local, people.UnlinkIdentity, gone)
	c.does("person:anna", people.SetPassword, people.PasswordSetting{ID: "anna", Hash: aHash})
	c.does(local, people.UnlinkIdentity, gone)
}

// Who is made a person by her groups is nobody else, and has what they give.
func TestAdmission(t *testing.T) {
	c := linked(t)
	ask := people.Admission{Person: catalog.Person{ID: "dora", Name: "Dora", Mail: "dora@example.org"}, Issuer: idp, Subject: "d",
		Grants: []people.GroupGrant{{Role: catalog.RoleReader}}, Until: c.now + catalog.Day}
	with := func(change func(*people.Admission)) people.Admission { b := ask; change(&b); return b }
	berta, err := c.people().Person("berta")
	if err != nil {
		t.Fatal(err)
	}
	c.refused(catalog.Denied, "person:berta", people.AdmitPerson, ask)
	c.refused(catalog.Denied, local, people.AdmitPerson, with(func(b *people.Admission) { b.Grants = nil }))
	c.refused(catalog.Conflict, local, people.AdmitPerson, with(func(b *people.Admission) { b.Person.Mail = berta.Mail }))
	c.refused(catalog.Conflict, local, people.AdmitPerson, with(func(b *people.Admission) { b.Person.Name = berta.Name }))
	c.refused(catalog.Conflict, local, people.AdmitPerson, with(func(b *people.Admission) { b.Person.ID = "berta" }))
	c.refused(catalog.Conflict, local, people.AdmitPerson, with(func(b *people.Admission) { b.Subject = "a" }))
	c.refused(catalog.Invalid, local, people.AdmitPerson, with(func(b *people.Admission) { b.Person.Name = "x:y" }))
	if c.of(idp, "d") != "" {
		t.Error("a refused admission left an identity")
	}
	c.does(local, people.AdmitPerson, ask)
	if got := c.counting("dora"); c.of(idp, "d") != "dora" || len(got) != 1 || got[0].Until == 0 {
		t.Errorf("%+v", got)
	}
	c.refused(catalog.Conflict, local, people.AdmitPerson, with(func(b *people.Admission) { b.Person.ID = "dora2" }))
}
