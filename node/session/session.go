// Package session lets people sign in to a node's pages. A session is a text that the browser keeps and the node
// signed: every node of the cluster can check it, with what is agreed, and nobody keeps a list of sessions. Only those
// that ended early are agreed (catalog/people).
//
// A session begins with a link that works once. Who has an access token of a person, or the local token of the node,
// asks the node for one (holdfast sign-in). The session is then worth what that token is worth, and no longer than it.
package session

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/people"
)

// ErrEnded says that a session is unknown, has ended or expired, or that its owner may no longer act. It is a
// catalog.ErrNotFound, too.
var ErrEnded = fmt.Errorf("the session has ended: %w", catalog.ErrNotFound)

// Config is what sessions need of the node.
type Config struct {
	Self catalog.NodeID
	Key  ed25519.PrivateKey // the node's own, whose public key every member knows
	View func(func(catalog.View) error) error
	// Local returns what is known here of a member's local token, with the role that it has here; zero: none.
	Local   func(catalog.View, catalog.NodeID) (catalog.AccessToken, error)
	Propose Propose
	Used    func(token string) // an access token was used just now, by a session
	Pages   func() error       // why nobody can sign in to this node's pages, if so; nil: everybody can
	Now     func() time.Time
	Log     *slog.Logger
}

// Sessions begins, checks and ends sessions. It is safe for concurrent use.
type Sessions struct {
	cfg     Config
	links   links
	pending pending
	hashing hashing
	tries   tries
}

// New returns the sessions of a node. Run has to be called, too.
func New(cfg Config) *Sessions {
	return &Sessions{cfg: cfg, hashing: newHashing()}
}

// Session is a session as its owner sees it.
type Session struct {
	Caller   catalog.Caller
	Language string // as the person chose it
	Zone     string // IANA
	Expires  time.Time
	Text     string // secret: who has it acts as the owner
}

// Self is the node whose sessions they are.
func (s *Sessions) Self() catalog.NodeID { return s.cfg.Self }

// Caller returns whose session the text is, as this node's API asks.
func (s *Sessions) Caller(text string) (catalog.Caller, error) {
	found, err := s.Check(s.cfg.Self, text)
	return found.Caller, err
}

// Of returns whose session the text is that a request of a member carries.
func (s *Sessions) Of(from catalog.NodeID, text string) (catalog.Caller, error) {
	found, err := s.Check(from, text)
	return found.Caller, err
}

// content is what the node signed.
type content struct {
	ID       string         `json:"id"`
	Node     catalog.NodeID `json:"node"`              // that signed it
	Begun    catalog.NodeID `json:"begun"`             // the node where it began: other nodes sign what they renew
	Token    string         `json:"token"`             // with which it began: its id, api.LocalID, byPassword, …
	Service  string         `json:"service,omitempty"` // see people.ServiceSession; empty: it named none
	Owner    string         `json:"owner"`             // an actor
	Standing string         `json:"standing"`
	Began    catalog.Time   `json:"began"`
	Expires  catalog.Time   `json:"expires"`
}

// maxText bounds a session's text. Standing grows with the grants that a person ever had: it is kept as a digest.
const maxText = 2 << 10

// early is how far ahead the clock of the node may be that signed a session.
const early = catalog.Day / 24

// purpose separates a session's signature from all else that a node's key signs.
//
// The state from which a cluster is recovered may be older than the end of a session, so that none is good in the next
// epoch.
func purpose(c catalog.Cluster) []byte {
	return fmt.Appendf(nil, "holdfast session v1\x00%s\x00%d\x00", c.ID, c.Epoch)
}

var coding = base64.RawURLEncoding.Strict()

// seal returns the text of a session.
func (s *Sessions) seal(cluster catalog.Cluster, c content) (string, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode a session: %w", err)
	}
	signature := ed25519.Sign(s.cfg.Key, append(purpose(cluster), plain...))
	return api.SessionPrefix + coding.EncodeToString(plain) + "." + coding.EncodeToString(signature), nil
}

// parse takes the text apart. Nothing that it says is proved.
func parse(text string) (c content, plain, signature []byte, err error) {
	rest, ok := strings.CutPrefix(text, api.SessionPrefix)
	first, second, two := strings.Cut(rest, ".")
	if !ok || !two || len(text) > maxText {
		return c, nil, nil, ErrEnded
	}
	plain, err = coding.DecodeString(first)
	if err == nil {
		signature, err = coding.DecodeString(second)
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.DisallowUnknownFields()
	if err != nil || d.Decode(&c) != nil || c.ID == "" {
		return c, nil, nil, ErrEnded
	}
	return c, plain, signature, nil
}

// Check returns whose session it is and what she may do now, or ErrEnded. from is the member that asks for the owner,
// Self for the node's own pages. It needs no quorum.
func (s *Sessions) Check(from catalog.NodeID, text string) (Session, error) {
	c, plain, signature, err := parse(text)
	if err != nil {
		return Session{}, err
	}
	out := Session{Expires: c.Expires.Std(), Text: text}
	err = s.cfg.View(func(v catalog.View) error {
		if err := s.proved(v, c, plain, signature); err != nil {
			return err
		}
		out.Caller, err = s.worth(v, from, c)
		if err == nil && out.Caller.Person != "" {
			var p catalog.Person
			p, err = catalog.PeopleIn(v).Person(out.Caller.Person)
			out.Language, out.Zone = p.Language, p.Zone
		}
		return err
	})
	switch {
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, catalog.ErrDisabled):
		return Session{}, ErrEnded
	case err != nil:
		return Session{}, fmt.Errorf("look up session %s of %s: %w", c.ID, c.Owner, err)
	}
	if c.Token != api.LocalID && !byHerself(c.Token) && s.cfg.Used != nil {
		s.cfg.Used(c.Token)
	}
	return out, nil
}

