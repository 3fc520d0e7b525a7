package people

import (
	"slices"

	"holdfast/catalog/agree"
)

// maxScopes bounds the scopes of one access token.
const maxScopes = 50

// makeToken makes a token with no more rights than its owner has now. The owner's later rights are looked up whenever
// the token is used.
func makeToken(s *state, b *TokenMaking) (any, error) {
	owner, err := s.activeOwner(b.Owner)
	if err != nil {
		return nil, err
	}
	kind, id := ParseActor(s.Actor)
	if !b.Program && (kind != PersonActor || id != string(owner.ID)) {
		return nil, agree.Refuse(agree.Denied, "nobody makes a token that acts as another person")
	}
	if kind == PersonActor && id != string(owner.ID) {
		return nil, agree.Refuse(agree.Denied, "a program belongs to the person who makes its token")
	}
	if len(b.Collections)+len(b.Places) > maxScopes {
		return nil, agree.Refuse(agree.Invalid, "%d scopes: at most %d", len(b.Collections)+len(b.Places), maxScopes)
	}
	bearer := Bearer{Token: b.Token.ID, Owner: owner.ID, Program: b.Program, Since: s.At}
	for _, name := range b.Collections {
		scope, err := s.scope(b.Token.Role, name, "")
		if err != nil {
			return nil, err
		}
		bearer.Scopes = append(bearer.Scopes, scope)
	}
	for _, place := range b.Places {
		scope, err := s.scope(b.Token.Role, "", place)
		if err != nil {
			return nil, err
		}
		bearer.Scopes = append(bearer.Scopes, scope)
	}
	rights, err := s.rights(owner.ID, s.At)
	if err != nil {
		return nil, err
	}
	if err := bearer.within(b.Token.Role, rights); err != nil {
		return nil, err
	}
	if !agree.Readable(b.Token.Name) || b.Token.Name == "" {
		return nil, agree.Refuse(agree.Invalid, "a token needs a readable name")
	}
	if err := PutAccess(s.State, &b.Token); err != nil {
		return nil, err
	}
	if err := s.Set(keyBearer(b.Token.ID), bearer); err != nil {
		return nil, err
	}
	return &bearer, s.Event(MakeToken, b.Token.ID, "name=%s owner=%s program=%t role=%s scopes=%d",
		b.Token.Name, owner.ID, b.Program, b.Token.Role, len(bearer.Scopes))
}

// within refuses a token that would be for more than the rights.
func (b *Bearer) within(role Role, rights []Right) error {
	if len(b.Scopes) == 0 && !slices.ContainsFunc(rights, func(r Right) bool { return r.Role.Includes(role) }) {
		return agree.Refuse(agree.Denied, "a token cannot have the role %s: its owner does not", role)
	}
	for _, scope := range b.Scopes {
		if !slices.ContainsFunc(rights, func(r Right) bool { return r.Role.Includes(role) && r.covers(scope) }) {
			return agree.Refuse(agree.Denied, "a token cannot have the role %s%s: its owner does not", role,
				scope.text())
		}
	}
	return nil
}

func (s *state) activeOwner(id PersonID) (Person, error) {
	p, err := s.person(id)
	if err == nil && p.State != Active {
		err = agree.Refuse(agree.Conflict, "person %s is %s: a token belongs to an active person", p.ID, p.State)
	}
	return p, err
}

// takeToken gives a program from before level 3 an owner. It may then no more than she.
func takeToken(s *state, b *TokenTaking) (any, error) {
	token, there, err := agree.Get[AccessToken](s, keyAccess(b.ID))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no access token %q", agree.Clip(b.ID, 64))
	}
	owner, err := s.activeOwner(b.Owner)
	if err != nil {
		return nil, err
	}
	if kind, id := ParseActor(s.Actor); kind == ProgramActor || kind == PersonActor && id != string(owner.ID) {
		return nil, agree.Refuse(agree.Denied, "a token is taken by a person, for that person")
	}
	if !token.usable(s.At) {
		return nil, agree.Refuse(agree.Conflict, "access token %s is revoked or expired", token.ID)
	}
	if old, there, err := agree.Get[Bearer](s, keyBearer(token.ID)); err != nil || there {
		return nil, agree.OrConflict(err, "access token %s belongs to person %s", token.ID, old.Owner)
	}
	bearer := Bearer{Token: token.ID, Owner: owner.ID, Program: true, Since: s.At}
	rights, err := s.rights(owner.ID, s.At)
	if err != nil {
		return nil, err
	}
	if !Holds(rights, token.Role) {
		return nil, agree.Refuse(agree.Denied,
			"the program has the role %s for the whole archive, and its owner has to have it too", token.Role)
	}
	if err := s.Set(keyBearer(token.ID), bearer); err != nil {
		return nil, err
	}
	return &bearer, s.Event(TakeToken, token.ID, "name=%s owner=%s", token.Name, owner.ID)
}

// noteUses keeps the last day on which tokens were used.
func noteUses(s *state, b *TokenUses) (any, error) {
	if err := agree.CheckItems(len(b.Tokens)); err != nil {
		return nil, err
	}
	if b.Day <= 0 || b.Day%Day != 0 || b.Day > s.At+Day {
		return nil, agree.Refuse(agree.Invalid, "%d is not the beginning of a day that has come", b.Day)
	}
	for _, id := range b.Tokens {
		there, err := agree.Has(s, keyAccess(id))
		if err != nil {
			return nil, err
		}
		last, _, err := agree.Get[agree.Time](s, keyUse(id))
		if err != nil {
			return nil, err
		}
		if !there || last >= b.Day {
			continue
		}
		if err := s.Set(keyUse(id), b.Day); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
