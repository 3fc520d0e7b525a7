package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// caller is who sends a request: the access token's name and role.
type caller struct {
	Name  string
	Role  catalog.Role
	token string
}

// TokenOf returns the access token of the request that ctx belongs to, so that another node which the request is handed on to can check
// it; empty when ctx is of no request.
func TokenOf(ctx context.Context) string { return callerOf(ctx).token }

// Includes reports whether the role may do what the needed one may.
func Includes(role, needed catalog.Role) bool { return rank(role) >= rank(needed) && rank(needed) >= 0 }

type callerKey struct{}

// callerOf returns the request's caller; the zero caller may do nothing.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// rank orders the roles; each may do what those before it may. An unknown role ranks below all.
func rank(role catalog.Role) int {
	return slices.Index([]catalog.Role{catalog.RoleReader, catalog.RoleCurator, catalog.RoleOperator, catalog.RoleAdmin}, role)
}

// authenticate finds the caller of a bearer token in the local state, so that it works without a quorum.
// The secret's hash is compared in constant time, also for an id that is not there.
func (s *server) authenticate(authorization string) (caller, error) {
	scheme, text, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return caller{}, problem(http.StatusUnauthorized, CodeUnauthorized, "this needs an access token, as Authorization: Bearer holdfast-ID-SECRET: holdfast user create makes one, and identity/api-token in a node's data folder is one")
	}
	denied := problem(http.StatusUnauthorized, CodeUnauthorized, "the access token is unknown, expired or revoked")
	token, err := ParseToken(text)
	if err != nil {
		return caller{}, denied
	}
	view := s.Catalog.View
	if token.ID == LocalID {
		view = s.own.View // the local token is not the catalog's
	}
	var found catalog.AccessToken
	if err := view(func(v catalog.View) error {
		found, err = v.AccessToken(token.ID)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		return err
	}); err != nil {
		return caller{}, fmt.Errorf("look up access token %s: %w", token.ID, err)
	}
	if s.Local != nil && token.ID == LocalID {
		if found, err = s.Local(); err != nil {
			return caller{}, err
		}
	}
	if !Proves(token, found, s.Now()) {
		return caller{}, denied
	}
	return caller{Name: found.Name, Role: found.Role, token: text}, nil
}

// LocalID is the id of every node's local token.
const LocalID = "local"

// Proves reports whether the token is the kept one, and that is neither revoked nor expired. It takes as long whichever it is.
func Proves(token Token, kept catalog.AccessToken, now time.Time) bool {
	hash := token.Hash()
	same := subtle.ConstantTimeCompare(hash[:], kept.SecretHash[:]) == 1
	return same && !kept.SecretHash.IsZero() && kept.ID == token.ID && usable(kept, catalog.At(now))
}

// usable reports whether the token is neither revoked nor expired.
func usable(t catalog.AccessToken, now catalog.Time) bool {
	return t.Revoked == 0 && (t.Expires == 0 || now < t.Expires)
}

// admit is the middleware that lets a request pass whose caller has the role.
func (s *server) admit(api huma.API, role catalog.Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		who, err := s.authenticate(ctx.Header("Authorization"))
		if err == nil && rank(who.Role) < rank(role) {
			err = problem(http.StatusForbidden, CodeForbidden,
				fmt.Sprintf("this needs the role %s; the access token %q has the role %s", role, who.Name, who.Role))
		}
		if err != nil {
			p := s.explain(err)
			if p.Status == http.StatusUnauthorized {
				ctx.SetHeader("WWW-Authenticate", `Bearer realm="holdfast"`)
			}
			s.write(api, ctx, p)
			return
		}
		next(huma.WithValue(ctx, callerKey{}, who))
	}
}
