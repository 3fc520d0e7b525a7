package web

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/internal/words"
)

// A node is removed only after the archive has said what that does and the form has shown it.
func TestNodeIsRemovedTwice(t *testing.T) {
	t.Parallel()
	for path, typed := range map[string][]string{"remove": {"reason", "old"}, "remove-lost": {"reason", "old", "files", "7"}} {
		s := newSite(t)
		s.api.answers["POST /nodes/north-1/remove"] = wire.Problem{Type: wire.ProblemType + "unconfirmed", Status: 428, Detail: "cannot be undone", Errors: []wire.ProblemField{
			{Message: "of 2 voters that are left, 1 are reached"}, {Message: "confirms this", Location: wire.ConfirmField, Value: "c0ffee"}}}
		typed = append(typed, "confirm", "north-1")
		resp, body := s.post(t, "/_/en/nodes/north-1/"+path, formOf("K", typed...))
		if resp.StatusCode != 428 || !strings.Contains(body, "of 2 voters that are left") || !strings.Contains(body, "Press again") || !strings.Contains(body, `name="shown" value="c0ffee"`) {
			t.Fatalf("%s: %d %s", path, resp.StatusCode, body)
		}
		if did := s.api.changes(); len(did) != 1 || strings.Contains(did[0], "c0ffee") {
			t.Errorf("%s, the first time: %v", path, did)
		}
		s.api.answers["POST /nodes/north-1/remove"] = nil
		resp, _ = s.post(t, "/_/en/nodes/north-1/"+path, formOf("K", append(typed, "shown", "c0ffee")...))
		if did := s.api.changes(); len(did) != 1 || !strings.Contains(did[0], `"confirm":"c0ffee"`) || resp.StatusCode != http.StatusSeeOther {
			t.Errorf("%s, the second time: %d %v", path, resp.StatusCode, did)
		}
		for what, refused := range map[string]wire.Problem{"is not empty": refusal(409, wire.CodeUnsafe, "it holds 12 shards"), "waits": refusal(409, wire.CodePending, "proposal 7 waits")} {
			s.api.answers["POST /nodes/north-1/remove"] = refused
			if resp, body := s.post(t, "/_/en/nodes/north-1/"+path, formOf(what, typed...)); resp.StatusCode != 409 || !strings.Contains(body, "This was not done") || !strings.Contains(body, refused.Detail) {
				t.Errorf("%s, %s: %d %s", path, what, resp.StatusCode, body)
			}
		}
	}
}

// How many files are lost with a node is counted and shown, and has to be typed: the archive is given what was typed.
// What was not counted is not called none.
func TestFilesLostWithANode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const form = "/_/en/nodes/north-1/remove-lost"
	_, body := s.get(t, form)
	if !strings.Contains(body, "<bdi>7</bdi> files have no good copy on another node") || !strings.Contains(body, "Among them: <bdi>north-1</bdi>") || strings.Contains(body, `name="files" value="7"`) {
		t.Errorf("%s", body)
	}
	if resp, body := s.post(t, form, formOf("K", "reason", "why", "confirm", "north-1")); resp.StatusCode != 422 || len(s.api.changes()) > 0 || !strings.Contains(body, "Fill this in") {
		t.Errorf("no number: %d %s", resp.StatusCode, body)
	}
	s.api.answers["POST /nodes/north-1/remove"] = refusal(409, wire.CodeConflict, "9 files have no good copy elsewhere; the number that was given is 7")
	resp, body := s.post(t, form, formOf("L", "reason", "why", "files", "7", "confirm", "north-1"))
	if did := s.api.changes(); resp.StatusCode != 409 || !strings.Contains(body, "9 files have no good copy elsewhere") || len(did) != 1 || !strings.Contains(did[0], `"files":7`) {
		t.Errorf("another number: %d %v %s", resp.StatusCode, did, body)
	}
	for what, answer := range map[string]any{"late": refusal(504, wire.CodeTimeout, "not counted"), "an old node": wire.Page[wire.File]{}} {
		s.api.answers["/nodes/north-1/sole-files"] = answer
		if resp, body := s.get(t, form); resp.StatusCode != 200 || !strings.Contains(body, "were not counted in time") || !strings.Contains(body, "holdfast node remove north-1 --list") || strings.Contains(body, "good copy on another") {
			t.Errorf("%s: %d %s", what, resp.StatusCode, body)
		}
	}
	s.api.answers["/nodes/north-1/sole-files"] = refusal(504, wire.CodeTimeout, "not counted")
	if _, body := s.get(t, "/_/en/nodes/north-1/sole-files"); strings.Contains(body, "Nothing.") || !strings.Contains(body, "were not counted in time") {
		t.Errorf("the list: %s", body)
	}
	if resp, _ := s.get(t, "/nodes/nobody/sole-files"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("no node: %d", resp.StatusCode)
	}
}

