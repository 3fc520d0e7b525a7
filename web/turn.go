package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"holdfast/api/wire"
	"holdfast/internal/words"
)

// inside is the address by which the API in this process is asked.
const inside = "http://holdfast.invalid"

// turn is one request and its answer.
type turn struct {
	*Handler
	w      http.ResponseWriter
	r      *http.Request
	chosen *words.Language // by the path, else nil
	path   string          // without what chose the language; with its escapes
	who    *Session        // who is signed in, if that is known
}

// prefix is what the paths begin with to which the answer leads.
func (t *turn) prefix() string {
	if t.chosen == nil {
		return ""
	}
	return t.chosen.Prefix()
}

// asJSON reports whether the page is asked for as JSON.
func (t *turn) asJSON() bool { return t.r.URL.Query().Get("format") == "json" }

// page answers with a page of the table.
func (t *turn) page() {
	s, err := t.Handler.session(t.r)
	switch {
	case errors.Is(err, ErrSignedOut):
		t.toSignIn()
		return
	case err != nil:
		t.cfg.Log.Warn("a session cannot be checked", "error", err)
		t.unavailable()
		return
	}
	if !t.asPart() { // a page that is left open keeps nobody signed in
		s = t.renewed(s)
	}
	t.who = &s
	p, given := find(t.table, t.path)
	switch {
	case p == nil:
		t.message(http.StatusNotFound, says{"web.not-found", "web.not-found-page"})
	case !includes(s.Role, p.role):
		t.message(http.StatusForbidden, says{"web.forbidden", roleNeeded(p.role)})
	default:
		t.openPage(p, given)
	}
}

// roleNeeded is the message that a page needs the role.
func roleNeeded(r wire.Role) string {
	switch r {
	case wire.RoleAdmin:
		return "web.needs-admin"
	case wire.RoleOperator:
		return "web.needs-operator"
	case wire.RoleCurator:
		return "web.needs-curator"
	}
	return "web.needs-reader"
}

// bare is the name of a message without its room.
func bare(message string) string { return strings.TrimPrefix(message, "web.") }

// problem answers a program.
func (t *turn) problem(status int, code wire.Code, detail string) {
	text, err := json.Marshal(wire.Problem{Type: wire.ProblemType + string(code), Status: status, Detail: detail,
		Errors: []wire.ProblemField{}})
	if err != nil {
		text = nil
	}
	t.send(status, "application/problem+json", text)
}

// says is a page that says one thing: the messages of its title and its text.
type says struct{ title, text string }

// message answers with a page that says one thing.
func (t *turn) message(status int, what says) {
	if t.asJSON() || t.asPart() {
		code := map[int]wire.Code{http.StatusForbidden: wire.CodeForbidden, http.StatusNotFound: wire.CodeNotFound,
			http.StatusMethodNotAllowed: wire.CodeMethod, http.StatusServiceUnavailable: wire.CodeUnavailable}[status]
		t.problem(status, code, t.language().Text(what.title)+": "+t.language().Text(what.text))
		return
	}
	v := t.view(what.title, what.text)
	v.choose(t.table, nil)
	t.show(status, "message", v)
}

func (t *turn) notAllowed(methods string) {
	t.w.Header().Set("Allow", methods)
	t.message(http.StatusMethodNotAllowed, says{"web.refused", "web.refused-method"})
}

// show writes a page.
func (t *turn) show(status int, template string, v *view) {
	if v.Live != "" {
		t.w.Header().Set("Content-Security-Policy", scripted)
	}
	var b bytes.Buffer
	if err := t.templates[template].Execute(&b, v); err != nil {
		t.cfg.Log.Error("write page", "page", template, "error", err)
		http.Error(t.w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	t.w.Header().Set("Content-Language", v.Tag())
	t.send(status, "text/html; charset=utf-8", b.Bytes())
}

func (t *turn) send(status int, kind string, body []byte) {
	t.w.Header().Set("Content-Type", kind)
	t.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	t.w.WriteHeader(status)
	if t.r.Method == http.MethodHead {
		return
	}
	if _, err := t.w.Write(body); err != nil {
		t.cfg.Log.Debug("answer not sent", "error", err)
	}
}
