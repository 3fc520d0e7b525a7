package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// login is a service for signing in. Who comes back with the state "good" and what Begin kept is signed in.
type login struct {
	silent     bool
	begins     error // what Begin fails with
	ends       error // and Finish
	next       string
	invitation string
	finished   int
}

func (l *login) Name() string { return `North <b>"Library"` }

func (l *login) Silent() bool { return l.silent }

func (l *login) Begin(_ context.Context, next, invitation string) (url, kept string, err error) {
	if l.begins != nil {
		return "", "", l.begins
	}
	l.next, l.invitation = next, invitation
	return "https://login.example/authorize?state=good&scope=openid+email", "sealed", nil
}

func (l *login) Finish(_ context.Context, kept []string, query url.Values) (Session, string, error) {
	if query.Get("state") != "good" || !slices.Contains(kept, "sealed") {
		return Session{}, "", ErrBegin
	}
	l.finished++
	return Session{Text: "fresh", Name: "Ada", Person: "p1", Role: "curator", Expires: now().Add(life)}, l.next, l.ends
}

func newLogin(t *testing.T) (*site, *login) {
	t.Helper()
	s, l := newSite(t), &login{}
	s.cfg.OpenID, s.cfg.Passwords = l, &passwords{sessions: s.sessions, of: map[string]string{"ada": "correct horse battery"}}
	return s, l
}

// back is the way back from the service, with a cookie of what began.
func back(t *testing.T, s *site, method, path, kept string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://archive.test"+path, nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if kept != "" {
		r.Header.Set("Cookie", begunName(s.secure)+"="+kept)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

// A button leads to the service, and the way back begins a session, in the language in which it began.
func TestSignInWithAnAccount(t *testing.T) {
	t.Parallel()
	for secure, names := range map[bool][2]string{false: {"holdfast-sign-in", "holdfast"}, true: {"__Host-holdfast-sign-in", "__Host-holdfast"}} {
		s, l := newLogin(t)
		s.secure = secure
		flags := map[bool]string{true: " Secure;"}[secure]
		_, body := s.send(t, http.MethodGet, "/_/da/sign-in?next=/files", "", nil)
		if !strings.Contains(body, `action="/_/da/sign-in/openid"`) || !strings.Contains(body, `North &lt;b&gt;&#34;Library&#34;`) ||
			!strings.Contains(body, `name="password"`) || strings.Contains(body, `role="alert"`) {
			t.Errorf("the page: %s", body)
		}
		resp, body := s.send(t, http.MethodPost, "/_/da/sign-in/openid", "", url.Values{"next": {"/files"}}, ours()...)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Refresh") != "0; url=https://login.example/authorize?state=good&scope=openid+email" ||
			!strings.Contains(body, `href="https://login.example/authorize?state=good&amp;scope=openid&#43;email"`) ||
			resp.Header.Get("Set-Cookie") != names[0]+"=sealed; Path=/; Max-Age=600; HttpOnly;"+flags+" SameSite=Lax" {
			t.Errorf("begun: %d %v %s", resp.StatusCode, resp.Header, body)
		}
		resp, body = back(t, s, http.MethodGet, "/sign-in/openid?state=good&code=x", "sealed")
		cookies := resp.Header["Set-Cookie"]
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Refresh") != "0; url=/_/da/files" || resp.Header.Get("Content-Language") != "da" ||
			len(cookies) != 2 || !strings.HasPrefix(cookies[0], names[0]+"=; Path=/; Max-Age=0;") ||
			cookies[1] != names[1]+"=fresh; Path=/; Max-Age=43200; HttpOnly;"+flags+" SameSite=Strict" || l.finished != 1 {
			t.Errorf("back: %d %v %s", resp.StatusCode, resp.Header, body)
		}
	}
}

// Nobody is signed in by a link that somebody else made, nor sent to the service by another site's form.
func TestForeignSignIns(t *testing.T) {
	t.Parallel()
	s, l := newLogin(t)
	for what, resp := range map[string]func() *http.Response{
		"another site's form": func() *http.Response {
			r, _ := s.send(t, http.MethodPost, "/sign-in/openid", "", url.Values{"text": {"theirs"}}, "Sec-Fetch-Site", "cross-site")
			return r
		},
		"another site's link": func() *http.Response {
			r, _ := back(t, s, http.MethodGet, "/sign-in/openid?text=theirs&next=/files", "")
			return r
		},
		"another browser's answer": func() *http.Response {
			r, _ := back(t, s, http.MethodGet, "/sign-in/openid?state=good&code=x", "")
			return r
		},
		"an answer and a planted cookie": func() *http.Response {
			r, _ := back(t, s, http.MethodGet, "/sign-in/openid?state=good&code=x", "planted")
			return r
		},
		"the session's name": func() *http.Response {
			r, _ := s.send(t, http.MethodGet, "/sign-in/openid?state=good&code=x", "sealed", nil)
			return r
		},
		"what only looks": func() *http.Response {
			r, _ := back(t, s, http.MethodHead, "/sign-in/openid?state=good&code=x", "sealed")
			return r
		},
		"an answer by a form": func() *http.Response {
			r, _ := back(t, s, http.MethodPost, "/sign-in/openid?state=good&code=x", "sealed")
			return r
		},
		"in a language": func() *http.Response {
			r, _ := back(t, s, http.MethodGet, "/_/de/sign-in/openid?state=bad", "sealed")
			return r
		},
	} {
		got := resp()
		if got.StatusCode == http.StatusOK || len(got.Header["Set-Cookie"]) > 0 || l.finished != 0 || l.invitation != "" || l.next != "" {
			t.Errorf("%s: %d %v; %+v", what, got.StatusCode, got.Header, l)
		}
	}
}

// Each thing that can go wrong is one page, in every language, on which a password can be given.
func TestSignInsThatFail(t *testing.T) {
	t.Parallel()
	for err, status := range map[error]int{ErrSilent: 503, ErrBegin: 403, ErrDeclined: 403, ErrRefused: 403, ErrStranger: 403, ErrTaken: 403,
		ErrUnnamed: 403, ErrSlow: 429, ErrLink: 403, errors.New("SECRET"): 503} {
		s, l := newLogin(t)
		seen := map[string]bool{}
		for _, tag := range []string{"en", "da", "it", "fr", "de"} {
			l.next, l.ends = "/_/"+tag+"/files", err
			resp, body := back(t, s, http.MethodGet, "/_/"+tag+"/sign-in/openid?state=good&code=x", "sealed")
			if resp.StatusCode != status || strings.Contains(body, "SECRET") || resp.Header.Get("Refresh") != "" || seen[body] ||
				strings.Contains(strings.Join(resp.Header["Set-Cookie"], " "), "fresh") {
				t.Errorf("%v in %s: %d %v %s", err, tag, resp.StatusCode, resp.Header, body)
			}
			seen[body] = true
			if openIDFault(err) != "" && (!strings.Contains(body, `role="alert"`) || !strings.Contains(body, `name="password"`)) {
				t.Errorf("%v in %s: %s", err, tag, body)
			}
		}
	}
}

// When the service does not answer, the sign-in page says so, and passwords go on working.
func TestASilentService(t *testing.T) {
	t.Parallel()
	s, l := newLogin(t)
	l.begins = ErrSilent
	resp, body := s.send(t, http.MethodPost, "/_/en/sign-in/openid", "", url.Values{"next": {"/files"}}, ours()...)
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "does not answer") || !strings.Contains(body, `value="/files"`) ||
		len(resp.Header["Set-Cookie"]) > 0 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	l.silent = true
	if _, body := s.send(t, http.MethodGet, "/_/en/sign-in", "", nil); !strings.Contains(body, "does not answer") || !strings.Contains(body, `name="password"`) {
		t.Errorf("the page: %s", body)
	}
	form := url.Values{"who": {"ada"}, "password": {"correct horse battery"}, "next": {"/files"}}
	if resp, body := s.send(t, http.MethodPost, "/sign-in", "", form, ours()...); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("by password: %d %s", resp.StatusCode, body)
	}
}

