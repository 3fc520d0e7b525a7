package session

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/people"
)

const idp = "https://idp.example.org"

// invite invites a person, and returns the text of the invitation.
func (a *archive) invite(name string) string {
	a.t.Helper()
	token := api.Token{ID: name + "inv", Secret: "i"}
	kept := catalog.AccessToken{ID: token.ID, Name: "invitation", SecretHash: token.Hash(), Expires: catalog.At(time.Now().Add(time.Hour))}
	a.must(catalog.Local(a.ids["north-1"]), catalog.InvitePerson, catalog.Invitation{Token: kept,
		Person: catalog.Person{ID: catalog.PersonID(name), Name: name, Mail: name + "@example.org"}})
	return token.String()
}

func proof(subject string, grants ...people.GroupGrant) Proof {
	return Proof{Issuer: idp, Subject: subject, Grants: grants}
}

func (a *archive) identified(p Proof, invitation string) (Session, error) {
	return a.nodes["north-1"].Identified(a.t.Context(), p, invitation)
}

// roles are those that a session has now.
func (a *archive) roles(text string) (out []catalog.Role) {
	for _, r := range a.nodes["north-1"].mustCheck(text).Caller.Rights {
		out = append(out, r.Role)
	}
	slices.Sort(out)
	return out
}

func (s *Sessions) mustCheck(text string) Session {
	found, err := s.Check(s.cfg.Self, text)
	if err != nil {
		return Session{}
	}
	return found
}

var curates, operates = people.GroupGrant{Role: catalog.RoleCurator}, people.GroupGrant{Role: catalog.RoleOperator}

// An identity begins a session when an invitation was accepted with it, on every node, also without a quorum.
func TestSigningInByAnIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		if s, err := a.identified(proof("c"), ""); !errors.Is(err, ErrStranger) || s.Text != "" {
			t.Errorf("a stranger: %+v %v", s, err)
		}
		invitation := a.invite("carla")
		if s, err := a.identified(proof("c"), invitation+"x"); !errors.Is(err, ErrLink) || s.Text != "" {
			t.Errorf("a wrong invitation: %+v %v", s, err)
		}
		first, err := a.identified(proof("c"), invitation)
		if err != nil || first.Caller.Person != "carla" || len(first.Caller.Rights) != 0 || a.good(first.Text) != everywhere {
			t.Fatalf("%+v %v", first, err)
		}
		if _, err := a.identified(proof("d"), invitation); !errors.Is(err, ErrLink) {
			t.Errorf("an invitation twice: %v", err)
		}
		if _, err := a.identified(proof("c"), a.invite("dora")); !errors.Is(err, ErrTaken) {
			t.Errorf("an identity of two people: %v", err)
		}
		for _, p := range []Proof{{Issuer: idp + "/", Subject: "c"}, {Issuer: idp, Subject: "C"}, {Issuer: idp, Subject: "carla@example.org"}} {
			if _, err := a.identified(p, ""); !errors.Is(err, ErrStranger) {
				t.Errorf("%+v: %v", p, err)
			}
		}
		a.down = true
		if s, err := a.identified(proof("c"), ""); err != nil || a.good(s.Text) != everywhere {
			t.Errorf("without a quorum: %v", err)
		}
		a.down = false
		id := people.IdentityID(idp, "c")
		a.must(catalog.Local(a.ids["north-1"]), people.UnlinkIdentity, people.Unlinking{Person: "carla", Identity: id})
		if _, err := a.identified(proof("c"), ""); !errors.Is(err, ErrStranger) || a.good(first.Text) != nowhere {
			t.Errorf("unlinked: %v; the session is good on %v", err, a.good(first.Text))
		}
	})
}

func TestADisabledPersonsIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		s, err := a.identified(proof("c", curates), a.invite("carla"))
		if err != nil {
			t.Fatal(err)
		}
		a.must(catalog.Local(a.ids["north-1"]), catalog.DisablePerson, catalog.PersonRef{ID: "carla"})
		if _, err := a.identified(proof("c", curates), ""); !errors.Is(err, ErrStranger) || a.good(s.Text) != nowhere {
			t.Errorf("%v; the session is good on %v", err, a.good(s.Text))
		}
		newcomer := proof("c", curates)
		newcomer.Newcomer = &catalog.Person{ID: "new", Name: "New", Mail: "new@example.org"}
		if _, err := a.identified(newcomer, ""); err == nil {
			t.Error("a disabled person comes in as a new one")
		}
	})
}

