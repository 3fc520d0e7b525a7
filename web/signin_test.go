package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
)

// ours are the headers with which a browser sends a form of our own page.
func ours() []string {
	return []string{"Sec-Fetch-Site", "same-origin", "Origin", "http://archive.test"}
}

// A sign-in link shows a button and uses nothing up; the form signs in, leads on, and works once. Signing out ends it.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sessions.links["secret"] = Session{Text: "fresh", Name: "Ada", Role: "curator", Expires: now().Add(life)}
	resp, _ := s.send(t, http.MethodGet, "/jobs?state=FAILED", "", nil)
	to := resp.Header.Get("Location")
	if resp.StatusCode != http.StatusSeeOther || to != "/sign-in?next=%2Fjobs%3Fstate%3DFAILED" {
		t.Fatalf("%d %s", resp.StatusCode, to)
	}
	if _, body := s.send(t, http.MethodGet, to, "", nil); !strings.Contains(body, "holdfast sign-in") || !strings.Contains(body, `href="/jobs?state=FAILED"`) {
		t.Errorf("how to sign in: %s", body)
	}
	for range 3 { // a mail scanner follows it, too
		resp, body := s.send(t, http.MethodGet, "/sign-in?link=secret", "", nil)
		if resp.StatusCode != 200 || !strings.Contains(body, `value="secret"`) || len(resp.Header["Set-Cookie"]) > 0 || len(s.sessions.links) != 1 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	if _, body := s.send(t, http.MethodGet, "/_/en/sign-in?link=secret", "reader", nil); !strings.Contains(body, "The link replaces that") {
		t.Errorf("somebody else is signed in: %s", body)
	}
	form := url.Values{"link": {"secret"}, "next": {"/jobs?state=FAILED"}}
	resp, _ = s.send(t, http.MethodPost, "/sign-in", "", form, ours()...)
	cookie := resp.Header.Get("Set-Cookie")
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/jobs?state=FAILED" ||
		cookie != "holdfast=fresh; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict" {
		t.Errorf("%d %s %s", resp.StatusCode, resp.Header.Get("Location"), cookie)
	}
	if resp, body := s.send(t, http.MethodGet, "/_/en/", "fresh", nil); resp.StatusCode != 200 || !strings.Contains(body, "<bdi>Ada</bdi>, curator") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _ := s.send(t, http.MethodGet, "/sign-in?next=/files", "fresh", nil); resp.Header.Get("Location") != "/files" {
		t.Errorf("signed in already: %v", resp.Header)
	}
	if resp, _ := s.send(t, http.MethodGet, "/_/de/sign-in?next=/_/da/files", "fresh", nil); resp.Header.Get("Location") != "/_/da/files" {
		t.Errorf("a language in the way on: %v", resp.Header)
	}
	if resp, _ := s.send(t, http.MethodGet, "/_/de/sign-in?next=/files", "fresh", nil); resp.Header.Get("Location") != "/_/de/files" {
		t.Errorf("the language is kept: %v", resp.Header)
	}
	resp, body := s.send(t, http.MethodPost, "/_/en/sign-in", "", form, ours()...)
	if resp.StatusCode != http.StatusForbidden || len(resp.Header["Set-Cookie"]) > 0 || !strings.Contains(body, "unknown, used or expired") {
		t.Errorf("the link again: %d %s", resp.StatusCode, body)
	}
	resp, _ = s.send(t, http.MethodPost, "/_/da/sign-out", "fresh", url.Values{}, ours()...)
	if resp.Header.Get("Location") != "/_/da/sign-in" || !strings.HasPrefix(resp.Header.Get("Set-Cookie"), "holdfast=; Path=/; Max-Age=0;") {
		t.Errorf("signed out: %v", resp.Header)
	}
	if resp, _ := s.send(t, http.MethodGet, "/", "fresh", nil); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("after it: %d", resp.StatusCode)
	}
}

