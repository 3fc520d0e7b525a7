package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// passwords are kept in clear, by person. Those who are invited have none.
type passwords struct {
	*sessions
	of map[string]string

	undecided error    // what Choose fails with
	from      []string // who asked
}

func (p *passwords) begin(who string) (Session, error) {
	s := Session{Text: "of-" + who, Name: who, Person: who, Role: "curator", Expires: now().Add(life)}
	p.open[s.Text] = s
	return s, nil
}

func (p *passwords) SignIn(_ context.Context, who, password, from string) (Session, error) {
	p.from = append(p.from, from)
	switch kept, ok := p.of[who]; {
	case len(p.from) > 5:
		return Session{}, ErrSlow
	case !ok || kept != password:
		return Session{}, ErrPassword
	}
	return p.begin(who)
}

func (p *passwords) Invited(_ context.Context, text string) (string, error) {
	if kept, ok := p.of[text]; !ok || kept != "" {
		return "", ErrLink
	}
	return text, nil
}

func (p *passwords) Enter(ctx context.Context, text, chosen string) (Session, error) {
	if _, err := p.Invited(ctx, text); err != nil {
		return Session{}, err
	}
	if len(chosen) < LeastPassword {
		return Session{}, ErrWeak
	}
	p.of[text] = chosen
	return p.begin(text)
}

func (p *passwords) Choose(ctx context.Context, session, old, chosen, _ string) (Session, error) {
	s, err := p.Check(ctx, session)
	switch {
	case err != nil:
		return Session{}, err
	case s.Person == "limited":
		return Session{}, ErrLimited
	case p.of[s.Person] != old:
		return Session{}, ErrPassword
	case len(chosen) < LeastPassword:
		return Session{}, ErrWeak
	case p.undecided != nil:
		return Session{}, p.undecided
	}
	delete(p.open, session)
	p.of[s.Person] = chosen
	return p.begin(s.Person)
}

func newPasswordSite(t *testing.T) (*site, *passwords) {
	t.Helper()
	s := newSite(t)
	p := &passwords{sessions: s.sessions, of: map[string]string{"ada": "correct horse", "<b>bea</b>": ""}}
	s.cfg.Passwords = p
	return s, p
}

