package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"holdfast/api/wire"
)

// methods are tried on a path that does not have the requested method, to find out which ones it has.
func methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete}
}

// unknown answers what no operation does: 405 where the path has other methods, 404 elsewhere.
func (s *server) unknown(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := problem(http.StatusNotFound, wire.CodeNotFound, "no such resource; /openapi.json describes what there is")
		if allowed := methodsOf(mux, r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			p = problem(http.StatusMethodNotAllowed, wire.CodeMethod,
				r.Method+" is not allowed here; allowed: "+strings.Join(allowed, ", "))
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(p.Status)
		if err := json.NewEncoder(w).Encode(p); err != nil {
			s.log.Debug("answer not sent", "path", r.URL.Path, "error", err)
		}
	}
}

// methodsOf lists the methods that the request's path has.
func methodsOf(mux *http.ServeMux, r *http.Request) (allowed []string) {
	for _, method := range methods() {
		asked := r.Clone(r.Context())
		asked.Method = method
		if _, pattern := mux.Handler(asked); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}
