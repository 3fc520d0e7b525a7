package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/client"
)

// action is a line of the table of acts: what people do at a path. A GET there shows the form, a POST carries the act
// out.
type action struct {
	path    string    // segments in braces are parameters, as in /jobs/{id}/stop
	title   string    // message; it names the act's button and the links to it, too
	section string    // of the menu
	role    wire.Role // that is needed at least; the API may need it for a collection or a place
	// ask describes the form: its fields with what they are now, and what will happen. It makes at most five requests.
	// An error stands for the whole form, such as wire.ErrNotFound.
	ask func(context.Context, *visit) (*form, error)
	// do carries out the act with what was typed. It is not cut off when the browser goes away.
	do func(context.Context, *visit, *form) (outcome, error)

	button bool // it needs nothing that is typed: where it is offered, it is a button
	large  bool // texts of several megabytes may be given, also as files
	once   bool // it is one request, which the API carries out once under the name of the form's key, at any node
}

// outcome is what an act did: where its doer goes on, and what she is told there.
type outcome struct {
	Next  string   // a path of ours, without language
	Notes []said   // on top of the page
	Lines []string // that follow, such as bad lines of a list; in English
	Text  string   // to be copied, such as a link; shown to its doer for a while
	At    time.Time
}

// said is a message with its parameters: names and values. Sizes and times are written as the reader's language does.
type said struct {
	Key    string
	Params []any
}

// size is a number of bytes among the parameters of a message.
type size int64

// How long acts may take, and how large what is typed may be.
const (
	actTime  = 2 * time.Minute
	maxTyped = 512 << 10
	maxLarge = 5 << 20
)

// findAct returns the act of a path, which has its escapes, and the parameters in it. Words come before parameters.
func findAct(table []action, path string) (*action, map[string]string) {
	for i := range table {
		if table[i].path == path {
			return &table[i], nil
		}
	}
	for i := range table {
		if given, ok := match(table[i].path, path); ok {
			return &table[i], given
		}
	}
	return nil, nil
}

// acted answers at the path of an act, and reports false for all else.
func (t *turn) acted() bool {
	a, given := findAct(t.acts, t.path)
	if a == nil {
		return false
	}
	if p, _ := find(t.table, t.path); p != nil && p.path == t.path && a.path != t.path {
		return false // words come before parameters
	}
	(&doing{t, a}).answer(given)
	return true
}

// doing is a request for an act.
type doing struct {
	*turn
	*action
}

// answer answers at the path of an act.
func (t *doing) answer(given map[string]string) {
	post := t.r.Method == http.MethodPost
	s, err := t.Handler.session(t.r)
	switch {
	case errors.Is(err, ErrSignedOut) && post:
		t.keepTyped(http.StatusForbidden, "web.kept-signed-out")
		return
	case errors.Is(err, ErrSignedOut):
		t.toSignIn()
		return
	case err != nil && post:
		t.cfg.Log.Warn("a session cannot be checked", "error", err)
		t.keepTyped(http.StatusServiceUnavailable, "web.kept-unavailable")
		return
	case err != nil:
		t.unavailable()
		return
	}
	s = t.renewed(s)
	t.who = &s
	if !includes(s.Role, t.role) {
		t.message(http.StatusForbidden, says{"web.forbidden", roleNeeded(t.role)})
		return
	}
	api, err := client.Over(t.cfg.API, inside, s.Text)
	if err != nil {
		t.cfg.Log.Error("the API cannot be asked", "error", err)
		t.unavailable()
		return
	}
	v := &visit{api: api, query: t.r.URL.Query(), given: given, now: t.cfg.Now(), zone: zoneOf(t.who),
		person: t.who.Person}
	if post {
		t.carryOut(v)
		return
	}
	v.askStatus(t.r.Context())
	f, err := t.ask(t.r.Context(), v)
	v.wait()
	if t.asked(v, err) {
		return
	}
	t.showForm(http.StatusOK, v, f)
}

// asked answers if a form cannot be shown, and reports whether it did.
func (t *doing) asked(v *visit, err error) bool {
	var answered *wire.Error
	switch {
	case v.out || errors.As(err, &answered) && answered.Status == http.StatusUnauthorized:
		t.toSignIn()
	case errors.Is(err, wire.ErrNotFound):
		t.message(http.StatusNotFound, says{"web.not-found", "web.not-found-thing"})
	case err != nil:
		t.cfg.Log.Debug("a form cannot be shown", "path", t.turn.path, "error", err)
		t.message(http.StatusServiceUnavailable, says{"web.unavailable", "web.form-unavailable"})
	default:
		return false
	}
	return true
}

// carryOut does what a form asks for, once, and leads on; or gives the form back.
func (t *doing) carryOut(v *visit) {
	limit := int64(maxTyped)
	if t.large {
		limit = maxLarge
	}
	typed, ok := t.typed(limit)
	if !ok {
		return
	}
	v.query = typed // what led to the form is in it
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.r.Context()), actTime)
	defer cancel()
	key := typed.Get("key")
	d, mine := t.done.begin(t.who.Person, t.turn.path, key)
	if !mine {
		t.goOn(d.out, key)
		return
	}
	var out *outcome
	defer func() { t.done.end(t.who.Person, d, out) }() // also if it panics
	done, f, status := t.attempt(ctx, v, typed)
	switch {
	case done != nil:
		out = done
		t.goOn(out, key)
	case f != nil:
		t.showForm(status, v, f)
	}
}

