package catalog

import (
	"strings"
	"unicode/utf8"

	"holdfast/catalog/agree"
)

func (s people) person(id PersonID) (Person, error) {
	p, there, err := agree.Get[Person](s, keyPerson(id))
	if err != nil || !there {
		return p, agree.OrNotFound(err, "no person %q", agree.Clip(string(id), 64))
	}
	return p, nil
}

func invitePerson(s people, b *Invitation) (any, error) {
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
func reinvitePerson(s people, b *Invitation) (any, error) {
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
	return nil, s.Event(ReinvitePerson, string(p.ID), "invitation=%s", b.Token.ID)
}

// putInvitation stores a token by which the person accepts. It has an end.
func (s people) putInvitation(p *Person, token *AccessToken) error {
	if token.Expires == 0 {
		return agree.Refuse(agree.Invalid, "an invitation needs a time at which it expires")
	}
	token.Role = RoleReader
	if err := s.putAccess(token); err != nil {
		return err
	}
	return s.Set(keyBearer(token.ID), Bearer{Token: token.ID, Owner: p.ID, Invites: true, Since: s.At})
}

// revokeInvitations takes back the invitations of a person that were not used.
func (s people) revokeInvitations(id PersonID) error {
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
func (r People) tokensOf(id PersonID) ([]held, error) {
	bearers, err := agree.List[Bearer](r, PrefixBearers, "", 0)
	if err != nil {
		return nil, err
	}
	var out []held
	for _, b := range bearers {
		if b.Owner != id {
			continue
		}
		token, _, err := agree.Get[AccessToken](r, keyAccess(b.Token))
		if err != nil {
			return nil, err
		}
		out = append(out, held{token, b})
	}
	return out, nil
}

func acceptInvitation(s people, b *Acceptance) (any, error) {
	bearer, there, err := agree.Get[Bearer](s, keyBearer(b.Invitation))
	if err != nil {
		return nil, err
	}
	token, _, err := agree.Get[AccessToken](s, keyAccess(b.Invitation))
	if err != nil {
		return nil, err
	}
	if !there || !bearer.Invites || !token.usable(s.At) {
		return nil, agree.Refuse(agree.Denied, "the invitation is unknown, expired, used or taken back")
	}
	p, err := s.person(bearer.Owner)
	if err != nil {
		return nil, err
	}
	if p.State == Disabled {
		return nil, agree.Refuse(agree.Denied, "person %s is disabled", p.ID)
	}
	if s.Actor != p.ID.Actor() {
		return nil, agree.Refuse(agree.Denied, "an invitation is accepted by the person who was invited")
	}
	if err := s.revokeInvitations(p.ID); err != nil {
		return nil, err
	}
	if p.State == Invited {
		p.State, p.Accepted, p.Since = Active, s.At, s.At
		if err := s.Set(keyPerson(p.ID), p); err != nil {
			return nil, err
		}
	}
	if err := s.putAccess(&b.Token); err != nil {
		return nil, err
	}
	if err := s.Set(keyBearer(b.Token.ID), Bearer{Token: b.Token.ID, Owner: p.ID, Since: s.At}); err != nil {
		return nil, err
	}
	return nil, s.Event(AcceptInvitation, string(p.ID), "token=%s", b.Token.ID)
}

func changePerson(s people, b *PersonChange) (any, error) {
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

func disablePerson(s people, b *PersonRef) (any, error) {
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
func enablePerson(s people, b *PersonRef) (any, error) {
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

// describe changes what is known of a person, and stores it.
func (s people) describe(p *Person, b *PersonChange) error {
	old := *p
	agree.Assign(&p.Name, b.Name)
	agree.Assign(&p.Mail, b.Mail)
	agree.Assign(&p.Institution, b.Institution)
	agree.Assign(&p.Language, b.Language)
	agree.Assign(&p.Zone, b.Zone)
	if err := checkPerson(p); err != nil {
		return err
	}
	if there, err := s.People.HasName(p.Name); err != nil || there {
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
func (s people) claim(id PersonID, key, old, what string) error {
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

func checkPerson(p *Person) error {
	name, host, _ := strings.Cut(p.Mail, "@")
	switch {
	case p.Name == "" || utf8.RuneCountInString(p.Name) > 100 || strings.TrimSpace(p.Name) != p.Name || !readable(p.Name):
		return agree.Refuse(agree.Invalid, "name %q: want 1 to 100 characters of readable text without spaces around them", agree.Clip(p.Name, 100))
	case strings.Contains(p.Name, ":"), strings.HasPrefix(folded(p.Name), "program "):
		return agree.Refuse(agree.Invalid, "name %q: it would be taken for that of a node or program", p.Name)
	case len(p.Mail) > 254 || name == "" || len(host) < 3 || strings.Contains(host, "@") || !visible(p.Mail):
		return agree.Refuse(agree.Invalid, "e-mail address %q: want name@host in ASCII", agree.Clip(p.Mail, 254))
	case utf8.RuneCountInString(p.Institution) > 64 || !readable(p.Institution):
		return agree.Refuse(agree.Invalid, "institution %q: want a place of at most 64 characters", agree.Clip(p.Institution, 64))
	case !code(p.Language, "-", 35):
		return agree.Refuse(agree.Invalid, "language %q: want a tag such as da or en-GB", agree.Clip(p.Language, 40))
	case !code(p.Zone, "-_+/", 64):
		return agree.Refuse(agree.Invalid, "zone %q: want a time zone such as Europe/Copenhagen", agree.Clip(p.Zone, 64))
	}
	return nil
}

// What is text is decided here byte by byte and not by package unicode: its tables change with the versions of Go, and
// members with different programs have to decide alike.

// readable refuses control characters and those that turn, hide or break text.
func readable(text string) bool {
	for _, r := range text {
		switch {
		case r < ' ', 0x7f <= r && r <= 0xa0, r == 0xad, r == 0x61c, r == utf8.RuneError, r == 0xfeff,
			0x200b <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, 0xe0000 <= r && r <= 0xe0fff:
			return false
		}
	}
	return true
}

// visible reports whether the text is ASCII without spaces and without what JSON and HTML escape.
func visible(text string) bool {
	for i := range len(text) {
		if text[i] == ' ' || text[i] == '/' || text[i] == '\'' || !agree.Plain(text[i]) {
			return false
		}
	}
	return true
}

// code reports whether the text is of letters, digits and the given signs.
func code(text, signs string, most int) bool {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(signs, c) < 0 {
			return false
		}
	}
	return len(text) <= most
}

// lower turns ASCII letters into small ones.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// folded is a name as it is compared with others: small letters, single spaces, no slash.
func folded(name string) string {
	words := strings.FieldsFunc(lower(name), func(r rune) bool { return r == ' ' })
	return strings.ReplaceAll(strings.Join(words, " "), "/", "%2f")
}
