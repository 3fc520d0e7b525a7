package front

import (
	"net/http"
	"strings"
)

// Beside answers at the API's port: the API what is for programs, figures what asks for metrics, and the pages all
// else.
func Beside(answers, figures, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isAPI(r.URL.Path):
			answers.ServeHTTP(w, r)
		case r.URL.Path == "/metrics":
			figures.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// isAPI reports whether a path at the API's port is for programs.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/api" || path == "/openapi.json" || path == "/health"
}
