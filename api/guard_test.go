package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/catalog"
)

// What a node serves beside the API is guarded as the API's own paths: 401 without a good token, also for the text of a session; 403
// for who may not do that; and a refused request does not reach the handler.
func TestGuard(t *testing.T) {
	t.Parallel()
	b, _ := clusterOf(t, catalog.Level)
	token := b.person("anna", catalog.Giving{Role: catalog.RoleReader})
	parsed, err := ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, authorization string
		act                 catalog.Act
		want                int
	}{
		{"no token", "", catalog.Look, http.StatusUnauthorized},
		{"no such token", "Bearer " + token + "x", catalog.Look, http.StatusUnauthorized},
		{"a session", "Bearer " + SessionPrefix + parsed.ID, catalog.Look, http.StatusUnauthorized},
		{"a reader", "Bearer " + token, catalog.Look, http.StatusNoContent},
		{"a reader who wants more", "Bearer " + token, catalog.LookAtDisks, http.StatusForbidden},
	} {
		reached := false
		h := b.api.Guard(tt.act, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			reached = true
			w.WriteHeader(http.StatusNoContent)
		}))
		answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		if tt.authorization != "" {
			request.Header.Set("Authorization", tt.authorization)
		}
		h.ServeHTTP(answer, request)
		refused := tt.want >= 400
		problem := strings.HasPrefix(answer.Header().Get("Content-Type"), "application/problem+json")
		if answer.Code != tt.want || reached == refused || problem != refused ||
			(answer.Header().Get("WWW-Authenticate") != "") != (tt.want == http.StatusUnauthorized) {
			t.Errorf("%s: %d %v %s", tt.name, answer.Code, answer.Header(), answer.Body)
		}
		if answer.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", tt.name, answer.Header())
		}
	}
}
