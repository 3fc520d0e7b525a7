package web

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
)

// The page of a log says what it does not show, and asks for what was asked.
func TestLogPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.queries()
	resp, body := s.get(t, "/_/en/nodes/north-1/log?level=warn&text=a%3Db&room=index&after=4d-7")
	asked := strings.Join(s.api.queries(), "\n")
	if resp.StatusCode != http.StatusOK || !strings.Contains(asked, "/nodes/north-1/log?after=4d-7&level=warn&limit=100&room=index&text=a%3Db") {
		t.Errorf("%d, asked %s", resp.StatusCode, asked)
	}
	for _, want := range []string{"lines in between are no longer in memory", "was started again since then", " logs more than usual",
		`href="/_/en/nodes/north-1/log?after=4d-9&amp;level=warn&amp;room=index&amp;text=a%3Db"`, "24 November 2026, 05:30:00"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	for name, answer := range map[string]any{"the log could not be read": wire.Problem{Type: wire.ProblemType + string(wire.CodeUnavailable), Status: 503, Detail: "south-1 is away"},
		"not allowed there": refusal(http.StatusForbidden, wire.CodeForbidden, "no")} {
		s.api.answers["/nodes/north-1/log"] = answer
		_, body = s.get(t, "/_/en/nodes/north-1/log")
		if strings.Contains(body, "has in memory") || strings.Contains(body, "None") || !strings.Contains(body, `role="status"`) {
			t.Errorf("%s: the page says something of the log:\n%s", name, body)
		}
	}
	if resp, _ := s.get(t, "/nodes/nobody/log"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("of no node: %d", resp.StatusCode)
	}
	// Whoever may not look at logs is shown no links to them.
	for role, want := range map[string]bool{"reader": false, "curator": false, "operator": true} {
		_, body := s.send(t, http.MethodGet, "/nodes", role, nil)
		if got := strings.Contains(body, "/log\""); got != want {
			t.Errorf("%s is shown links to logs: %v", role, got)
		}
	}
}
