package catalog_test

import (
	"fmt"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

func TestSessionsNeedLevelFive(t *testing.T) {
	c := &town{foundCluster(t), t}
	c.raiseTo(t, 4)
	c.person("anna", curator)
	anna := catalog.PersonID("anna").Actor()
	c.refused(catalog.Unsupported, anna, people.EndSession, people.SessionEnd{Owner: anna, ID: "s1", Until: 1 << 50})
	c.raiseTo(t, 5)
	c.does(anna, people.EndSession, people.SessionEnd{Owner: anna, ID: "s1", Until: 1 << 50})
}

// sessionTown is a town where people sign in.
func sessionTown(t *testing.T) *town {
	t.Helper()
	c := newTown(t)
	c.raiseTo(t, people.LevelOfSessions)
	return c
}

// standing is what a session of the owner depends on.
func (c *town) standing(owner string) string {
	c.t.Helper()
	text, err := c.people().Standing(owner)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

func (c *town) ended(owner, id string) bool {
	c.t.Helper()
	is, err := c.people().SessionEnded(owner, id)
	if err != nil {
		c.t.Fatal(err)
	}
	return is
}

// A session ends everywhere: its own owner ends it, and nobody else does.
func TestSessionsEndEarly(t *testing.T) {
	c := sessionTown(t)
	c.person("anna", curator)
	c.person("berta", admin)
	anna, berta := catalog.PersonID("anna").Actor(), catalog.PersonID("berta").Actor()
	end := func(id string) people.SessionEnd { return people.SessionEnd{Owner: anna, ID: id, Until: 1 << 50} }
	c.refused(catalog.Denied, berta, people.EndSession, end("s1"))
	c.refused(catalog.Denied, local, people.EndSession, end("s1"))
	c.refused(catalog.Invalid, anna, people.EndSession, people.SessionEnd{Owner: "anna", ID: "s1", Until: 1})
	c.refused(catalog.Invalid, anna, people.EndSession, people.SessionEnd{Owner: anna, ID: "s1"})
	c.refused(catalog.Invalid, anna, people.EndSession, end("a/b"))
	c.refused(catalog.NotFound, "person:nobody", people.EndSession, people.SessionEnd{Owner: "person:nobody", ID: "s", Until: 1})
	before := c.standing(anna)
	if c.ended(anna, "s1") {
		t.Error("a session has ended that nobody ended")
	}
	c.does(anna, people.EndSession, end("s1"))
	c.does(anna, people.EndSession, end("s1"))
	if !c.ended(anna, "s1") || c.ended(anna, "s2") || c.ended(berta, "s1") {
		t.Error("another session has ended than the one that was to")
	}
	if c.standing(anna) != before {
		t.Error("the end of one session ended others")
	}
	c.does(anna, people.EndSession, people.SessionEnd{Owner: anna})
	if c.standing(anna) == before {
		t.Error("all sessions were to end, and go on")
	}
}

// However many sessions a person ends, what is kept of them is bounded, and none of them becomes good again.
func TestManyEndedSessions(t *testing.T) {
	c := sessionTown(t)
	c.person("anna", curator)
	anna := catalog.PersonID("anna").Actor()
	good := map[string]string{} // the standing with which each began
	for i := range 250 {
		id := fmt.Sprint("s", i)
		good[id] = c.standing(anna)
		c.does(anna, people.EndSession, people.SessionEnd{Owner: anna, ID: id, Until: 1 << 50})
		for id, standing := range good {
			if standing == c.standing(anna) && !c.ended(anna, id) {
				t.Fatalf("after %d more, session %s is good again", i, id)
			}
		}
	}
}

// Whatever changes what a person is or may ends her sessions; nothing else does.
func TestStandingOfASession(t *testing.T) {
	c := sessionTown(t)
	c.person("anna", curator)
	c.person("berta", admin)
	anna := catalog.PersonID("anna").Actor()
	last := c.standing(anna)
	changes := func(want bool, kind catalog.Kind, body any) {
		t.Helper()
		c.does(local, kind, body)
		now := c.standing(anna)
		if (now != last) != want {
			t.Errorf("%s: the standing changes: %t, want %t", kind, now != last, want)
		}
		last = now
	}
	zone := "Europe/Copenhagen"
	changes(false, catalog.ChangePerson, catalog.PersonChange{ID: "anna", Zone: &zone})
	changes(false, catalog.GiveGrant, catalog.Giving{Person: "berta", Role: catalog.RoleCurator})
	changes(true, catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleOperator})
	grants, err := c.people().GrantsOf("anna")
	if err != nil || len(grants) != 2 {
		t.Fatal(grants, err)
	}
	changes(true, catalog.EndGrant, catalog.Ending{Person: "anna", ID: grants[1].ID})
	changes(true, catalog.DisablePerson, catalog.PersonRef{ID: "anna"})
	changes(true, catalog.EnablePerson, catalog.PersonRef{ID: "anna"})
}
