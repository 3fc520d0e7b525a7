package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// SignOuts are told by a service of OpenID Connect that people have signed out there.
type SignOuts interface {
	// SignOut ends the sessions that the message names, on every node. ErrRefused: it is not proved, or came before.
	// Whatever else the error, they may go on.
	SignOut(ctx context.Context, message string) error
}

// signedOutThere takes what the service itself sends, not a browser (OpenID Connect Back-Channel Logout 1.0): a POST
// without Origin and without a cookie, and none is looked at. The message alone proves what it says. As the
// specification wants, the answer is 200 only when the end of the sessions is agreed, and otherwise 400.
func (h *Handler) signedOutThere(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		signOutFailed(w, http.StatusMethodNotAllowed, "invalid_request", "want a POST of the service for signing in")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || len(r.PostForm["logout_token"]) != 1 {
		signOutFailed(w, http.StatusBadRequest, "invalid_request", "want a form with one logout_token")
		return
	}
	err := h.cfg.SignOuts.SignOut(r.Context(), r.PostForm.Get("logout_token"))
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case errors.Is(err, ErrRefused):
		signOutFailed(w, http.StatusBadRequest, "invalid_request",
			"the logout_token is not good, or came before: the log of this node says why")
	default:
		signOutFailed(w, http.StatusBadRequest, "temporarily_unavailable",
			"the end of the sessions is not agreed by the cluster: other nodes may still take them for good")
	}
}

// signOutFailed answers the service, as OAuth 2.0 writes errors.
func signOutFailed(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The answer is for a program that reads the status; that it went away changes nothing.
	_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": text})
}
