package trace

import (
	"net/http"
	"strings"
)

// apiPath begins the paths of the API's operations.
const apiPath = "/api/v1/"

// Requests notes each request to the handler. The name has the first words of a path that is there, and nothing that
// people give: what follows may be the address of a page that somebody reads, or a secret.
func (t *Tracer) Requests(port string, h http.Handler) http.Handler {
	if t == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method, path := methodOf(r.Method), r.URL.Path
		ctx, s := t.Root(r.Context(), method, Server, Attribute{"http.request.method", method},
			Attribute{"holdfast.port", port})
		out := &answered{ResponseWriter: w}
		defer func() {
			if out.status == 0 { // nothing was written: net/http answers 200
				out.status = http.StatusOK
			}
			if isThere(method, path, out.status) {
				s.rename(method + " " + beginning(path))
			}
			s.Note(Attribute{"http.response.status_code", out.status})
			switch what := recover(); {
			case what != nil:
				s.Fail("cut off")
				panic(what)
			case out.status >= http.StatusInternalServerError:
				s.Fail("")
			default:
				s.End(nil)
			}
		}()
		h.ServeHTTP(out, r.WithContext(ctx))
	})
}

// isThere reports whether an answer says that the path is one of ours. Who is not signed in is led on from any path,
// and who sends too much, or from another site, is refused before anybody looks at it; the API alone knows it then.
func isThere(method, path string, status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMisdirectedRequest, http.StatusUnauthorized,
		http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return false
	case http.StatusForbidden, http.StatusBadRequest:
		return strings.HasPrefix(path, apiPath)
	}
	reads := method == http.MethodGet || method == http.MethodHead
	return !reads || status < http.StatusMultipleChoices || status >= http.StatusBadRequest
}

// methodOf is the method of a request, as long as it is one that HTTP knows.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	}
	return "_OTHER"
}

// beginning is the first word of a path, or what the API's operations have in common, as in /api/v1/jobs.
func beginning(path string) string {
	rest, api := strings.CutPrefix(path, apiPath)
	word, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' }
	if len(word) > 32 || strings.ContainsFunc(word, odd) {
		word = ""
	}
	if api {
		return apiPath + word
	}
	return "/" + word
}

// answered notes the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader begins the answer. Those that only announce it do not count.
func (w *answered) WriteHeader(status int) {
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the answer.
func (w *answered) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *answered) Unwrap() http.ResponseWriter { return w.ResponseWriter }
