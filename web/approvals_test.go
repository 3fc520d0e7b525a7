package web

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
)

// Who proposed an act is told that another person decides, is offered to take it back, and cannot approve or refuse it;
// others cannot take it back. The session is that of person p1, who proposed number 8; number 9 is over.
func TestOwnProposals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{"/approvals", "/approvals/7", "/approvals/8", "/approvals?state=all", "/approvals/9"} {
		_, body := s.get(t, "/_/en"+path)
		for link, page := range map[string]bool{"7/grant": true, "7/deny": true, "7/withdraw": false, "8/grant": false, "8/deny": false, "8/withdraw": true, "9/grant": false, "9/deny": false, "9/withdraw": false} {
			id, _, _ := strings.Cut(link, "/")
			want := page && (path == "/approvals" || path == "/approvals/"+id || path == "/approvals?state=all" && id == "7")
			if strings.Contains(body, `"/_/en/approvals/`+link+`"`) != want {
				t.Errorf("%s offers %s: %v", path, link, !want)
			}
		}
	}
	if _, body := s.get(t, "/_/en/approvals"); !strings.Contains(body, "yours: another person decides") {
		t.Errorf("%s", body)
	}
	_, body := s.send(t, http.MethodGet, "/_/en/approvals/7", "operator", nil)
	if strings.Contains(body, "/approvals/7/grant") || strings.Contains(body, "/approvals/7/deny") {
		t.Errorf("an operator is offered: %s", body)
	}
	sum := strings.Repeat("ef", 32)
	for path, says := range map[string]string{"/approvals/8/grant": "You proposed this", "/approvals/8/deny": "You proposed this", "/approvals/7/withdraw": "Only who proposed it",
		"/approvals/9/grant": "does not wait for a decision any more", "/approvals/9/deny": "does not wait for a decision any more"} {
		s.api.answers["POST "+path] = wire.Approval{State: "granted"}
		resp, body := s.post(t, "/_/en"+path, formOf("K"+path, "sum", sum, "reason", "why", "confirm", "north-1"))
		if did := s.api.changes(); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 || !strings.Contains(body, says) {
			t.Errorf("%s: %d, did %v: %s", path, resp.StatusCode, did, body)
		}
	}
}

// A proposal is approved as it was shown: by its sum, with its subject typed, and only what the archive says was done
// is told as done.
func TestApprovedAsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	shown := strings.Repeat("ef", 32)
	if _, body := s.get(t, "/_/en/approvals/7/grant"); !strings.Contains(body, "its bytes are deleted") || !strings.Contains(body, `name="sum" value="`+shown+`"`) || !strings.Contains(body, "1.1") {
		t.Errorf("%s", body)
	}
	if resp, _ := s.post(t, "/approvals/7/grant", formOf("A", "sum", shown, "confirm", "another")); resp.StatusCode != 422 || len(s.api.changes()) > 0 {
		t.Errorf("without the name: %d", resp.StatusCode)
	}
	other, ok := s.api.answers["/approvals/7"].(wire.Approval)
	if !ok {
		t.Fatal("no proposal")
	}
	other.Sum = strings.Repeat("01", 32) // it is another one by now
	s.api.answers["/approvals/7"] = other
	s.api.answers["POST /approvals/7/grant"] = wire.Problem{Type: wire.ProblemType + string(wire.CodeConflict), Status: 409, Detail: "another proposal than the one that was shown"}
	resp, body := s.post(t, "/_/en/approvals/7/grant", formOf("B", "sum", shown, "confirm", "north-1"))
	if did := s.api.changes(); resp.StatusCode != 409 || len(did) != 1 || !strings.Contains(did[0], shown) || !strings.Contains(body, "This was not done") {
		t.Errorf("%d, did %v: %s", resp.StatusCode, did, body)
	}
	for state, says := range map[string]string{"granted": "the archive has carried it out", "waiting": "Look at the state below", "denied": "It is refused."} {
		s.api.answers["POST /approvals/7/grant"] = wire.Approval{ID: 7, State: state}
		resp, _ := s.post(t, "/_/en/approvals/7/grant", formOf("C"+state, "sum", shown, "confirm", "north-1"))
		if _, body := s.get(t, resp.Header.Get("Location")); !strings.Contains(body, says) || state != "granted" && strings.Contains(body, "carried it out") {
			t.Errorf("%s: %s", state, body)
		}
	}
	s.api.answers["/approval-rule"] = refusal(503, wire.CodeUnavailable, "busy")
	if _, body := s.get(t, "/_/en/approvals"); strings.Contains(body, "No act waits") {
		t.Errorf("the rule is not known: %s", body)
	}
	s.api.answers["/approval-rule"] = wire.ApprovalRule{}
	if _, body := s.get(t, "/_/en/approvals"); !strings.Contains(body, "No act waits for a second person.") {
		t.Errorf("%s", body)
	}
}