// Nobody is led elsewhere after signing in.
func TestWhereASignInLeads(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"//evil.test/", "https://evil.test/", "/\\evil.test", "javascript:alert(1)", "/a\nb", ""} {
		s, l := newLogin(t)
		s.send(t, http.MethodPost, "/sign-in/openid", "", url.Values{"next": {next}}, ours()...)
		if l.next != "/" {
			t.Errorf("%q is kept as %q", next, l.next)
		}
		l.next = next
		if resp, _ := back(t, s, http.MethodGet, "/sign-in/openid?state=good", "sealed"); resp.Header.Get("Refresh") != "0; url=/" {
			t.Errorf("%q leads to %q", next, resp.Header.Get("Refresh"))
		}
	}
}

// An invitation can be accepted with the account; its text goes along.
func TestAnInvitationWithAnAccount(t *testing.T) {
	t.Parallel()
	s, l := newLogin(t)
	if resp, _ := s.send(t, http.MethodPost, "/sign-in/openid", "", url.Values{"text": {"invited"}}, ours()...); resp.StatusCode != 200 || l.invitation != "invited" {
		t.Errorf("%d %+v", resp.StatusCode, l)
	}
	if resp, _ := s.send(t, http.MethodPost, "/sign-in/openid", "", url.Values{"text": {strings.Repeat("x", 1001)}}, ours()...); resp.StatusCode != 403 {
		t.Errorf("an endless invitation: %d", resp.StatusCode)
	}
}

// Without a service there is no such page.
func TestNoService(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if resp, _ := s.send(t, http.MethodPost, "/sign-in/openid", "", url.Values{}, ours()...); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%d", resp.StatusCode)
	}
	if _, body := s.send(t, http.MethodGet, "/sign-in", "", nil); strings.Contains(body, "openid") {
		t.Errorf("%s", body)
	}
}
