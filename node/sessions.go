package node

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/internal/inprocess"
	"holdfast/internal/words"
	"holdfast/node/front"
	"holdfast/node/session"
	"holdfast/web"
)

// links are the links by which people sign in to this node's pages, as the API makes them.
type links struct {
	*session.Sessions
	origins func() front.Origins
}

// Link returns the address at which a session begins, once.
func (l links) Link(who catalog.Caller, token string) (url string, expires time.Time, err error) {
	secret, expires, err := l.Sessions.Link(who, token)
	if err != nil {
		return "", time.Time{}, err
	}
	return l.origins().Pages.String() + "/sign-in?link=" + secret, expires, nil
}

// Invitation returns the address at which a person accepts an invitation, empty if this node serves no pages.
func (l links) Invitation(text string) string {
	at := l.origins()
	if allowed, _ := at.PagesAllowed(); !allowed {
		return ""
	}
	return at.Pages.String() + "/invitation?text=" + text
}

// servesPages refuses what has to do with pages on a node that serves none.
func servesPages(at front.Origins) error {
	if allowed, reason := at.PagesAllowed(); !allowed {
		return &catalog.Refusal{Code: catalog.Unsafe, Message: "this node serves no pages: " + reason}
	}
	return nil
}

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

// pagesOf returns the pages of a node. They are served where origins says, which need not be known yet.
func pagesOf(n *Node, answers *api.API, origins *front.Origins, offered *words.Offer) (http.Handler, error) {
	return web.New(web.Config{Cluster: n.roster.Known().Cluster.Name, Node: n.cfg.Name,
		API: inprocess.New(answers.Pages(), n.log), Sessions: visitors{n.sessions}, Languages: offered,
		Passwords: visitors{n.sessions}, OpenID: institutionOf(n, origins),
		Secure: func(*http.Request) bool { return origins.Pages.Scheme == "https" }, // they are served nowhere else
		Log:    n.log.With("room", "web"), Now: time.Now})
}

// besideAPI answers at the API's port: the API what is for programs, figures what asks for metrics, and the pages all
// else.
func besideAPI(answers, figures, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isAPI(r.URL.Path):
			answers.ServeHTTP(w, r)
		case r.URL.Path == "/metrics":
			figures.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// isAPI reports whether a path at the API's port is for programs.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/api" || path == "/openapi.json" || path == "/health"
}
