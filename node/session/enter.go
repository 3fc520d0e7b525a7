package session

import (
	"context"
	"errors"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/people"
)

// Invited returns who is invited by the text of an invitation, or ErrLink. The invitation stays good.
func (s *Sessions) Invited(text string) (catalog.Person, error) {
	_, p, err := s.invited(text)
	return p, err
}

func (s *Sessions) invited(text string) (token api.Token, p catalog.Person, err error) {
	if token, err = api.ParseToken(text); err != nil {
		return token, p, ErrLink
	}
	err = s.cfg.View(func(v catalog.View) error {
		kept, err := v.AccessToken(token.ID)
		if err != nil {
			return err
		}
		now, err := catalog.PeopleIn(v).Now(catalog.At(s.cfg.Now()))
		if err != nil {
			return err
		}
		if !api.Proves(token, kept, now.Std()) {
			return ErrLink
		}
		who, err := catalog.PeopleIn(v).Caller(kept, now)
		if err != nil {
			return err
		}
		if !who.Invited {
			return ErrLink
		}
		p, err = catalog.PeopleIn(v).Person(who.Person)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrDisabled) {
		err = ErrLink
	}
	return token, p, err
}

// Enter accepts an invitation with a password, and begins a session. The person is active then, and the invitation is
// used up. ErrLink and ErrWeak change nothing.
func (s *Sessions) Enter(ctx context.Context, text, chosen string) (Session, error) {
	token, p, err := s.invited(text)
	if err != nil {
		return Session{}, err
	}
	if err := weak(chosen, p); err != nil {
		return Session{}, err
	}
	hash, err := s.hashing.hash(ctx, chosen)
	if err != nil {
		return Session{}, err
	}
	err = s.cfg.Propose(ctx, people.Enter, people.Entrance{Invitation: token.ID, Hash: hash}, p.ID.Actor())
	var refusal *catalog.Refusal
	if errors.As(err, &refusal) && refusal.Code == catalog.Denied { // used or taken back meanwhile
		err = ErrLink
	}
	if err != nil {
		return Session{}, err
	}
	return s.begin(catalog.Caller{Actor: p.ID.Actor()}, byPassword)
}
