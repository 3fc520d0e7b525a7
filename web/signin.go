package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"holdfast/api/wire"
)

// signInPage is what the page for signing in shows.
type signInPage struct {
	Link string // of the form; empty: the page says how to get one
	Next string
	On   string // a link to Next
	Who  string // somebody who is signed in, if a link is about to replace her
	Asks *asks  // for a name and a password; nil: nobody has one

	Institution *institution // whose account one can sign in with; nil: none
}

// signIn shows the form of a sign-in link, which uses nothing up: mail scanners follow links. The form opens a session.
func (t *turn) signIn() {
	if t.r.Method == http.MethodPost {
		t.open()
		return
	}
	query := t.r.URL.Query()
	p := signInPage{Link: query.Get("link"), Next: local(query.Get("next")), On: t.onTo(query.Get("next"))}
	s, err := t.Handler.session(t.r)
	if err == nil && p.Link == "" {
		t.redirect(t.onTo(p.Next))
		return
	}
	if err == nil {
		p.Who = s.Name
	}
	if t.cfg.Passwords != nil {
		p.Asks = &asks{}
	}
	p.Institution = t.institution("")
	t.show(http.StatusOK, "sign-in", t.view("web.sign-in", p))
}

// open opens a session by the link or the password of the form.
func (t *turn) open() {
	form := t.form()
	if form == nil {
		return
	}
	if t.cfg.Passwords != nil && form.Has("who") {
		t.byPassword(form)
		return
	}
	link, s, err := form.Get("link"), Session{}, ErrLink
	if link != "" && len(link) <= maxLink {
		s, err = t.cfg.Sessions.Open(t.r.Context(), link)
	}
	switch {
	case errors.Is(err, ErrLink):
		t.message(http.StatusForbidden, says{"web.sign-in", "web.link-spent"})
	default:
		t.signedIn(s, err, form.Get("next"))
	}
}

// onTo is where somebody goes on who has signed in, in the language that she chose.
func (t *turn) onTo(next string) string {
	if next = local(next); strings.HasPrefix(next, "/_/") { // it says which language
		return next
	}
	return t.prefix() + next
}

// signOut ends every session that the browser has a cookie of, also one that is worth nothing here: it may be good
// elsewhere. It says so if one lives on.
func (t *turn) signOut() {
	if t.r.Method != http.MethodPost {
		t.notAllowed("POST")
		return
	}
	var failed []error
	for _, text := range t.texts(t.r) {
		if err := t.cfg.Sessions.End(t.r.Context(), text); err != nil {
			failed = append(failed, err)
		}
	}
	t.forget()
	if err := errors.Join(failed...); err != nil {
		t.cfg.Log.Warn("a session is not ended", "error", err)
		t.message(http.StatusServiceUnavailable, says{"web.sign-out", "web.not-ended"})
		return
	}
	t.redirect(t.prefix() + signIn)
}

// toSignIn sends somebody who is not signed in to where she can, and back here after it. Programs are told.
func (t *turn) toSignIn() {
	if len(t.r.CookiesNamed(t.cookieName(t.r))) > 0 {
		t.forget()
	}
	if t.asJSON() || t.asPart() {
		t.problem(http.StatusUnauthorized, wire.CodeUnauthorized, "sign in first, at "+signIn)
		return
	}
	here := t.path
	if t.r.URL.RawQuery != "" {
		here += "?" + t.r.URL.RawQuery
	}
	to := t.prefix() + signIn
	if here = local(here); here != "/" {
		to += "?next=" + url.QueryEscape(here)
	}
	t.redirect(to)
}

// unavailable says that nobody can tell now who is signed in.
func (t *turn) unavailable() {
	t.w.Header().Set("Retry-After", "10")
	t.message(http.StatusServiceUnavailable, says{"web.unavailable", "web.unavailable-sessions"})
}

// redirect sends the browser to a path of ours, by GET.
func (t *turn) redirect(path string) {
	t.w.Header().Set("Location", path)
	t.w.WriteHeader(http.StatusSeeOther)
}
