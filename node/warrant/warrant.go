// Package warrant makes sure of whose name a request between nodes is in. What one node asks another in the name of a
// person or program carries that one's access token. The node that is asked checks it against its own catalog: that the
// asking node is a member is not enough. doc/design.md lists every kind of call. It also reports the uses of tokens.
package warrant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
)

// CodeForbidden is what a node answers when the token that a request carries does not allow it.
const CodeForbidden = "forbidden"

// level is the level of a cluster in which requests have to carry a token. Programs before do not send one.
const level = 2

// Warrants checks whom requests of other nodes come from.
type Warrants struct {
	Self   catalog.NodeID
	View   func(func(catalog.View) error) error
	Own    func() (string, error)                    // this node's local token, for what it asks by itself
	Trusts func(catalog.Member) (catalog.Role, bool) // what a member's local token may do here
	Now    func() time.Time
	Uses   *Uses // of access tokens, by this node's API
	// Session returns whose session a request of a member carries. catalog.ErrNotFound: it has ended, or is none.
	Session func(from catalog.NodeID, text string) (catalog.Caller, error)
}

// levelNow returns the cluster's level, as this node knows it.
func (w Warrants) levelNow() (now int, err error) {
	err = w.View(func(v catalog.View) error {
		c, err := v.Cluster()
		now = c.Level
		return ignoreNotFound(err)
	})
	return now, err
}

// Of returns the token that a request made in ctx is to carry, empty in a cluster where none is asked for.
func (w Warrants) Of(ctx context.Context) (string, error) {
	now, err := w.levelNow()
	if err != nil || now < level {
		return "", err
	}
	if token := api.TokenOf(ctx); token != "" {
		return token, nil
	}
	return w.Own()
}

// Deed is what a request asks for, as catalog.May weighs it.
type Deed struct {
	Act   catalog.Act
	Where catalog.Where
}

// Check returns the actor who holds the token, when that may do the deed; else it refuses. A member's local token is
// taken from that member alone.
func (w Warrants) Check(from catalog.NodeID, text string, what Deed) (actor string, err error) {
	reached, err := w.levelNow()
	if err != nil || from == w.Self || reached > 0 && reached < level {
		return "", err // a node that does not know the cluster's level yet lets nobody do anything
	}
	var who catalog.Caller
	if strings.HasPrefix(text, api.SessionPrefix) {
		who, err = w.inSession(from, text)
	} else {
		who, err = w.withToken(from, text, reached)
	}
	if err != nil {
		return "", err
	}
	if err := catalog.May(who.Rights, what.Act, what.Where); err != nil {
		return "", refuse("%s: %v", who.Name, err)
	}
	return who.Actor, nil
}

func refuse(format string, args ...any) error {
	return &wire.Refusal{Code: CodeForbidden, Message: fmt.Sprintf(format, args...)}
}

// inSession returns who is signed in to the pages of a node.
func (w Warrants) inSession(from catalog.NodeID, text string) (catalog.Caller, error) {
	who, err := w.Session(from, text)
	if errors.Is(err, catalog.ErrNotFound) {
		err = refuse("the session in the request has ended, or is unknown to this node")
	}
	return who, err
}

// withToken returns who holds an access token. reached is the cluster's level.
func (w Warrants) withToken(from catalog.NodeID, text string, reached int) (who catalog.Caller, err error) {
	token, err := api.ParseToken(text)
	if err != nil {
		return who, refuse("the request has no access token")
	}
	unknown := refuse("the access token in the request is unknown to this node, expired or revoked, " +
		"or its owner is disabled")
	err = w.View(func(v catalog.View) error {
		now, err := catalog.PeopleIn(v).Now(catalog.At(w.Now()))
		if err != nil {
			return err
		}
		if token.ID == api.LocalID {
			kept, err := w.LocalOf(v, from)
			if err == nil && !api.Proves(token, kept, w.Now()) {
				return unknown
			}
			who = api.LocalCaller(reached, from, kept)
			return err
		}
		kept, err := v.AccessToken(token.ID)
		if err = ignoreNotFound(err); err != nil {
			return err
		}
		if !api.Proves(token, kept, now.Std()) {
			return unknown
		}
		who, err = catalog.PeopleIn(v).Caller(kept, now)
		if errors.Is(err, catalog.ErrDisabled) {
			return unknown
		}
		return err
	})
	if err != nil && !errors.Is(err, unknown) {
		err = fmt.Errorf("look up access token %s: %w", token.ID, err)
	}
	return who, err
}

// LocalOf returns what is known here of a member's local token, with the role that it has here.
func (w Warrants) LocalOf(v catalog.View, from catalog.NodeID) (kept catalog.AccessToken, err error) {
	m, err := v.Member(from)
	if role, ok := w.Trusts(m); err == nil && ok {
		kept = catalog.AccessToken{ID: api.LocalID, Name: "local:" + m.Name, Role: role, SecretHash: m.Local}
	}
	return kept, ignoreNotFound(err)
}

// Vouch says of each command that another member forwards what keeps it from being proposed: that it is in the name of
// somebody who may not do it. See catalog.People.Vouch.
func (w Warrants) Vouch(from catalog.NodeID, commands []catalog.Command) ([]error, error) {
	out := make([]error, len(commands))
	err := w.View(func(v catalog.View) error {
		kept, err := w.LocalOf(v, from)
		if err != nil {
			return err
		}
		now, err := catalog.PeopleIn(v).Now(catalog.At(w.Now()))
		for i := range commands {
			out[i] = catalog.PeopleIn(v).Vouch(from, &commands[i], kept.Role, now)
		}
		return err
	})
	return out, err
}

// Here is an act at this node's place. Where that is not known, only who may do it everywhere may.
func (w Warrants) Here(act catalog.Act) Deed {
	d := Deed{act, catalog.Where{Places: []string{""}}}
	_ = w.View(func(v catalog.View) error {
		place, err := catalog.PeopleIn(v).PlaceOf(w.Self)
		d.Where.Places[0] = place
		return err
	})
	return d
}
