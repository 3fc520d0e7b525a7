package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// Sessions are those of people who are signed in to the node's pages.
type Sessions interface {
	// Caller returns whose session the text is. catalog.ErrNotFound: it has ended, or is none.
	Caller(text string) (catalog.Caller, error)
	// Link returns the address at which a session begins, once, in the name of who, who has proved the access token of
	// that id; and until when it is good.
	Link(who catalog.Caller, token string) (url string, expires time.Time, err error)
	// Invitation returns the address at which a person accepts an invitation, empty if this node serves no pages.
	Invitation(text string) (url string)
}

type pagesKey struct{}

// Pages is the API for the pages of the same node. Requests carry the text of a session in place of an access token:
// from the network nobody gets in with one, since browsers keep it for the pages alone.
func (a *API) Pages() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), pagesKey{}, true)))
	})
}

// authenticateSession lets in who is signed in to the pages.
func (s *server) authenticateSession(ctx context.Context, text string) (caller, error) {
	if ctx.Value(pagesKey{}) == nil || s.sessions == nil {
		return caller{}, unauthorized()
	}
	who, err := s.sessions.Caller(text)
	if err != nil {
		return caller{}, orUnauthorized(err)
	}
	return caller{Caller: who, token: text}, nil
}

// orUnauthorized is err, or what is answered to who is not known.
func orUnauthorized(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return unauthorized()
	}
	return err
}

type signIn struct{ *server }

func (s signIn) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.KeepOwn, method: http.MethodPost, path: "/api/v1/sign-in-links",
		id: "sign-in", tag: "people", status: http.StatusCreated,
		summary: "Make a link that signs in to this node's pages, once, with the rights of the token used"},
		func(ctx context.Context, _ *struct{}) (wire.SignInLink, error) { return s.link(ctx) })
}

func (s signIn) link(ctx context.Context) (wire.SignInLink, error) {
	who := callerOf(ctx)
	token, err := ParseToken(who.token)
	if err != nil || strings.HasPrefix(who.token, SessionPrefix) {
		return wire.SignInLink{}, problem(http.StatusForbidden, wire.CodeForbidden,
			"a link for signing in is made with an access token")
	}
	if s.sessions == nil {
		return wire.SignInLink{}, problem(http.StatusServiceUnavailable, wire.CodeUnavailable,
			"this node has no pages")
	}
	url, expires, err := s.sessions.Link(who.Caller, token.ID)
	return wire.SignInLink{URL: url, Expires: expires.UTC()}, err
}
