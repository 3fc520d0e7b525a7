package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/harvest"
)

// URIs are deleted only after the form has said how many match what was typed, and only by what was counted.
func TestDeletedOnlyCounted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	send := func(key string, typed ...string) (*http.Response, string, []string) {
		resp, body := s.post(t, "/_/en/jobs/15/delete", formOf(key, typed...))
		return resp, body, s.api.changes()
	}
	resp, body, did := send("A", "pattern", "gif", "queue", "", "counted", "", "confirm", "15")
	if resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 || !strings.Contains(body, "At least <bdi>1</bdi> queued URI matches now") ||
		!strings.Contains(body, "Press again to delete") || !strings.Contains(body, `name="counted" value=" gif"`) {
		t.Fatalf("%d, did %v: %s", resp.StatusCode, did, body)
	}
	if resp, _, did := send("A", "pattern", "png", "queue", "", "counted", " gif", "confirm", "15"); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 {
		t.Errorf("another expression than was counted: %d, did %v", resp.StatusCode, did)
	}
	if resp, _, did := send("A", "pattern", "gif", "queue", "", "counted", " gif", "confirm", "16"); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 {
		t.Errorf("not confirmed: %d, did %v", resp.StatusCode, did)
	}
	if resp, body, did := send("A", "pattern", "", "queue", " ", "counted", "", "confirm", "15"); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 ||
		!strings.Contains(body, "Say which URIs") {
		t.Errorf("nothing typed: %d, did %v", resp.StatusCode, did)
	}
	s.api.queries()
	if resp, _, did := send("A", "pattern", "gif", "queue", "a.*", "counted", "a.* gif", "confirm", "15"); resp.StatusCode != http.StatusSeeOther || len(did) != 1 {
		t.Errorf("counted: %d, did %v", resp.StatusCode, did)
	}
	if asked := s.api.queries(); !slices.Contains(asked, "/jobs/15/crawl/uris?limit=1000&pattern=gif&queue=%5E%28%3F%3Aa.%2A%29%24") {
		t.Errorf("what is counted is not what is deleted: %v", asked)
	}
	s.api.answers["/jobs/15/crawl/uris"] = refusal(422, wire.CodeInvalid, "not valid: uris: pattern: given (, allowed: a regular expression")
	for _, counted := range []string{"", " ("} {
		if resp, body, did := send("B", "pattern", "(", "queue", "", "counted", counted, "confirm", "15"); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 ||
			!strings.Contains(body, `id="e-pattern"`) {
			t.Errorf("not counted: %d, did %v: %s", resp.StatusCode, did, body)
		}
	}
}

// Links lead to orders about what they stand beside, and each says what the form is about.
func TestOrdersOfRows(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path, want := range map[string][]string{
		"/jobs/15/crawl":                            {`/jobs/15/kill?worker=3"`, `/jobs/15/uris"`, `/jobs/15/checkpoints"`},
		"/jobs/15/uris":                             {`/jobs/15/never?url=north-1"`, `/jobs/15/explain?url=north-1"`, `/jobs/15/delete"`},
		"/jobs/15/checkpoints":                      {`/jobs/15/restore?name=north-1"`, `/jobs/15/checkpoint"`},
		"/jobs/15/explain?url=https://a.example/?b": {`/jobs/15/block?url=https%3A%2F%2Fa.example%2F%3Fb"`, `/jobs/15/forget?url=`},
		"/jobs/15/kill?worker=3":                    {`value="3"`, "was at <bdi>north-1</bdi> for <bdi>1m0s</bdi>"},
		"/jobs/15/never?url=https://a.example/":     {`value="https://a.example/"`},
		"/jobs/15/restore?name=north-1":             {`<option value="north-1" selected>`, "has <bdi>7</bdi> queued URIs", `name="confirm"`},
		"/jobs/12":                                  {`/jobs/12/log"`},
	} {
		_, body := s.get(t, "/_/en"+path)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s has no %s:\n%s", path, text, body)
			}
		}
	}
	s.api.answers["/jobs/12/crawl/explain"] = s.api.answers["/jobs/15/crawl/explain"]
	if _, body := s.get(t, "/jobs/12/explain?url=a"); strings.Contains(body, "/jobs/12/never") || !strings.Contains(body, "max_hops") {
		t.Errorf("a crawl that is over can be steered: %s", body)
	}
	if _, body := s.get(t, "/jobs/15/kill?worker=1"); strings.Contains(body, "was at") {
		t.Errorf("a worker that is idle: %s", body)
	}
}

// A crawl that cannot be asked is no empty list, and has no orders.
func TestCrawlThatIsAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, what := range []string{"uris", "checkpoints", "search", "report", "explain"} {
		s.api.answers["/jobs/15/crawl/"+what] = refusal(http.StatusServiceUnavailable, wire.CodeUnavailable, "its node is away")
	}
	for _, path := range []string{"/jobs/15/uris", "/jobs/15/checkpoints", "/jobs/15/log", "/jobs/15/report", "/jobs/15/explain?url=a"} {
		resp, body := s.get(t, "/_/en"+path)
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, "its node is away") || strings.Contains(body, "<p>Nothing.") || strings.Contains(body, "/jobs/15/delete") ||
			strings.Contains(body, "/jobs/15/checkpoint\"") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// A refusal stands beside the field that it is about, as crawls name it.
func TestRefusedBlock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.refuseAll(refusal(422, wire.CodeInvalid, `invalid request: not valid: block: given "a/b", allowed: a host`))
	for _, path := range []string{"/jobs/15/block", "/jobs/15/unblock"} {
		if resp, body := s.post(t, path, formOf("K", "url", "a/b")); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, `id="e-url"`) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// The logs and reports that a page asks for are those of the crawl, whatever the query names.
func TestLogsOfACrawl(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path, want := range map[string]string{
		"/jobs/15/log?log=alerts.log&pattern=x": "/jobs/15/crawl/search?limit=100&log=alerts.log&pattern=x", "/jobs/15/log?log=../secret": "/jobs/15/crawl/search?limit=100&log=crawl.log",
		"/jobs/15/report?name=hosts&after=9": "/jobs/15/crawl/report?after=9&limit=100&name=hosts", "/jobs/15/report?name=nothing": "/jobs/15/crawl/report?limit=100&name=crawl",
	} {
		s.api.queries()
		s.get(t, path)
		if asked := s.api.queries(); !slices.Contains(asked, want) {
			t.Errorf("%s asks %v, want %s", path, asked, want)
		}
	}
	s.api.answers["/jobs/15/crawl/search"] = harvest.Reply{Lines: []string{"<b>=1</b>", "=2"}}
	if _, body := s.get(t, "/jobs/15/log?format=csv"); !strings.Contains(body, "'=2") {
		t.Errorf("%s", body)
	}
}
