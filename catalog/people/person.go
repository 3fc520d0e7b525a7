package people

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

func (s *state) person(id PersonID) (Person, error) {
	p, there, err := agree.Get[Person](s, keyPerson(id))
	if err != nil || !there {
		return p, agree.OrNotFound(err, "no person %q", agree.Clip(string(id), 64))
	}
	return p, nil
}

func invitePerson(s *state, b *Invitation) (any, error) {
	asked := b.Person
	if err := agree.CheckName("person", string(asked.ID)); err != nil {
		return nil, err
	}
	if there, err := agree.Has(s, keyPerson(asked.ID)); err != nil || there {
		return nil, agree.OrConflict(err, "there is a person %s already", asked.ID)
	}
	p := Person{ID: asked.ID, State: Invited, Invited: s.At, Since: s.At}
	change := PersonChange{Name: &asked.Name, Mail: &asked.Mail, Institution: &asked.Institution,
		Language: &asked.Language, Zone: &asked.Zone}
	if err := s.describe(&p, &change); err != nil {
		return nil, err
	}
	if err := s.putInvitation(&p, &b.Token); err != nil {
		return nil, err
	}
	return nil, s.Event(InvitePerson, string(p.ID), "invitation=%s", b.Token.ID)
}

// reinvitePerson makes another invitation: for a person who has not accepted, or who has no token any more.
func reinvitePerson(s *state, b *Invitation) (any, error) {
	if b.Person != (Person{ID: b.Person.ID}) {
		return nil, agree.Refuse(agree.Invalid, "a further invitation names the person and nothing else")
	}
	p, err := s.person(b.Person.ID)
	if err != nil {
		return nil, err
	}
	if p.State == Disabled {
		return nil, agree.Refuse(agree.Conflict, "person %s is disabled", p.ID)
	}
	if err := s.revokeInvitations(p.ID); err != nil {
		return nil, err
	}
	if err := s.putInvitation(&p, &b.Token); err != nil {
		return nil, err
	}
	if err := s.noteAgain(&p); err != nil {
		return nil, err
	}
	return nil, s.Event(ReinvitePerson, string(p.ID), "invitation=%s", b.Token.ID)
}

// noteAgain keeps who invited a person again: she was shown a text that gives a token of the person's. A node's local
// token counts when the person was active; before, it is how the first administrators are made.
func (s *state) noteAgain(p *Person) error {
	if s.Cluster.Level < levelOfAgain {
		return nil
	}
	by, err := NewView(s).Behind(s.Actor)
	if err != nil || by == "" && p.State != Active {
		return err
	}
	return s.Set(keyAgain(p.ID, by), s.At)
}

// putInvitation stores a token by which the person accepts. It has an end.
func (s *state) putInvitation(p *Person, token *AccessToken) error {
	if token.Expires == 0 {
		return agree.Refuse(agree.Invalid, "an invitation needs a time at which it expires")
	}
	token.Role = RoleReader
	if err := PutAccess(s.State, token); err != nil {
		return err
	}
	return s.Set(keyBearer(token.ID), Bearer{Token: token.ID, Owner: p.ID, Invites: true, Since: s.At})
}

// revokeInvitations takes back the invitations of a person that were not used.
func (s *state) revokeInvitations(id PersonID) error {
	tokens, err := s.tokensOf(id)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.Invites && t.Revoked == 0 && s.Room(1) {
			t.Revoked = s.At
			if err := s.Set(keyAccess(t.ID), t.AccessToken); err != nil {
				return err
			}
		}
	}
	return nil
}

// held is an access token and whose it is.
type held struct {
	AccessToken
	Bearer
}

// tokensOf returns the tokens of a person and of her programs.
func (r View) tokensOf(id PersonID) ([]held, error) {
	bearers, err := agree.List[Bearer](r.Reader, PrefixBearers, "", 0)
	if err != nil {
		return nil, err
	}
	var out []held
	for _, b := range bearers {
		if b.Owner != id {
			continue
		}
		token, _, err := agree.Get[AccessToken](r.Reader, keyAccess(b.Token))
		if err != nil {
			return nil, err
		}
		out = append(out, held{token, b})
	}
	return out, nil
}

func acceptInvitation(s *state, b *Acceptance) (any, error) {
	p, err := s.useInvitation(b.Invitation)
	if err != nil {
		return nil, err
	}
	if err := PutAccess(s.State, &b.Token); err != nil {
		return nil, err
	}
	if err := s.Set(keyBearer(b.Token.ID), Bearer{Token: b.Token.ID, Owner: p.ID, Since: s.At}); err != nil {
		return nil, err
	}
	return nil, s.Event(AcceptInvitation, string(p.ID), "token=%s", b.Token.ID)
}

