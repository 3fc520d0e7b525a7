package pages

import (
	"context"
	"errors"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/node/session"
	"holdfast/web"
)

// visitors are the sessions as the pages see them.
type visitors struct{ sessions *session.Sessions }

// Open begins a session by a link, and uses the link up.
func (v visitors) Open(_ context.Context, link string) (web.Session, error) {
	return visitor(v.sessions.Open(link))
}

// Check returns the session.
func (v visitors) Check(_ context.Context, text string) (web.Session, error) {
	return visitor(v.sessions.Check(v.sessions.Self(), text))
}

// Renew returns the session with a new end.
func (v visitors) Renew(_ context.Context, text string) (web.Session, error) {
	return visitor(v.sessions.Renew(text))
}

// End ends the session, on this node whatever the error.
func (v visitors) End(ctx context.Context, text string) error { return v.sessions.End(ctx, text) }

// SignIn begins a session of the person with the password.
func (v visitors) SignIn(ctx context.Context, who, password, from string) (web.Session, error) {
	return visitor(v.sessions.Password(ctx, who, password, from))
}

// Invited returns the name of the person who is invited.
func (v visitors) Invited(_ context.Context, text string) (string, error) {
	p, err := v.sessions.Invited(text)
	if errors.Is(err, session.ErrLink) {
		err = web.ErrLink
	}
	return p.Name, err
}

// Enter accepts an invitation with a password.
func (v visitors) Enter(ctx context.Context, text, chosen string) (web.Session, error) {
	return visitor(v.sessions.Enter(ctx, text, chosen))
}

// Choose gives the person of a session another password.
func (v visitors) Choose(ctx context.Context, text, old, chosen, from string) (web.Session, error) {
	return visitor(v.sessions.Choose(ctx, text, old, chosen, from))
}

func visitor(s session.Session, err error) (web.Session, error) {
	switch {
	case errors.Is(err, session.ErrPassword):
		return web.Session{}, web.ErrPassword
	case errors.Is(err, session.ErrSlow):
		return web.Session{}, web.ErrSlow
	case errors.Is(err, session.ErrWeak):
		return web.Session{}, web.ErrWeak
	case errors.Is(err, session.ErrLimited):
		return web.Session{}, web.ErrLimited
	case errors.Is(err, session.ErrLink):
		return web.Session{}, web.ErrLink
	case errors.Is(err, session.ErrEnded):
		return web.Session{}, web.ErrSignedOut
	case err != nil:
		return web.Session{}, err
	}
	return web.Session{Text: s.Text, Name: s.Caller.Name, Person: string(s.Caller.Person),
		Role: highest(s.Caller.Rights), Language: s.Language, Zone: s.Zone, Expires: s.Expires}, nil
}

// highest is the highest role among the rights, in whatever scope; empty if there is none.
func highest(rights []catalog.Right) string {
	var role catalog.Role
	for _, r := range rights {
		if role == "" || r.Role.Includes(role) {
			role = r.Role
		}
	}
	return string(wire.Role(role))
}
