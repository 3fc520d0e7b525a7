package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
)

// What Passwords answer with, for which errors.Is asks.
var (
	// ErrPassword: no active person has that name and that password.
	ErrPassword = errors.New("the name or the password is wrong")
	// ErrWeak: that cannot be a password.
	ErrWeak = errors.New("that cannot be a password")
	// ErrSlow: there were too many wrong passwords.
	ErrSlow = errors.New("too many wrong passwords")
	// ErrLimited: the session began with an access token that is worth less than a first password would be.
	ErrLimited = errors.New("a limited access token chooses no first password")
)

// LeastPassword is how many characters a password has at least.
const LeastPassword = 12

// Passwords lets people sign in by what they know. from is the address that asks, the same for all that one site has.
type Passwords interface {
	// SignIn begins a session of the person of that name or e-mail address, or fails with ErrPassword or ErrSlow.
	SignIn(ctx context.Context, who, password, from string) (Session, error)
	// Invited returns the name of the person who is invited, or ErrLink. The invitation stays good.
	Invited(ctx context.Context, invitation string) (name string, err error)
	// Enter uses an invitation up, and begins a session; the password is the person's from then on. ErrLink and ErrWeak
	// change nothing.
	Enter(ctx context.Context, invitation, password string) (Session, error)
	// Choose gives the person of a session another password. Her sessions end; the one returned begins. It fails with
	// ErrPassword if old is not her present one, with ErrWeak, ErrSlow or ErrLimited.
	Choose(ctx context.Context, session, old, password, from string) (Session, error)
}

// asks is the form by which somebody proves who she is or chooses a password.
type asks struct {
	Who        string // as typed
	Invitation string // its text
	Invited    string // the person's name
	Fault      string // message; empty: none
	Least      int

	Institution *institution // whose account can be used instead; nil: none
}

// passwordForms answers what has to do with passwords, and reports false for all else.
func (t *turn) passwordForms() bool {
	if t.cfg.Passwords == nil {
		return false
	}
	switch {
	case t.path == invitation:
		t.invitation()
	case t.path == ownPassword:
		t.ownPassword()
	default:
		return false
	}
	return true
}

// form reads what a browser sent, nil if there is none: then it is answered.
func (t *turn) form() url.Values {
	t.r.Body = http.MaxBytesReader(t.w, t.r.Body, maxForm)
	if err := t.r.ParseForm(); err != nil {
		t.message(http.StatusBadRequest, says{"web.refused", "web.refused-form"})
		return nil
	}
	return t.r.PostForm
}

// byPassword begins a session with the name and password of the form.
func (t *turn) byPassword(form url.Values) {
	who := form.Get("who")
	s, err := t.cfg.Passwords.SignIn(t.r.Context(), who, form.Get("password"), siteOf(t.r))
	if fault := faultOf(err); fault != "" {
		p := signInPage{Next: local(form.Get("next")), On: t.onTo(form.Get("next")),
			Asks: &asks{Who: who, Fault: fault}, Institution: t.institution("")}
		t.show(refused(err), "sign-in", t.view("web.sign-in", p))
		return
	}
	t.signedIn(s, err, form.Get("next"))
}

// signedIn leads on who is signed in, unless that failed.
func (t *turn) signedIn(s Session, err error, next string) {
	if err != nil {
		t.cfg.Log.Warn("nobody can sign in", "error", err)
		t.unavailable()
		return
	}
	t.keep(s)
	t.redirect(t.onTo(next))
}

// begun leads on who has chosen a password, unless that failed. A failure does not tell whether it was changed: what
// was asked may be decided later.
func (t *turn) begun(s Session, err error) {
	if err != nil {
		t.cfg.Log.Warn("changing a password failed; it may or may not have changed", "error", err)
		t.w.Header().Set("Retry-After", "10")
		t.message(http.StatusServiceUnavailable, says{"web.unavailable", "web.password-unknown"})
		return
	}
	t.signedIn(s, nil, "/")
}

// invitation lets a person choose a password who is invited. Looking at it uses nothing up.
func (t *turn) invitation() {
	text := t.r.URL.Query().Get("text")
	var form url.Values
	if t.r.Method == http.MethodPost {
		if form = t.form(); form == nil {
			return
		}
		text = form.Get("text")
	}
	name, err := "", ErrLink
	if text != "" && len(text) <= maxLink {
		name, err = t.cfg.Passwords.Invited(t.r.Context(), text)
	}
	p := asks{Invitation: text, Invited: name, Least: LeastPassword, Institution: t.institution("")}
	if err == nil && form != nil {
		var s Session
		s, err = t.cfg.Passwords.Enter(t.r.Context(), text, form.Get("password"))
		if p.Fault = faultOf(err); p.Fault == "" && !errors.Is(err, ErrLink) {
			t.begun(s, err)
			return
		}
	}
	switch {
	case errors.Is(err, ErrLink):
		t.message(http.StatusForbidden, says{"web.invitation", "web.invitation-spent"})
	case err != nil && p.Fault == "":
		t.cfg.Log.Warn("an invitation cannot be looked up", "error", err)
		t.unavailable()
	default:
		t.show(refused(err), "invitation", t.view("web.invitation", p))
	}
}

// ownPassword lets somebody who is signed in choose another password.
func (t *turn) ownPassword() {
	s, err := t.Handler.session(t.r)
	switch {
	case errors.Is(err, ErrSignedOut):
		t.toSignIn()
		return
	case err != nil:
		t.unavailable()
		return
	}
	t.who = &s
	if s.Person == "" {
		t.message(http.StatusForbidden, says{"web.password", "web.password-none"})
		return
	}
	p := asks{Least: LeastPassword}
	if t.r.Method == http.MethodPost {
		form := t.form()
		if form == nil {
			return
		}
		s, err = t.cfg.Passwords.Choose(t.r.Context(), s.Text, form.Get("old"), form.Get("password"), siteOf(t.r))
		if p.Fault = faultOf(err); p.Fault == "" {
			t.begun(s, err)
			return
		}
	}
	v := t.view("web.password", p)
	v.choose(t.table, nil)
	t.show(refused(err), "password", v)
}

// faultOf is the message that says what is wrong with what was typed, empty for all other errors.
func faultOf(err error) string {
	switch {
	case errors.Is(err, ErrPassword):
		return "web.password-wrong"
	case errors.Is(err, ErrSlow):
		return "web.password-slow"
	case errors.Is(err, ErrWeak):
		return "web.password-weak"
	case errors.Is(err, ErrLimited):
		return "web.password-limited"
	}
	return ""
}

// refused is the status of a form that is given back.
func refused(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrSlow):
		return http.StatusTooManyRequests
	}
	return http.StatusForbidden
}

// siteOf is the address that a request comes from, or the network of it that one site has (RFC 6177).
func siteOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is6() {
		if network, err := ip.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}
