package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Who may acknowledge an alert is offered it: curators those about harvests, operators those about nodes and copies, too.
func TestAlertsAreOffered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	harvest := "/_/en/alerts/acknowledge?kind=jobs-failed&amp;node=north-1&amp;subject=north-1"
	disk := "/_/en/alerts/acknowledge?kind=disk-low&amp;node=north-1&amp;subject=north-1"
	known := "/_/en/alerts/withdraw?kind=harvest-late&amp;node=&amp;subject=9"
	for role, want := range map[string][]string{"reader": nil, "curator": {harvest, known}, "operator": {harvest, known, disk},
		"admin": {harvest, known, disk}} {
		s.sessions.open["x"] = Session{Text: "x", Role: role, Expires: now().Add(life)}
		_, body := s.send(t, http.MethodGet, "/_/en/alerts", "x", nil)
		for _, link := range []string{harvest, known, disk} {
			if got := strings.Contains(body, `"`+link+`"`); got != slices.Contains(want, link) {
				t.Errorf("%s is offered %s: %t", role, link, got)
			}
		}
	}
	s.sessions.open["x"] = Session{Text: "x", Role: "operator", Expires: now().Add(life)}
	_, body := s.send(t, http.MethodGet, "/_/en/alerts/acknowledge?kind=disk-low&node=n&subject=%2Fdata", "x", nil)
	for _, want := range []string{`name="kind" value="disk-low"`, `name="node" value="n"`, `name="subject" value="/data"`,
		`value="` + now().Add(knownFor).UTC().Format(localTime) + `"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the form has no %s: %s", want, body)
		}
	}
}
