//go:build browser

package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/internal/browsertest"
)

// awaits waits until an expression is true in the page, looking whenever the page changes.
func awaits(t *testing.T, tab *browsertest.Tab, expression string) {
	t.Helper()
	var there bool
	tab.Eval(t, fmt.Sprintf(`new Promise((done) => {
		const look = () => { if (%s) { seen.disconnect(); done(true); } };
		const seen = new MutationObserver(look);
		seen.observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
		look();
		setTimeout(() => done(false), 20000);
	})`, expression), &there)
	if !there {
		t.Fatalf("it is never true that %s; the page shows %s", expression, tab.Text(t, "document.body.innerText"))
	}
}

// again has the page redrawn now.
const again = `document.querySelector("#live-tick").click(), document.querySelector("#live-tick").click()`

// A running crawl is redrawn by itself, after five seconds, in the same place: what is typed, the focus and the nodes
// that did not change stay. A page whose box is not ticked stays as it is.
func TestBrowserRedraws(t *testing.T) {
	b := browsertest.Start(t)
	s := newSite(t)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	tab := b.Open(t, server.URL, browsertest.View{Width: 1440, Language: "en"})
	tab.Cookie(t, http.Cookie{Name: "holdfast", Value: "admin"})
	tab.Go(t, "/jobs/15/crawl")
	answer := func(path string, value any) {
		s.api.mu.Lock()
		s.api.answers[path] = value
		s.api.mu.Unlock()
		s.live.mu.Lock()
		clear(s.live.rounds)
		s.live.mu.Unlock()
	}
	tab.Eval(t, `document.querySelector("#queue").value = "typed", document.querySelector("#queue").focus(),
		window.row = document.querySelector("#live tbody tr"), null`, nil)
	answer("/jobs/15/crawl/queues", harvest.Reply{Queues: []harvest.Queue{{Name: "north-1", State: "busy", Queued: 77_001},
		{Name: "added.example", State: "ready"}, {Name: "north-1", State: "frozen"}}})
	awaits(t, tab, `document.querySelector("#live").innerText.includes("77,001")`)
	for expression, want := range map[string]string{
		`document.querySelector("#queue").value`: "typed", `document.activeElement.id`: "queue",
		`window.row === document.querySelector("#live tbody tr")`:             "true",
		`document.querySelector("#live").innerText.includes("added.example")`: "true",
		`document.querySelectorAll("#live form").length`:                      "1",
	} {
		if got := tab.Text(t, expression); got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	answer("/jobs/15/crawl/queues", harvest.Reply{})
	tab.Eval(t, again, nil)
	awaits(t, tab, `!document.querySelector("#live").innerText.includes("77,001")`)
	if complaints := tab.Complaints(); len(complaints) > 0 {
		t.Errorf("%q", complaints)
	}
	tab.Eval(t, `document.querySelector("#live-tick").click(), null`, nil)
	s.api.queries()
	tab.Eval(t, `document.dispatchEvent(new Event("visibilitychange")), null`, nil)
	tab.Eval(t, `new Promise((done) => setTimeout(done, 6000))`, nil)
	if asked := s.api.queries(); len(asked) > 0 {
		t.Errorf("without its tick it asks %v", asked)
	}
}

// A page says that it is out of date while nobody answers, and takes it back; it says that its reader is signed out, and
// asks no more; and the page of a job that has ended is opened as it is then.
func TestBrowserIsNotRedrawn(t *testing.T) {
	b := browsertest.Start(t)
	s := newSite(t)
	gone := make(chan bool, 1)
	gone <- false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		is := <-gone
		gone <- is
		if is {
			panic(http.ErrAbortHandler)
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	tab := b.Open(t, server.URL, browsertest.View{Width: 1440, Language: "en"})
	tab.Cookie(t, http.Cookie{Name: "holdfast", Value: "admin"})
	tab.Go(t, "/jobs/15")
	<-gone
	gone <- true
	tab.Eval(t, again, nil)
	awaits(t, tab, `document.querySelector("main").innerText.includes("may be out of date")`)
	<-gone
	gone <- false
	tab.Eval(t, again, nil)
	awaits(t, tab, `!document.querySelector("main").innerText.includes("may be out of date")`)
	tab.Leads(t, func() {
		s.api.mu.Lock()
		s.api.answers["/jobs/15"] = wire.Job{ID: 15, State: wire.JobDone, Created: now(), Ended: now().Add(-time.Minute)}
		s.api.mu.Unlock()
		s.live.mu.Lock()
		clear(s.live.rounds)
		s.live.mu.Unlock()
		tab.Eval(t, again, nil)
	})
	if got := tab.Text(t, `document.querySelector("script")`); got != "null" {
		t.Errorf("the page of a job that has ended has a script: %s", got)
	}
	tab.Go(t, "/nodes")
	s.sessions.mu.Lock()
	delete(s.sessions.open, "admin")
	s.sessions.mu.Unlock()
	tab.Eval(t, again, nil)
	awaits(t, tab, `document.querySelector("main").innerText.includes("not signed in any more")`)
	if got := tab.Text(t, `document.querySelector("#live-out a").getAttribute("href")`); !strings.HasSuffix(got, "/nodes") {
		t.Errorf("it leads to %s", got)
	}
}