// Over TLS the cookie has the name and the flag that keep it to this host, and no other name counts.
func TestCookieOverTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.secure = true
	s.sessions.links["secret"] = Session{Text: "fresh", Role: "reader", Expires: now().Add(life)}
	resp, _ := s.send(t, http.MethodPost, "/sign-in", "", url.Values{"link": {"secret"}}, ours()...)
	if got := resp.Header.Get("Set-Cookie"); got != "__Host-holdfast=fresh; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict" {
		t.Errorf("cookie %s", got)
	}
	if resp, _ := s.send(t, http.MethodGet, "/", "fresh", nil); resp.StatusCode != 200 {
		t.Errorf("signed in: %d", resp.StatusCode)
	}
	if resp, _ := s.send(t, http.MethodGet, "/", "", nil, "Cookie", "holdfast=admin"); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("by a cookie that any port can set: %d", resp.StatusCode)
	}
}

// A cookie that another port planted does not sign anybody out.
func TestPlantedCookies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for cookies, want := range map[string]int{"holdfast=planted; holdfast=admin": 200, "holdfast=; holdfast=admin": 200, "holdfast=planted": 303,
		"holdfast=a; holdfast=b; holdfast=c; holdfast=admin": 303, "holdfast=" + strings.Repeat("x", 5000): 303} {
		if resp, _ := s.send(t, http.MethodGet, "/", "", nil, "Cookie", cookies); resp.StatusCode != want {
			t.Errorf("%.40s: %d, want %d", cookies, resp.StatusCode, want)
		}
	}
}

// A change needs a browser that says that one of our pages sent it. Nothing is done otherwise, and never by a GET.
func TestForeignForms(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		headers []string
		status  int
	}{
		"our page":             {ours(), 303},
		"an old browser":       {[]string{"Origin", "http://archive.test"}, 303},
		"nobody says so":       {nil, 403},
		"another site":         {[]string{"Sec-Fetch-Site", "cross-site", "Origin", "http://evil.test"}, 403},
		"another port":         {[]string{"Sec-Fetch-Site", "same-site", "Origin", "http://archive.test:7482"}, 403},
		"another port, old":    {[]string{"Origin", "http://archive.test:7482"}, 403},
		"a frame without name": {[]string{"Origin", "null"}, 403},
	} {
		s := newSite(t)
		s.sessions.links["secret"] = Session{Text: "fresh", Role: "reader", Expires: now().Add(life)}
		for path, form := range map[string]url.Values{"/sign-out": {}, "/sign-in": {"link": {"secret"}}} {
			resp, _ := s.send(t, http.MethodPost, path, "admin", form, tt.headers...)
			if resp.StatusCode != tt.status {
				t.Errorf("%s: %s: %d, want %d", what, path, resp.StatusCode, tt.status)
			}
		}
		if _, lives := s.sessions.open["admin"]; lives != (tt.status == 403) || (len(s.sessions.links) == 1) != (tt.status == 403) {
			t.Errorf("%s: %d, but the session lives: %v, links %d", what, tt.status, lives, len(s.sessions.links))
		}
	}
	s := newSite(t)
	s.sessions.links["secret"] = Session{Text: "fresh"}
	for _, path := range append(paths(), "/sign-out", "/sign-in?link=secret", "/sign-out?link=secret") {
		s.send(t, http.MethodGet, path, "admin", nil, ours()...)
		s.send(t, http.MethodHead, path, "admin", nil, ours()...)
	}
	if s.sessions.open["admin"].Text == "" || len(s.sessions.links) != 1 {
		t.Error("a GET changed something")
	}
	for method, want := range map[string]int{http.MethodPut: 405, http.MethodDelete: 405, http.MethodOptions: 405, http.MethodPost: 405} {
		if resp, _ := s.send(t, method, "/jobs", "admin", url.Values{}, ours()...); resp.StatusCode != want || resp.Header.Get("Allow") == "" {
			t.Errorf("%s: %d", method, resp.StatusCode)
		}
	}
}