// The form gives back what was typed but for the password, and says what is wrong.
func TestSignInWithAPassword(t *testing.T) {
	t.Parallel()
	s, p := newPasswordSite(t)
	_, body := s.send(t, http.MethodGet, "/_/en/sign-in?next=/jobs", "", nil)
	for _, want := range []string{`name="who"`, `autocomplete="current-password"`, `value="/jobs"`, "holdfast sign-in"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s: %s", want, body)
		}
	}
	form := url.Values{"who": {`"><b>ada`}, "password": {"wrong horse"}, "next": {"/jobs"}}
	resp, body := s.send(t, http.MethodPost, "/_/en/sign-in", "", form, ours()...)
	if resp.StatusCode != http.StatusForbidden || len(resp.Header["Set-Cookie"]) > 0 || !strings.Contains(body, "The name or the password is wrong") ||
		strings.Contains(body, "wrong horse") || strings.Contains(body, "<b>ada") || !strings.Contains(body, `value="/jobs"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	form = url.Values{"who": {"ada"}, "password": {"correct horse"}, "next": {"/jobs"}}
	if resp, _ := s.send(t, http.MethodPost, "/sign-in", "", form, "Sec-Fetch-Site", "cross-site", "Origin", "http://evil.test"); resp.StatusCode != http.StatusForbidden ||
		len(resp.Header["Set-Cookie"]) > 0 {
		t.Errorf("another site signs somebody in: %d", resp.StatusCode)
	}
	resp, _ = s.send(t, http.MethodPost, "/sign-in", "", form, ours()...)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/jobs" || !strings.HasPrefix(resp.Header.Get("Set-Cookie"), "holdfast=of-ada; ") {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	for range 5 {
		resp, body = s.send(t, http.MethodPost, "/_/en/sign-in", "", form, ours()...)
	}
	if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "too many wrong passwords") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if p.from[0] != "192.0.2.1" { // as httptest has it
		t.Errorf("from %v", p.from)
	}
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	s, p := newPasswordSite(t)
	path := "/_/en/invitation?text=" + url.QueryEscape("<b>bea</b>")
	for range 2 {
		resp, body := s.send(t, http.MethodGet, path, "", nil)
		if resp.StatusCode != 200 || !strings.Contains(body, "&lt;b&gt;bea&lt;/b&gt;</bdi>, you are invited") || !strings.Contains(body, "At least 12 characters") {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	form := url.Values{"text": {"<b>bea</b>"}, "password": {"short"}}
	resp, body := s.send(t, http.MethodPost, "/_/en/invitation", "", form, ours()...)
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "too short") || !strings.Contains(body, `name="text" value="&lt;b&gt;bea`) || p.of["<b>bea</b>"] != "" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	form.Set("password", "long enough, is it not")
	if resp, _ := s.send(t, http.MethodPost, "/_/en/invitation", "", form); resp.StatusCode != http.StatusForbidden || p.of["<b>bea</b>"] != "" {
		t.Errorf("nobody says that the form is ours: %d", resp.StatusCode)
	}
	resp, _ = s.send(t, http.MethodPost, "/_/en/invitation", "", form, ours()...)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/_/en/" || len(resp.Header["Set-Cookie"]) != 1 {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	for name, text := range map[string]string{"used": "<b>bea</b>", "unknown": "x", "none": "", "long": strings.Repeat("x", 5000)} {
		resp, body := s.send(t, http.MethodGet, "/_/en/invitation?text="+url.QueryEscape(text), "", nil)
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "Ask for another one") {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

func TestAnotherPassword(t *testing.T) {
	t.Parallel()
	s, p := newPasswordSite(t)
	if _, err := p.begin("ada"); err != nil {
		t.Fatal(err)
	}
	if resp, _ := s.send(t, http.MethodGet, "/password", "", nil); resp.Header.Get("Location") != "/sign-in?next=%2Fpassword" {
		t.Errorf("%v", resp.Header)
	}
	node := s.sessions.open["admin"]
	node.Person = ""
	s.sessions.open["node"] = node
	if resp, body := s.send(t, http.MethodGet, "/_/en/password", "node", nil); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "token of the node") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := s.send(t, http.MethodGet, "/_/en/", "of-ada", nil); resp.StatusCode != 200 || !strings.Contains(body, `href="/_/en/password"`) {
		t.Errorf("no way there: %s", body)
	}
	for name, tt := range map[string]struct{ old, chosen, says string }{"wrong": {"x", "a new long one", "password is wrong"}, "weak": {"correct horse", "x", "too short"}} {
		form := url.Values{"old": {tt.old}, "password": {tt.chosen}}
		resp, body := s.send(t, http.MethodPost, "/_/en/password", "of-ada", form, ours()...)
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, tt.says) || p.of["ada"] != "correct horse" {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	if _, err := p.begin("limited"); err != nil {
		t.Fatal(err)
	}
	limited := url.Values{"password": {"a new long one"}}
	if resp, body := s.send(t, http.MethodPost, "/_/en/password", "of-limited", limited, ours()...); resp.StatusCode != http.StatusForbidden ||
		!strings.Contains(body, "token without limits") || len(resp.Header["Set-Cookie"]) > 0 {
		t.Errorf("a limited token: %d %s", resp.StatusCode, body)
	}
	p.undecided = errors.New("no quorum")
	form := url.Values{"old": {"correct horse"}, "password": {"a new long one"}}
	resp, body := s.send(t, http.MethodPost, "/_/en/password", "of-ada", form, ours()...)
	if resp.StatusCode != http.StatusServiceUnavailable || len(resp.Header["Set-Cookie"]) > 0 || !strings.Contains(body, "may count from now on, or not") {
		t.Errorf("nobody decides: %d %s", resp.StatusCode, body)
	}
	p.undecided = nil
	resp, _ = s.send(t, http.MethodPost, "/password", "of-ada", form, ours()...)
	if resp.StatusCode != http.StatusSeeOther || p.of["ada"] != "a new long one" || len(resp.Header["Set-Cookie"]) != 1 {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

// Everybody behind one network of IPv6 counts as one.
func TestSite(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"192.0.2.7:80": "192.0.2.7", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64",
		"[::ffff:192.0.2.7]:80": "192.0.2.7", "[fe80::1%eth0]:80": "fe80::/64", "pipe": "pipe"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = address
		if got := siteOf(r); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