// The text of a join token is shown to who made it, where she is led, and nowhere else.
func TestJoinTokenIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	resp, _ := s.post(t, "/_/en/new/join-token", formOf("K", "replica", "north"))
	to := resp.Header.Get("Location")
	if _, body := s.get(t, to); !strings.Contains(body, "holdfast join --config cluster.toml --node NAME holdfast-join-SECRET") || !strings.Contains(body, "It is shown only here") {
		t.Errorf("%s", body)
	}
	for _, path := range []string{"/join-tokens", to + "&format=json", to + "&format=csv", to + "&format=part"} {
		if _, body := s.get(t, path); strings.Contains(body, "SECRET") {
			t.Errorf("%s: %s", path, body)
		}
	}
	_, body := s.get(t, "/_/en/join-tokens")
	if !strings.Contains(body, `"/_/en/join-tokens/j1/revoke"`) || strings.Contains(body, `"/_/en/join-tokens/j3/revoke"`) || strings.Contains(body, `"/_/en/join-tokens/north-1/revoke"`) {
		t.Errorf("%s", body)
	}
	s.api.changes()
	if resp, body := s.post(t, "/_/en/join-tokens/north-1/revoke", formOf("L")); resp.StatusCode != 422 || len(s.api.changes()) > 0 || !strings.Contains(body, "A node has joined with this token already") {
		t.Errorf("a used one: %d %s", resp.StatusCode, body)
	}
	if resp, _ := s.get(t, "/join-tokens/nothing/revoke"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("no token: %d", resp.StatusCode)
	}
}

// An index is called up to date only if its node answered and nothing waits or is wrong; figures of one that did not
// answer are not shown.
func TestIndexPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	l := ofCopies{all.Language("en")}
	of := func(x wire.IndexStatus) indexRow { return indexRow{IndexStatus: x} }
	for _, tt := range []struct {
		row  indexRow
		want string
	}{
		{of(wire.IndexStatus{Files: 5}), "good"}, {of(wire.IndexStatus{Files: 5, Pending: 1}), "work"}, {of(wire.IndexStatus{Rebuilding: true}), "work"},
		{of(wire.IndexStatus{Detail: "a.warc could not be indexed"}), "look"}, {of(wire.IndexStatus{Silent: true}), "look"}, {indexRow{Checksums: true}, "quiet"},
		{indexRow{wire.IndexStatus{Silent: true}, true}, "look"},
	} {
		if got := l.Index(tt.row); got.Class != tt.want {
			t.Errorf("%+v: %v", tt.row, got)
		}
	}
	s.api.answers["/index"] = wire.Page[wire.IndexStatus]{Items: []wire.IndexStatus{{Node: "id-3", Name: "south-1", Silent: true, Files: 9, Detail: "no route"}}}
	if _, body := s.get(t, "/_/en/index"); strings.Contains(body, `<td class="number">9</td>`) || !strings.Contains(body, "no route") || !strings.Contains(body, "/nodes/south-1/rebuild-index") {
		t.Errorf("%s", body)
	}
	if _, body := s.get(t, "/_/en/nodes/south-1/rebuild-index"); !strings.Contains(body, "Node <bdi>south-1</bdi> does not answer") || strings.Contains(body, "reads") {
		t.Errorf("%s", body)
	}
	st := wire.Status{Nodes: []wire.Node{{ID: "id-3", Name: "south-1", Replica: "sums"}}, Replicas: []wire.Replica{{Name: "sums", Kind: wire.Checksum}}}
	s.api.answers["/status"], s.api.answers["/nodes/south-1"] = st, st.Nodes[0]
	if resp, body := s.post(t, "/_/en/nodes/south-1/rebuild-index", formOf("K", "reason", "why")); resp.StatusCode != 422 || len(s.api.changes()) > 0 || !strings.Contains(body, "has no index") {
		t.Errorf("it keeps no bytes: %d %s", resp.StatusCode, body)
	}
	for _, path := range []string{"/_/en/index", "/_/en/nodes/south-1"} {
		if _, body := s.get(t, path); strings.Contains(body, "/nodes/south-1/rebuild-index") {
			t.Errorf("%s offers to rebuild what is not there: %s", path, body)
		}
	}
	if resp, _ := s.get(t, "/nodes/nobody/rebuild-index"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("no node: %d", resp.StatusCode)
	}
}

// The settings are those that the API tells, of the node that answers, each on a line of its own.
func TestNodeSettings(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, body := s.get(t, "/_/en/node-settings")
	for _, want := range []string{">limits.Crawls</bdi>", ">3</bdi>", ">limits.Memory</bdi>", ">north-1, /b</bdi>", "Node <bdi>north-1</bdi>, which serves this page"} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s in %s", want, body)
		}
	}
	s.api.answers["/config"] = refusal(403, wire.CodeForbidden, "not of your place")
	if _, body := s.get(t, "/_/en/node-settings"); !strings.Contains(body, "You may not see this") || strings.Contains(body, "<table>") {
		t.Errorf("%s", body)
	}
}
