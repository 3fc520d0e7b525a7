package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/internal/look"
	"holdfast/internal/words"
	"holdfast/internal/words/wordstest"
)

func TestEveryLanguageHasWhatThePagesSay(t *testing.T) {
	t.Parallel()
	wordstest.Check(t, "web", os.DirFS("."))
}

// Every kind of alert has a text in every language, with the parameters that the kind has: {count} for the figure.
func TestEveryAlertHasAText(t *testing.T) {
	t.Parallel()
	w, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	kinds := alert.Kinds()
	for _, tag := range w.Tags() {
		l := w.Language(tag)
		for kind, parameters := range kinds {
			key := "alert." + string(kind)
			if !l.Own(key) {
				t.Errorf("%s.toml has no %s", tag, key)
				continue
			}
			var want []string
			for _, p := range parameters {
				if counted(p) {
					p = "count"
				}
				want = append(want, p)
			}
			if a := alert.New(kind, "<subject>"); strings.Contains(a.Text(), "<subject>") {
				want = append(want, "subject")
			}
			slices.Sort(want)
			if got := l.Parameters(key); !slices.Equal(got, want) {
				t.Errorf("%s: %s has the parameters %v, the kind %v", tag, key, got, want)
			}
		}
		for _, key := range l.Keys() {
			if kind, ok := strings.CutPrefix(key, "alert."); ok && kinds[alert.Kind(kind)] == nil && !slices.Contains(plainKinds(), kind) {
				t.Errorf("%s.toml: there is no kind %s", tag, kind)
			}
		}
	}
}

// Another node's alert says nothing but its parameters, and one of a later program is told in English.
func TestAlertTexts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/alerts"] = wire.Alerts{At: now(), Items: []wire.Alert{
		{Kind: "copies-disputed", Subject: "north", Parameters: map[string]string{"copies": "1", "subject": "FORGED", "count": "99"}},
		{Kind: "copies-disputed", Subject: "north", Parameters: map[string]string{"copies": "12345"}},
		{Kind: "disk-low", Subject: "/data", Parameters: map[string]string{"bytes": "5000000000"}},
		{Kind: "node-away", Subject: "south", Parameters: map[string]string{"state": "failed"}},
		{Kind: "job-held", Subject: "12", Parameters: map[string]string{"reason": "{subject} <b>"}},
		{Kind: "of-the-future", Text: "something new"}}}
	for tag, want := range map[string][]string{
		"en": {"Replica <bdi>north</bdi>: <bdi>1</bdi> copy is disputed", "<bdi>12,345</bdi> copies are disputed", "has <bdi>5.0\u00a0GB</bdi> left",
			"Node <bdi>south</bdi>: <bdi>failed</bdi>.", `<a href="/_/en/jobs/12">Job <bdi>12</bdi> waits: <bdi>{subject} &lt;b&gt;</bdi></a>`, "<bdi>something new</bdi>"},
		"fr": {"Nœud <bdi>south</bdi>\u00a0: <bdi>en panne</bdi>.", "<bdi>something new</bdi>"},
	} {
		_, body := s.get(t, "/_/"+tag+"/alerts")
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s: there is no %s in\n%s", tag, text, body)
			}
		}
		if strings.Contains(body, "FORGED") {
			t.Errorf("%s: a parameter passes for the subject", tag)
		}
	}
}

// plainKinds are the kinds without parameters.
func plainKinds() (out []string) {
	for kind, parameters := range alert.Kinds() {
		if len(parameters) == 0 {
			out = append(out, string(kind))
		}
	}
	return out
}

// The paths of this test are those of the table.
func TestEveryPageIsTested(t *testing.T) {
	t.Parallel()
	left := map[string]bool{}
	for _, p := range table() {
		left[p.path] = true
	}
	for _, path := range paths() {
		path, _, _ = strings.Cut(path, "?")
		if p, _ := find(table(), path); p != nil {
			delete(left, p.path)
		}
	}
	for path := range left {
		t.Errorf("%s is not tested", path)
	}
}

