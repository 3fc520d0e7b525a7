package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzLocal gives it whatever a link can say: the result is a path of this host, or the same path as given.
func FuzzLocal(f *testing.F) {
	for _, seed := range []string{"/", "//evil.test", "/\\evil.test", "/jobs?x=//y#z", "/\t/evil.test", "/..//evil.test", "/%2F%2Fevil.test", "/a:b@c"} {
		f.Add(seed)
	}
	base := &url.URL{Scheme: "https", Host: "archive.test", Path: "/sign-in"}
	f.Fuzz(func(t *testing.T, next string) {
		got := local(next)
		if got != "/" && got != next {
			t.Errorf("%q becomes %q", next, got)
		}
		to, err := base.Parse(got)
		if err != nil || to.Host != base.Host || to.Scheme != base.Scheme || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") ||
			strings.ContainsAny(got, "\\\t\r\n") {
			t.Errorf("%q leads to %q: %v %v", next, got, to, err)
		}
	})
}

// FuzzPath asks for whatever path: there is an answer, with the headers of all answers, and nobody is led away.
func FuzzPath(f *testing.F) {
	for _, seed := range append(paths(), "//evil.test/", "/_/da//evil.test", "/jobs/\\", "/files/%00", "/_/", "/people/%2e%2e") {
		f.Add(seed, "admin")
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, path, session string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || u.Scheme != "" {
			return
		}
		s := newSite(t)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://archive.test/", nil)
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = u.Path, u.RawPath, u.RawQuery
		r.Header.Set("Cookie", "holdfast="+url.QueryEscape(session))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		answer, rules := w.Result(), policy
		if strings.Contains(w.Body.String(), "<script ") {
			rules = scripted
		}
		if answer.StatusCode >= 500 || answer.Header.Get("Content-Security-Policy") != rules {
			t.Errorf("%q: %d %v", path, answer.StatusCode, answer.Header)
		}
		if to := answer.Header.Get("Location"); to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) {
			t.Errorf("%q leads to %q", path, to)
		}
	})
}
