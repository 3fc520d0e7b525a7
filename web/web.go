// Package web has the pages by which people work with the archive: what came in, what failed, what needs somebody, and
// whether all is safe, in every language, without a command line.
//
// It reaches the archive by package client alone, over the API's handler in the same process and with the right of the
// person who is signed in: no page can do what the API cannot. All pages work without JavaScript; some are redrawn by
// it. A page is a line in the table of pages (table.go) and a template; the menu, the rights and the tests follow from
// the table.
package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"holdfast/api/wire"
	"holdfast/internal/look"
	"holdfast/internal/words"
)

// What Sessions answer with, for which errors.Is asks.
var (
	// ErrSignedOut: the session is unknown, ended or expired, or its owner may no longer act.
	ErrSignedOut = errors.New("signed out")
	// ErrLink: the sign-in link is unknown, used or expired.
	ErrLink = errors.New("the sign-in link is unknown, used or expired")
)

// Session is somebody who is signed in.
type Session struct {
	Text     string    // the cookie's value; also the token that requests to the API carry. Secret
	Name     string    // of the person or program, for people
	Person   string    // her id; empty: the node's own token
	Role     string    // the highest of her roles, such as curator (see api/wire)
	Language string    // as she chose it, may be empty
	Zone     string    // IANA, may be empty
	Expires  time.Time // when it ends unless it is renewed
}

// Sessions begins, checks and ends sessions.
type Sessions interface {
	// Open begins a session by a sign-in link, and uses the link up. A link that is worth nothing is ErrLink.
	Open(ctx context.Context, link string) (Session, error)
	// Check returns the session, or ErrSignedOut.
	Check(ctx context.Context, text string) (Session, error)
	// Renew returns a session of the same right with a new end.
	Renew(ctx context.Context, text string) (Session, error)
	// End ends the session, on every node. It is not an error if it has ended, or is none.
	End(ctx context.Context, text string) error
}

// Config says whose pages they are, and how they reach the archive.
type Config struct {
	Cluster   string                   // its name, as far as known; default "Holdfast"
	Node      string                   // name of the node that serves
	API       http.RoundTripper        // to the API's handler; requests carry Authorization: Bearer Session.Text
	Sessions  Sessions                 // who is signed in
	Passwords Passwords                // default: nobody signs in with one
	OpenID    OpenID                   // default: nobody signs in with the account of an institution
	SignOuts  SignOuts                 // default: no service says that people have signed out
	Languages *words.Offer             // default: all of the program's, English first
	Secure    func(*http.Request) bool // the browser's connection is TLS; default: it reached this process by TLS
	Log       *slog.Logger             // default: none
	Now       func() time.Time         // default: time.Now
}

// Handler answers HTTP requests for the pages. It may be used concurrently.
type Handler struct {
	cfg       Config
	table     []page
	acts      []action
	done      *once
	templates map[string]*template.Template
	style     look.Sheet
	script    look.Sheet
	live      *shared
	cross     *http.CrossOriginProtection
}

// New returns a handler. It serves every path that is not the API's.
func New(cfg Config) (*Handler, error) { return newHandler(cfg, table(), acts()) }

func newHandler(cfg Config, table []page, acts []action) (*Handler, error) {
	if cfg.API == nil || cfg.Sessions == nil {
		return nil, fmt.Errorf("pages: %w: need the API and the sessions", wire.ErrInvalid)
	}
	if cfg.Languages == nil {
		shipped, err := words.Shipped()
		if err != nil {
			return nil, err
		}
		if cfg.Languages, err = shipped.Offer(shipped.Tags()...); err != nil {
			return nil, err
		}
	}
	if cfg.Cluster == "" {
		cfg.Cluster = "Holdfast"
	}
	if cfg.Secure == nil {
		cfg.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	templates, err := parse(table)
	if err != nil {
		return nil, err
	}
	return &Handler{cfg: cfg, table: table, acts: acts, done: newOnce(cfg.Now), templates: templates,
		style: look.Style(), script: script(), live: newShared(cfg.Now), cross: http.NewCrossOriginProtection()}, nil
}

// policy lets pages load the style sheet and send forms to this origin, and nothing else: no script, no style of
// their own, no frame. Pages that are redrawn have scripted instead.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// ServeHTTP implements http.Handler. It routes by hand: a ServeMux would redirect to tidied paths.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard(w.Header())
	chosen, path := h.cfg.Languages.ByPath(r.URL.EscapedPath())
	t := &turn{Handler: h, w: w, r: r, chosen: chosen, path: path}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		t.notAllowed("GET, HEAD, POST")
	case chosen == nil && path == stylePath+h.style.Name:
		h.sheet(w, r)
	case chosen == nil && path == stylePath+h.script.Name:
		h.program(w, r)
	case path == "/favicon.ico":
		w.WriteHeader(http.StatusNoContent)
	case h.cfg.SignOuts != nil && chosen == nil && path == openIDEnd:
		h.signedOutThere(w, r)
	case r.Method == http.MethodPost && h.foreign(r) != nil:
		t.message(http.StatusForbidden, says{"web.refused", "web.refused-foreign"})
	case path == signIn:
		t.signIn()
	case path == signOut:
		t.signOut()
	case t.openID(), t.passwordForms(), t.acted():
	case r.Method == http.MethodPost:
		t.notAllowed("GET, HEAD")
	default:
		t.page()
	}
}

// Paths beside the table's.
const (
	stylePath = "/_/"
	signIn    = "/sign-in"
	signOut   = "/sign-out"

	openIDPath  = "/sign-in/openid"  // the service comes back here
	openIDEnd   = "/sign-out/openid" // and says here that somebody has signed out there
	invitation  = "/invitation"
	ownPassword = "/password"
)

// guard sets what every answer tells browsers. The Referer stays within this origin; without any, browsers would send
// the Origin "null" with forms.
func guard(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// errForeign reports a change that may have been sent by a page of somebody else.
var errForeign = errors.New("neither Sec-Fetch-Site nor Origin says where the request comes from")

// foreign returns an error unless the browser says that one of our own pages sent the request.
func (h *Handler) foreign(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return errForeign
	}
	return h.cross.Check(r)
}

// sheet answers the style sheet, under a name that changes with it.
func (h *Handler) sheet(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", look.Cache)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(h.style.Content))
}