// Every page, in every language: has the language, a title, one heading, labels, headed columns, links that keep the
// language; no message is shown as its name, nothing is inline or from elsewhere, and the API is asked at most six times.
func TestEveryPageInEveryLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range append(paths(), "/nothing", "/jobs/99") {
		shown := map[string]string{}
		for _, tag := range []string{"en", "da", "it", "fr", "de"} {
			s.api.queries()
			resp, body := s.get(t, "/_/"+tag+path)
			where := tag + " " + path
			want := http.StatusOK
			if path == "/nothing" || path == "/jobs/99" {
				want = http.StatusNotFound
			}
			if resp.StatusCode != want || resp.Header.Get("Content-Language") != tag {
				t.Errorf("%s: %d %s", where, resp.StatusCode, resp.Header.Get("Content-Language"))
			}
			if asked := s.api.queries(); len(asked) > most {
				t.Errorf("%s asks %d times: %v", where, len(asked), asked)
			}
			if want == http.StatusOK && strings.Contains(body, `role="status"`) {
				t.Errorf("%s has a fault:\n%s", where, body)
			}
			checkRaw(t, where, body)
			checkPage(t, where, tag, body)
			shown[tag] = body
		}
		for tag, body := range shown {
			if tag != "en" && body == shown["en"] {
				t.Errorf("%s is the same in %s and English", path, tag)
			}
		}
	}
}

// checkRaw checks that a page shows no message by its name, no parameter without its value, and no value of the program.
// Texts that people wrote as such may have braces.
func checkRaw(t *testing.T, where, body string) {
	t.Helper()
	body = regexp.MustCompile(`(?s)<pre.*?</pre>|<textarea.*?</textarea>`).ReplaceAllString(body, "")
	body = strings.ReplaceAll(body, "{domain}", "") // stands so in seeds of domains to come
	for _, raw := range regexp.MustCompile(`\b(web|alert)\.[a-z]|[{}]|%!|&lt;nil&gt;|0001`).FindAllString(body, -1) {
		t.Errorf("%s shows %q:\n%s", where, raw, body)
	}
}

// checkPage checks what a page needs for all readers, and that it works without script or style of its own.
func checkPage(t *testing.T, where, tag, page string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	count, ids, labels := map[string]int{}, map[string]bool{}, map[string]bool{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		count[n.Data]++
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("%s: two elements are %q", where, id)
			}
			ids[id] = true
		}
		if n.Data == "label" {
			labels[attribute(n, "for")] = true
		}
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			checkElement(t, where, tag, n, ids, labels)
		}
	}
	for element, want := range map[string]int{"h1": 1, "main": 1, "title": 1, "header": 1, "script": scripts(ids["as-of"]), "style": 0, "img": 0, "iframe": 0, "link": 1} {
		if count[element] != want {
			t.Errorf("%s has %d %s, want %d", where, count[element], element, want)
		}
	}
	if !ids["main"] || !strings.Contains(page, `<html lang="`+tag+`" dir="ltr">`) {
		t.Errorf("%s has no main or language", where)
	}
}

// scripts is how many scripts a page has: one if it is redrawn.
func scripts(live bool) int {
	if live {
		return 1
	}
	return 0
}

func checkElement(t *testing.T, where, tag string, n *html.Node, ids, labels map[string]bool) {
	t.Helper()
	for _, a := range n.Attr {
		if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
			t.Errorf("%s: <%s> has %s", where, n.Data, a.Key)
		}
		if a.Key != "href" && a.Key != "action" && a.Key != "src" {
			continue
		}
		if a.Val == "#main" || strings.HasPrefix(a.Val, "#f-") && ids[a.Val[1:]] || strings.HasPrefix(a.Val, "/_/look-") || n.Data == "script" && a.Val == "/_/"+script().Name || attribute(n, "hreflang") != "" {
			continue
		}
		if !strings.HasPrefix(a.Val, "/_/"+tag+"/") {
			t.Errorf("%s: <%s> leads to %q", where, n.Data, a.Val)
		}
	}
	switch n.Data {
	case "input", "select", "textarea":
		if attribute(n, "type") != "hidden" && !labels[attribute(n, "id")] {
			t.Errorf("%s: the field %s has no label", where, attribute(n, "name"))
		}
	case "th":
		if attribute(n, "scope") == "" {
			t.Errorf("%s: a head without scope", where)
		}
	case "nav":
		if attribute(n, "aria-label") == "" {
			t.Errorf("%s: a nav without a name", where)
		}
	case "form":
		if attribute(n, "method") == "" {
			t.Errorf("%s: a form without a method", where)
		}
	}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// Every class that the pages use is one of the style sheet's, for a page has no style of its own.
