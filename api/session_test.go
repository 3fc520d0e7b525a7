package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
	"holdfast/internal/inprocess"
)

// Caller is whose session it is: a session's text ends with the id of the access token that it began with.
func (b *backend) Caller(text string) (who catalog.Caller, err error) {
	err = b.View(func(v catalog.View) error {
		kept, err := v.AccessToken(strings.TrimPrefix(text, SessionPrefix))
		if err == nil {
			who, err = catalog.PeopleIn(v).Caller(kept, catalog.At(time.Now()))
		}
		return err
	})
	return who, err
}

// Invitation says what it was asked for.
func (b *backend) Invitation(text string) string { return "http://pages.test/invitation?text=" + text }

// Link says what it was asked for.
func (b *backend) Link(who catalog.Caller, token string) (string, time.Time, error) {
	if who.Program && token != LocalID {
		return "", time.Time{}, &catalog.Refusal{Code: catalog.Denied, Message: "programs use the API"}
	}
	return "http://pages.test/" + who.Actor + "/" + token, time.Now().Add(time.Minute), nil
}

// pages returns a client as the node's pages use it, with a session of the token's owner.
func (b *backend) pages(token string) *client.Client {
	b.t.Helper()
	parsed, err := ParseToken(token)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := client.Over(inprocess.New(b.api.Pages(), slog.New(slog.DiscardHandler)), "http://pages.test", SessionPrefix+parsed.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// A session is worth what its owner may, for the pages of the node. From the network, nobody gets in with one.
func TestSessionsAreForThePagesAlone(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	token := b.person("anna", catalog.Giving{Role: catalog.RoleCurator, Collection: "web"})
	parsed, err := ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	pages, job := b.pages(token), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}, Collection: "web"}
	made, err := pages.Jobs().Create(t.Context(), job)
	if err != nil || made.ID == 0 {
		t.Errorf("%+v %v", made, err)
	}
	if _, err := pages.People().Invite(t.Context(), wire.PersonRequest{Name: "x", Mail: "x@example.org"}); status(err) != http.StatusForbidden {
		t.Errorf("a curator's session invites people: %v", err)
	}
	if _, err := pages.People().SignIn(t.Context()); status(err) != http.StatusForbidden {
		t.Errorf("a session makes sessions: %v", err)
	}
	for name, c := range map[string]*client.Client{"over the network": open(SessionPrefix + parsed.ID), "an unknown one": b.pages("holdfast-none-x")} {
		if _, err := c.Status(t.Context()); status(err) != http.StatusUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.pages("holdfast-" + parsed.ID + "-x").Status(t.Context()); err != nil {
		t.Errorf("a session: %v", err)
	}
	// The mark of the pages does not come from outside.
	b.as(catalog.Local(self), catalog.DisablePerson, catalog.PersonRef{ID: "anna"})
	if _, err := pages.Status(t.Context()); err == nil {
		t.Error("a disabled person's session goes on")
	}
}

func TestLinksForSigningIn(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	token := b.person("anna", catalog.Giving{Role: catalog.RoleReader})
	parsed, err := ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	link := func(ctx context.Context, token string) (wire.SignInLink, error) {
		return open(token).People().SignIn(ctx)
	}
	if got, err := link(t.Context(), token); err != nil || got.URL != "http://pages.test/person:anna/"+parsed.ID || !got.Expires.After(time.Now()) {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := link(t.Context(), localText); err != nil || got.URL != "http://pages.test/local:"+string(self)+"/"+LocalID {
		t.Errorf("%+v %v", got, err)
	}
	program, err := open(token).Tokens().Create(t.Context(), wire.AccessTokenRequest{Name: "robot", Role: wire.RoleReader, Program: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := link(t.Context(), program.Text); status(err) != http.StatusForbidden {
		t.Errorf("a program signs in: %v", err)
	}
	if _, err := link(t.Context(), SessionPrefix+"x"); status(err) != http.StatusUnauthorized {
		t.Errorf("a session: %v", err)
	}
}
