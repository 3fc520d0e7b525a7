package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api/wire"
)

// formOf is what a person typed, with the key of a form.
func formOf(key string, typed ...string) url.Values {
	form := url.Values{"key": {key}}
	for i := 0; i+1 < len(typed); i += 2 {
		form.Set(typed[i], typed[i+1])
	}
	return form
}

// post sends a form of ours as the administrator.
func (s *site) post(t *testing.T, path string, form url.Values) (*http.Response, string) {
	t.Helper()
	return s.send(t, http.MethodPost, path, "admin", form, ours()...)
}

// actPaths are a path of each act.
func actPaths() (out []string) {
	for _, one := range tries("north") {
		out = append(out, one.path)
	}
	return out
}

// The acts that are tried are those of the table, and no page has the path of an act.
func TestEveryActIsTried(t *testing.T) {
	t.Parallel()
	left := map[string]bool{}
	for _, a := range acts() {
		left[a.path] = true
		for _, p := range table() {
			if p.path == a.path {
				t.Errorf("%s is a page and an act", p.path)
			}
		}
	}
	for _, one := range tries("north") {
		if a, _ := findAct(acts(), one.path); a != nil {
			delete(left, a.path)
		}
	}
	for path := range left {
		t.Errorf("%s is not tried", path)
	}
}

// Each act's form, in every language, is a page as all are. Looking at it changes nothing.
func TestEveryFormInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, one := range tries("north-1") {
		shown := map[string]bool{}
		for _, tag := range []string{"en", "da", "it", "fr", "de"} {
			s.api.queries()
			resp, body := s.get(t, "/_/"+tag+one.path)
			where := tag + " " + one.path
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Language") != tag {
				t.Errorf("%s: %d %s", where, resp.StatusCode, body)
			}
			if asked := s.api.queries(); len(asked) > most {
				t.Errorf("%s asks %d times: %v", where, len(asked), asked)
			}
			if strings.Contains(body, `role="status"`) {
				t.Errorf("%s has a fault:\n%s", where, body)
			}
			checkRaw(t, where, body)
			checkPage(t, where, tag, body)
			shown[body] = true
		}
		if len(shown) != 5 {
			t.Errorf("%s is the same in several languages", one.path)
		}
	}
	if did := s.api.changes(); len(did) > 0 {
		t.Errorf("looking changed %v", did)
	}
}

// Each act does just what was asked for, once, however often the button is pressed, leads on by GET, and says there
// what was done. Its form asks the API at most six times.
func TestEveryActActsOnce(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, "north", "north")
	for i, one := range tries("north") {
		form := formOf(fmt.Sprintf("K%d", i), one.typed...)
		s.api.changes()
		s.api.queries()
		resp, body := s.post(t, "/_/en"+one.path, form)
		to := resp.Header.Get("Location")
		if resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/_/en/") || !strings.HasSuffix(to, "done=K"+fmt.Sprint(i)) {
			t.Errorf("%s: %d %s %s", one.path, resp.StatusCode, to, body)
			continue
		}
		did := s.api.changes()
		if !slices.ContainsFunc(did, func(d string) bool { return strings.HasPrefix(d, one.does) }) || len(did) > 1 && one.path != "/archive-now" {
			t.Errorf("%s did\n%v, want\n%s", one.path, did, one.does)
		}
		if asked := s.api.queries(); len(asked) > most {
			t.Errorf("%s asks %d times: %v", one.path, len(asked), asked)
		}
		again, _ := s.post(t, "/_/en"+one.path, form)
		if did := s.api.changes(); len(did) > 0 || again.Header.Get("Location") != to {
			t.Errorf("%s: pressed again did %v and leads to %s", one.path, did, again.Header.Get("Location"))
		}
		if resp, body := s.get(t, to); resp.StatusCode == http.StatusOK && !strings.Contains(body, `<div class="note" role="status">`) {
			t.Errorf("%s leads to %s, which does not say what was done:\n%s", one.path, to, body)
		} else if resp.StatusCode == http.StatusOK {
			checkPage(t, to, "en", body)
		}
		s.sessions.open["other"] = Session{Text: "other", Person: "p2", Role: "admin", Expires: now().Add(life)}
		if _, body := s.send(t, http.MethodGet, to, "other", nil); strings.Contains(body, `<div class="note" role="status">`) {
			t.Errorf("%s: somebody else is told what was done", one.path)
		}
	}
}

