package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

// Bounds of a password, in characters and bytes. A length is asked for, and nothing else (NIST SP 800-63B).
const (
	MinPassword = 12
	maxPassword = 1000
)

// byPassword stands in a session for an access token: it began with a password. No access token has such an id.
const byPassword = "(password)"

// What is wrong with a password or with who gives it.
var (
	// ErrPassword says that no active person has that name or address and that password.
	ErrPassword = errors.New("the name or the password is wrong")
	// ErrWeak says that a password cannot be chosen.
	ErrWeak = fmt.Errorf("a password has at least %d characters, and is not your name or address", MinPassword)
	// ErrSlow says that there were too many wrong tries, or too many at once: another one is possible in some minutes.
	ErrSlow = errors.New("too many passwords: try again in some minutes")
	// ErrLimited says that a first password would be worth more than the access token that a session began with.
	ErrLimited = errors.New("the access token has a role, scopes or an end of its own: choose the first password by " +
		"an invitation, or sign in with a token without limits")
)

// Costs of argon2id (RFC 9106, section 4, second recommended option): 64 MiB for about a tenth of a second.
const (
	costTime    = 3
	costMemory  = 64 << 10 // KiB
	costThreads = 4
	saltBytes   = 16
	hashBytes   = 32
)

// maxHashing is how many passwords are looked at at the same time: each takes costMemory.
const maxHashing = 2

// maxWaiting is how many more wait for that, some seconds long. Whoever comes then is told to come again.
const maxWaiting = 30

// hashing keeps to maxHashing and maxWaiting.
type hashing struct {
	slots chan struct{} // those that work
	all   chan struct{} // those that work or wait
}

func newHashing() hashing {
	return hashing{make(chan struct{}, maxHashing), make(chan struct{}, maxHashing+maxWaiting)}
}

// key fails with ErrSlow when too many wait.
func (h hashing) key(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case h.all <- struct{}{}:
	default:
		return nil, ErrSlow
	}
	defer func() { <-h.all }()
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-h.slots }()
	return argon2.IDKey([]byte(norm.NFC.String(password)), salt, costTime, costMemory, costThreads, hashBytes), nil
}

// hash returns what is kept of a password.
func (h hashing) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	key, err := h.key(ctx, password, salt)
	return head + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key), err
}

// head begins each hash: it says how it was made.
var head = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, costMemory, costTime, costThreads)

// proves reports whether the hash is of the password. It takes the same time for a hash that is none, or made in
// another way.
func (h hashing) proves(ctx context.Context, password, kept string) (bool, error) {
	rest, known := strings.CutPrefix(kept, head)
	text, sum, _ := strings.Cut(rest, "$")
	salt, err := base64.RawStdEncoding.DecodeString(text)
	want, errSum := base64.RawStdEncoding.DecodeString(sum)
	if !known || err != nil || errSum != nil || len(salt) != saltBytes || len(want) != hashBytes {
		known, salt, want = false, make([]byte, saltBytes), make([]byte, hashBytes)
	}
	key, err := h.key(ctx, password, salt)
	return known && subtle.ConstantTimeCompare(key, want) == 1, err
}

// Password begins a session of the person with that e-mail address, name or id. from is the address that asks, as text.
// ErrPassword and ErrSlow do not tell whether there is such a person.
func (s *Sessions) Password(ctx context.Context, who, password, from string) (Session, error) {
	who = strings.TrimSpace(who) // keyboards of phones put a space behind what they complete
	var p catalog.Person
	var kept people.Password
	err := s.cfg.View(func(v catalog.View) (err error) {
		if p, err = catalog.PeopleIn(v).Find(who); err == nil {
			kept, _, err = catalog.PeopleIn(v).Password(p.ID)
		}
		if errors.Is(err, catalog.ErrNotFound) {
			err = nil
		}
		return err
	})
	if err != nil {
		return Session{}, fmt.Errorf("look up a person who signs in: %w", err)
	}
	account := accountOf(p, who)
	if !s.tries.allow(s.cfg.Now(), account, from) {
		return Session{}, ErrSlow
	}
	if len(password) > maxPassword {
		return Session{}, ErrPassword
	}
	right, err := s.hashing.proves(ctx, password, kept.Hash)
	if errors.Is(err, ErrSlow) { // it was not looked at
		s.tries.right(account, from)
	}
	if err != nil {
		return Session{}, err
	}
	if !right || p.State != catalog.Active {
		return Session{}, ErrPassword
	}
	s.tries.right(account, from)
	out, err := s.begin(catalog.Caller{Actor: p.ID.Actor()}, byPassword)
	if errors.Is(err, ErrEnded) {
		err = ErrPassword
	}
	return out, err
}

// accountOf is what tries are counted by. A name that nobody has is slowed down like one that somebody has.
func accountOf(p catalog.Person, who string) string {
	if p.ID != "" {
		return string(p.ID)
	}
	return nobody + shortDigest(strings.ToLower(who))
}

// Choose gives the person of a session another password, and returns a new session: the others have ended. old is the
// password that she has, if she has one; a wrong one is ErrPassword. Who has none and signed in with an access token
// that is worth less than a password gets ErrLimited.
func (s *Sessions) Choose(ctx context.Context, text, old, chosen, from string) (Session, error) {
	found, err := s.Check(s.cfg.Self, text)
	if err != nil {
		return Session{}, err
	}
	if found.Caller.Person == "" || found.Caller.Program {
		return Session{}, &catalog.Refusal{Code: catalog.Denied, Message: "a node's own token has no password"}
	}
	var p catalog.Person
	var kept people.Password
	var has bool
	err = s.cfg.View(func(v catalog.View) (err error) {
		if p, err = catalog.PeopleIn(v).Person(found.Caller.Person); err == nil {
			kept, has, err = catalog.PeopleIn(v).Password(p.ID)
		}
		return err
	})
	if err != nil {
		return Session{}, err
	}
	if err := weak(chosen, p); err != nil {
		return Session{}, err
	}
	if has {
		if !s.tries.allow(s.cfg.Now(), string(p.ID), from) {
			return Session{}, ErrSlow
		}
		right, err := s.hashing.proves(ctx, old, kept.Hash)
		if errors.Is(err, ErrSlow) {
			s.tries.right(string(p.ID), from)
		}
		if err != nil {
			return Session{}, err
		}
		if !right {
			return Session{}, ErrPassword
		}
		s.tries.right(string(p.ID), from)
	} else if by := found.Caller; by.Expires != 0 || len(by.Scopes) > 0 || !by.Role.Includes(catalog.RoleAdmin) {
		return Session{}, ErrLimited
	}
	hash, err := s.hashing.hash(ctx, chosen)
	if err != nil {
		return Session{}, err
	}
	body := people.PasswordSetting{ID: p.ID, Hash: hash}
	if err := s.cfg.Propose(ctx, people.SetPassword, body, p.ID.Actor()); err != nil {
		return Session{}, err
	}
	return s.begin(catalog.Caller{Actor: p.ID.Actor()}, byPassword)
}

// weak refuses what cannot be a password of the person.
func weak(chosen string, p catalog.Person) error {
	chosen = norm.NFC.String(chosen) // as it is hashed
	if utf8.RuneCountInString(chosen) < MinPassword || len(chosen) > maxPassword || !utf8.ValidString(chosen) ||
		strings.EqualFold(chosen, p.Mail) || strings.EqualFold(chosen, p.Name) {
		return ErrWeak
	}
	return nil
}
