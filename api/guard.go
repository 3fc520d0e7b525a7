package api

import (
	"encoding/json"
	"net/http"

	"holdfast/catalog"
)

// Guard lets requests through to h whose caller may do the act somewhere; others are refused as at the API's own paths.
// It is for what a node answers to programs beside the API.
func (a *API) Guard(act catalog.Act, h http.Handler) http.Handler {
	return forPrograms(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := a.server.authenticate(r.Context(), r.Header.Get("Authorization"))
		if err == nil {
			err = forbidden(catalog.May(who.Rights, act, catalog.Where{}))
		}
		if err != nil {
			a.server.refuse(w, err)
			return
		}
		h.ServeHTTP(w, r)
	}))
}

// refuse answers with an error outside the operations.
func (s *server) refuse(w http.ResponseWriter, err error) {
	p := s.explain(err)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="holdfast"`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	if err := json.NewEncoder(w).Encode(p); err != nil {
		s.log.Debug("answer not sent", "error", err)
	}
}