// A button pressed many times at the same time acts once, and all are led on.
func TestPressedAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	form := formOf("K", "reason", "lunch")
	var going sync.WaitGroup
	for range 8 {
		going.Go(func() {
			resp, body := s.post(t, "/jobs/15/pause", form)
			if resp.StatusCode != http.StatusSeeOther {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	going.Wait()
	if did := s.api.changes(); len(did) != 1 {
		t.Errorf("did %v", did)
	}
}

// What the API refuses comes back as it was typed, with the faults beside their fields and on top, and can be sent
// again with the same key.
func TestRefusedFormsComeBack(t *testing.T) {
	t.Parallel()
	const typed = "<b>\"'&\u202e {x}\r\nsecond  line "
	for what, tt := range map[string]struct {
		path    string
		refusal wire.Problem
		want    []string
		status  int
	}{
		"a field": {"/new/domain", wire.Problem{Type: wire.ProblemType + "invalid", Status: 422, Detail: "validation failed",
			Errors: []wire.ProblemField{{Location: "body.owner", Message: "too long"}}}, []string{`aria-invalid="true" aria-describedby="e-owner"`, `<a href="#f-owner">`}, 422},
		"a code": {"/new/domain", wire.Problem{Type: wire.ProblemType + "invalid", Status: 422, Detail: "validation failed",
			Errors: []wire.ProblemField{{Location: "body.owner", Message: "expected length <= 200", Code: wire.FieldTooLong, Params: map[string]string{"max": "200"}}}},
			[]string{`id="e-owner">Too long: the greatest length is <bdi>200</bdi>.`, `Owner</a>: Too long`}, 422},
		"a code of the future": {"/new/domain", wire.Problem{Type: wire.ProblemType + "invalid", Status: 422, Detail: "validation failed",
			Errors: []wire.ProblemField{{Location: "body.fields.seen", Message: "odd", Code: "odd"}}}, []string{`id="e-x.seen"><bdi lang="en">odd</bdi>`}, 422},
		"a field that the text names": {"/new/domain", refusal(422, wire.CodeInvalid, "not valid: owner: given nothing, allowed: all"), []string{`id="e-owner"`}, 422},
		"not allowed":                 {"/new/domain", refusal(403, wire.CodeForbidden, "this needs the role curator for collection x"), []string{"You may not do this here", "for collection x"}, 403},
		"no quorum":                   {"/new/domain", refusal(503, wire.CodeNoQuorum, "none"), []string{"The cluster has no quorum"}, 503},
		"perhaps done":                {"/new/domain", refusal(504, wire.CodeOutcomeUnknown, "who knows"), []string{"did not say whether this was done", "who knows"}, 504},
	} {
		s := newSite(t)
		s.api.refuseAll(tt.refusal)
		form := formOf("K", "name", " a.example ", "owner", "me", "comments", typed, "x.seen", "true")
		for range 2 { // the key is not used up
			resp, body := s.post(t, "/_/en"+tt.path, form)
			if resp.StatusCode != tt.status || len(s.api.changes()) != 1 {
				t.Fatalf("%s: %d %s", what, resp.StatusCode, body)
			}
			for _, want := range append(tt.want, "This was not done", `value=" a.example "`, "&lt;b&gt;&#34;&#39;&amp;\u202e {x}\r\nsecond  line </textarea>", `<option value="true" selected>`) {
				if !strings.Contains(body, want) {
					t.Errorf("%s: there is no %s in\n%s", what, want, body)
				}
			}
			checkPage(t, what, "en", body)
		}
	}
}

// An act that the API carries out once under a name has that of its form's key, and no other does: the API would refuse
// it. Which these are stands in the API's description.
func TestNamedRequests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../doc/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]struct{ Parameters []struct{ Name string } }
	}
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	// What is several requests, and what is one of two, of which the API can name one only.
	several := map[string]bool{"/archive-now": true, "/nodes/north-1/drain": true, "/nodes/north-1/weight": true,
		"/nodes/north-1/remove": true}
	s := newSiteOf(t, "north", "north")
	for i, one := range tries("north") {
		s.api.mu.Lock()
		s.api.names = nil
		s.api.mu.Unlock()
		s.post(t, one.path, formOf(fmt.Sprint("K", i), one.typed...))
		method, rest, _ := strings.Cut(one.does, " ")
		path, _, _ := strings.Cut(rest, " ")
		path, _, _ = strings.Cut(path, "?")
		found := false
		for pattern, operations := range api.Paths {
			operation, has := operations[strings.ToLower(method)]
			if _, fits := match(strings.TrimPrefix(pattern, "/api/v1"), path); !fits || !has {
				continue
			}
			found = true
			can := false
			for _, p := range operation.Parameters {
				can = can || p.Name == "Idempotency-Key"
			}
			want := ""
			if a, _ := findAct(acts(), one.path); can && !several[one.path] {
				want = fmt.Sprint("pages-K", i)
			} else if a.once {
				t.Errorf("%s cannot be named", one.path)
			}
			if got := s.api.names[len(s.api.names)-1]; got != want { // before it, some look what there is
				t.Errorf("%s is named %q, want %q", one.path, got, want)
			}
		}
		if !found {
			t.Errorf("%s: the API has no %s", one.path, one.does)
		}
	}
}

