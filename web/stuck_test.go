package web

import (
	"strings"
	"testing"

	"holdfast/api/wire"
)

// A file that is stuck says which nodes it waits for, or that nobody has its bytes; the alert leads to the list.
func TestStuckFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/files"] = wire.Page[wire.File]{Items: []wire.File{{Name: "a.warc", Stuck: &wire.Stuck{Away: []string{"south-1"}}}, {Name: "b.warc", Stuck: &wire.Stuck{}}}}
	s.api.queries()
	_, body := s.get(t, "/_/en/files?state=stuck")
	if asked := strings.Join(s.api.queries(), " "); !strings.Contains(asked, "/files?limit=100&state=stuck") {
		t.Errorf("asked %s", asked)
	}
	for _, want := range []string{`<span class="bad">stuck</span> Good bytes are only on nodes that are away: <bdi>south-1</bdi></td>`, `<span class="bad">stuck</span> No node has good bytes.</td>`,
		`<option value="stuck" selected>stuck</option>`} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s in %s", want, body)
		}
	}
	s.api.answers["/alerts"] = wire.Alerts{At: now(), Items: []wire.Alert{{Kind: "copies-stuck", Node: "north-1", Parameters: map[string]string{"copies": "2"}}}}
	if _, body := s.get(t, "/_/en/alerts"); !strings.Contains(body, `<a href="/_/en/files?state=stuck">`) {
		t.Errorf("%s", body)
	}
}
