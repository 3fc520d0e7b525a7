package front

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// What begins like a path of the API is a page, as long as the name goes on.
func TestWhoAnswersAtTheAPIsPort(t *testing.T) {
	t.Parallel()
	says := func(what string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, what) })
	}
	port := Beside(says("api"), says("figures"), says("pages"))
	for path, want := range map[string]string{"/": "pages", "/api": "api", "/api/v1/status": "api", "/apis": "pages",
		"/openapi.json": "api", "/openapi.json/x": "pages", "/health": "api", "/health/x": "pages", "/metrics": "figures",
		"/metrics/": "pages", "/nodes": "pages", "//api/v1": "pages", "/API/v1": "pages"} {
		answer := httptest.NewRecorder()
		port.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test"+path, nil))
		if got := answer.Body.String(); got != want {
			t.Errorf("%s is answered by %s, want %s", path, got, want)
		}
	}
}
