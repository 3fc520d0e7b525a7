//go:build browser

package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// What a page does wrong is told, and a page that does nothing wrong is not complained of.
func TestBrowserComplains(t *testing.T) {
	b := Start(t)
	for what, tt := range map[string]struct{ policy, body, want string }{
		"nothing":          {"", `<p>well</p>`, ""},
		"console":          {"", `<script>console.error("oh")</script>`, "oh"},
		"exception":        {"", `<script>nothing()</script>`, "nothing is not defined"},
		"dialog":           {"", `<script>alert("here")</script>`, "dialog: here"},
		"policy, script":   {"script-src 'none'", `<script>1</script>`, "policy"},
		"policy, style":    {"style-src 'none'", `<p style="color: red">`, "policy"},
		"another machine":  {"", `<img src="https://elsewhere.test/a.png" alt="">`, "request to https://elsewhere.test/a.png"},
		"another port":     {"", `<img src="http://127.0.0.1:1/a.png" alt="">`, "request to http://127.0.0.1:1/a.png"},
		"something absent": {"", `<img src="/absent" alt="">`, "404"},
	} {
		t.Run(what, func(t *testing.T) {
			tab := b.Open(t, serve(t, tt.policy, tt.body), View{Width: 1440})
			tab.Go(t, "/")
			found := strings.Join(tab.Complaints(), "\n")
			if tt.want == "" && found != "" || !strings.Contains(found, tt.want) {
				t.Errorf("complaints: %s", found)
			}
		})
	}
}

// axe-core finds what it is asked for, and nothing in a page that has no fault.
func TestBrowserFindings(t *testing.T) {
	b := Start(t)
	for rule, body := range map[string]string{
		"":               `<main><h1>Well</h1></main>`,
		"label":          `<input name=a>`,
		"color-contrast": `<p style="color: #ccc; background: #fff">pale</p>`,
		"target-size":    `<ul style="font-size: 8px; line-height: 8px"><li><a href="/a">a</a></li><li><a href="/b">b</a></li></ul>`,
		"image-alt":      `<img src="/absent">`,
	} {
		tab := b.Open(t, serve(t, "", body), View{Width: 390})
		tab.Go(t, "/")
		found := tab.Findings(t)
		if rule == "" && len(found) > 0 || rule != "" && !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, rule+":") }) {
			t.Errorf("%q: found %q", rule, found)
		}
	}
}

// serve serves a page, and returns its origin.
func serve(t *testing.T, policy, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(map[bool]int{true: http.StatusNoContent, false: http.StatusNotFound}[r.URL.Path == "/favicon.ico"])
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><title>t</title><meta name="viewport" content="width=device-width">%s`, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
