package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/people"
)

// begin makes a session of what was proved.
func (s *Sessions) begin(who catalog.Caller, token string) (Session, error) {
	return s.extend(content{ID: random(16), Begun: s.cfg.Self, Token: token, Owner: who.Actor}, true)
}

// random returns a text of n random bytes.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

func shortDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// Renew returns the session with a new end. It keeps its id, so that whoever ends it ends all of its texts. The error
// is ErrEnded when it has ended.
func (s *Sessions) Renew(text string) (Session, error) {
	if _, err := s.Check(s.cfg.Self, text); err != nil {
		return Session{}, err
	}
	c, _, _, err := parse(text)
	if err != nil {
		return Session{}, err
	}
	return s.extend(c, false)
}

// extend signs the session with a new end.
func (s *Sessions) extend(c content, first bool) (Session, error) {
	var cluster catalog.Cluster
	err := s.cfg.View(func(v catalog.View) (err error) {
		if cluster, err = v.Cluster(); err != nil {
			return err
		}
		now, err := catalog.PeopleIn(v).Now(catalog.At(s.cfg.Now()))
		if err != nil {
			return err
		}
		c.Node = s.cfg.Self
		if first {
			c.Began = now
			if c.Standing, err = s.standingOf(v, c); err != nil {
				return err
			}
		}
		c.Expires = min(now+people.SessionLife, c.Began+people.SessionMost)
		return nil
	})
	if err != nil {
		return Session{}, err
	}
	text, err := s.seal(cluster, c)
	if err != nil {
		return Session{}, err
	}
	return s.Check(s.cfg.Self, text)
}

// standingOf returns the standing with which a session begins.
func (s *Sessions) standingOf(v catalog.View, c content) (string, error) {
	token, err := s.tokenOf(v, c)
	if err != nil {
		return "", err
	}
	return standing(v, c.Owner, token, c)
}

func (s *Sessions) tokenOf(v catalog.View, c content) (catalog.AccessToken, error) {
	switch c.Token {
	case api.LocalID:
		return s.cfg.Local(v, c.Node)
	case byPassword, byIdentity:
		return catalog.AccessToken{}, nil
	}
	return v.AccessToken(c.Token)
}
