//go:build e2e

package systemtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/demo"
	"holdfast/internal/browsertest"
)

// TestBrowserWalk goes through the archivists' pages in Chromium as a library does that begins: from an empty cluster
// over people, a domain, a harvest and its running job to a copy that is damaged and repaired, and an alert that is
// acknowledged. Once by the mouse without scripts, once by the keyboard alone.
func TestBrowserWalk(t *testing.T) {
	t.Parallel()
	for n, way := range []string{"mouse", "keyboard"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			newWalk(t, 26+n, way == "keyboard").all()
		})
	}
}

// walk is one person's way through the pages.
type walk struct {
	t    *testing.T
	c    *Cluster
	tab  *browsertest.Tab
	keys bool // the keyboard alone, else the mouse, and no scripts
	site *demo.Site
}

func newWalk(t *testing.T, network int, keys bool) *walk {
	t.Helper()
	program, err := Program()
	check(t, err)
	specs := Three(func(i int) string { return fmt.Sprintf("127.0.%d.%d", network, i) })
	specs[0].Local = "127.0.0.1" // so that its pages are at localhost
	w := &walk{t: t, c: startCluster(t, program, "", specs), keys: keys}
	w.site, err = demo.Serve(t.Context())
	check(t, err)
	t.Cleanup(func() { check(t, w.site.Close()) })
	origin := strings.Replace("http://"+w.c.Address("north-1", "api"), "127.0.0.1", "localhost", 1)
	w.tab = browsertest.Start(t).Open(t, origin, browsertest.View{Width: 1440, NoScript: !keys, Language: "en"})
	return w
}

func (w *walk) text() string { return w.tab.Text(w.t, "document.body.innerText") }

// press presses what the selector finds, which leads to another page.
func (w *walk) press(selector string) {
	w.t.Helper()
	w.tab.Leads(w.t, func() {
		if w.keys {
			w.tab.Reach(w.t, selector)
			w.tab.Press(w.t, "Enter")
		} else {
			w.tab.Click(w.t, selector)
		}
	})
}

// goes follows a link of the page to a path, and wants to see the words there.
func (w *walk) goes(path string, words ...string) {
	w.t.Helper()
	selector := fmt.Sprintf(`a[href$=%q], a[href*=%q]`, path, path+"?")
	if strings.Contains(path, "?") {
		selector = fmt.Sprintf(`a[href*=%q]`, path)
	}
	w.press(selector)
	w.sees(words...)
}

func (w *walk) sees(words ...string) {
	w.t.Helper()
	text := w.text()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.t.Fatalf("%s shows no %q, but %s", w.tab.URL(w.t), word, text)
		}
	}
}

// fills types into the form of the page, by pairs of field and text, and sends it. A text replaces what is there.
func (w *walk) fills(pairs ...string) {
	w.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		field := fmt.Sprintf("main [name=%q]", pairs[i])
		if w.tab.Text(w.t, fmt.Sprintf("document.querySelector(%q)?.tagName", field)) == "SELECT" {
			w.tab.Text(w.t, fmt.Sprintf("document.querySelector(%q).value = %q", field, pairs[i+1]))
			continue
		}
		if w.keys {
			w.tab.Reach(w.t, field)
		} else {
			w.tab.Click(w.t, field)
		}
		w.tab.Text(w.t, "document.activeElement.select()")
		w.tab.Type(w.t, pairs[i+1])
	}
	w.press(submit)
}

// submit is the button of a form.
const submit = "main form.fill button, main form.stacked button"

// until loads the page again until it shows the words.
func (w *walk) until(limit time.Duration, words ...string) {
	w.t.Helper()
	path := w.tab.URL(w.t)
	path = path[strings.Index(path, "//")+2:]
	path = path[strings.Index(path, "/"):]
	must(w.t, limit, fmt.Sprintf("%s shows %q", path, words), func() error {
		w.tab.Go(w.t, path)
		text := w.text()
		for _, word := range words {
			if !strings.Contains(text, word) {
				return fmt.Errorf("no %q: %s", word, text)
			}
		}
		return nil
	})
}

func (w *walk) all() {
	w.begins()
	w.defines()
	w.harvests()
	w.repairs()
	w.ends()
	w.silent()
}

// silent checks that the browser complained of nothing.
func (w *walk) silent() {
	w.t.Helper()
	if complaints := w.tab.Complaints(); len(complaints) > 0 {
		w.t.Errorf("%q", complaints)
	}
}

