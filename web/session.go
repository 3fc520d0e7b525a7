package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Names of the cookie. A browser takes the first one only over TLS, from this host, for all its paths.
const (
	secureCookie = "__Host-holdfast"
	plainCookie  = "holdfast"
)

// life is how long a session lasts unless it is renewed, which is done when less than half of it is left.
const life = 12 * time.Hour

// Bounds of what a browser sends.
const (
	maxCookie  = 4096 // bytes of a session's text
	maxCookies = 3    // of our name that are looked at: other ports of this host can plant some
	maxLink    = 1000 // bytes of a sign-in link's secret
	maxNext    = 2000 // bytes of a path to go on to
	maxForm    = 64 << 10
)

func (h *Handler) cookieName(r *http.Request) string {
	if h.cfg.Secure(r) {
		return secureCookie
	}
	return plainCookie
}

// texts returns what may be sessions in the cookies of a request.
func (h *Handler) texts(r *http.Request) (out []string) {
	for i, c := range r.CookiesNamed(h.cookieName(r)) {
		if i < maxCookies && c.Value != "" && len(c.Value) <= maxCookie {
			out = append(out, c.Value)
		}
	}
	return out
}

// session returns who is signed in. It is ErrSignedOut if nobody is; another error says that nobody knows.
func (h *Handler) session(r *http.Request) (Session, error) {
	err := ErrSignedOut
	for _, text := range h.texts(r) {
		found, failed := h.cfg.Sessions.Check(r.Context(), text)
		if failed == nil {
			return found, nil
		}
		if !errors.Is(failed, ErrSignedOut) {
			err = failed
		}
	}
	return Session{}, err
}

// renewed returns the session with a new end if it is time for that. A session that cannot be renewed now goes on.
func (t *turn) renewed(s Session) Session {
	if s.Expires.Sub(t.cfg.Now()) >= life/2 {
		return s
	}
	next, err := t.cfg.Sessions.Renew(t.r.Context(), s.Text)
	if err != nil {
		t.cfg.Log.Warn("a session is not renewed", "person", s.Person, "error", err)
		return s
	}
	if !next.Expires.After(s.Expires) { // there is an end that no renewal moves
		return s
	}
	t.keep(next)
	return next
}

// keep gives the browser the session's cookie.
func (t *turn) keep(s Session) {
	seconds := int(s.Expires.Sub(t.cfg.Now()) / time.Second)
	t.setCookie(s.Text, max(seconds, 1))
}

// forget takes the cookie from the browser.
func (t *turn) forget() { t.setCookie("", -1) }

func (t *turn) setCookie(value string, age int) {
	http.SetCookie(t.w, &http.Cookie{Name: t.cookieName(t.r), Value: value, Path: "/", MaxAge: age, HttpOnly: true,
		Secure: t.cfg.Secure(t.r), SameSite: http.SameSiteStrictMode})
}

// local returns the path, with its query, if it leads to a page of ours, else "/". Browsers read \ as /, drop tabs and
// line ends, and take what follows two slashes for a host.
func local(next string) string {
	odd := func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' }
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsFunc(next, odd) {
		return "/"
	}
	if u, err := url.Parse(next); err != nil || u.Scheme != "" || u.Host != "" {
		return "/"
	}
	return next
}