// When nobody knows whether something was done, the form can be sent again as it is, under the same name. In a cluster
// that knows no names it is done without, and no page says that it is done once.
func TestSentAgainAfterNoAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["POST /domains"] = refusal(504, wire.CodeOutcomeUnknown, "who knows")
	_, body := s.post(t, "/_/en/new/domain", formOf("K", "name", "a.example"))
	if !strings.Contains(body, `name="key" value="K"`) || !strings.Contains(body, "it is not done twice") {
		t.Errorf("%s", body)
	}
	s.api.answers["POST /audits"] = refusal(504, wire.CodeOutcomeUnknown, "who knows")
	_, body = s.post(t, "/_/en/new/audit", formOf("K"))
	if strings.Contains(body, `name="key" value="K"`) || strings.Contains(body, "it is not done twice") {
		t.Errorf("an audit is begun as often as it is asked for: %s", body)
	}
	s.api.old = true
	if resp, body := s.post(t, "/new/domain", formOf("L", "name", "a.example")); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if s.api.names[len(s.api.names)-1] != "" {
		t.Errorf("%v", s.api.names)
	}
}

// The key of a form cannot lead elsewhere, or add to the answer's head.
func TestKeysAreEscaped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, _ := s.post(t, "/jobs/15/pause", formOf("a&format=json#\r\nSet-Cookie: x=y"))
	if to := resp.Header.Get("Location"); to != "/jobs/15?done=a%26format%3Djson%23%0D%0ASet-Cookie%3A+x%3Dy" || len(resp.Header["Set-Cookie"]) > 0 {
		t.Errorf("%q %v", to, resp.Header)
	}
}

// What a form itself demands is not sent to the API: required fields, numbers, the name that confirms, the key.
func TestFormsCheck(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		path, key, want string
		typed           []string
	}{
		"nothing typed":   {"/new/domain", "K", "Fill this in", nil},
		"no key":          {"/new/domain", "", "lacked its key", []string{"name", "a.example"}},
		"a long key":      {"/new/domain", strings.Repeat("k", 65), "lacked its key", []string{"name", "a.example"}},
		"no number":       {"/nodes/north-1/weight", "K", "whole number", []string{"weight", "many"}},
		"no duration":     {"/jobs/15/stop", "K", "length of time", []string{"confirm", "15", "for", "soon"}},
		"no time":         {"/people/p1/grant", "K", "a date and a time such as", []string{"role", "reader", "until", "tomorrow"}},
		"no JSON":         {"/new/template", "K", "not valid JSON", []string{"name", "t", "settings", "{"}},
		"not confirmed":   {"/jobs/15/stop", "K", "not the name that is asked for", []string{"confirm", "16"}},
		"no confirmation": {"/domains/acted.example/remove", "K", "not the name that is asked for", []string{"reason", "why"}},
		"drain":           {"/nodes/north-1/drain", "K", "not the name that is asked for", nil},
		"too many":        {"/harvests/3/add", "K", "At most 100", []string{"configurations", strings.Repeat("a.example\n", 101)}},
	} {
		s := newSite(t)
		resp, body := s.post(t, "/_/en"+tt.path, formOf(tt.key, tt.typed...))
		if did := s.api.changes(); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, tt.want) || len(did) > 0 {
			t.Errorf("%s: %d, did %v:\n%s", what, resp.StatusCode, did, body)
		}
	}
}

