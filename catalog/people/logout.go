package people

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"holdfast/catalog/agree"
)

// maxOut bounds what is kept under one key of sessions that services have ended: there are 4 096 such keys.
const maxOut = 100

// IdentityEnd ends the sessions that a service of OpenID Connect has ended: those of one session at the service, or all
// of a person. A message of a service is carried out once.
type IdentityEnd struct {
	Identity string     `json:"identity,omitempty"` // whose (see IdentityID); empty: the session says
	Session  string     `json:"session,omitempty"`  // at the service (see ServiceSession); empty: all of the person's
	Message  string     `json:"message"`            // of the service (see ServiceMessage)
	Made     agree.Time `json:"made,omitempty"`     // when it was made, by the service's clock
	Until    agree.Time `json:"until"`              // from then on nobody takes the message any more
}

// ServiceSession returns the id of a session at a service. It does not tell the service's own name for it.
func ServiceSession(issuer, session string) string { return serviceID("session", issuer, session) }

// ServiceMessage returns the id of a message of a service.
func ServiceMessage(issuer, message string) string { return serviceID("message", issuer, message) }

func serviceID(kind, issuer, text string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + issuer + "\x00" + text))
	return hex.EncodeToString(sum[:16])
}

// checkServiceID refuses what neither IdentityID nor serviceID makes.
func checkServiceID(what, id string) error {
	odd := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }
	if len(id) != 32 || strings.ContainsFunc(id, odd) {
		return agree.Refuse(agree.Invalid, "%s %q: want 32 hexadecimal digits", what, agree.Clip(id, 64))
	}
	return nil
}

func (b *IdentityEnd) check() error {
	if b.Identity == "" && b.Session == "" {
		return agree.Refuse(agree.Invalid, "the message names neither an identity nor a session")
	}
	if b.Identity != "" {
		if err := checkServiceID("identity", b.Identity); err != nil {
			return err
		}
	}
	if b.Session != "" {
		if err := checkServiceID("session", b.Session); err != nil {
			return err
		}
	}
	if b.Until <= 0 {
		return agree.Refuse(agree.Invalid, "the end of message %s is missing", agree.Clip(b.Message, 64))
	}
	return checkServiceID("message", b.Message)
}

func endIdentified(s *state, b *IdentityEnd) (any, error) {
	if err := s.byNode(); err != nil {
		return nil, err
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	if was, err := s.SignedOut(b.Message); err != nil || was {
		return nil, agree.OrConflict(err, "message %s of the service was carried out already", b.Message)
	}
	// Kept for a while even if it comes late: who asked looks it up.
	if err := s.signOut(b.Message, max(min(b.Until, s.At+2*Day), s.At+Day/24)); err != nil {
		return nil, err
	}
	if b.Session != "" {
		if err := s.signOut(b.Session, s.At+SessionMost+Day); err != nil {
			return nil, err
		}
	}
	owner, err := s.endOwners(b)
	if err != nil {
		return nil, err
	}
	return nil, s.Event(EndIdentified, string(owner), "identity=%s session=%s", b.Identity, b.Session)
}

// endOwners ends all sessions of the person whose identity it is, or, if the message names a session, those of which
// nobody knows which session at a service they belong to: it may be this one. It returns the person, empty if the
// identity is nobody's.
func (s *state) endOwners(b *IdentityEnd) (PersonID, error) {
	if b.Identity == "" {
		return "", nil
	}
	owner, there, err := agree.Get[PersonID](s, keyIdentified(b.Identity))
	if err != nil || !there {
		return "", err
	}
	ended, _, err := agree.Get[Ended](s, keyEnded(owner.Actor()))
	if err != nil {
		return owner, err
	}
	if err := s.endSignIns(owner, b); err != nil {
		return owner, err
	}
	if b.Session == "" {
		ended.Round++
		ended.Sessions = nil
	} else {
		ended.Unnamed++
	}
	return owner, s.Set(keyEnded(owner.Actor()), ended)
}

// endSignIns keeps when the service has ended all sessions of an identity, or one: see Identity.Over.
func (s *state) endSignIns(owner PersonID, b *IdentityEnd) error {
	i, there, err := agree.Get[Identity](s, keyIdentity(owner, b.Identity))
	last := &i.Ended
	if b.Session != "" {
		last = &i.EndedOne
	}
	made := min(b.Made, s.At+Day) // whatever its clock says, she can sign in again
	if err != nil || !there || made <= *last {
		return err
	}
	*last = made
	return s.Set(keyIdentity(owner, i.ID), i)
}

// signOut keeps the id of a session at a service, or of a message, until then.
func (s *state) signOut(id string, until agree.Time) error {
	out, _, err := agree.Get[[]EndedSession](s, keySignedOut(id))
	if err != nil {
		return err
	}
	out = slices.DeleteFunc(out, func(e EndedSession) bool {
		if e.ID == id {
			until = max(until, e.Until)
		}
		return e.Until < s.At || e.ID == id
	})
	if len(out) >= maxOut {
		return agree.Refuse(agree.Unsafe, "too many sessions at services ended lately: one of them would be good again")
	}
	return s.Set(keySignedOut(id), append(out, EndedSession{id, until}))
}

// SignedOut reports whether a service has ended the session (see ServiceSession), or whether its message was carried
// out (see ServiceMessage).
func (r View) SignedOut(id string) (bool, error) {
	if checkServiceID("id", id) != nil {
		return false, nil
	}
	out, _, err := agree.Get[[]EndedSession](r.Reader, keySignedOut(id))
	return slices.ContainsFunc(out, func(e EndedSession) bool { return e.ID == id }), err
}

// UnnamedEnded counts how often those sessions of the owner ended that began at a service which did not say to which of
// its own sessions they belong.
func (r View) UnnamedEnded(owner string) (uint64, error) {
	ended, _, err := agree.Get[Ended](r.Reader, keyEnded(owner))
	return ended.Unnamed, err
}
