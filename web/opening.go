package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdfast/api/wire"
	"holdfast/client"
)

// opening is a request for a page of the table, by somebody who may open it.
type opening struct {
	*turn
	of    *page
	given map[string]string // the parameters of the path
	api   *client.Client    // with her right
}

// openPage answers with a page of the table.
func (t *turn) openPage(p *page, given map[string]string) {
	api, err := client.Over(t.cfg.API, inside, t.who.Text)
	if err != nil {
		t.cfg.Log.Error("the API cannot be asked", "error", err)
		t.unavailable()
		return
	}
	o := &opening{t, p, given, api}
	if t.asPart() {
		o.part()
		return
	}
	o.fill()
}

// fill asks for what a page shows, and shows it.
func (t *opening) fill() {
	ctx := t.r.Context()
	got := t.look(ctx, t.r.URL.Query())
	if ctx.Err() != nil { // the reader has gone away, or this node stops: never an empty page with a 200
		t.message(http.StatusServiceUnavailable, says{"web.unavailable", "web.unavailable-ended"})
		return
	}
	if t.instead(got) {
		return
	}
	format := t.r.URL.Query().Get("format")
	lines, lists := linesOf(got.data)
	text, isText := got.data.(file)
	switch {
	case format == "json":
		t.json(got)
	case lists && format == "csv":
		t.csv(got, lines)
	case isText && format == "file":
		t.file(text)
	default:
		t.show(http.StatusOK, t.of.template, t.viewOf(got))
	}
}

// instead answers if there is nothing to show, and reports whether it did.
func (t *opening) instead(got *looked) bool {
	var answered *wire.Error
	switch {
	case got.out || errors.As(got.err, &answered) && answered.Status == http.StatusUnauthorized:
		t.toSignIn()
	case errors.Is(got.err, wire.ErrNotFound):
		t.message(http.StatusNotFound, says{"web.not-found", "web.not-found-thing"})
	default:
		return false
	}
	return true
}

// viewOf returns what the template of a page is given.
func (t *opening) viewOf(got *looked) *view {
	view := t.view(t.of.title, got.data)
	_, view.Lists = linesOf(got.data)
	view.About, view.Faults, view.Status, view.Now = got.about, got.notRead(t.of), got.status, got.now
	if got.live {
		view.Live = stylePath + t.script.Name
	}
	if got.status != nil && got.status.Cluster.Name != "" {
		view.Cluster = got.status.Cluster.Name
	}
	view.Served, view.Offers = true, view.offers(t.acts, got.acts)
	if key := t.r.URL.Query().Get("done"); key != "" {
		view.Did = t.done.told(t.who.Person, key)
	}
	view.choose(t.table, t.of)
	return view
}

// notRead returns what could not be read, in order.
func (l *looked) notRead(p *page) []fault {
	faults := slices.Clone(l.faults)
	if l.err != nil {
		faults = append(faults, partFault(p.title, l.err))
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return strings.Compare(a.Part, b.Part) })
	return faults
}

// json answers with what the page shows, for programs.
func (t *opening) json(got *looked) {
	out := struct {
		Page    string  `json:"page"`
		Cluster string  `json:"cluster"`
		Node    string  `json:"node"`
		Faults  []fault `json:"faults"`
		Data    any     `json:"data"`
	}{t.of.path, t.cfg.Cluster, t.cfg.Node, []fault{}, got.data}
	for _, f := range got.notRead(t.of) {
		f.Part, f.Why = bare(f.Part), strings.TrimPrefix(bare(f.Why), "fault-")
		out.Faults = append(out.Faults, f)
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.cfg.Log.Error("write page as JSON", "page", t.of.path, "error", err)
		t.problem(http.StatusInternalServerError, wire.CodeInternal, "see the node's log")
		return
	}
	t.send(http.StatusOK, "application/json", append(text, '\n'))
}

// part answers with what has changed of a page since it was drawn. The right to the page was checked before; what any
// reader is shown of it depends on nothing but its path and query.
func (t *opening) part() {
	query := t.r.URL.Query()
	query.Del("format")
	query.Del("done")
	ask := func() *looked { return t.look(context.WithoutCancel(t.r.Context()), query) }
	var got *looked
	if t.of.role == wire.RoleReader { // what more is needed for may depend on collections and places
		got = t.live.get(t.r.Context(), t.path+"?"+query.Encode(), ask)
	} else {
		got = ask()
	}
	if got == nil {
		t.message(http.StatusServiceUnavailable, says{"web.unavailable", "web.unavailable-ended"})
		return
	}
	if t.instead(got) {
		return
	}
	view := t.viewOf(got)
	var b bytes.Buffer
	if err := t.templates[t.of.template].ExecuteTemplate(&b, "part", view); err != nil {
		t.cfg.Log.Error("write part of a page", "page", t.of.template, "error", err)
		http.Error(t.w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	t.w.Header().Set("Content-Language", view.Tag())
	t.send(http.StatusOK, "text/html; charset=utf-8", b.Bytes())
}

// look asks for what a page shows.
func (t *opening) look(ctx context.Context, query url.Values) *looked {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	v := &visit{api: t.api, query: query, given: t.given, now: t.cfg.Now(), zone: zoneOf(t.who)}
	v.askStatus(ctx)
	data, err := t.of.show(ctx, v)
	v.wait()
	return &looked{v, data, err}
}
