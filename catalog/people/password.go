package people

import (
	"strings"

	"holdfast/catalog/agree"
)

// maxHash bounds the text of a password's hash.
const maxHash = 200

// Password is by what a person proves at the pages who she is.
type Password struct {
	Hash  string     `json:"hash"` // argon2id's, with its salt and costs, in the PHC string format
	Since agree.Time `json:"since"`
}

// PasswordSetting gives a person another password, which ends her sessions.
type PasswordSetting struct {
	ID   PersonID `json:"id"`
	Hash string   `json:"hash"`
}

// Entrance makes an invited person active and gives her a password, or gives another one to a person who was invited
// again. The invitation is used up.
type Entrance struct {
	Invitation string `json:"invitation"` // the token's id
	Hash       string `json:"hash"`
}

func setPassword(s *state, b *PasswordSetting) (any, error) {
	p, err := s.person(b.ID)
	if err != nil {
		return nil, err
	}
	if p.State != Active {
		return nil, agree.Refuse(agree.Conflict, "person %s is %s", p.ID, p.State)
	}
	if s.Actor != p.ID.Actor() {
		return nil, agree.Refuse(agree.Denied, "nobody chooses another person's password")
	}
	if err := s.putPassword(p.ID, b.Hash); err != nil {
		return nil, err
	}
	return nil, s.Event(SetPassword, string(p.ID), "")
}

func (s *state) putPassword(id PersonID, hash string) error {
	if !strings.HasPrefix(hash, "$argon2id$") || len(hash) > maxHash || strings.ContainsFunc(hash, unprintable) {
		return agree.Refuse(agree.Invalid,
			"that is not a hash of argon2id in the PHC string format, of at most %d bytes", maxHash)
	}
	return s.Set(keyPassword(id), Password{Hash: hash, Since: s.At})
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

func enter(s *state, b *Entrance) (any, error) {
	p, err := s.useInvitation(b.Invitation)
	if err != nil {
		return nil, err
	}
	if err := s.putPassword(p.ID, b.Hash); err != nil {
		return nil, err
	}
	return nil, s.Event(Enter, string(p.ID), "invitation=%s", b.Invitation)
}

// Password returns the person's password, and false if she has none.
func (r View) Password(id PersonID) (Password, bool, error) {
	return agree.Get[Password](r.Reader, keyPassword(id))
}

// CallerOf returns the person with all that she may at that time. The caller of this function has to have made sure
// that it is she. ErrDisabled means that she may not act.
func (r View) CallerOf(id PersonID, now agree.Time) (Caller, error) {
	p, err := r.Person(id)
	if err != nil {
		return Caller{}, err
	}
	if p.State != Active {
		return Caller{}, ErrDisabled
	}
	rights, err := r.rights(p.ID, now)
	return Caller{Actor: p.ID.Actor(), Name: p.Name, Person: p.ID, Role: RoleAdmin, Rights: rights}, err
}

// AskedToEnter returns what it would do to accept an invitation with a password.
func (r View) AskedToEnter(body []byte) (Wanted, error) {
	var b Entrance
	if !read(body, &b) {
		return Wanted{Act: KeepPeople}, nil
	}
	bearer, _, err := r.Bearer(b.Invitation)
	return Wanted{Act: KeepPeople, Whose: bearer.Owner}, err
}

// AskedOfPassword returns what another password would do: it is the person's own.
func (r View) AskedOfPassword(body []byte) (Wanted, error) {
	var b PasswordSetting
	if !read(body, &b) {
		return Wanted{Act: KeepPeople}, nil
	}
	return Wanted{Act: KeepPeople, Whose: b.ID}, nil
}