func TestClasses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`\.([a-z][a-z0-9-]*)`).FindAllStringSubmatch(string(look.Style().Content), -1) {
		known[m[1]] = true
	}
	for _, path := range append(append(paths(), actPaths()...), "/nothing", "/sign-in?link=x") {
		_, body := s.get(t, path)
		for _, m := range regexp.MustCompile(` class="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			for class := range strings.FieldsSeq(m[1]) {
				if !known[class] {
					t.Errorf("%s: the style sheet has no class %q", path, class)
				}
			}
		}
	}
}

// Whatever people or the web put into a name stays text, on each page.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for what, name := range map[string]string{"markup": `"><script>alert(1)</script><img src=x onerror=alert(1)>`, "rtl": "\u202eabc\u200f אבג",
		"long": strings.Repeat("W", 200), "lines": "a\r\nSet-Cookie: b=c\r\n\r\n<b>", "url": "javascript:alert(1)", "template": "{{.}}'`${1}"} {
		s := newSiteOf(t, name, name)
		for _, path := range append(append(paths(), actPaths()...), "/people/"+url.PathEscape(name), "/jobs?domain="+url.QueryEscape(name), "/trail?subject="+url.QueryEscape(name),
			"/sign-in?link="+url.QueryEscape(name)) {
			resp, body := s.get(t, "/_/en"+path)
			if resp.StatusCode >= 500 || len(resp.Header["Set-Cookie"]) > 0 {
				t.Errorf("%s %s: %d %v", what, path, resp.StatusCode, resp.Header)
			}
			checkPage(t, what+" "+path, "en", body)
		}
	}
}

// What comes from people or other machines stands apart from the page's own words, whatever its direction.
func TestForeignTextIsApart(t *testing.T) {
	t.Parallel()
	const name = "FOREIGN"
	s := newSiteOf(t, name, name)
	for _, path := range append(paths(), actPaths()...) {
		_, body := s.get(t, path)
		root, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type != html.TextNode || !strings.Contains(n.Data, name) {
				continue
			}
			switch in := n.Parent.Data; in {
			case "bdi", "title", "pre", "option", "textarea":
			default:
				t.Errorf("%s: <%s>%s", path, in, n.Data)
			}
		}
	}
}

// Each page is there as JSON, with what it shows and without the session's secret.
func TestEveryPageAsJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range paths() {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		resp, body := s.get(t, path+mark+"format=json")
		var got struct {
			Page   string
			Faults []fault
			Data   any
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || resp.Header.Get("Content-Type") != "application/json" || got.Page == "" ||
			got.Faults == nil || len(got.Faults) > 0 || got.Data == nil {
			t.Errorf("%s: %v %+v", path, err, got)
		}
	}
	if resp, body := s.send(t, http.MethodGet, "/jobs?format=json", "", nil); resp.StatusCode != 401 || !strings.Contains(body, "unauthorized") {
		t.Errorf("signed out: %d %s", resp.StatusCode, body)
	}
	if resp, body := s.get(t, "/nothing?format=json"); resp.StatusCode != 404 || !strings.Contains(body, ":not-found") {
		t.Errorf("not there: %d %s", resp.StatusCode, body)
	}
}

