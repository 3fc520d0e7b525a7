package web

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"holdfast/api/wire"
)

// redrawn are the pages that change by themselves.
func redrawn() []string {
	return []string{"/", "/jobs/running", "/jobs/15", "/jobs/15/crawl", "/nodes", "/audits", "/alerts", "/disks"}
}

// What a page asks for again has all its parts that are redrawn, as the page has them, says of when it is, and can be
// put into the page: no name of a part is there twice. It has no frame, and asks as little as the page.
func TestParts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range redrawn() {
		resp, page := s.get(t, "/_/da"+path)
		if got := resp.Header.Get("Content-Security-Policy"); got != scripted {
			t.Errorf("%s has the policy %s", path, got)
		}
		s.api.queries()
		resp, part := s.get(t, "/_/da"+path+"?format=part&done=x")
		if resp.StatusCode != http.StatusOK || len(s.api.queries()) > most {
			t.Fatalf("%s: %d %s", path, resp.StatusCode, part)
		}
		if got := resp.Header.Get("Content-Security-Policy"); got != policy {
			t.Errorf("%s: the part has the policy %s", path, got)
		}
		want, have := liveParts(t, page), liveParts(t, part)
		if len(want) < 4 || fmt.Sprint(want) != fmt.Sprint(have) {
			t.Errorf("%s redraws %d parts, the page has %d:\n%s\n%s", path, len(have), len(want), page, part)
		}
		if strings.Contains(part, "<script") || strings.Contains(part, "format=part") || !strings.Contains(part, "Pr. 24. november 2026") {
			t.Errorf("%s: %s", path, part)
		}
	}
	for _, path := range paths() { // no other page has a script
		resp, page := s.get(t, path)
		if live := strings.Contains(page, "<script"); live != (resp.Header.Get("Content-Security-Policy") == scripted) {
			t.Errorf("%s: a script: %v, but the policy %s", path, live, resp.Header.Get("Content-Security-Policy"))
		}
	}
}

// liveParts are the parts of a page that are redrawn, as text, without the keys of its buttons.
func liveParts(t *testing.T, page string) map[string]string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		live := false
		for _, a := range n.Attr {
			live = live || a.Key == "data-live"
		}
		if id := attribute(n, "id"); live {
			if _, twice := parts[id]; twice || id == "" {
				t.Errorf("a part is %q", id)
			}
			var text strings.Builder
			for in := range n.Descendants() {
				if in.Type == html.TextNode {
					text.WriteString(in.Data)
				}
				text.WriteString(attribute(in, "href") + attribute(in, "action"))
			}
			parts[id] = text.String()
		}
	}
	return parts
}

// The archive is asked once for all who look at a page, each of whom sees it in her language and with her acts; and
// again five seconds later. Other queries are other pages.
func TestPartsAreShared(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	at := now()
	s.live.now = func() time.Time { return at }
	ask := func(path, who, has, lacks string) {
		t.Helper()
		resp, part := s.send(t, http.MethodGet, path, who, nil)
		if resp.StatusCode != http.StatusOK || !strings.Contains(part, has) || lacks != "" && strings.Contains(part, lacks) {
			t.Errorf("%s for %s: %d %s", path, who, resp.StatusCode, part)
		}
	}
	s.api.queries()
	ask("/_/en/audits?format=part", "reader", "Replicas", "/new/audit")
	once := len(s.api.queries())
	if once == 0 {
		t.Fatal("nothing was asked")
	}
	ask("/_/da/audits?format=part", "operator", "/_/da/new/audit", "Replicas<")
	ask("/_/en/audits?done=x&format=part", "admin", "/_/en/new/audit", "")
	if asked := s.api.queries(); len(asked) > 0 {
		t.Errorf("asked again: %v", asked)
	}
	ask("/_/en/audits?format=part&replica=north", "admin", "", "")
	if asked := s.api.queries(); len(asked) != once {
		t.Errorf("of another replica: %v", asked)
	}
	at = at.Add(redrawEvery)
	ask("/_/en/audits?format=part", "reader", "", "")
	if asked := s.api.queries(); len(asked) != once {
		t.Errorf("five seconds later: %v", asked)
	}
	s.get(t, "/audits") // who opens the page sees it as it is now
	if asked := s.api.queries(); len(asked) != once {
		t.Errorf("the page: %v", asked)
	}
}