// What groups give counts until the next sign-in, and for a day; a lost group ends its grant and the sessions with it.
func TestGroupsGive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		a.person("berta", catalog.RoleAdmin)
		first, err := a.identified(proof("c", curates, operates), a.invite("carla"))
		if err != nil || !slices.Equal(a.roles(first.Text), []catalog.Role{"curator", "operator"}) {
			t.Fatalf("%v %v", a.roles(first.Text), err)
		}
		again, err := a.identified(proof("c", operates, curates), "")
		if err != nil || a.good(first.Text) != everywhere || a.good(again.Text) != everywhere {
			t.Errorf("another sign-in ends the first session: %v", err)
		}
		a.must(catalog.Local(a.ids["north-1"]), catalog.GiveGrant, catalog.Giving{Person: "carla", Role: catalog.RoleReader})
		less, err := a.identified(proof("c", curates), "")
		if err != nil || !slices.Equal(a.roles(less.Text), []catalog.Role{"curator", "reader"}) || a.good(again.Text) != nowhere {
			t.Errorf("a lost group: %v %v; the session before is good on %v", a.roles(less.Text), err, a.good(again.Text))
		}
		time.Sleep(10 * time.Hour)
		less, err = a.nodes["north-1"].Renew(less.Text)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Hour)
		if less, err = a.nodes["north-1"].Renew(less.Text); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Hour) // a day after the sign-in; the session goes on
		if got := a.roles(less.Text); !slices.Equal(got, []catalog.Role{"reader"}) {
			t.Errorf("a day later: %v", got)
		}
		none, err := a.identified(proof("c"), "")
		if err != nil || !slices.Equal(a.roles(none.Text), []catalog.Role{"reader"}) {
			t.Errorf("no groups: %v %v", a.roles(none.Text), err)
		}
	})
}

// Without a quorum nobody keeps what she lost, and nobody is kept out who lost nothing.
func TestGroupsWithoutAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.person("berta", catalog.RoleAdmin)
		if _, err := a.identified(proof("c", curates, operates), a.invite("carla")); err != nil {
			t.Fatal(err)
		}
		a.down = true
		more := people.GroupGrant{Role: catalog.RoleAdmin}
		s, err := a.identified(proof("c", curates, operates, more), "")
		if err != nil || !slices.Equal(a.roles(s.Text), []catalog.Role{"curator", "operator"}) {
			t.Errorf("nothing is lost: %v %v", a.roles(s.Text), err)
		}
		if s, err := a.identified(proof("c", curates), ""); err == nil {
			t.Errorf("a lost group: %v", a.roles(s.Text))
		}
		if s, err := a.identified(proof("c"), ""); err == nil {
			t.Errorf("no groups: %v", a.roles(s.Text))
		}
	})
}

// Who has a grant by a group becomes a person if that is wanted, and never somebody who is there already.
func TestNewcomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		ask := func(subject, name, mail string, grants ...people.GroupGrant) (Session, error) {
			p := proof(subject, grants...)
			p.Newcomer = &catalog.Person{ID: catalog.PersonID("new" + subject), Name: name, Mail: mail}
			return a.identified(p, "")
		}
		for name, tt := range map[string]struct {
			name, mail string
			grants     []people.GroupGrant
			want       error
		}{
			"no group":           {"Dora", "dora@example.org", nil, ErrStranger},
			"another's name":     {"anna", "dora@example.org", []people.GroupGrant{curates}, ErrTaken},
			"another's address":  {"Dora", "ANNA@example.org", []people.GroupGrant{curates}, ErrTaken},
			"no name":            {"", "dora@example.org", []people.GroupGrant{curates}, ErrUnnamed},
			"no address":         {"Dora", "", []people.GroupGrant{curates}, ErrUnnamed},
			"a node's name":      {"local:x", "dora@example.org", []people.GroupGrant{curates}, ErrUnnamed},
			"nothing can be got": {"Dora", "dora@example.org", []people.GroupGrant{{Role: catalog.RoleCurator, Collection: "x"}}, ErrStranger},
		} {
			if s, err := ask("d", tt.name, tt.mail, tt.grants...); !errors.Is(err, tt.want) || s.Text != "" {
				t.Errorf("%s: %v, want %v", name, err, tt.want)
			}
		}
		s, err := ask("d", "Dora", "dora@example.org", curates)
		if err != nil || s.Caller.Person != "newd" || !slices.Equal(a.roles(s.Text), []catalog.Role{"curator"}) {
			t.Fatalf("%+v %v", s, err)
		}
		twice := proof("d", curates) // who came a moment later by another window
		twice.Newcomer = &catalog.Person{ID: "other", Name: "Dora", Mail: "dora@example.org"}
		if err := a.nodes["north-1"].admit(t.Context(), twice); err != nil {
			t.Errorf("the same one twice: %v", err)
		}
		if s, err = ask("d", "Dorothea", "d@example.net", curates); err != nil || s.Caller.Person != "newd" || s.Caller.Name != "Dora" {
			t.Errorf("once more, with another name: %+v %v", s, err)
		}
		if s, err = ask("d", "Dora", "dora@example.org"); err != nil || len(s.Caller.Rights) != 0 {
			t.Errorf("without groups: %+v %v", s.Caller.Rights, err)
		}
	})
}

// A node whose local token is no administrator's gives nothing by groups.
func TestGroupsAtALesserNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArchive(t)
		a.vouch = true
		invitation := a.invite("carla")
		s, err := a.nodes["south-1"].Identified(t.Context(), proof("c", operates), invitation)
		if err != nil || len(s.Caller.Rights) != 0 {
			t.Errorf("%v %v", s.Caller.Rights, err)
		}
	})
}
