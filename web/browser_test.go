//go:build browser

package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/internal/browsertest"
)

// seen is an archive that pages are looked at with.
type seen struct {
	name string
	site *site
}

// hostile is a text that people or the web may give: markup, both directions of writing, and ends of lines.
const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\r\nSet-Cookie: a=b \u202eשלום עולם مرحبا {count} 100%s"

// archives are ordinary, hostile, with names of 200 letters, empty, and with an API that answers nothing.
func archives(t *testing.T) []seen {
	empty, silent := newSite(t), newSite(t)
	empty.api.answers = unused()
	silent.api.answers = map[string]any{}
	all := []seen{{"plain", newSite(t)}, {"hostile", newSiteOf(t, hostile, hostile)},
		{"long", newSiteOf(t, strings.Repeat("lindhaven", 22), strings.Repeat("abcdefghij", 20))}, {"empty", empty}, {"silent", silent}}
	for _, s := range all[1:] { // one signs in by a service, too
		s.site.cfg.OpenID = &login{silent: s.name == "silent"}
	}
	return all
}

// unused is an archive in which nothing has happened yet.
func unused() map[string]any {
	answers := filled("north-1")
	for path, answer := range answers {
		if strings.HasPrefix(path, "/") && !keeps(path) {
			answers[path] = emptied(answer)
		}
	}
	answers["/jobs/13/statistics"] = wire.Page[wire.Statistic]{}
	return answers
}

// keeps reports whether an answer is of something that a page or a form is about.
func keeps(path string) bool {
	for _, one := range []string{"/jobs/1", "/files/", "/users/p1", "/harvests/3", "/domains/", "/templates/default", "/schedules/evenings", "/trap-lists/calendars", "/channels/", "/nodes/", "/audits/", "/approvals/", "/disks"} {
		if strings.HasPrefix(path, one) {
			return true
		}
	}
	return false
}

func emptied(answer any) any {
	switch answer := answer.(type) {
	case wire.Status:
		answer.Alerts = nil
		return answer
	case wire.Alerts:
		return wire.Alerts{At: now()}
	case wire.RunningJobs:
		return wire.RunningJobs{At: now()}
	}
	return map[string]any{"items": []any{}}
}

// Every page, with every archive, as people see it: it fits the window, shows no message by its name, breaks no policy,
// asks for nothing elsewhere, and axe-core finds nothing (see browsertest.Check).
func TestBrowserPages(t *testing.T) {
	b := browsertest.Start(t)
	pages := append(append(paths(), actPaths()...), "/sign-in", "/sign-in?link=secret", "/invitation?text=secret", "/password", "/nothing", "/jobs/99")
	for a, archive := range archives(t) {
		t.Run(archive.name, func(t *testing.T) {
			t.Parallel()
			archive.site.cfg.Passwords = &passwords{sessions: archive.site.sessions, of: map[string]string{"secret": "", "p1": "old"}}
			server := httptest.NewServer(archive.site)
			t.Cleanup(server.Close)
			tab := b.Open(t, server.URL, browsertest.View{Width: 1440})
			for i, path := range pages {
				if !strings.HasPrefix(path, "/sign-in") && !strings.HasPrefix(path, "/invitation") {
					tab.Cookie(t, http.Cookie{Name: "holdfast", Value: "admin"})
				} else {
					tab.Forget(t)
				}
				for _, v := range browsertest.Variants(a + i) {
					tab.Look(t, v.View)
					tab.Go(t, "/_/"+v.Tag+path)
					status := 0
					none := archive.name == "empty" && (strings.HasPrefix(path, "/fields/") || strings.HasPrefix(path, "/collections/") || strings.HasPrefix(path, "/nodes/north-9/") || strings.HasPrefix(path, "/join-tokens/") || path == "/nodes/north-1/rebuild-index" ||
						path == "/layout/apply" || path == "/layout/revert" || strings.HasPrefix(path, "/layout/changes/")) // nothing is staged
					if archive.name == "silent" || none || path == "/nothing" || path == "/jobs/99" { // what it is of is not there
						status = http.StatusNotFound
					}
					tab.Check(t, fmt.Sprintf("web%s-%s-%s", path, archive.name, v), status)
				}
			}
		})
	}
}

