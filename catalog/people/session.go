package people

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/catalog/agree"
)

// LevelOfSessions is the level since which people sign in to the pages: sessions that end early are agreed.
const LevelOfSessions = 5

// SessionLife is how long a session lasts that is not renewed, and SessionMost how long one lasts that is renewed again
// and again. So a node that has not heard for long that a session ended does not keep it alive for ever.
const (
	SessionLife = Day / 2
	SessionMost = 7 * Day
)

// maxEnded bounds the sessions of one owner that ended early and would still be good. With one more, all of the owner's
// sessions end.
const maxEnded = 100

// SessionEnd ends one session of its owner, or all of them.
type SessionEnd struct {
	Owner string     `json:"owner"`           // an actor: the person, or who holds a node's local token
	ID    string     `json:"id,omitempty"`    // empty: all
	Until agree.Time `json:"until,omitempty"` // from then on it has ended even if it was renewed
}

// Ended are the sessions of one owner that ended early.
type Ended struct {
	Round    uint64         `json:"round"`              // counts how often all sessions ended
	Sessions []EndedSession `json:"sessions,omitempty"` // that began since
	Unnamed  uint64         `json:"unnamed,omitempty"`  // see UnnamedEnded
}

// EndedSession is a session that ended early. Nobody needs to know of it after Until.
type EndedSession struct {
	ID    string     `json:"id"`
	Until agree.Time `json:"until"`
}

// endSession keeps that sessions have ended until they would have ended anyway.
func endSession(s *state, b *SessionEnd) (any, error) {
	kind, owner := ParseActor(b.Owner)
	if kind != PersonActor && kind != LocalActor {
		return nil, agree.Refuse(agree.Invalid, "owner %q: sessions belong to a person, or to a node's local token",
			agree.Clip(b.Owner, 100))
	}
	if s.Actor != b.Owner {
		return nil, agree.Refuse(agree.Denied, "sessions of %s are ended by their owner", agree.Clip(b.Owner, 100))
	}
	if b.ID != "" {
		if err := agree.CheckName("session", b.ID); err != nil {
			return nil, err
		}
		if b.Until <= 0 {
			return nil, agree.Refuse(agree.Invalid, "the end of session %s is missing", b.ID)
		}
	}
	if kind == PersonActor {
		if _, err := s.person(PersonID(owner)); err != nil {
			return nil, err
		}
	}
	ended, _, err := agree.Get[Ended](s, keyEnded(b.Owner))
	if err != nil {
		return nil, err
	}
	ended.Sessions = slices.DeleteFunc(ended.Sessions, func(e EndedSession) bool {
		return e.Until < s.At || e.ID == b.ID
	})
	if b.ID != "" {
		ended.Sessions = append(ended.Sessions, EndedSession{b.ID, min(b.Until, s.At+SessionMost+Day)})
	}
	if b.ID == "" || len(ended.Sessions) > maxEnded {
		ended = Ended{Round: ended.Round + 1, Unnamed: ended.Unnamed}
	}
	if err := s.Set(keyEnded(b.Owner), ended); err != nil {
		return nil, err
	}
	return nil, s.Event(EndSession, owner, "all=%t", len(ended.Sessions) == 0)
}

// SessionEnded reports whether a session of the owner has ended early.
func (r View) SessionEnded(owner, id string) (bool, error) {
	ended, _, err := agree.Get[Ended](r.Reader, keyEnded(owner))
	return slices.ContainsFunc(ended.Sessions, func(e EndedSession) bool { return e.ID == id }), err
}

// Standing is a text that changes with what a session's owner is and may: when the person is disabled or enabled or
// gets another password, when an identity is linked or unlinked, when a grant is given or ended, when all sessions of
// the owner end. A session is good for as
// long as it is the same. That a grant expires does not change it: rights are looked up whenever the session is used.
func (r View) Standing(owner string) (string, error) {
	ended, _, err := agree.Get[Ended](r.Reader, keyEnded(owner))
	if err != nil {
		return "", err
	}
	parts := []string{strconv.FormatUint(ended.Round, 10)}
	kind, id := ParseActor(owner)
	if kind != PersonActor {
		return parts[0], nil
	}
	p, err := r.Person(PersonID(id))
	if err != nil {
		return "", err
	}
	grants, err := r.grants(p.ID)
	if err != nil {
		return "", err
	}
	password, _, err := r.Password(p.ID)
	if err != nil {
		return "", err
	}
	parts = append(parts, string(p.State), strconv.FormatInt(int64(p.Since), 10), password.Hash)
	for i := range grants {
		parts = append(parts, strconv.FormatUint(grants[i].ID, 10), strconv.FormatInt(int64(grants[i].Ended), 10))
	}
	identities, err := r.Identities(p.ID)
	if err != nil {
		return "", err
	}
	for _, i := range identities {
		parts = append(parts, i.ID, strconv.FormatInt(int64(i.Since), 10))
	}
	return strings.Join(parts, " "), nil
}