// Who lacks the role sees no act, and neither its form nor a direct POST does anything but name the role.
func TestActRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, role := range append(roles(), "") {
		s.sessions.open["x"] = Session{Text: "x", Role: role, Expires: now().Add(life)}
		for i, one := range tries("north-1") {
			a, _ := findAct(acts(), one.path)
			may := includes(role, a.role)
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				s.api.queries()
				s.api.changes()
				resp, body := s.send(t, method, "/_/en"+one.path, "x", formOf(fmt.Sprint(role, i, method), one.typed...), ours()...)
				if may && resp.StatusCode == http.StatusForbidden || !may && (resp.StatusCode != http.StatusForbidden ||
					!strings.Contains(body, "needs the role of "+string(a.role)) || len(s.api.queries()) > 0 || len(s.api.changes()) > 0) {
					t.Errorf("%q %s %s: %d", role, method, one.path, resp.StatusCode)
				}
			}
		}
		for _, path := range paths() {
			_, body := s.send(t, http.MethodGet, "/_/en"+path, "x", nil)
			for _, one := range tries("north-1") {
				a, _ := findAct(acts(), one.path)
				if link := `"/_/en` + one.path; !includes(role, a.role) && (strings.Contains(body, link+`"`) || strings.Contains(body, link+`?`)) {
					t.Errorf("%q is offered %s on %s", role, one.path, path)
				}
			}
		}
	}
}

// Acts are offered where they can be done: those of a job by its state, others in the rows of tables.
func TestOffers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	paused := wire.Job{ID: 20, State: wire.JobStarted, Wish: wire.WishPause}
	s.api.answers["/jobs/20"] = paused
	for path, tt := range map[string]struct{ has, lacks []string }{
		"/jobs/15":            {[]string{"/jobs/15/pause", "/jobs/15/stop", "/jobs/15/crawl"}, []string{"/jobs/15/resume", "/jobs/15/resubmit"}},
		"/jobs/20":            {[]string{"/jobs/20/resume", "/jobs/20/stop"}, []string{"/jobs/20/pause"}},
		"/jobs/13":            {[]string{"/jobs/13/resubmit", "/jobs/13/reject"}, []string{"/jobs/13/stop", "/jobs/13/crawl"}},
		"/jobs/12":            {nil, []string{"/jobs/12/stop", "/jobs/12/resubmit", "/jobs/12/pause"}},
		"/jobs/15/crawl":      {[]string{"/jobs/15/freeze", "/jobs/15/freeze?name=north-1", "/jobs/15/thaw?name=north-1", "/jobs/15/set"}, nil},
		"/":                   {[]string{"/archive-now"}, nil},
		"/harvests":           {[]string{"/new/harvest"}, nil},
		"/harvests/3/preview": {[]string{"/harvests/3/activate"}, []string{"/harvests/3/delete"}}, // it has run
		"/people/p1":          {[]string{"/people/p1/grants/1/end", "/people/p1/identities/00ff/unlink", "/people/p1/disable"}, []string{"/people/p1/enable"}},
		"/domains/acted.example": {[]string{"/domains/acted.example/configurations/main", "/domains/acted.example/configurations/other/remove"},
			[]string{"/domains/acted.example/configurations/main/remove"}},
	} {
		_, body := s.get(t, "/_/en"+path)
		for _, want := range tt.has {
			if !strings.Contains(body, `"/_/en`+want+`"`) {
				t.Errorf("%s does not offer %s:\n%s", path, want, body)
			}
		}
		for _, not := range tt.lacks {
			if strings.Contains(body, `"/_/en`+not+`"`) {
				t.Errorf("%s offers %s", path, not)
			}
		}
	}
}

// A form that another page sends does nothing, whoever is signed in.
func TestForeignActs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://archive.test:7482"}, {"Origin", "null"}} {
		for i, one := range tries("north-1") {
			resp, _ := s.send(t, http.MethodPost, one.path, "admin", formOf(fmt.Sprint("K", i), one.typed...), headers...)
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("%v %s: %d", headers, one.path, resp.StatusCode)
			}
		}
	}
	if did, asked := s.api.changes(), s.api.queries(); len(did)+len(asked) > 0 {
		t.Errorf("did %v, asked %v", did, asked)
	}
}