// Somebody signs in by a link, looks at a job, goes back and signs out, with scripts switched off: by the mouse, and by
// the keyboard alone. After it nothing is shown any more, not by the button that goes back either.
func TestBrowserSignsInAndOut(t *testing.T) {
	b := browsertest.Start(t)
	for how, press := range map[string]func(*testing.T, *browsertest.Tab, string){
		"mouse":    func(t *testing.T, tab *browsertest.Tab, what string) { tab.Click(t, what) },
		"keyboard": byKeyboard,
	} {
		for _, width := range []int{1440, 390} {
			t.Run(fmt.Sprintf("%s %d", how, width), func(t *testing.T) {
				s := newSite(t)
				s.sessions.links["secret"] = Session{Text: "fresh", Name: "Ada", Role: "curator", Zone: "UTC", Expires: now().Add(life)}
				server := httptest.NewServer(s)
				t.Cleanup(server.Close)
				tab := b.Open(t, server.URL, browsertest.View{Width: width, NoScript: true, Language: "en"})
				leads := func(what, to, shows string) {
					t.Helper()
					tab.Leads(t, func() { press(t, tab, what) })
					if got := strings.TrimPrefix(tab.URL(t), server.URL); got != to || !strings.Contains(tab.Text(t, "document.body.innerText"), shows) {
						t.Fatalf("%s leads to %s, which shows %s", what, got, tab.Text(t, "document.body.innerText"))
					}
				}
				tab.Go(t, "/sign-in?link=secret")
				leads("main button", "/", "Ada, curator")
				leads(`main a[href$="/jobs/13"]`, "/jobs/13", "Job 13")
				tab.Back(t, 1)
				if got := tab.Text(t, "document.querySelector('h1').innerText"); got != "Today" {
					t.Fatalf("back is %q", got)
				}
				leads("header form button", "/sign-in", "holdfast sign-in")
				if len(s.sessions.open) != len(roles()) {
					t.Error("the session is still open")
				}
				tab.Back(t, 1)
				if text := tab.Text(t, "document.body.innerText"); strings.Contains(text, "Ada") || !strings.Contains(text, "holdfast sign-in") {
					t.Errorf("back after signing out shows %s", text)
				}
				if complaints := tab.Complaints(); len(complaints) > 0 {
					t.Errorf("%q", complaints)
				}
			})
		}
	}
}

// A person makes a domain, also without scripts: what she mistypes comes back beside its field, and what she did is
// told. axe-core needs scripts, and looks at the other run.
func TestBrowserFillsInAForm(t *testing.T) {
	b := browsertest.Start(t)
	for width, noScript := range map[int]bool{1440: true, 390: false} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			check := func(tab *browsertest.Tab, name string, status int) {
				if !noScript {
					tab.Check(t, name, status)
				}
			}
			s := newSite(t)
			s.api.answers["/domains/new.example"] = wire.Domain{Name: "new.example", Created: now()}
			s.api.answers["POST /domains"] = wire.Problem{Type: wire.ProblemType + "invalid", Status: 422, Detail: "validation failed",
				Errors: []wire.ProblemField{{Location: "body.owner", Message: "too long"}}}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			tab := b.Open(t, server.URL, browsertest.View{Width: width, NoScript: noScript, Language: "en"})
			tab.Cookie(t, http.Cookie{Name: "holdfast", Value: "admin"})
			tab.Go(t, "/domains")
			tab.Leads(t, func() { tab.Click(t, `main a[href$="/new/domain"]`) })
			check(tab, "form", 0)
			tab.Leads(t, func() { tab.Click(t, "main .fill button") }) // nothing is typed
			if text := tab.Text(t, "document.querySelector('main').innerText"); !strings.Contains(text, "Fill this in.") {
				t.Fatalf("%s", text)
			}
			check(tab, "form-missing", 422)
			tab.Text(t, "document.querySelector('#f-name').value = 'new.example'")
			tab.Leads(t, func() { tab.Click(t, "main .fill button") })
			if text := tab.Text(t, "document.querySelector('main').innerText"); !strings.Contains(text, "too long") || tab.Text(t, "document.querySelector('#f-name').value") != "new.example" {
				t.Fatalf("%s", text)
			}
			check(tab, "form-refused", 422)
			s.api.mu.Lock()
			s.api.answers["POST /domains"] = wire.Domain{Name: "new.example"}
			s.api.mu.Unlock()
			tab.Leads(t, func() { tab.Click(t, "main .fill button") })
			if text := tab.Text(t, "document.querySelector('main').innerText"); !strings.HasPrefix(strings.TrimPrefix(tab.URL(t), server.URL), "/domains/new.example?done=") || !strings.Contains(text, "is made") {
				t.Fatalf("%s %s", tab.URL(t), text)
			}
			check(tab, "form-done", 0)
		})
	}
}

// byKeyboard goes to an element by the key Tab, and presses Enter.
func byKeyboard(t *testing.T, tab *browsertest.Tab, what string) {
	t.Helper()
	tab.Reach(t, what)
	tab.Press(t, "Enter")
}