// Each role sees the pages that it may use, in the menu and by their paths; another page names the role that it needs.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, role := range append(roles(), "") {
		s.sessions.open["x"] = Session{Text: "x", Role: role, Expires: now().Add(life)}
		_, home := s.send(t, http.MethodGet, "/_/en/", "x", nil)
		for _, p := range table() {
			may := includes(role, p.role)
			path := strings.NewReplacer("/jobs/{id}/crawl", "/jobs/15/crawl", "/jobs/{id}/uris", "/jobs/15/uris", "/jobs/{id}/explain", "/jobs/15/explain", "/jobs/{id}/log", "/jobs/15/log",
				"/jobs/{id}/report", "/jobs/15/report", "/jobs/{id}/checkpoints", "/jobs/15/checkpoints", "/jobs/{id}", "/jobs/12", "{number}", "3", "/ingests/{id}", "/ingests/i1", "/batches/{id}", "/batches/b1", "/domains/{name}", "/domains/example.org",
				"{part}", "main", "/templates/{name}", "/templates/default", "/schedules/{name}", "/schedules/evenings", "/traps/{name}", "/traps/calendars", "/nodes/{name}", "/nodes/north-1",
				"/replicas/{name}", "/replicas/north", "/approvals/{id}", "/approvals/7", "{name}", "12-a.warc.gz", "{id}", "p1").Replace(p.path)
			s.api.queries()
			resp, body := s.send(t, http.MethodGet, "/_/en"+path, "x", nil)
			if may != (resp.StatusCode == http.StatusOK) || !may && (resp.StatusCode != http.StatusForbidden ||
				!strings.Contains(body, "This page needs the role of "+string(p.role)) || len(s.api.queries()) > 0) {
				t.Errorf("%q opens %s: %d", role, path, resp.StatusCode)
			}
			if listed := strings.Contains(body, `<li><a href="/_/en`+p.path+`" aria-current=`); !p.hidden && may != listed {
				t.Errorf("%q: %s in the menu: %v", role, p.path, listed)
			}
		}
		if role != "" && strings.Count(home, `<li><a href="/_/en/`) < 5 {
			t.Errorf("%q has no menu: %s", role, home)
		}
	}
	_, body := s.send(t, http.MethodGet, "/trail", "reader", nil)
	if strings.Contains(body, `"/strays"`) {
		t.Error("a reader is led to the strays")
	}
	if !s.api.tokens["Bearer reader"] {
		t.Errorf("the API was asked with %v", s.api.tokens)
	}
}

// Lists go on by the cursor of the page before, with the same filter, and say how many there are where that is known.
func TestPaging(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.queries()
	_, body := s.get(t, "/_/en/jobs?state=FAILED&domain=a.example&after=j-9")
	if asked := s.api.queries(); !slices.Contains(asked, "/jobs?after=j-9&domain=a.example&limit=100&state=FAILED") {
		t.Errorf("asked %v", asked)
	}
	for _, want := range []string{`href="/_/en/jobs?after=j-5&amp;domain=a.example&amp;state=FAILED"`, `href="/_/en/jobs?domain=a.example&amp;state=FAILED"`,
		"1,234 in all", `<option value="FAILED" selected>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	s.api.queries()
	_, body = s.get(t, "/_/en/jobs?harvest=x")
	if asked := s.api.queries(); len(asked) != 1 || !strings.Contains(body, "harvest: want a number") || strings.Contains(body, "Nothing.") {
		t.Errorf("asked %v: %s", asked, body)
	}
}

// A list that has nothing offers to drop its filter, if it has one.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/jobs"] = wire.Page[wire.Job]{}
	for path, want := range map[string]string{"/jobs": "<p>Nothing.</p>", "/jobs?state=&after=j-9&format=html": "<p>Nothing.</p>",
		"/jobs?state=FAILED": `<p>Nothing matches the filter. <a href="/_/en/jobs">Show all</a></p>`} {
		if _, body := s.get(t, "/_/en"+path); !strings.Contains(body, want) {
			t.Errorf("%s lacks %s:\n%s", path, want, body)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/": "/", "/jobs/running": "/jobs/running", "/jobs/12": "/jobs/{id}", "/files/a%2Fb": "/files/{name}",
		"/files/": "", "/files/..": "", "/files/%2e%2E": "", "/people/.": "", "/jobs/12/": "", "//": "", "/jobs/%zz": "", "": ""} {
		p, given := find(table(), path)
		if got := ""; p != nil {
			if got = p.path; got != want {
				t.Errorf("%s is %s, want %q", path, got, want)
			}
		} else if want != "" {
			t.Errorf("%s is no page", path)
		}
		if path == "/files/a%2Fb" && given["name"] != "a/b" {
			t.Errorf("%s has %v", path, given)
		}
	}
	for role, n := range map[string]int{"admin": 4, "operator": 3, "curator": 2, "reader": 1, "": 0, "root": 0} {
		if got := rank(wire.Role(role)); got != n {
			t.Errorf("%q is of rank %d", role, got)
		}
	}
}
