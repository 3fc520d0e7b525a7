// Package pages connects the archivists' pages of a node to its sessions: web shows them, session knows who is signed
// in, by a link, by a password, or by the account of an institution, of which openid knows whose it is.
package pages

import (
	"log/slog"
	"net/http"
	"time"

	"holdfast/catalog"
	"holdfast/internal/inprocess"
	"holdfast/internal/words"
	"holdfast/node/config"
	"holdfast/node/front"
	"holdfast/node/session"
	"holdfast/web"
)

// Config says whose pages they are.
type Config struct {
	Cluster   string // its name
	Node      string // its name
	Place     string // of the node
	OpenID    config.OpenID
	API       http.Handler // as it answers the pages
	Sessions  *session.Sessions
	Origins   *front.Origins // where they are served, which need not be known before the first request
	Languages *words.Offer
	Log       *slog.Logger
}

// New returns the pages of a node.
func New(c Config) (http.Handler, error) {
	cfg := web.Config{Cluster: c.Cluster, Node: c.Node, API: inprocess.New(c.API, c.Log),
		Sessions: visitors{c.Sessions}, Passwords: visitors{c.Sessions}, Languages: c.Languages,
		// they are served nowhere else
		Secure: func(*http.Request) bool { return c.Origins.Pages.Scheme == "https" },
		Log:    c.Log.With("room", "web"), Now: time.Now}
	of, err := institutionOf(c)
	if err != nil {
		return nil, err
	}
	if of != nil {
		cfg.OpenID, cfg.SignOuts = of, of
	}
	return web.New(cfg)
}

// Links are the links by which people sign in to this node's pages, as the API makes them.
type Links struct {
	*session.Sessions
	Origins func() front.Origins
}

// Link returns the address at which a session begins, once.
func (l Links) Link(who catalog.Caller, token string) (url string, expires time.Time, err error) {
	secret, expires, err := l.Sessions.Link(who, token)
	if err != nil {
		return "", time.Time{}, err
	}
	return l.Origins().Pages.String() + "/sign-in?link=" + secret, expires, nil
}

// Invitation returns the address at which a person accepts an invitation, empty if this node serves no pages.
func (l Links) Invitation(text string) string {
	at := l.Origins()
	if allowed, _ := at.PagesAllowed(); !allowed {
		return ""
	}
	return at.Pages.String() + "/invitation?text=" + text
}

// Served refuses what has to do with pages on a node that serves none.
func Served(at front.Origins) error {
	if allowed, reason := at.PagesAllowed(); !allowed {
		return &catalog.Refusal{Code: catalog.Unsafe, Message: "this node serves no pages: " + reason}
	}
	return nil
}
