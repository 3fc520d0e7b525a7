package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
)

func (s tokens) accessRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.KeepOwn, method: http.MethodGet, path: "/api/v1/access-tokens",
		id: "access-token-list", tag: "tokens",
		summary: "List the access tokens: for an administrator all, for others their own and those without an owner"},
		s.list)
	type create struct{ Body wire.AccessTokenRequest }
	handle(s.server, api, route{act: catalog.KeepOwn, method: http.MethodPost, path: "/api/v1/access-tokens",
		id: "access-token-create", once: true, tag: "tokens",
		summary: "Create an access token for yourself or for a program of yours; its text is shown once",
		status:  http.StatusCreated},
		func(ctx context.Context, in *create) (wire.AccessToken, error) {
			return s.create(ctx, in.Body)
		})
	type take struct {
		ByName
		Body wire.TakeRequest
	}
	handle(s.server, api, route{act: catalog.KeepOwn, method: http.MethodPost,
		path: "/api/v1/access-tokens/{name}/take", id: "access-token-take", once: true, tag: "tokens",
		summary: "Become the owner of a program that has none; from then on it may do no more than you may"},
		func(ctx context.Context, in *take) (wire.AccessToken, error) {
			return s.take(ctx, in.Name, in.Body.Owner)
		})
	register(s.server, api, route{act: catalog.KeepOwn, method: http.MethodDelete, path: "/api/v1/access-tokens/{name}",
		id: "access-token-revoke", tag: "tokens",
		summary: "Revoke your own access token; an administrator can revoke any", status: http.StatusNoContent},
		func(ctx context.Context, in *ByName) (*struct{}, error) {
			if err := s.mayRevoke(ctx, in.Name); err != nil {
				return nil, err
			}
			return nil, s.propose(ctx, catalog.RevokeAccess, catalog.Named{ID: in.Name}, nil)
		})
}

// tokenCursor is the pattern of the cursors of a list of access tokens.
const tokenCursor = `^(|t-([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2,3})?)$`

// TokenListing is the input of a list of access tokens.
type TokenListing struct {
	LongPaging
	Owner  string `query:"owner" maxLength:"200" doc:"list only tokens of the person with this id, and of her programs"`
	State  string `query:"state" enum:"open,expired,revoked" doc:"list only tokens in this state"`
	Kind   string `query:"kind" enum:"person,program,invitation" doc:"list only tokens of this kind"`
	Search string `query:"search" maxLength:"200" doc:"list only tokens that have this text in their name or their owner's"`
	Sort   string `query:"sort" enum:"id,newest" default:"id" doc:"by id, or the newest first; keep it from page to page"`
}

// matches reports whether a token is one that is asked for.
func (in *TokenListing) matches(t *wire.AccessToken) bool {
	wanted := strings.ToLower(in.Search)
	return (in.Owner == "" || t.Owner == in.Owner) && (in.State == "" || t.State == in.State) &&
		(in.Kind == "" || t.Kind == in.Kind) &&
		(strings.Contains(strings.ToLower(t.Name), wanted) || strings.Contains(strings.ToLower(t.OwnerName), wanted))
}

func (in *TokenListing) position(t *wire.AccessToken) string {
	if in.Sort == "newest" {
		return agree.Hex(^uint64(t.Created.UnixMilli())) + t.ID
	}
	return t.ID
}

// list returns a page of the tokens that the caller may see.
func (s tokens) list(ctx context.Context, in *TokenListing) (wire.Page[wire.AccessToken], error) {
	var out []wire.AccessToken
	who, all := callerOf(ctx), keepsPeople(ctx)
	err := s.Catalog.View(func(v catalog.View) error {
		tokens, err := v.AccessTokens()
		for _, t := range tokens {
			shown, err := accessTokenOf(v, t, catalog.At(s.now()))
			if err != nil {
				return err
			}
			if (all || shown.Owner == "" || shown.Owner == string(who.Person)) && in.matches(&shown) {
				out = append(out, shown)
			}
		}
		return err
	})
	if err != nil {
		return wire.Page[wire.AccessToken]{}, err
	}
	return pageOf(&in.LongPaging, "t", out, in.position)
}

// accessToken returns a token as the API shows it.
func (s *server) accessToken(id string) (out wire.AccessToken, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		t, err := v.AccessToken(id)
		if err != nil {
			return err
		}
		out, err = accessTokenOf(v, t, catalog.At(s.now()))
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("access token %s: %w", id, ErrNotFound)
	}
	return out, err
}

func accessTokenOf(v catalog.View, t catalog.AccessToken, now catalog.Time) (wire.AccessToken, error) {
	out := wire.AccessToken{ID: t.ID, Name: t.Name, Role: wire.Role(t.Role), Created: std(t.Created),
		Expires: std(t.Expires), State: "open", Kind: "program"}
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
			out.Collections = append(out.Collections, string(scope.Collection))
		} else {
			out.Places = append(out.Places, scope.Place)
		}
	}
	owner, err := people.Person(b.Owner)
	out.Owner, out.OwnerName = string(owner.ID), owner.Name
	return out, err
}

