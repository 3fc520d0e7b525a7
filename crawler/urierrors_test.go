package crawler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What stands in a document for a link and can be none is in uri-errors.log, at most so much of each document; what is
// not of the web, or was a guess, is not.
func TestReferencesThatAreNoURIsAreLogged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bad := []string{"http://q.test:99999/x", "http://[bad/", "http://a b/", "http://%zz/", "http://host:port/", "https://" + strings.Repeat("l", 5000)}
	page := "<a href=mailto:a@b.test>m</a> <a href='javascript:f()'>j</a> <img src='data:image/png;base64," + strings.Repeat("A", 5000) + "'><a href=#top>t</a> <a href=/many>x</a> " +
		`<script>var a = "http://[guess/x.html"</script>`
	for _, ref := range bad {
		page += "<a href='" + ref + "'>x</a> "
	}
	s.html("/{$}", page)
	many := ""
	for i := range 500 {
		many += fmt.Sprintf("<a href='http://x:%d/'>x</a>", 100_000+i)
	}
	s.html("/many", many)
	dir := t.TempDir()
	run(t, dir, newJob(s.URL+"/"))
	text, err := os.ReadFile(filepath.Join(dir, "logs", "uri-errors.log"))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		of[words[1]] = append(of[words[1]], line)
	}
	lines := of[s.URL+"/"]
	if len(lines) != len(bad) || len(of[s.URL+"/many"]) != 20 || len(of) != 2 {
		t.Errorf("%d and %d lines:\n%s", len(lines), len(of[s.URL+"/many"]), text)
	}
	for i, line := range lines {
		if _, found, _ := strings.Cut(line, `" `); !strings.HasPrefix(strings.TrimSpace(found), bad[i][:min(len(bad[i]), 1000)]) {
			t.Errorf("%s is logged as %s", bad[i], line)
		}
	}
	if want := ` "no URL: The input's port is outside the range [0-65535]." http://q.test:99999/x`; len(lines) > 0 && !strings.Contains(lines[0], want) {
		t.Errorf("%s has no %s", lines[0], want)
	}
}