// Signing in leads to a page of ours, whatever the link says.
func TestNobodyIsLedAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, next := range []string{"//evil.test", "/\\evil.test", "\\\\evil.test", "https://evil.test", "https:/evil.test", "javascript:alert(1)", "evil.test",
		"///evil.test", "/\t/evil.test", "/\r\nSet-Cookie: a=b", " //evil.test", "", "/" + strings.Repeat("x", 5000), "/ä", "/%zz"} {
		if got := local(next); got != "/" {
			t.Errorf("%q leads to %q", next, got)
		}
		s.sessions.links["secret"] = Session{Text: "fresh", Expires: now().Add(life)}
		resp, _ := s.send(t, http.MethodPost, "/sign-in", "", url.Values{"link": {"secret"}, "next": {next}}, ours()...)
		if got := resp.Header.Get("Location"); got != "/" {
			t.Errorf("%q leads to %q", next, got)
		}
		resp, body := s.send(t, http.MethodGet, "/sign-in?next="+url.QueryEscape(next), "", nil)
		if resp.StatusCode != 200 || strings.Contains(body, "evil") && !strings.Contains(body, `/_/en/sign-in?next=`) {
			t.Errorf("%q: %d %s", next, resp.StatusCode, body)
		}
	}
	for _, next := range []string{"/", "/jobs?state=FAILED&x=//y", "/files/a%2Fb", "/_/da/"} {
		if got := local(next); got != next {
			t.Errorf("%q leads to %q", next, got)
		}
	}
	for _, path := range []string{"//evil.test/", "/_/da//evil.test/", "/\\evil.test", "///evil.test"} {
		r := httptest.NewRequest(http.MethodGet, "http://archive.test/", nil)
		r.URL.Path, r.URL.RawPath = path, path
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if to := w.Result().Header.Get("Location"); !strings.HasPrefix(to, "/sign-in") && !strings.HasPrefix(to, "/_/da/sign-in") {
			t.Errorf("%s leads to %q", path, to)
		}
	}
}

// A session is renewed in its second half, and not before.
func TestRenewal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for left, want := range map[time.Duration]bool{life: false, life / 2: false, life/2 - time.Second: true, time.Minute: true} {
		s.sessions.open["x"] = Session{Text: "x", Role: "reader", Expires: now().Add(left)}
		resp, _ := s.send(t, http.MethodGet, "/", "x", nil)
		if got := strings.HasPrefix(resp.Header.Get("Set-Cookie"), "holdfast=x-renewed; Path=/; Max-Age=43200;"); got != want {
			t.Errorf("%s left: renewed %v, want %v: %v", left, got, want, resp.Header)
		}
	}
	s.sessions.open["x"] = Session{Text: "x", Role: "reader", Expires: now().Add(time.Hour)}
	s.sessions.last = now().Add(time.Hour)
	if resp, _ := s.send(t, http.MethodGet, "/", "x", nil); resp.StatusCode != 200 || len(resp.Header["Set-Cookie"]) > 0 {
		t.Errorf("a session that cannot be longer: %d %v", resp.StatusCode, resp.Header)
	}
	if s.sessions.renewed != 3 || !s.api.tokens["Bearer x-renewed"] {
		t.Errorf("renewed %d times, the API was asked with %v", s.sessions.renewed, s.api.tokens)
	}
}

// When nobody can tell who is signed in, nothing is shown, and nobody is signed out.
func TestSessionsUnknown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sessions.broken = errors.New("the state cannot be read")
	for _, tt := range []struct{ method, path string }{{"GET", "/"}, {"POST", "/sign-in"}} {
		resp, body := s.send(t, tt.method, tt.path, "admin", url.Values{"link": {"secret"}}, ours()...)
		if resp.StatusCode != 503 || len(resp.Header["Set-Cookie"]) > 0 || strings.Contains(body, "cannot be read") || len(s.api.queries()) > 0 {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, resp.StatusCode, body)
		}
	}
	s.sessions.broken, s.sessions.endless = nil, errors.New("no quorum")
	if resp, body := s.send(t, "POST", "/_/en/sign-out", "admin", url.Values{}, ours()...); resp.StatusCode != 503 ||
		!strings.Contains(body, "could not be ended everywhere") || !strings.Contains(body, "after seven days at the latest") || !strings.Contains(resp.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// What happened while the page was made happened just now, and a page says so in hours and minutes.
func TestTimes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/trail"] = wire.Page[wire.Event]{Items: []wire.Event{{Seq: 1, At: now().Add(2 * time.Second)}, {Seq: 2, At: now().Add(time.Hour)}}}
	_, body := s.get(t, "/_/en/trail")
	for _, want := range []string{">08:30, just now</time>", ">24 November 2026, 09:30:00</time>"} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s in %s", want, body)
		}
	}
	if _, body := s.get(t, "/_/en/"); !strings.Contains(body, "Since 23 November 2026, 08:30<") {
		t.Errorf("%s", body)
	}
}

