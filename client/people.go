package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/api/wire"
)

// People are those who work with the archive, each called by id, e-mail address or name.
type People struct{ c *Client }

// List lists the people.
func (p People) List(ctx context.Context) ([]wire.Person, error) {
	return list[wire.Person](ctx, p.c, nil, "users")
}

// Show shows a person with all grants.
func (p People) Show(ctx context.Context, person string) (wire.Person, error) {
	return get[wire.Person](ctx, p.c, "users", person)
}

// Invite invites a person; the text of the invitation is shown only here.
func (p People) Invite(ctx context.Context, in wire.PersonRequest) (wire.Invitation, error) {
	return post[wire.Invitation](ctx, p.c, in, "users")
}

// InviteAgain makes another invitation; the earlier ones are worth nothing then.
func (p People) InviteAgain(ctx context.Context, person string, in wire.AgainRequest) (wire.Invitation, error) {
	return post[wire.Invitation](ctx, p.c, in, "users", person, "invitation")
}

// Accept accepts an invitation and returns the person's own access token. It needs no access token.
func (p People) Accept(ctx context.Context, invitation string) (wire.AccessToken, error) {
	return post[wire.AccessToken](ctx, p.c, wire.AcceptRequest{Invitation: invitation}, "invitations", "accept")
}

// Set changes a person's name, address, institution, language or time zone.
func (p People) Set(ctx context.Context, person string, in wire.PersonChange) (wire.Person, error) {
	return send[wire.Person](ctx, p.c, http.MethodPatch, in, "users", person)
}

// Disable makes every node refuse the tokens of a person and of her programs.
func (p People) Disable(ctx context.Context, person, reason string) (wire.Person, error) {
	return post[wire.Person](ctx, p.c, wire.ReasonRequest{Reason: reason}, "users", person, "disable")
}

// Enable takes that back.
func (p People) Enable(ctx context.Context, person, reason string) (wire.Person, error) {
	return post[wire.Person](ctx, p.c, wire.ReasonRequest{Reason: reason}, "users", person, "enable")
}

// Unlink makes the account of an institution sign a person in no more; its id is in the answer of Show.
func (p People) Unlink(ctx context.Context, person, identity, reason string) (wire.Person, error) {
	return post[wire.Person](ctx, p.c, wire.ReasonRequest{Reason: reason}, "users", person, "identities", identity,
		"unlink")
}

// Grants are the roles that people were given.
type Grants struct{ c *Client }

// List lists the grants of a person, or of everybody; with ended, also those that count no more.
func (g Grants) List(ctx context.Context, person string, ended bool) ([]wire.Grant, error) {
	query := url.Values{"ended": {strconv.FormatBool(ended)}}
	if person != "" {
		query.Set("person", person)
	}
	return list[wire.Grant](ctx, g.c, query, "grants")
}

// Give gives a person a grant.
func (g Grants) Give(ctx context.Context, in wire.GrantRequest) (wire.Grant, error) {
	return post[wire.Grant](ctx, g.c, in, "grants")
}

// End ends a grant.
func (g Grants) End(ctx context.Context, id uint64, reason string) (wire.Grant, error) {
	return post[wire.Grant](ctx, g.c, wire.ReasonRequest{Reason: reason}, "grants", number(id), "end")
}

// Tokens are access tokens.
type Tokens struct{ c *Client }

// TokenQuery says which access tokens are listed; empty fields are ignored.
type TokenQuery struct {
	Owner  string // a person's id
	State  string // open, expired or revoked
	Kind   string // person, program or invitation
	Search string // text in its name or its owner's
	Newest bool   // first; else by id
}

// List lists the access tokens that the caller may see.
func (t Tokens) List(ctx context.Context) ([]wire.AccessToken, error) {
	out := []wire.AccessToken{}
	for one, err := range t.Find(ctx, TokenQuery{}) {
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Find yields the access tokens that match, as far as the caller may see them.
func (t Tokens) Find(ctx context.Context, q TokenQuery) iter.Seq2[wire.AccessToken, error] {
	query := asked(map[string]string{"owner": q.Owner, "state": q.State, "kind": q.Kind, "search": q.Search})
	if q.Newest {
		query.Set("sort", "newest")
	}
	return all[wire.AccessToken](ctx, t.c, query, "access-tokens")
}

// Create makes an access token; its Text is shown only here.
func (t Tokens) Create(ctx context.Context, in wire.AccessTokenRequest) (wire.AccessToken, error) {
	return post[wire.AccessToken](ctx, t.c, in, "access-tokens")
}

// Take makes the caller, or with a node's local token the named owner, answer for a program without an owner.
func (t Tokens) Take(ctx context.Context, token, owner string) (wire.AccessToken, error) {
	return post[wire.AccessToken](ctx, t.c, wire.TakeRequest{Owner: owner}, "access-tokens", token, "take")
}

// Revoke revokes an access token.
func (t Tokens) Revoke(ctx context.Context, id string) error {
	return t.c.call(ctx, http.MethodDelete, nil, nil, nil, "access-tokens", id)
}

// Invites are join tokens: each lets one machine become a node.
type Invites struct{ c *Client }

// List lists the join tokens.
func (i Invites) List(ctx context.Context) ([]wire.JoinToken, error) {
	return list[wire.JoinToken](ctx, i.c, nil, "join-tokens")
}

// Create makes a join token; its Text is shown only here.
func (i Invites) Create(ctx context.Context, in wire.JoinTokenRequest) (wire.JoinToken, error) {
	return post[wire.JoinToken](ctx, i.c, in, "join-tokens")
}

// Revoke revokes a join token.
func (i Invites) Revoke(ctx context.Context, id string) error {
	return i.c.call(ctx, http.MethodDelete, nil, nil, nil, "join-tokens", id)
}

// SignIn returns a link that begins a session at the pages of the node that is asked, once, with the rights of the
// client's token. At another node it is worth nothing.
func (p People) SignIn(ctx context.Context) (wire.SignInLink, error) {
	return post[wire.SignInLink](ctx, p.c, nil, "sign-in-links")
}
