package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// What OpenID answers with, for which errors.Is asks, beside ErrLink for an invitation that is worth nothing.
var (
	// ErrSilent: the service for signing in does not answer.
	ErrSilent = errors.New("the service for signing in does not answer")
	// ErrBegin: no sign-in of this browser has begun, or it is over.
	ErrBegin = errors.New("the sign-in has to begin again")
	// ErrDeclined: the service let nobody in.
	ErrDeclined = errors.New("the service for signing in declined")
	// ErrRefused: what the service said is not proved.
	ErrRefused = errors.New("the answer of the service for signing in is refused")
	// ErrStranger: who signed in at the service is nobody here, or may not act.
	ErrStranger = errors.New("nobody here has that account")
	// ErrTaken: the account, the name or the address is somebody else's here.
	ErrTaken = errors.New("the account, the name or the address is somebody else's")
	// ErrUnnamed: the service gives no name and address by which somebody could be known here.
	ErrUnnamed = errors.New("the service gives no name and address that can be used")
)

// OpenID lets people sign in with the account of their institution.
type OpenID interface {
	// Name is what people call the service.
	Name() string
	// Silent reports whether the service did not answer lately. It does not ask.
	Silent() bool
	// Begin returns where at the service somebody signs in, and what her browser has to bring back.
	Begin(ctx context.Context, next, invitation string) (url, kept string, err error)
	// Finish begins a session of who came back with query, if one of the texts is what Begin gave her browser. next is
	// what Begin got, also with an error, if that is known.
	Finish(ctx context.Context, kept []string, query url.Values) (s Session, next string, err error)
}

// institution is what the page for signing in shows of the service.
type institution struct {
	Name  string
	Fault string // message; empty: none
}

// away is a page that leads on by itself. A form that is answered by a redirect could not lead to another host: the
// page's own policy (form-action) forbids it. And a redirect after the service's page would come without the session's
// cookie, which browsers send along with what our own pages begin alone (SameSite=Strict).
type away struct {
	To   string
	Name string // of the service to which it leads; empty: back to a page of ours
}

// Names of the cookie that keeps a sign-in that has begun. The text is sealed.
//
// It alone is SameSite=Lax: browsers come back from the service by a GET that another site began, and send no Strict
// cookie with that. Lax cookies go along with such a GET and no other request of other sites. It proves nothing but
// that this browser began the sign-in, so that a link with somebody else's answer signs nobody in as somebody else.
const (
	secureBegun = "__Host-holdfast-sign-in"
	plainBegun  = "holdfast-sign-in"
	begunLife   = 600 // seconds; the service counts for itself
)

func begunName(secure bool) string {
	if secure {
		return secureBegun
	}
	return plainBegun
}

func begunCookie(secure bool, value string, age int) *http.Cookie {
	return &http.Cookie{Name: begunName(secure), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: secure,
		SameSite: http.SameSiteLaxMode}
}

// institution is what is shown of the service, nil if there is none. A fault is a message.
func (t *turn) institution(fault string) *institution {
	if t.cfg.OpenID == nil {
		return nil
	}
	if fault == "" && t.cfg.OpenID.Silent() {
		fault = "web.openid-silent"
	}
	return &institution{t.cfg.OpenID.Name(), fault}
}

// openID answers what has to do with the service, and reports false for all else.
//
// Signing in begins by a form of our own page, never by a link: another site must not begin it, least of all with an
// invitation of its own choice. It ends by a GET, which is how the protocol comes back. That GET changes something, and
// may, since it carries a state that this node made for this browser, within ten minutes, and once: to whoever has
// not begun, and to whoever follows it again, it does nothing.
func (t *turn) openID() bool {
	switch {
	case t.cfg.OpenID == nil || t.path != openIDPath:
		return false
	case t.r.Method == http.MethodPost:
		t.beginOpenID()
	case t.r.Method == http.MethodGet:
		t.finishOpenID()
	default: // what only looks must not use the answer up
		t.notAllowed("GET, POST")
	}
	return true
}

func (t *turn) beginOpenID() {
	form := t.form()
	if form == nil {
		return
	}
	invitation := form.Get("text")
	if len(invitation) > maxLink {
		t.message(http.StatusForbidden, says{"web.invitation", "web.invitation-spent"})
		return
	}
	to, kept, err := t.cfg.OpenID.Begin(t.r.Context(), t.onTo(form.Get("next")), invitation)
	if err != nil {
		t.openIDFailed(err, form.Get("next"))
		return
	}
	http.SetCookie(t.w, begunCookie(t.cfg.Secure(t.r), kept, begunLife))
	t.leadOn(away{to, t.cfg.OpenID.Name()})
}

func (t *turn) finishOpenID() {
	query := t.r.URL.Query()
	if !query.Has("state") {
		t.redirect(t.prefix() + signIn)
		return
	}
	var kept []string
	for i, c := range t.r.CookiesNamed(begunName(t.cfg.Secure(t.r))) {
		if i < maxCookies && len(c.Value) <= maxCookie {
			kept = append(kept, c.Value)
		}
	}
	s, next, err := t.cfg.OpenID.Finish(t.r.Context(), kept, query)
	if next = local(next); t.chosen == nil { // the language in which it began
		t.chosen, _ = t.cfg.Languages.ByPath(next)
	}
	if err == nil || !errors.Is(err, ErrBegin) { // what did not begin here may belong to another window
		http.SetCookie(t.w, begunCookie(t.cfg.Secure(t.r), "", -1))
	}
	if err != nil {
		t.openIDFailed(err, next)
		return
	}
	t.keep(s)
	t.leadOn(away{To: t.onTo(next)})
}

// leadOn answers with a page that leads on.
func (t *turn) leadOn(to away) {
	t.w.Header().Set("Refresh", "0; url="+to.To)
	t.show(http.StatusOK, "away", t.view("web.sign-in", to))
}

// openIDFailed says why nobody is signed in, and how else one can be.
func (t *turn) openIDFailed(err error, next string) {
	if errors.Is(err, ErrLink) {
		t.message(http.StatusForbidden, says{"web.invitation", "web.invitation-spent"})
		return
	}
	status, fault := http.StatusForbidden, openIDFault(err)
	switch {
	case fault == "":
		t.cfg.Log.Warn("nobody can sign in with the account of an institution", "error", err)
		t.unavailable()
		return
	case errors.Is(err, ErrSilent):
		status = http.StatusServiceUnavailable
		t.w.Header().Set("Retry-After", "10")
	case errors.Is(err, ErrSlow):
		status = http.StatusTooManyRequests
	}
	p := signInPage{Next: local(next), On: t.onTo(next), Institution: t.institution(fault)}
	if t.cfg.Passwords != nil {
		p.Asks = &asks{}
	}
	t.show(status, "sign-in", t.view("web.sign-in", p))
}

// openIDFault is the message for an error, empty for all others.
func openIDFault(err error) string {
	switch {
	case errors.Is(err, ErrSilent):
		return "web.openid-silent"
	case errors.Is(err, ErrBegin):
		return "web.openid-begin"
	case errors.Is(err, ErrDeclined):
		return "web.openid-declined"
	case errors.Is(err, ErrRefused):
		return "web.openid-refused"
	case errors.Is(err, ErrStranger):
		return "web.openid-stranger"
	case errors.Is(err, ErrTaken):
		return "web.openid-taken"
	case errors.Is(err, ErrUnnamed):
		return "web.openid-unnamed"
	case errors.Is(err, ErrSlow):
		return "web.openid-busy"
	}
	return ""
}