// proved refuses a session that no member signed, or that has ended.
func (s *Sessions) proved(v catalog.View, c content, plain, signature []byte) error {
	err := s.lives(v, c, plain, signature)
	if err == nil && s.pending.has(c) {
		err = ErrEnded
	}
	return err
}

// signed refuses a session that no member signed, as far as this node knows the members.
func (s *Sessions) signed(v catalog.View, c content, plain, signature []byte) error {
	cluster, err := v.Cluster()
	if err != nil {
		return err
	}
	if _, err := v.Member(c.Begun); err != nil { // what a node began ends with it
		return err
	}
	m, err := v.Member(c.Node)
	if err != nil {
		return err
	}
	if len(m.Key) != ed25519.PublicKeySize ||
		!ed25519.Verify(m.Key, append(purpose(cluster), plain...), signature) {
		return ErrEnded
	}
	return nil
}

// lives refuses a session that no member signed, or that has ended as far as is agreed.
func (s *Sessions) lives(v catalog.View, c content, plain, signature []byte) error {
	if err := s.signed(v, c, plain, signature); err != nil {
		return err
	}
	now, err := catalog.PeopleIn(v).Now(catalog.At(s.cfg.Now()))
	if err != nil {
		return err
	}
	// What a node with a wrong clock signed lasts no longer than what others sign, however often it is renewed.
	if now >= c.Expires || c.Expires > now+people.SessionLife+early || c.Began > now+early ||
		now >= c.Began+people.SessionMost {
		return ErrEnded
	}
	ended, err := catalog.PeopleIn(v).SessionEnded(c.Owner, c.ID)
	if err == nil && !ended && c.Service != "" {
		ended, err = catalog.PeopleIn(v).SignedOut(c.Service)
	}
	if err == nil && ended {
		err = ErrEnded
	}
	return err
}

// worth returns what the session is worth now: what its token is, or what its owner may.
func (s *Sessions) worth(v catalog.View, from catalog.NodeID, c content) (who catalog.Caller, err error) {
	if c.Token == api.LocalID && c.Node != from {
		return who, ErrEnded // a node's own token counts from that node alone
	}
	now, err := catalog.PeopleIn(v).Now(catalog.At(s.cfg.Now()))
	if err != nil {
		return who, err
	}
	token, err := s.tokenOf(v, c)
	if err != nil {
		return who, err
	}
	switch c.Token {
	case api.LocalID:
		cluster, err := v.Cluster()
		if err != nil || token.SecretHash.IsZero() {
			return who, orEnded(err)
		}
		who = api.LocalCaller(cluster.Level, c.Node, token)
	case byPassword, byIdentity:
		_, id := people.ParseActor(c.Owner)
		who, err = catalog.PeopleIn(v).CallerOf(catalog.PersonID(id), now)
	default:
		if token.Revoked != 0 || token.Expires != 0 && now >= token.Expires {
			return who, ErrEnded
		}
		who, err = catalog.PeopleIn(v).Caller(token, now)
	}
	if err != nil {
		return who, err
	}
	standing, err := standing(v, who.Actor, token, c)
	if err != nil {
		return who, err
	}
	if who.Invited || who.Actor != c.Owner || standing != c.Standing {
		return who, ErrEnded
	}
	return who, nil
}

// byHerself reports whether a session began without an access token: the person proved who she is.
func byHerself(token string) bool { return token == byPassword || token == byIdentity }

// standing is a digest of what a session depends on: its owner's standing, and the secret of its token. One that began
// at a service which did not name its own session ends when it may be meant.
func standing(v catalog.View, owner string, token catalog.AccessToken, c content) (string, error) {
	text, err := catalog.PeopleIn(v).Standing(owner)
	if err != nil {
		return "", err
	}
	text += " " + string(token.SecretHash[:])
	if unnamed(c) {
		ended, err := catalog.PeopleIn(v).UnnamedEnded(owner)
		if err != nil {
			return "", err
		}
		text += " " + strconv.FormatUint(ended, 10)
	}
	return shortDigest(text), nil
}

// unnamed reports whether a session began at a service that did not say to which of its own sessions it belongs.
func unnamed(c content) bool { return c.Token == byIdentity && c.Service == "" }

func orEnded(err error) error {
	if err == nil {
		err = ErrEnded
	}
	return err
}
