package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// PeopleClient asks about people, their grants, and the owners of tokens. A person is named by id, e-mail address or name.
type PeopleClient struct{ *Client }

// List lists the people.
func (c PeopleClient) List(ctx context.Context) ([]Person, error) {
	page, err := get[Page[Person]](ctx, c.Client, "users")
	return page.Items, err
}

// Show shows a person with all grants.
func (c PeopleClient) Show(ctx context.Context, person string) (Person, error) {
	return get[Person](ctx, c.Client, "users", person)
}

// Invite invites a person; the text of the invitation is shown only here.
func (c PeopleClient) Invite(ctx context.Context, in PersonRequest) (Invitation, error) {
	return post[Invitation](ctx, c.Client, in, "users")
}

// InviteAgain makes another invitation; the earlier ones are worth nothing then.
func (c PeopleClient) InviteAgain(ctx context.Context, person string, in AgainRequest) (Invitation, error) {
	return post[Invitation](ctx, c.Client, in, "users", person, "invitation")
}

// Accept accepts an invitation and returns the person's own access token. It needs no access token.
func (c PeopleClient) Accept(ctx context.Context, invitation string) (AccessToken, error) {
	return post[AccessToken](ctx, c.Client, AcceptRequest{Invitation: invitation}, "invitations", "accept")
}

// Set changes what is known of a person.
func (c PeopleClient) Set(ctx context.Context, person string, in PersonChange) (out Person, err error) {
	err = c.call(ctx, http.MethodPatch, in, &out, nil, "users", person)
	return out, err
}

// Disable lets a person, and her programs, do nothing any more.
func (c PeopleClient) Disable(ctx context.Context, person, reason string) (Person, error) {
	return post[Person](ctx, c.Client, ReasonRequest{Reason: reason}, "users", person, "disable")
}

// Enable takes that back.
func (c PeopleClient) Enable(ctx context.Context, person, reason string) (Person, error) {
	return post[Person](ctx, c.Client, ReasonRequest{Reason: reason}, "users", person, "enable")
}

// Grants lists the grants of a person, or of everybody; with ended, also those that count no more.
func (c PeopleClient) Grants(ctx context.Context, person string, ended bool) ([]Grant, error) {
	var page Page[Grant]
	query := url.Values{"ended": {fmt.Sprint(ended)}}
	if person != "" {
		query.Set("person", person)
	}
	err := c.call(ctx, http.MethodGet, nil, &page, query, "grants")
	return page.Items, err
}

// Give gives a person a grant.
func (c PeopleClient) Give(ctx context.Context, in GrantRequest) (Grant, error) {
	return post[Grant](ctx, c.Client, in, "grants")
}

// End ends a grant.
func (c PeopleClient) End(ctx context.Context, id uint64, reason string) (Grant, error) {
	return post[Grant](ctx, c.Client, ReasonRequest{Reason: reason}, "grants", fmt.Sprint(id), "end")
}

// Take makes the caller, or with a node's local token the named owner, answer for a program without an owner.
func (c PeopleClient) Take(ctx context.Context, token, owner string) (AccessToken, error) {
	return post[AccessToken](ctx, c.Client, TakeRequest{Owner: owner}, "access-tokens", token, "take")
}
