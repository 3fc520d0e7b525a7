package people

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// LevelOfIdentities is the level since which people sign in at a service of their institution.
const LevelOfIdentities = 5

// Bounds of identities.
const (
	maxIssuer     = 500 // bytes
	maxSubject    = 255 // bytes, as OpenID Connect Core says
	maxIdentities = 10  // of one person
)

// Identity is who a person is at a service of OpenID Connect. The issuer and the subject are the identity: a name or
// an e-mail address is none, since services give these to others.
type Identity struct {
	ID      string     `json:"id"` // see IdentityID
	Issuer  string     `json:"issuer"`
	Subject string     `json:"subject"`
	Person  PersonID   `json:"person"`
	Since   agree.Time `json:"since"`
	// When the service last ended all of its sessions, and one of them, by its own clock.
	Ended    agree.Time `json:"ended,omitempty"`
	EndedOne agree.Time `json:"endedOne,omitempty"`
}

// Over reports whether a sign-in is over that the service vouched for at that time: it has ended all sessions since, or
// one that may be just this, as it did not say with which session of its own this began. Its times are whole seconds:
// of two in the same one, nobody knows which came first.
func (i *Identity) Over(made agree.Time, named bool) bool {
	return made <= i.Ended || !named && made <= i.EndedOne
}

// IdentityID returns the id of an identity. It does not tell the subject, which the trail must not keep.
func IdentityID(issuer, subject string) string {
	sum := sha256.Sum256([]byte(issuer + "\x00" + subject))
	return hex.EncodeToString(sum[:16])
}

// Identification makes an invited person active who has proved an identity, or links the identity to a person who was
// invited again. The invitation is used up.
type Identification struct {
	Invitation string `json:"invitation"` // the token's id
	Issuer     string `json:"issuer"`
	Subject    string `json:"subject"`
}

// Admission makes a person of an identity that nobody has, who is active at once. It is refused unless the groups give
// a grant. Who has the name or the e-mail address already is another person, and stays it.
type Admission struct {
	Person  Person       `json:"person"`
	Issuer  string       `json:"issuer"`
	Subject string       `json:"subject"`
	Grants  []GroupGrant `json:"grants"`
	Until   agree.Time   `json:"until"`
}

// Unlinking takes an identity from a person, and ends what its groups gave.
type Unlinking struct {
	Person   PersonID `json:"person"`
	Identity string   `json:"identity"` // its id
	Reason   string   `json:"reason,omitempty"`
}

// checkIdentity refuses what cannot be an identity.
func checkIdentity(issuer, subject string) error {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if issuer == "" || len(issuer) > maxIssuer || strings.ContainsFunc(issuer, odd) || strings.Contains(issuer, " ") {
		return agree.Refuse(agree.Invalid, "issuer %q: want a URL of at most %d bytes", agree.Clip(issuer, 100),
			maxIssuer)
	}
	if subject == "" || len(subject) > maxSubject || strings.ContainsFunc(subject, odd) {
		return agree.Refuse(agree.Invalid, "subject %q: want 1 to %d characters of ASCII", agree.Clip(subject, 100),
			maxSubject)
	}
	return nil
}

// link makes an identity the person's. One that is another person's stays so.
func (s *state) link(id PersonID, issuer, subject string) (Identity, error) {
	i := Identity{ID: IdentityID(issuer, subject), Issuer: issuer, Subject: subject, Person: id, Since: s.At}
	if err := checkIdentity(issuer, subject); err != nil {
		return i, err
	}
	holder, there, err := agree.Get[PersonID](s, keyIdentified(i.ID))
	if err != nil {
		return i, err
	}
	if there && holder != id {
		return i, agree.Refuse(agree.Conflict, "the identity %s is that of person %s", i.ID, holder)
	}
	if there {
		return i, nil
	}
	all, err := s.Identities(id)
	if err != nil {
		return i, err
	}
	if len(all) >= maxIdentities {
		return i, agree.Refuse(agree.Conflict, "person %s has %d identities: no more", id, len(all))
	}
	if err := s.Set(keyIdentified(i.ID), id); err != nil {
		return i, err
	}
	return i, s.Set(keyIdentity(id, i.ID), i)
}

func enterIdentified(s *state, b *Identification) (any, error) {
	p, err := s.useInvitation(b.Invitation)
	if err != nil {
		return nil, err
	}
	i, err := s.link(p.ID, b.Issuer, b.Subject)
	if err != nil {
		return nil, err
	}
	return nil, s.Event(EnterIdentified, string(p.ID), "invitation=%s identity=%s", b.Invitation, i.ID)
}