// Who was signed out while typing loses nothing: the page has all that was typed, and sends it after signing in.
func TestSignedOutWhileTyping(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	typed := formOf("K", "name", "a.example", "owner", `"><script>`, "comments", "first\r\nsecond")
	for session, status := range map[string]int{"gone": http.StatusForbidden, "": http.StatusForbidden, "broken": http.StatusServiceUnavailable} {
		if session == "broken" {
			s.sessions.broken = fmt.Errorf("nobody knows")
		}
		resp, body := s.send(t, http.MethodPost, "/_/en/new/domain", session, typed, ours()...)
		s.sessions.broken = nil
		for _, want := range []string{`name="owner" value="&#34;&gt;&lt;script&gt;"`, "value=\"first\r\nsecond\"", `name="key" value="K"`, `action="/_/en/new/domain"`} {
			if resp.StatusCode != status || !strings.Contains(body, want) {
				t.Errorf("%q: %d, there is no %s in\n%s", session, resp.StatusCode, want, body)
			}
		}
		checkPage(t, session, "en", body)
	}
	s.api.answers["POST /domains"] = refusal(http.StatusUnauthorized, wire.CodeUnauthorized, "the session ended")
	if resp, body := s.post(t, "/_/en/new/domain", typed); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, `name="key" value="K"`) {
		t.Errorf("the API knows the session no more: %d %s", resp.StatusCode, body)
	}
	s.api.changes()
	s.api.answers["POST /domains"] = wire.Domain{Name: "a.example"}
	if resp, body := s.post(t, "/_/en/new/domain", typed); resp.StatusCode != http.StatusSeeOther || len(s.api.changes()) != 1 {
		t.Errorf("sent again: %d %s", resp.StatusCode, body)
	}
	big := formOf("K", "comments", strings.Repeat("x", maxTyped))
	if resp, body := s.send(t, http.MethodPost, "/_/en/new/domain", "", big, ours()...); resp.StatusCode != http.StatusRequestEntityTooLarge || len(body) > 10_000 {
		t.Errorf("more than is kept of strangers: %d", resp.StatusCode)
	}
}

// A person who saves over another's change sees both, and replaces it only by saving again.
func TestSavedOverAnothersChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	domain, ok := s.api.answers["/domains/acted.example"].(wire.Domain)
	if !ok {
		t.Fatal("no domain")
	}
	domain.Version, domain.Owner, domain.Comments = 5, "theirs", "same"
	s.api.answers["/domains/acted.example"] = domain
	s.api.answers["PATCH /domains/acted.example"] = refusal(http.StatusConflict, wire.CodeConflict, "it has version 5 by now, not 4")
	form := formOf("K", "version", "4", "owner", "mine", "default", "main", "comments", "same")
	resp, body := s.post(t, "/_/en/domains/acted.example/edit", form)
	for _, want := range []string{"Somebody else has changed this", `value="mine"`, "Now it says: <bdi>theirs</bdi>", `name="version" value="5"`} {
		if resp.StatusCode != http.StatusConflict || !strings.Contains(body, want) {
			t.Errorf("%d: there is no %s in\n%s", resp.StatusCode, want, body)
		}
	}
	if strings.Contains(body, "Now it says: <bdi>same</bdi>") {
		t.Error("a field that is the same is marked")
	}
	s.api.changes()
	s.api.answers["PATCH /domains/acted.example"] = domain
	form.Set("version", "5")
	if resp, _ := s.post(t, "/_/en/domains/acted.example/edit", form); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("%d", resp.StatusCode)
	}
	if did := s.api.changes(); len(did) != 1 || !strings.Contains(did[0], `"version":5`) || !strings.Contains(did[0], `"owner":"mine"`) {
		t.Errorf("did %v", did)
	}
}

// What is remembered of acts is bounded, for each person and for all, and outcomes are told to their doer alone, for
// a while.
func TestOnceIsBounded(t *testing.T) {
	t.Parallel()
	at := now()
	o := newOnce(func() time.Time { return at })
	for i := range 3 * maxDoers {
		for j := range 2 {
			d, mine := o.begin(fmt.Sprint("p", i), "/x", fmt.Sprint("k", j))
			if !mine {
				t.Fatal("a new act was done before")
			}
			o.end(fmt.Sprint("p", i), d, &outcome{Next: "/"})
		}
	}
	for i := range 3 * maxDone {
		d, _ := o.begin("ada", "/x", fmt.Sprint("k", i))
		o.end("ada", d, &outcome{Next: "/"})
	}
	if len(o.doers) != maxDoers || len(o.recent) != maxDoers || len(o.doers["ada"]) != maxDone {
		t.Errorf("%d people, %d of Ada", len(o.doers), len(o.doers["ada"]))
	}
	last := fmt.Sprint("k", 3*maxDone-1)
	if o.told("ada", last) == nil || o.told("bob", last) != nil || o.told("ada", "other") != nil {
		t.Error("an outcome is not told to its doer alone")
	}
	if _, mine := o.begin("ada", "/y", last); !mine {
		t.Error("the key of another act counts")
	}
	if at = at.Add(doneTime); o.told("ada", last) != nil {
		t.Error("an outcome is told for ever")
	}
}