// attempt does what a form asks for. Without an outcome it returns the form as it is given back, or nil if it has
// answered.
func (t *doing) attempt(ctx context.Context, v *visit, typed url.Values) (*outcome, *form, int) {
	f, err := t.ask(ctx, v)
	v.wait()
	if err != nil && !errors.Is(err, wire.ErrNotFound) {
		t.refuseKept(typed, err)
		return nil, nil, 0
	}
	if t.asked(v, err) {
		return nil, nil, 0
	}
	f.take(typed)
	key := typed.Get("key")
	if key == "" || len(key) > maxKey {
		f.Faults = append(f.Faults, formFault{Message: "web.form-again"})
	}
	if f.check(); len(f.Faults) > 0 {
		return nil, f, http.StatusUnprocessableEntity
	}
	out, once, err := t.doOnce(ctx, v, f, key)
	if err == nil {
		out.At = t.cfg.Now()
		return &out, nil, 0
	}
	var answered *wire.Error
	if errors.As(err, &answered) && answered.Status == http.StatusUnauthorized {
		t.refuseKept(typed, err)
		return nil, nil, 0
	}
	if answered != nil && (answered.Code == wire.CodeConflict || answered.Code == wire.CodeStale) {
		// show what another person changed meanwhile
		if present, failed := t.ask(ctx, v); failed == nil {
			v.wait()
			f = present
			f.take(typed)
		}
		f.compare()
	}
	status := f.refuse(err)
	if once && status >= http.StatusInternalServerError { // who sends it again as it is does it once
		f.Key = key
		f.Faults = append(f.Faults, formFault{Message: "web.again-once"})
	}
	return nil, f, status
}

// doOnce carries an act out, and reports whether the API knows it by the key of its form, so that it is not done again
// when it is sent again. A cluster below level 5 knows no such names.
func (t *doing) doOnce(ctx context.Context, v *visit, f *form, key string) (out outcome, once bool, err error) {
	if !t.once {
		out, err = t.do(ctx, v, f)
		return out, false, err
	}
	out, err = t.do(client.Once(ctx, "pages-"+url.QueryEscape(key)), v, f)
	var answered *wire.Error
	if errors.As(err, &answered) && answered.Code == wire.CodeUnsupported {
		out, err = t.do(ctx, v, f)
		return out, false, err
	}
	return out, true, err
}

// goOn leads to where an act ends, by GET.
func (t *doing) goOn(did *outcome, key string) {
	to := t.prefix() + did.Next
	mark := "?"
	if strings.Contains(did.Next, "?") {
		mark = "&"
	}
	t.redirect(to + mark + "done=" + escape(key))
}

// showForm shows the form of an act, with a key of its own.
func (t *doing) showForm(status int, v *visit, f *form) {
	if f.Key == "" {
		f.Key = newKey()
	}
	if f.Send == "" {
		f.Send = t.title
	}
	f.Large = t.large
	view := t.view(t.title, f)
	view.About, view.Faults, view.Status, view.Now = v.about, v.faults, v.status, v.now
	view.Served = true
	view.choose(t.table, &page{path: "", section: t.section, hidden: true})
	t.show(status, "form", view)
}

// offered is an act that somebody may do.
type offered struct {
	Title  string // message
	Link   string
	Button bool
	Key    string // of the button
}

// offers returns those acts of the paths that the reader may do.
func (v *view) offers(table []action, paths []string) (out []offered) {
	for _, path := range paths {
		bare, _, _ := strings.Cut(path, "?")
		a, _ := findAct(table, bare)
		if a == nil || v.Who == nil || !includes(v.Who.Role, a.role) {
			continue
		}
		o := offered{Title: a.title, Link: v.Prefix + path, Button: a.button}
		if a.button {
			o.Key = newKey()
		}
		out = append(out, o)
	}
	return out
}

// May returns the acts of a path, made of segments, if the reader may do it: for the rows of a table.
func (v *view) May(segments ...any) []offered {
	return v.offers(v.acts, []string{way(segments...)})
}

// MayOf is May with one value in the query.
func (v *view) MayOf(name, value string, segments ...any) []offered {
	return v.offers(v.acts, []string{way(segments...) + "?" + name + "=" + escape(value)})
}

// Say returns a message in pieces.
func (v *view) Say(of any) any {
	s, _ := of.(said)
	if p, is := of.(*said); is {
		s = *p
	}
	params := append([]any{}, s.Params...)
	for i, p := range params {
		switch p := p.(type) {
		case size:
			params[i] = v.Size(int64(p))
		case time.Time:
			params[i] = v.At(p)
		}
	}
	return v.Parts(s.Key, params...)
}