func admitPerson(s *state, b *Admission) (any, error) {
	if err := s.byNode(); err != nil {
		return nil, err
	}
	asked := b.Person
	if err := agree.CheckName("person", string(asked.ID)); err != nil {
		return nil, err
	}
	if there, err := agree.Has(s, keyPerson(asked.ID)); err != nil || there {
		return nil, agree.OrConflict(err, "there is a person %s already", asked.ID)
	}
	id := IdentityID(b.Issuer, b.Subject)
	if holder, there, err := agree.Get[PersonID](s, keyIdentified(id)); err != nil || there {
		return nil, agree.OrConflict(err, "the identity %s is that of person %s", id, holder)
	}
	p := Person{ID: asked.ID, State: Active, Invited: s.At, Accepted: s.At, Since: s.At}
	change := PersonChange{Name: &asked.Name, Mail: &asked.Mail, Institution: &asked.Institution,
		Language: &asked.Language, Zone: &asked.Zone}
	if err := s.describe(&p, &change); err != nil {
		return nil, err
	}
	i, err := s.link(p.ID, b.Issuer, b.Subject)
	if err != nil {
		return nil, err
	}
	if err := s.Event(AdmitPerson, string(p.ID), "identity=%s", i.ID); err != nil {
		return nil, err
	}
	out, err := s.regroup(p.ID, i, b.Grants, b.Until)
	if err == nil && out.Counting == 0 {
		err = agree.Refuse(agree.Denied, "no group of the identity gives a grant")
	}
	return out, err
}

func unlinkIdentity(s *state, b *Unlinking) (any, error) {
	p, err := s.person(b.Person)
	if err != nil {
		return nil, err
	}
	i, there, err := agree.Get[Identity](s, keyIdentity(p.ID, b.Identity))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "person %s has no identity %q", p.ID, agree.Clip(b.Identity, 64))
	}
	if err := s.mayUnlink(p, i); err != nil {
		return nil, err
	}
	s.Delete(keyIdentified(i.ID))
	s.Delete(keyIdentity(p.ID, i.ID))
	if err := s.Event(UnlinkIdentity, string(p.ID), "identity=%s reason=%s", i.ID,
		agree.ClipReason(b.Reason)); err != nil {
		return nil, err
	}
	grants, err := s.grants(p.ID)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		if g.Identity == i.ID && g.Ended == 0 {
			if err := s.endOfGroup(g, "the identity is not linked any more"); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// mayUnlink refuses to take away the last thing by which the last administrator can sign in.
func (s *state) mayUnlink(p Person, i Identity) error {
	rights, err := s.rights(p.ID, s.At)
	if err != nil || p.State != Active || !Holds(rights, RoleAdmin) {
		return err
	}
	if other, err := s.admin(p.ID); err != nil || other != "" {
		return err
	}
	if _, has, err := s.Password(p.ID); err != nil || has {
		return err
	}
	all, err := s.Identities(p.ID)
	if err != nil || len(all) > 1 {
		return err
	}
	tokens, err := s.tokensOf(p.ID)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.administers(s.At) {
			return nil
		}
	}
	return agree.Refuse(agree.Unsafe, "identity %s is all by which the last administrator can sign in; "+
		"make somebody else one first", i.ID)
}

// Identities returns the identities that are linked to a person, by id.
func (r View) Identities(id PersonID) ([]Identity, error) {
	return agree.List[Identity](r.Reader, prefixIdentities(id), "", 0)
}

// Identified returns the person whose identity it is, and the identity, or ErrNotFound.
func (r View) Identified(issuer, subject string) (p Person, i Identity, err error) {
	i.ID = IdentityID(issuer, subject)
	id, there, err := agree.Get[PersonID](r.Reader, keyIdentified(i.ID))
	if err != nil || !there {
		return p, i, orMissing(err)
	}
	i, err = agree.Found(agree.Get[Identity](r.Reader, keyIdentity(id, i.ID)))
	if err == nil && (i.Issuer != issuer || i.Subject != subject) { // whatever the digest says
		err = agree.ErrNotFound
	}
	if err == nil {
		p, err = r.Person(id)
	}
	return p, i, err
}

// GroupGrant is what a group of an identity gives: a role, for the whole archive, in a collection, or at a place.
type GroupGrant struct {
	Role       Role                   `json:"role"`
	Collection cluster.CollectionName `json:"collection,omitempty"`
	Place      string                 `json:"place,omitempty"`
}
