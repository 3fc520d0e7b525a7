package session

import (
	"errors"
	"sync"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/people"
)

// LinkLife is how long a link for signing in is good.
const LinkLife = 10 * time.Minute

// maxLinks bounds the links that are good at a time, and maxLinksOf those of one owner.
const (
	maxLinks   = 1000
	maxLinksOf = 20
)

// ErrLink says that a link is unknown, used or expired.
var ErrLink = errors.New("the link is unknown, used or expired")

// links are the links that a node gave out. They are forgotten when the program ends.
type links struct {
	mu   sync.Mutex
	good map[string]link // by the digest of their secret
}

type link struct {
	token   string // the id of the access token that asked for it
	owner   string // an actor
	expires time.Time
}

// Link returns the secret of a link that begins one session in the name of the caller. token is the id of the access
// token that the caller has proved. It returns a *catalog.Refusal if who is not a person, or if the cluster's level has
// no sessions.
func (s *Sessions) Link(who catalog.Caller, token string) (secret string, expires time.Time, err error) {
	if err := s.allowed(who, token); err != nil {
		return "", time.Time{}, err
	}
	now := s.cfg.Now()
	l := link{token: token, owner: who.Actor, expires: now.Add(LinkLife)}
	secret = random(20)
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	if s.links.good == nil {
		s.links.good = map[string]link{}
	}
	of := 0
	for key, old := range s.links.good {
		if !now.Before(old.expires) {
			delete(s.links.good, key)
		} else if old.owner == l.owner {
			of++
		}
	}
	if of >= maxLinksOf || len(s.links.good) >= maxLinks {
		return "", time.Time{}, &catalog.Refusal{Code: catalog.Conflict,
			Message: "there are too many links for signing in that nobody has used: wait ten minutes"}
	}
	s.links.good[shortDigest(secret)] = l
	return secret, l.expires, nil
}

// allowed refuses who has no business at the pages.
func (s *Sessions) allowed(who catalog.Caller, token string) error {
	var level int
	err := s.cfg.View(func(v catalog.View) error {
		c, err := v.Cluster()
		level = c.Level
		return err
	})
	refuse := func(code catalog.Code, text string) error { return &catalog.Refusal{Code: code, Message: text} }
	switch {
	case err != nil:
		return err
	case level < people.LevelOfSessions:
		return refuse(catalog.Unsupported, "a cluster of this level has no pages to sign in to")
	case who.Program && token != api.LocalID:
		return refuse(catalog.Denied, "programs use the API: a person signs in with a token of her own")
	case s.cfg.Pages != nil:
		return s.cfg.Pages()
	}
	return nil
}

// Open uses a link up, and returns the session that it begins. ErrLink: nothing was begun.
func (s *Sessions) Open(secret string) (Session, error) {
	s.links.mu.Lock()
	key := shortDigest(secret)
	l, there := s.links.good[key]
	delete(s.links.good, key)
	s.links.mu.Unlock()
	if !there || !s.cfg.Now().Before(l.expires) {
		return Session{}, ErrLink
	}
	out, err := s.begin(catalog.Caller{Actor: l.owner}, l.token)
	if errors.Is(err, ErrEnded) { // the token, or its owner, is worth nothing any more
		err = ErrLink
	}
	return out, err
}