// A node that did not know the name of its cluster when it started has it on the pages as soon as the API knows it.
func TestNameOfTheCluster(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, "", "north-1")
	if _, body := s.send(t, http.MethodGet, "/sign-in", "", nil); !strings.Contains(body, "<bdi>Holdfast</bdi></a>") {
		t.Errorf("before: %s", body)
	}
	s.api.answers["/status"] = wire.Status{Cluster: wire.Cluster{Name: "lindhaven", Quorum: true}}
	if _, body := s.get(t, "/"); !strings.Contains(body, "<bdi>lindhaven</bdi></a>") || !strings.Contains(body, " · lindhaven</title>") {
		t.Errorf("after: %s", body)
	}
}

// Every answer tells browsers what they may do with it, and none but the style sheet and the script may be kept.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, body := s.get(t, "/")
	_, sheet, _ := strings.Cut(body, `<link rel="stylesheet" href="`)
	sheet, _, _ = strings.Cut(sheet, `"`)
	program := "/_/" + script().Name
	for _, path := range append(paths(), "/nothing", "/sign-in", "/favicon.ico", sheet, program, "/?format=json", "/?format=part") {
		resp, body := s.get(t, path)
		cache, rules := "no-store", policy
		if path == sheet || path == program {
			cache = "public, max-age=31536000, immutable"
		}
		if strings.Contains(body, "<script ") {
			rules = scripted
		}
		for name, want := range map[string]string{"Content-Security-Policy": rules, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": cache} {
			if got := resp.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	if resp, body := s.send(t, http.MethodHead, "/", "admin", nil); resp.StatusCode != 200 || body != "" || resp.Header.Get("Content-Length") == "0" {
		t.Errorf("HEAD: %d %q", resp.StatusCode, body)
	}
	for _, never := range []string{"unsafe", "http:", "*"} {
		if strings.Contains(scripted, never) || strings.Contains(policy, "script") {
			t.Errorf("the policy has %s, or a script where there is none", never)
		}
	}
}

// The language is that of the path, else the person's, else the browser's.
func TestLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sessions.open["dane"] = Session{Text: "dane", Role: "reader", Language: "da", Zone: "Europe/Copenhagen", Expires: now().Add(life)}
	s.sessions.open["finn"] = Session{Text: "finn", Role: "reader", Language: "fi", Expires: now().Add(life)}
	for _, tt := range []struct{ path, session, accept, want string }{
		{"/", "dane", "fr", "da"}, {"/_/de/", "dane", "fr", "de"}, {"/", "finn", "fr", "fr"}, {"/", "reader", "it", "it"}, {"/", "reader", "", "en"},
	} {
		resp, _ := s.send(t, http.MethodGet, tt.path, tt.session, nil, "Accept-Language", tt.accept)
		if got := resp.Header.Get("Content-Language"); got != tt.want {
			t.Errorf("%s for %s with %q is in %s, want %s", tt.path, tt.session, tt.accept, got, tt.want)
		}
	}
	if _, body := s.send(t, http.MethodGet, "/jobs", "dane", nil); !strings.Contains(body, `<time datetime="2026-11-24T05:30:00Z">06.30, for 3 timer siden</time>`) {
		t.Errorf("times in Copenhagen: %s", body)
	}
}

// Signing out ends every session that the browser has a cookie of, also what this node takes for none.
func TestSigningOutOfTwoSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sessions.elsewhere = map[string]bool{"elsewhere": true}
	resp, _ := s.send(t, http.MethodPost, "/sign-out", "", url.Values{}, append(ours(), "Cookie", "holdfast=reader; holdfast=elsewhere; holdfast=admin")...)
	if resp.StatusCode != http.StatusSeeOther || s.sessions.open["reader"].Text != "" || s.sessions.open["admin"].Text != "" || len(s.sessions.elsewhere) > 0 {
		t.Errorf("%d, open %v, elsewhere %v", resp.StatusCode, s.sessions.open, s.sessions.elsewhere)
	}
	if resp, _ := s.send(t, http.MethodGet, "/sign-in", "", nil, "Cookie", "holdfast=reader; holdfast=admin"); resp.StatusCode != 200 {
		t.Errorf("still signed in: %d", resp.StatusCode)
	}
}