// Many who ask at the same time wait for one answer, also when whoever asked first has gone away.
func TestPartsAskedAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wait := make(chan struct{})
	s.api.slow["/jobs/running"], s.api.came = wait, make(chan struct{}, 100)
	var going sync.WaitGroup
	open := func() {
		going.Go(func() {
			if resp, part := s.get(t, "/jobs/running?format=part"); resp.StatusCode != http.StatusOK || !strings.Contains(part, "41.2") {
				t.Errorf("%d %s", resp.StatusCode, part)
			}
		})
	}
	open()
	<-s.api.came
	for range 50 {
		open()
	}
	close(wait)
	going.Wait()
	asked := 0
	for _, path := range s.api.queries() {
		if strings.HasPrefix(path, "/jobs/running?") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// What was answered to somebody is not shown to whoever may not see it, nor to one who is signed out; and an answer to
// one whom the API does not take is nobody else's.
func TestPartsAreNotForAll(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if resp, _ := s.get(t, "/strays?format=part"); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.StatusCode)
	}
	if resp, part := s.send(t, http.MethodGet, "/strays?format=part", "reader", nil); resp.StatusCode != http.StatusForbidden || strings.Contains(part, "north-1") {
		t.Errorf("a reader: %d %s", resp.StatusCode, part)
	}
	for _, path := range []string{"/strays?format=part", "/people/p1?format=part"} { // is no reader's, is not redrawn
		s.get(t, path)
		s.api.queries()
		if s.get(t, path); len(s.api.queries()) == 0 {
			t.Errorf("%s is shared", path)
		}
	}
	if resp, part := s.send(t, http.MethodGet, "/?format=part", "gone", nil); resp.StatusCode != http.StatusUnauthorized || strings.Contains(part, "<") {
		t.Errorf("signed out: %d %s", resp.StatusCode, part)
	}
	s.api.answers["/audits"] = refusal(http.StatusUnauthorized, wire.CodeUnauthorized, "the session has ended")
	if resp, _ := s.get(t, "/audits?format=part"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API takes nobody: %d", resp.StatusCode)
	}
	s.api.answers["/audits"] = wire.Page[wire.Audit]{}
	if resp, _ := s.send(t, http.MethodGet, "/audits?format=part", "reader", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("the next one: %d", resp.StatusCode)
	}
}

// A page that is left open keeps nobody signed in.
func TestPartsRenewNoSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sessions.open["old"] = Session{Text: "old", Role: "reader", Expires: now().Add(time.Hour)}
	if resp, _ := s.send(t, http.MethodGet, "/?format=part", "old", nil); resp.StatusCode != http.StatusOK || s.sessions.renewed != 0 || len(resp.Header["Set-Cookie"]) > 0 {
		t.Errorf("%d, renewed %d", resp.StatusCode, s.sessions.renewed)
	}
	if s.send(t, http.MethodGet, "/", "old", nil); s.sessions.renewed != 1 {
		t.Errorf("the page renewed %d", s.sessions.renewed)
	}
}

// A part that fails says so, and a job that has ended is redrawn no more. One that is not there is no part.
func TestPartsThatFail(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/alerts"] = refusal(http.StatusServiceUnavailable, wire.CodeUnavailable, "nobody answers")
	resp, part := s.get(t, "/_/en/?format=part")
	if resp.StatusCode != http.StatusOK || !strings.Contains(part, "nobody answers") || strings.Contains(part, `class="good">All copies`) {
		t.Errorf("%d %s", resp.StatusCode, part)
	}
	if _, page := s.get(t, "/jobs/12"); strings.Contains(page, "<script") {
		t.Error("a job that has ended is redrawn")
	}
	if _, part := s.get(t, "/jobs/12?format=part"); strings.Contains(part, `id="as-of"`) {
		t.Errorf("a job that has ended is redrawn: %s", part)
	}
	if resp, part := s.get(t, "/jobs/99?format=part"); resp.StatusCode != http.StatusNotFound || strings.Contains(part, "<") {
		t.Errorf("%d %s", resp.StatusCode, part)
	}
	s.api.answers["/jobs/15"] = refusal(http.StatusServiceUnavailable, wire.CodeUnavailable, "its node is away")
	if _, part := s.get(t, "/jobs/15/crawl?format=part"); !strings.Contains(part, `id="as-of"`) || !strings.Contains(part, "its node is away") {
		t.Errorf("a job that could not be read is redrawn no more: %s", part)
	}
}

// What is shared is bounded: other pages are asked for each time. What a panic leaves behind holds up nobody.
func TestSharedIsBounded(t *testing.T) {
	t.Parallel()
	at := now()
	s := newShared(func() time.Time { return at })
	asked := 0
	ask := func() *looked { asked++; return &looked{visit: &visit{live: true}} }
	for range 2 {
		for i := range maxShared + 5 {
			s.get(t.Context(), fmt.Sprint(i), ask)
		}
	}
	if asked != maxShared+5+5 || len(s.rounds) != maxShared {
		t.Errorf("asked %d times, kept %d", asked, len(s.rounds))
	}
	at = at.Add(redrawEvery)
	long := strings.Repeat("x", maxSharedKey+1)
	if s.get(t.Context(), long, ask); len(s.rounds) != 0 {
		t.Errorf("kept %d", len(s.rounds))
	}
	func() {
		defer func() { _ = recover() }()
		s.get(t.Context(), "a", func() *looked { panic("broken") })
	}()
	if got := s.get(t.Context(), "a", ask); got == nil || len(s.rounds) != 1 {
		t.Errorf("after a panic: %v, kept %d", got, len(s.rounds))
	}
}

// The script is small, and what it needs is in every page that it is in.
func TestScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, text := s.send(t, http.MethodGet, "/_/"+script().Name, "", nil)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || strings.Count(text, "\n") >= 300 {
		t.Errorf("%d %v, %d lines", resp.StatusCode, resp.Header, strings.Count(text, "\n"))
	}
	for _, never := range []string{"eval", "innerHTML", "Function(", "document.write"} {
		if strings.Contains(text, never) {
			t.Errorf("the script has %s", never)
		}
	}
	for _, path := range redrawn() {
		_, page := s.get(t, path)
		for _, id := range []string{"as-of", "live-on", "live-tick", "live-late", "live-out", "live"} {
			if strings.Count(page, `id="`+id+`"`) != 1 {
				t.Errorf("%s has no %s", path, id)
			}
		}
	}
}
