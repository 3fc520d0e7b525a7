package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// AccessTokenRequest asks for a token for oneself or, from level 3 on, for a program of one's own.
type AccessTokenRequest struct {
	Name        string                   `json:"name" minLength:"1" maxLength:"100" doc:"of the program; of one's own token, what it is for"`
	Role        catalog.Role             `json:"role" enum:"reader,curator,operator,admin" doc:"what it may do at most"`
	Lifetime    string                   `json:"lifetime,omitempty" pattern:"^[1-9][0-9]{0,5}(ms|s|m|h)([0-9]{1,4}(ms|s|m|h)){0,2}$" doc:"such as 2160h; without one it does not expire"`
	Program     bool                     `json:"program,omitempty" doc:"it belongs to a program of the owner's, in whose name that acts"`
	Owner       string                   `json:"owner,omitempty" maxLength:"254" doc:"who answers for the program: id, e-mail address or name; needed with a node's local token, else oneself"`
	Collections []catalog.CollectionName `json:"collections,omitempty" maxItems:"50" doc:"of a curator's token: the only ones in which it counts"`
	Places      []string                 `json:"places,omitempty" maxItems:"50" doc:"of an operator's token: the only ones at which it counts"`
}

// TakeRequest gives a program without an owner to a person.
type TakeRequest struct {
	Owner string `json:"owner,omitempty" maxLength:"254" doc:"who answers for it: id, e-mail address or name; needed with a node's local token, else oneself"`
}

// AccessToken lets a person or program use the API. Text is given only when it is created.
type AccessToken struct {
	ID          string                   `json:"id"`
	Name        string                   `json:"name"`
	Role        catalog.Role             `json:"role"`
	Created     time.Time                `json:"created"`
	Expires     time.Time                `json:"expires,omitzero"`
	State       string                   `json:"state" enum:"open,expired,revoked"`
	Kind        string                   `json:"kind" enum:"person,program,invitation" doc:"whose it is"`
	Owner       catalog.PersonID         `json:"owner,omitempty" doc:"the person, or who answers for the program; none: nobody does"`
	OwnerName   string                   `json:"ownerName,omitempty"`
	Collections []catalog.CollectionName `json:"collections,omitempty" doc:"the only ones in which it counts"`
	Places      []string                 `json:"places,omitempty" doc:"the only ones at which it counts"`
	Used        string                   `json:"used,omitempty" doc:"the last day, UTC, on which it was used, as far as was noted"`
	Text        string                   `json:"text,omitempty" doc:"the token itself; shown once"`
}

func accessTokenRoutes(s *server, api huma.API) {
	handle(s, api, route{act: catalog.KeepOwn, method: http.MethodGet, path: "/api/v1/access-tokens", id: "access-token-list", tag: "tokens",
		summary: "List the access tokens: all to an administrator, one's own and those without an owner to others"},
		func(ctx context.Context, _ *struct{}) (Page[AccessToken], error) {
			return whole(accessTokens(s, ctx))
		})
	type create struct{ Body AccessTokenRequest }
	handle(s, api, route{act: catalog.KeepOwn, method: http.MethodPost, path: "/api/v1/access-tokens", id: "access-token-create", tag: "tokens",
		summary: "Create an access token for oneself or for a program of one's own; its text is shown once", status: http.StatusCreated},
		func(ctx context.Context, in *create) (AccessToken, error) {
			return createAccessToken(s, ctx, in.Body)
		})
	type take struct {
		ByName
		Body TakeRequest
	}
	handle(s, api, route{act: catalog.KeepOwn, method: http.MethodPost, path: "/api/v1/access-tokens/{name}/take", id: "access-token-take", tag: "tokens",
		summary: "Become the owner of a program that has none; it may then no more than you"},
		func(ctx context.Context, in *take) (AccessToken, error) {
			return takeAccessToken(s, ctx, in.Name, in.Body.Owner)
		})
	register(s, api, route{act: catalog.KeepOwn, method: http.MethodDelete, path: "/api/v1/access-tokens/{name}", id: "access-token-revoke", tag: "tokens",
		summary: "Revoke an access token of one's own; an administrator any", status: http.StatusNoContent},
		func(ctx context.Context, in *ByName) (*struct{}, error) {
			if err := mayRevoke(s, ctx, in.Name); err != nil {
				return nil, err
			}
			return nil, s.propose(ctx, catalog.RevokeAccess, catalog.Named{ID: in.Name}, nil)
		})
}

// accessTokens returns the tokens that the caller may see.
func accessTokens(s *server, ctx context.Context) (out []AccessToken, err error) {
	who, all := callerOf(ctx), keepsPeople(ctx)
	err = s.Catalog.View(func(v catalog.View) error {
		tokens, err := v.AccessTokens()
		for _, t := range tokens {
			shown, err := accessTokenOf(v, t, catalog.At(s.Now()))
			if err != nil {
				return err
			}
			if all || shown.Owner == "" || shown.Owner == who.Person {
				out = append(out, shown)
			}
		}
		return err
	})
	return out, err
}

func accessToken(s *server, id string) (out AccessToken, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		t, err := v.AccessToken(id)
		if err != nil {
			return err
		}
		out, err = accessTokenOf(v, t, catalog.At(s.Now()))
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("access token %s: %w", id, ErrNotFound)
	}
	return out, err
}

