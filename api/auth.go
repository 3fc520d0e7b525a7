package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// caller is who sends a request, what may be done with the access token used, and the token's text.
type caller struct {
	catalog.Caller
	token   string
	address netip.Addr // the zero one: not known, as of requests within the program
}

// TokenOf returns the access token of the request that ctx belongs to, so that another node which the request is handed
// on to can check it; empty when ctx is of no request.
func TokenOf(ctx context.Context) string { return callerOf(ctx).token }

type callerKey struct{}

// callerOf returns the request's caller; the zero caller may do nothing.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// may refuses an act that the request's caller may not do there.
func may(ctx context.Context, act catalog.Act, where catalog.Where) error {
	return forbidden(catalog.May(callerOf(ctx).Rights, act, where))
}

// keepsPeople reports whether the caller keeps the accounts and tokens of everybody.
func keepsPeople(ctx context.Context) bool {
	return may(ctx, catalog.KeepPeople, catalog.Where{}) == nil
}

func forbidden(err error) error {
	if err == nil {
		return nil
	}
	return problem(http.StatusForbidden, wire.CodeForbidden, err.Error())
}

// authenticate finds the caller of a bearer token, or of a session, in local state, so that it works without a quorum.
// The secret's hash is compared in constant time, also for an id that is not there.
func (s *server) authenticate(ctx context.Context, authorization string) (caller, error) {
	scheme, text, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return caller{}, problem(http.StatusUnauthorized, wire.CodeUnauthorized, "this needs an access token, as "+
			"Authorization: Bearer holdfast-ID-SECRET: holdfast token create makes one, and identity/api-token in a "+
			"node's data folder is one")
	}
	if strings.HasPrefix(text, SessionPrefix) {
		return s.authenticateSession(ctx, text)
	}
	token, err := ParseToken(text)
	if err != nil {
		return caller{}, unauthorized()
	}
	if s.local != nil && token.ID == LocalID {
		return s.authenticateLocal(token, text)
	}
	var who catalog.Caller
	err = s.Catalog.View(func(v catalog.View) error {
		now, err := catalog.PeopleIn(v).Now(catalog.At(s.now()))
		if err != nil {
			return err
		}
		found, err := v.AccessToken(token.ID)
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return err
		}
		if !Proves(token, found, now.Std()) {
			return unauthorized()
		}
		if who, err = catalog.PeopleIn(v).Caller(found, now); errors.Is(err, catalog.ErrDisabled) {
			return unauthorized()
		}
		return err
	})
	switch {
	case err != nil:
		return caller{}, fmt.Errorf("look up access token %s: %w", token.ID, err)
	case who.Invited:
		return caller{}, problem(http.StatusForbidden, wire.CodeForbidden,
			"this is an invitation: accept it first, with holdfast user accept")
	}
	if s.used != nil {
		s.used(token.ID)
	}
	return caller{Caller: who, token: text}, nil
}

// authenticateLocal lets in who has the token in the node's own folder. The catalog does not know it: it works whatever
// became of everybody's grants.
func (s *server) authenticateLocal(token Token, text string) (caller, error) {
	found, err := s.local()
	if err != nil {
		return caller{}, err
	}
	if !Proves(token, found, s.now()) {
		return caller{}, unauthorized()
	}
	level, err := levelNow(s.own)
	return caller{Caller: LocalCaller(level, s.id, found), token: text}, err
}

// levelNow returns the cluster's level, 0 when this node does not know it yet.
func levelNow(c Catalog) (level int, err error) {
	err = c.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if level = cluster.Level; errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		return err
	})
	return level, err
}

// LocalCaller is who holds the local token of a node. In its name nobody acts as a person.
func LocalCaller(level int, node catalog.NodeID, kept catalog.AccessToken) catalog.Caller {
	who := catalog.Caller{Actor: kept.Name, Name: kept.Name, Program: true, Role: kept.Role,
		Rights: []catalog.Right{{Role: kept.Role}}}
	if level >= catalog.LevelOfPeople {
		who.Actor = catalog.Local(node)
	}
	return who
}

func unauthorized() error {
	return problem(http.StatusUnauthorized, wire.CodeUnauthorized,
		"the access token is unknown, expired or revoked, or its owner is disabled")
}

// LocalID is the id of every node's local token.
const LocalID = "local"

// Proves reports whether the token is the stored one, and is neither revoked nor expired. It takes the same time in
// each case.
func Proves(token Token, kept catalog.AccessToken, now time.Time) bool {
	hash := token.Hash()
	same := subtle.ConstantTimeCompare(hash[:], kept.SecretHash[:]) == 1
	return same && !kept.SecretHash.IsZero() && kept.ID == token.ID && usable(kept, catalog.At(now))
}

// usable reports whether the token is neither revoked nor expired.
func usable(t catalog.AccessToken, now catalog.Time) bool {
	return t.Revoked == 0 && (t.Expires == 0 || now < t.Expires)
}

// still refuses what the caller of a long request may no longer do.
func (s *server) still(ctx context.Context, act catalog.Act) error {
	who, err := s.authenticate(ctx, "Bearer "+callerOf(ctx).token)
	if err != nil {
		return err
	}
	return forbidden(catalog.May(who.Rights, act, catalog.Where{}))
}

// admit is the middleware that lets a request pass whose caller may do the act somewhere. Whether that is where the
// request wants it is decided when the request is read.
func (s *server) admit(api huma.API, act catalog.Act) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		who, err := s.authenticate(ctx.Context(), ctx.Header("Authorization"))
		need, _ := act.Needs()
		if err == nil && !slices.ContainsFunc(who.Rights, func(r catalog.Right) bool { return r.Role.Includes(need) }) {
			err = forbidden(catalog.May(who.Rights, act, catalog.Where{}))
		}
		if err != nil {
			p := s.explain(err)
			if p.Status == http.StatusUnauthorized {
				ctx.SetHeader("WWW-Authenticate", `Bearer realm="holdfast"`)
			}
			s.write(api, ctx, p)
			return
		}
		r, _ := humago.Unwrap(ctx)
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			who.address = from.Addr()
		}
		next(huma.WithValue(ctx, callerKey{}, who))
	}
}
