package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

const (
	aHash       = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA"
	anotherHash = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaB"
)

// hash returns the person's password as it is kept.
func (c *town) hash(id catalog.PersonID) string {
	c.t.Helper()
	p, _, err := c.people().Password(id)
	if err != nil {
		c.t.Fatal(err)
	}
	return p.Hash
}

// A password is chosen by the person herself, and another one ends her sessions.
func TestPasswords(t *testing.T) {
	c := sessionTown(t)
	c.person("anna", curator)
	c.person("berta", admin)
	c.invite("carla")
	anna, berta := catalog.PersonID("anna").Actor(), catalog.PersonID("berta").Actor()
	set := people.PasswordSetting{ID: "anna", Hash: aHash}
	c.refused(catalog.Denied, berta, people.SetPassword, set)
	c.refused(catalog.Denied, local, people.SetPassword, set)
	for _, wrong := range []string{"", "secret", "$2y$10$abc", "$argon2id$" + strings.Repeat("x", 200), "$argon2id$a b"} {
		c.refused(catalog.Invalid, anna, people.SetPassword, people.PasswordSetting{ID: "anna", Hash: wrong})
	}
	c.refused(catalog.Conflict, "person:carla", people.SetPassword, people.PasswordSetting{ID: "carla", Hash: aHash})
	c.refused(catalog.NotFound, "person:x", people.SetPassword, people.PasswordSetting{ID: "x", Hash: aHash})
	first := c.standing(anna)
	c.does(anna, people.SetPassword, set)
	second := c.standing(anna)
	c.does(anna, people.SetPassword, people.PasswordSetting{ID: "anna", Hash: anotherHash})
	if third := c.standing(anna); first == second || second == third || c.hash("anna") != anotherHash || c.hash("berta") != "" {
		t.Errorf("%q, %q, %q; kept: %q", first, second, third, c.hash("anna"))
	}
}

// Who is invited comes in with a password, once; who has forgotten hers is invited again.
func TestComingInWithAPassword(t *testing.T) {
	c := sessionTown(t)
	c.invite("anna")
	anna := catalog.PersonID("anna").Actor()
	enter := people.Entrance{Invitation: "anna-invitation", Hash: aHash}
	c.refused(catalog.Denied, local, people.Enter, enter)
	c.refused(catalog.Denied, "person:berta", people.Enter, enter)
	c.refused(catalog.Invalid, anna, people.Enter, people.Entrance{Invitation: "anna-invitation", Hash: "secret"})
	if _, err := c.people().CallerOf("anna", c.now); !errors.Is(err, catalog.ErrDisabled) {
		t.Errorf("an invited person acts: %v", err)
	}
	c.does(anna, people.Enter, enter)
	c.refused(catalog.Denied, anna, people.Enter, enter)
	c.does(local, catalog.GiveGrant, catalog.Giving{Person: "anna", Role: catalog.RoleCurator})
	who, err := c.people().CallerOf("anna", c.now)
	if err != nil || who.Actor != anna || who.Program || catalog.May(who.Rights, catalog.RunJob, web) != nil || c.hash("anna") != aHash {
		t.Errorf("%+v %v", who, err)
	}
	again := access("again", catalog.RoleReader)
	again.Expires = c.now + 1e9
	c.does(local, catalog.ReinvitePerson, catalog.Invitation{Person: catalog.Person{ID: "anna"}, Token: again})
	c.does(anna, people.Enter, people.Entrance{Invitation: "again", Hash: anotherHash})
	c.does(local, catalog.DisablePerson, catalog.PersonRef{ID: "anna"})
	c.refused(catalog.Conflict, anna, people.SetPassword, people.PasswordSetting{ID: "anna", Hash: aHash})
	if _, err := c.people().CallerOf("anna", c.now); !errors.Is(err, catalog.ErrDisabled) {
		t.Errorf("a disabled person acts: %v", err)
	}
}