// begins signs in by the link that the node's machine gives, invites a person, and goes on as her.
func (w *walk) begins() {
	t := w.t
	link, err := w.c.Do(t.Context(), "north-1", "sign-in")
	check(t, err)
	w.tab.Go(t, pathOf(string(link)))
	w.press("main button")
	w.sees("Today")
	w.goes("/alerts")
	w.goes("/people")
	w.goes("/new/invitation")
	w.fills("name", "Ada", "mail", "ada@demo.test")
	w.sees("Ada")
	invitation := w.tab.Text(t, `document.querySelector(".note .url").innerText`)
	w.goes("/grant")
	w.fills("role", "admin")
	w.sees("admin")
	w.press("header form button")
	w.tab.Go(t, pathOf(invitation))
	w.fills("password", "correct horse battery staple")
	w.sees("Ada, admin")
}

func pathOf(link string) string {
	_, rest, _ := strings.Cut(strings.TrimSpace(link), "//")
	return rest[strings.Index(rest, "/"):]
}

// defines makes the template that harvests need, a domain with seeds, and a harvest of it.
func (w *walk) defines() {
	w.goes("/harvests")
	w.goes("/templates")
	w.goes("/new/template")
	w.fills("name", "default", "settings", fmt.Sprintf(`{"operator_contact": "http://demo.test/", "nameserver": %q,
"allow_private": true, "robots": "ignore", "min_delay": "2s", "max_delay": "2s", "delay_factor": 0, "min_free_disk": 0}`, w.site.Nameserver))
	w.goes("/domains")
	w.goes("/new/domain")
	w.fills("name", "demo.test", "owner", "Ada")
	w.sees("demo.test", "defaultseeds")
	w.goes("/seeds/defaultseeds")
	w.goes("/edit")
	w.fills("urls", strings.Join(w.site.Seeds, "\n"))
	w.goes("/harvests")
	w.goes("/new/harvest")
	w.fills("name", "News", "kind", "selective", "schedule", "daily")
	w.sees("News")
	w.goes("/add")
	w.fills("configurations", "demo.test")
	w.goes("/harvests/1")
	w.goes("/preview", "1")
}

// harvests starts the harvest, steers its job while it runs, and looks at what it brought.
func (w *walk) harvests() {
	w.press(`main form[action$="/activate"] button`)
	w.goes("/jobs")
	w.until(time.Minute, "News\trunning")
	w.goes("/jobs/1")
	w.goes("/jobs/1/crawl")
	w.until(time.Minute, "press.demo.test")
	w.goes("/freeze?name=")
	w.fills("reason", "too fast")
	w.until(time.Minute, "frozen")
	w.goes("/thaw?name=")
	w.fills()
	w.goes("/jobs/1/set")
	w.fills("setting", "min_delay", "value", "10ms")
	w.goes("/jobs/1/set")
	w.fills("setting", "max_delay", "value", "10ms")
	w.goes("/jobs/1")
	w.until(2*time.Minute, "completed", "demo.test")
}

// repairs flips a bit of a copy: an audit finds it, and it is repaired.
func (w *walk) repairs() {
	_, err := w.c.Stored(w.t.Context(), "north-1", time.Minute)
	check(w.t, err)
	path, content := damage(w.t, w.c, "south-1")
	w.goes("/preservation")
	w.goes("/audits")
	w.goes("/new/audit")
	w.fills("replica", "south")
	w.until(time.Minute, "ended with findings")
	w.tab.Go(w.t, "/files/"+filepath.Base(path))
	w.until(time.Minute, "south") // the page of the file
	must(w.t, time.Minute, "the copy is repaired", func() error {
		text, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(text, content) {
			err = errors.New("it is as it was damaged")
		}
		return err
	})
	w.tab.Go(w.t, "/")
}

// ends loses a node, says that this is known, and signs out.
func (w *walk) ends() {
	w.c.Kill("third-1")
	w.goes("/alerts")
	w.until(2*time.Minute, "Node third-1:")
	w.goes("/alerts/acknowledge?kind=node-away")
	w.silent()
	w.fills("note", "a new mainboard comes on Friday")
	must(w.t, 2*time.Minute, "the alert is reported, and acknowledged", func() error {
		if text := w.text(); !strings.Contains(text, "a new mainboard comes on Friday") {
			w.press(submit) // what was typed is still there
			return errors.New(text)
		}
		return nil
	})
	w.tab.Complaints() // that a form was refused
	w.sees("Ada, until")
	w.press("header form button")
	w.sees("Sign in")
	w.tab.Go(w.t, "/jobs/1")
	if text := w.text(); strings.Contains(text, "News") {
		w.t.Errorf("after signing out: %s", text)
	}
}

// damage flips a bit of the first file of a node, and returns where it lies and what was in it.
func damage(t *testing.T, c *Cluster, node string) (path string, content []byte) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(c.Dir, node, "files", "*", "[0-9]*.gz"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no files of %s: %v", node, err)
	}
	text, err := os.ReadFile(all[0])
	check(t, err)
	content = bytes.Clone(text)
	text[len(text)/2] ^= 1
	check(t, os.Chmod(all[0], 0o644))
	check(t, os.WriteFile(all[0], text, 0o644))
	return all[0], content
}