// useInvitation uses up an invitation in the name of the person who was invited, who is active then.
func (s *state) useInvitation(id string) (p Person, err error) {
	bearer, there, err := agree.Get[Bearer](s, keyBearer(id))
	if err != nil {
		return p, err
	}
	token, _, err := agree.Get[AccessToken](s, keyAccess(id))
	if err != nil {
		return p, err
	}
	if !there || !bearer.Invites || !token.usable(s.At) {
		return p, agree.Refuse(agree.Denied, "the invitation is unknown, expired, used or taken back")
	}
	if p, err = s.person(bearer.Owner); err != nil {
		return p, err
	}
	if p.State == Disabled {
		return p, agree.Refuse(agree.Denied, "person %s is disabled", p.ID)
	}
	if s.Actor != p.ID.Actor() {
		return p, agree.Refuse(agree.Denied, "an invitation is accepted by the person who was invited")
	}
	if err := s.revokeInvitations(p.ID); err != nil {
		return p, err
	}
	if p.State == Invited {
		p.State, p.Accepted, p.Since = Active, s.At, s.At
		err = s.Set(keyPerson(p.ID), p)
	}
	return p, err
}

func changePerson(s *state, b *PersonChange) (any, error) {
	p, err := s.person(b.ID)
	if err != nil {
		return nil, err
	}
	old := p
	if err := s.describe(&p, b); err != nil || p == old {
		return nil, err
	}
	// The trail is kept for ever, and names and addresses are not: it says which were changed.
	changed := ""
	note := func(name string, now, before string) {
		if now != before {
			changed += " " + name
		}
	}
	note("name", p.Name, old.Name)
	note("mail", p.Mail, old.Mail)
	note("institution", p.Institution, old.Institution)
	note("language", p.Language, old.Language)
	note("zone", p.Zone, old.Zone)
	return nil, s.Event(ChangePerson, string(p.ID), "changed%s", changed)
}

func disablePerson(s *state, b *PersonRef) (any, error) {
	p, err := s.person(b.ID)
	if err != nil || p.State == Disabled {
		return nil, err
	}
	had, err := s.hasAdmin()
	if err != nil {
		return nil, err
	}
	p.State, p.Since, p.Reason = Disabled, s.At, agree.ClipReason(b.Reason)
	if err := s.Set(keyPerson(p.ID), p); err != nil {
		return nil, err
	}
	if err := s.adminStays(had); err != nil {
		return nil, err
	}
	return nil, s.Event(DisablePerson, string(p.ID), "reason=%s", p.Reason)
}

// enablePerson takes it back that a person is disabled. One who had not accepted her invitation is invited again.
func enablePerson(s *state, b *PersonRef) (any, error) {
	p, err := s.person(b.ID)
	if err != nil {
		return nil, err
	}
	if p.State == Invited {
		return nil, agree.Refuse(agree.Conflict, "person %s becomes active by accepting the invitation", p.ID)
	}
	if p.State == Active {
		return nil, nil
	}
	p.State, p.Since, p.Reason = Active, s.At, agree.ClipReason(b.Reason)
	if p.Accepted == 0 {
		p.State = Invited
	}
	if err := s.Set(keyPerson(p.ID), p); err != nil {
		return nil, err
	}
	return nil, s.Event(EnablePerson, string(p.ID), "state=%s reason=%s", p.State, p.Reason)
}

// describe changes a person's fields, and stores the person.
func (s *state) describe(p *Person, b *PersonChange) error {
	old := *p
	agree.Assign(&p.Name, b.Name)
	agree.Assign(&p.Mail, b.Mail)
	agree.Assign(&p.Institution, b.Institution)
	agree.Assign(&p.Language, b.Language)
	agree.Assign(&p.Zone, b.Zone)
	if err := checkPerson(p); err != nil {
		return err
	}
	if there, err := cluster.In(s).HasName(p.Name); err != nil || there {
		return agree.OrConflict(err, "a node has the name %s", p.Name)
	}
	if err := s.claim(p.ID, keyMail(p.Mail), keyMail(old.Mail), "e-mail address"); err != nil {
		return err
	}
	if err := s.claim(p.ID, keyCalled(p.Name), keyCalled(old.Name), "name"); err != nil {
		return err
	}
	return s.Set(keyPerson(p.ID), p)
}

// claim makes a key the person's own, in place of the old one.
func (s *state) claim(id PersonID, key, old, what string) error {
	holder, there, err := agree.Get[PersonID](s, key)
	if err != nil {
		return err
	}
	if there && holder != id {
		return agree.Refuse(agree.Conflict, "person %s has that %s", holder, what)
	}
	if old != key {
		if holder, there, err := agree.Get[PersonID](s, old); err != nil {
			return err
		} else if there && holder == id {
			s.Delete(old)
		}
	}
	return s.Set(key, id)
}