// create makes a token that may no more than the one that is used.
func (s tokens) create(ctx context.Context, in wire.AccessTokenRequest) (wire.AccessToken, error) {
	valid, err := lifetime(in.Lifetime, 0)
	if err != nil {
		return wire.AccessToken{}, err
	}
	level, err := levelNow(s.Catalog)
	if err != nil {
		return wire.AccessToken{}, err
	}
	secret, now := NewToken(), s.now()
	kept := catalog.AccessToken{ID: secret.ID, Name: in.Name, SecretHash: secret.Hash(), Role: catalog.Role(in.Role)}
	if valid > 0 {
		kept.Expires = catalog.At(now.Add(valid))
	}
	if level < catalog.LevelOfPeople {
		err = s.createWithoutOwner(ctx, in, kept)
	} else {
		err = s.createOwned(ctx, in, kept)
	}
	if err == nil {
		err = guardOf(ctx).shownOnce("text")
	}
	if err != nil {
		return wire.AccessToken{}, err
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return wire.AccessToken{}, err
	}
	shown, err := s.accessToken(kept.ID)
	shown.Text = secret.String()
	return shown, err
}

// createWithoutOwner makes a token as programs before level 3 know it.
func (s tokens) createWithoutOwner(ctx context.Context, in wire.AccessTokenRequest, kept catalog.AccessToken) error {
	if err := may(ctx, catalog.KeepPeople, catalog.Where{}); err != nil {
		return err
	}
	if in.Owner != "" || len(in.Collections)+len(in.Places) > 0 {
		return problem(http.StatusNotImplemented, wire.CodeUnsupported, fmt.Sprintf(
			"tokens have owners and scopes from level %d on; when every member has a program that knows it: "+
				"holdfast cluster level %d",
			catalog.LevelOfPeople, catalog.LevelOfPeople))
	}
	return s.propose(ctx, catalog.CreateAccess, kept, nil)
}

func (s tokens) createOwned(ctx context.Context, in wire.AccessTokenRequest, kept catalog.AccessToken) error {
	who := callerOf(ctx)
	owner, err := s.ownerFor(who, in.Owner)
	if err != nil {
		return err
	}
	collections := kindOf[catalog.CollectionName](in.Collections)
	if err := checkReader(kept.Role, len(in.Collections)+len(in.Places) > 0); err != nil {
		return err
	}
	if err := forbidden(who.MayMake(kept.Role, in.Program, collections, in.Places, kept.Expires)); err != nil {
		return err
	}
	return s.propose(ctx, catalog.MakeToken, catalog.TokenMaking{Token: kept, Owner: owner, Program: in.Program,
		Collections: collections, Places: in.Places}, nil)
}

// ownerFor returns the owner of a new token: the caller or, with a node's local token, the person named.
func (s tokens) ownerFor(who caller, named string) (catalog.PersonID, error) {
	if named == "" && who.Person == "" {
		return "", problem(http.StatusConflict, wire.CodeConflict,
			"owner: a token belongs to a person; a node's local token and a program without an owner must name one")
	}
	if named == "" {
		return who.Person, nil
	}
	p, err := s.findPerson(named)
	switch {
	case err != nil:
		return "", err
	case who.Person != "" && p.ID != who.Person:
		return "", problem(http.StatusForbidden, wire.CodeForbidden,
			"a token belongs to the person who makes or takes it")
	}
	return p.ID, nil
}

// take makes somebody the owner of a program that has none.
func (s tokens) take(ctx context.Context, id, named string) (wire.AccessToken, error) {
	who := callerOf(ctx)
	owner, err := s.ownerFor(who, named)
	if err != nil {
		return wire.AccessToken{}, err
	}
	token, err := s.accessToken(id)
	if err != nil {
		return wire.AccessToken{}, err
	}
	if !catalog.Holds(who.Rights, catalog.Role(token.Role)) {
		return wire.AccessToken{}, problem(http.StatusForbidden, wire.CodeForbidden,
			fmt.Sprintf("the program has the role %s for the whole archive; only who has it may take the program",
				token.Role))
	}
	if err := s.decide(ctx, catalog.TakeToken, catalog.TokenTaking{ID: id, Owner: owner}, nil); err != nil {
		return wire.AccessToken{}, err
	}
	return s.accessToken(id)
}

// mayRevoke lets a person revoke her own tokens, with one that is at least as strong, and an administrator all.
func (s tokens) mayRevoke(ctx context.Context, id string) error {
	if keepsPeople(ctx) {
		return nil
	}
	who := callerOf(ctx)
	token, err := s.accessToken(id)
	own := token.Owner != "" && token.Owner == string(who.Person) && !who.Program
	if err == nil && own && who.Role.Includes(catalog.Role(token.Role)) && len(who.Scopes) == 0 {
		return nil
	}
	return problem(http.StatusForbidden, wire.CodeForbidden,
		"only its owner, or an administrator, may revoke this token")
}