func accessTokenOf(v catalog.View, t catalog.AccessToken, now catalog.Time) (AccessToken, error) {
	out := AccessToken{ID: t.ID, Name: t.Name, Role: t.Role, Created: std(t.Created), Expires: std(t.Expires), State: "open", Kind: "program"}
	switch {
	case t.Revoked != 0:
		out.State = "revoked"
	case !usable(t, now):
		out.State = "expired"
	}
	people := catalog.PeopleIn(v)
	used, err := people.Used(t.ID)
	if err != nil {
		return out, err
	}
	if used != 0 {
		out.Used = used.Std().Format(time.DateOnly)
	}
	b, there, err := people.Bearer(t.ID)
	if err != nil || !there {
		return out, err
	}
	switch {
	case b.Invites:
		out.Kind = "invitation"
	case !b.Program:
		out.Kind = "person"
	}
	for _, scope := range b.Scopes {
		if scope.Collection != "" {
			out.Collections = append(out.Collections, scope.Collection)
		} else {
			out.Places = append(out.Places, scope.Place)
		}
	}
	owner, err := people.Person(b.Owner)
	out.Owner, out.OwnerName = owner.ID, owner.Name
	return out, err
}

// createAccessToken makes a token that may no more than the one that is used.
func createAccessToken(s *server, ctx context.Context, in AccessTokenRequest) (AccessToken, error) {
	valid, err := lifetime(in.Lifetime, 0)
	if err != nil {
		return AccessToken{}, err
	}
	level, err := levelNow(s.Catalog)
	if err != nil {
		return AccessToken{}, err
	}
	secret, now := NewToken(), s.Now()
	kept := catalog.AccessToken{ID: secret.ID, Name: in.Name, SecretHash: secret.Hash(), Role: in.Role}
	if valid > 0 {
		kept.Expires = catalog.At(now.Add(valid))
	}
	if level < catalog.LevelOfPeople {
		err = createWithoutOwner(s, ctx, in, kept)
	} else {
		err = createOwned(s, ctx, in, kept)
	}
	if err != nil {
		return AccessToken{}, err
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return AccessToken{}, err
	}
	shown, err := accessToken(s, kept.ID)
	shown.Text = secret.String()
	return shown, err
}

// createWithoutOwner makes a token as programs before level 3 know it.
func createWithoutOwner(s *server, ctx context.Context, in AccessTokenRequest, kept catalog.AccessToken) error {
	if err := may(ctx, catalog.KeepPeople, catalog.Where{}); err != nil {
		return err
	}
	if in.Owner != "" || len(in.Collections)+len(in.Places) > 0 {
		return problem(http.StatusNotImplemented, Code(catalog.Unsupported), fmt.Sprintf(
			"tokens have owners and scopes from level %d on; when every member has a program that knows it: holdfast cluster level %d",
			catalog.LevelOfPeople, catalog.LevelOfPeople))
	}
	return s.propose(ctx, catalog.CreateAccess, kept, nil)
}

func createOwned(s *server, ctx context.Context, in AccessTokenRequest, kept catalog.AccessToken) error {
	who := callerOf(ctx)
	owner, err := ownerFor(s, who, in.Owner)
	if err != nil {
		return err
	}
	if err := forbidden(who.MayMake(in.Role, in.Program, in.Collections, in.Places)); err != nil {
		return err
	}
	return s.propose(ctx, catalog.MakeToken, catalog.TokenMaking{Token: kept, Owner: owner, Program: in.Program, Collections: in.Collections, Places: in.Places}, nil)
}

// ownerFor returns who is to own a token: the caller, or, with a node's local token, who is named.
func ownerFor(s *server, who caller, named string) (catalog.PersonID, error) {
	if named == "" && who.Person == "" {
		return "", problem(http.StatusConflict, Code(catalog.Conflict),
			"owner: a token belongs to a person; a node's local token and a program without an owner have to say to whom")
	}
	if named == "" {
		return who.Person, nil
	}
	p, err := findPerson(s, named)
	switch {
	case err != nil:
		return "", err
	case who.Person != "" && p.ID != who.Person:
		return "", problem(http.StatusForbidden, CodeForbidden, "a token belongs to the person who makes or takes it")
	}
	return p.ID, nil
}

// takeAccessToken makes somebody the owner of a program that has none.
func takeAccessToken(s *server, ctx context.Context, id, named string) (AccessToken, error) {
	who := callerOf(ctx)
	owner, err := ownerFor(s, who, named)
	if err != nil {
		return AccessToken{}, err
	}
	token, err := accessToken(s, id)
	if err != nil {
		return AccessToken{}, err
	}
	if !catalog.Holds(who.Rights, token.Role) {
		return AccessToken{}, problem(http.StatusForbidden, CodeForbidden,
			fmt.Sprintf("the program has the role %s for the whole archive; only who has it may take the program", token.Role))
	}
	if err := s.propose(ctx, catalog.TakeToken, catalog.TokenTaking{ID: id, Owner: owner}, nil); err != nil {
		return AccessToken{}, err
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return AccessToken{}, err
	}
	return accessToken(s, id)
}

// mayRevoke lets a person revoke her own tokens, with one that is at least as strong, and an administrator all.
func mayRevoke(s *server, ctx context.Context, id string) error {
	if keepsPeople(ctx) {
		return nil
	}
	who := callerOf(ctx)
	token, err := accessToken(s, id)
	own := token.Owner != "" && token.Owner == who.Person && !who.Program
	if err == nil && own && who.Role.Includes(token.Role) && len(who.Scopes) == 0 {
		return nil
	}
	return problem(http.StatusForbidden, CodeForbidden, "only its owner, or an administrator, may revoke this token")
}
