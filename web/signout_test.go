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

// signOuts takes the message "good".
type signOuts struct {
	fails error
	asked int
}

func (s *signOuts) SignOut(_ context.Context, message string) error {
	s.asked++
	if message != "good" {
		return ErrRefused
	}
	return s.fails
}

// A service says that somebody has signed out: it sends no Origin and no cookie, and hears 200 only when it is so.
func TestAServiceSaysThatSomebodySignedOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method, path, kind, body string
		fails                    error
		status, asked            int
		says                     string
	}{
		"good":                     {"POST", "/sign-out/openid", formed, "logout_token=good", nil, 200, 1, ""},
		"with other parameters":    {"POST", "/sign-out/openid?logout_token=x", formed, "a=b&logout_token=good", nil, 200, 1, ""},
		"refused":                  {"POST", "/sign-out/openid", formed, "logout_token=bad", nil, 400, 1, "invalid_request"},
		"not agreed":               {"POST", "/sign-out/openid", formed, "logout_token=good", errors.New("SECRET"), 400, 1, "temporarily_unavailable"},
		"the service is silent":    {"POST", "/sign-out/openid", formed, "logout_token=good", ErrSilent, 400, 1, "temporarily_unavailable"},
		"nothing":                  {"POST", "/sign-out/openid", formed, "", nil, 400, 0, "invalid_request"},
		"two":                      {"POST", "/sign-out/openid", formed, "logout_token=good&logout_token=bad", nil, 400, 0, "invalid_request"},
		"in the address":           {"POST", "/sign-out/openid?logout_token=good", formed, "", nil, 400, 0, "invalid_request"},
		"as text":                  {"POST", "/sign-out/openid", "text/plain", "logout_token=good", nil, 400, 0, "invalid_request"},
		"as JSON":                  {"POST", "/sign-out/openid", "application/json", `{"logout_token":"good"}`, nil, 400, 0, "invalid_request"},
		"too long":                 {"POST", "/sign-out/openid", formed, "logout_token=good&x=" + strings.Repeat("x", maxForm), nil, 400, 0, "invalid_request"},
		"a broken form":            {"POST", "/sign-out/openid", formed, "logout_token=good&%", nil, 400, 0, "invalid_request"},
		"a GET":                    {"GET", "/sign-out/openid?logout_token=good", "", "", nil, 405, 0, "invalid_request"},
		"a HEAD":                   {"HEAD", "/sign-out/openid?logout_token=good", "", "", nil, 405, 0, ""},
		"a browser signs out":      {"POST", "/sign-out", formed, "logout_token=good", nil, 403, 0, ""},
		"a path in a language":     {"POST", "/_/da/sign-out/openid", formed, "logout_token=good", nil, 403, 0, ""},
		"the way back of sign-ins": {"POST", "/sign-in/openid", formed, "logout_token=good", nil, 403, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newLogin(t)
			outs := &signOuts{fails: tt.fails}
			s.cfg.SignOuts = outs
			r := httptest.NewRequestWithContext(t.Context(), tt.method, "http://archive.test"+tt.path, strings.NewReader(tt.body))
			r.Header.Set("Content-Type", tt.kind)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != tt.status || outs.asked != tt.asked || !strings.Contains(w.Body.String(), tt.says) ||
				strings.Contains(w.Body.String(), "SECRET") || w.Header().Get("Cache-Control") != "no-store" || len(w.Result().Cookies()) > 0 {
				t.Errorf("%d %v %s; asked %d times", w.Code, w.Header(), w.Body, outs.asked)
			}
		})
	}
	s := newSite(t) // without a service there is no such path
	if resp, _ := s.send(t, http.MethodPost, "/sign-out/openid", "", url.Values{"logout_token": {"good"}}, ours()...); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("without a service: %d", resp.StatusCode)
	}
}

const formed = "application/x-www-form-urlencoded"
