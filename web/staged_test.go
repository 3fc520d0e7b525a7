package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
)

// The page says what is staged and what would follow, and that no file loses copies only if all files were looked at.
func TestStagedLayout(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, body := s.get(t, "/_/en/layout")
	for _, want := range []string{"<bdi>north-1</bdi> gives its shards away", "has joined and gets shards", "gets the weight <bdi>50</bdi>", "<bdi>id-9</bdi> is removed", "holds all collections", "holds <bdi>north-1, b</bdi>",
		"Another change: <bdi>of-the-future</bdi>", "Change <bdi>7</bdi> would be refused now", "1h23m20s", "not known", "nobody", "always staged", `"/_/en/layout/apply"`, `"/_/en/layout/changes/3/revert"`, "in one place only: <bdi>4</bdi>",
		"<bdi>9.0\u00a0GB</bdi>, and has room for <bdi>5\u00a0B</bdi>", "Also: <bdi>north-1</bdi>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	plan := func(p wire.LayoutPlan) {
		s.api.answers["/layout"] = wire.Layout{Version: 5, Changes: []wire.LayoutChange{{ID: 3, Step: "drain", NodeName: "n"}}, Plan: &p}
	}
	const calm = "No file would have fewer good copies"
	for what, tt := range map[string]struct {
		plan wire.LayoutPlan
		want bool
	}{
		"all were looked at": {wire.LayoutPlan{}, true}, "not all were looked at": {wire.LayoutPlan{Partly: true}, false},
		"some lose copies": {wire.LayoutPlan{Short: []wire.LayoutShort{{Fewer: 1}}}, false}, "both": {wire.LayoutPlan{Partly: true, Short: []wire.LayoutShort{{Fewer: 1}}}, false},
	} {
		plan(tt.plan)
		for _, path := range []string{"/_/en/layout", "/_/en/layout/apply"} {
			if _, body := s.get(t, path); strings.Contains(body, calm) != tt.want || strings.Contains(body, "Not all files were looked at") != tt.plan.Partly {
				t.Errorf("%s, %s: %s", what, path, body)
			}
		}
	}
	s.api.answers["/layout"] = wire.Layout{Version: 6, Changes: []wire.LayoutChange{}}
	if _, body := s.get(t, "/_/en/layout"); !strings.Contains(body, "Nothing is staged.") || strings.Contains(body, "/layout/apply") || strings.Contains(body, calm) || !strings.Contains(body, "made at once") {
		t.Errorf("nothing is staged: %s", body)
	}
	for _, path := range []string{"/layout/apply", "/layout/revert", "/layout/changes/3/revert", "/layout/changes/x/revert"} {
		if resp, _ := s.get(t, path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	s.api.answers["/layout"] = refusal(503, wire.CodeUnavailable, "busy")
	if _, body := s.get(t, "/_/en/layout"); strings.Contains(body, "Nothing is staged") || !strings.Contains(body, "busy") {
		t.Errorf("it cannot be read: %s", body)
	}
}

// What was staged since the form was shown is neither applied nor discarded by it.
func TestStagedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/_/en/layout/apply", "/_/en/layout/revert"} {
		s := newSite(t)
		s.api.refuseAll(refusal(412, wire.CodeStale, "the staged changes are version 5 now"))
		resp, body := s.post(t, path, formOf("K", "version", "4", "reason", "why", "confirm", "north-1"))
		did := s.api.changes()
		if resp.StatusCode != 412 || len(did) != 1 || !strings.Contains(did[0], `"version":4`) || !strings.Contains(body, `name="version" value="5"`) ||
			!strings.Contains(body, "version 5 now") || !strings.Contains(body, "Staged changes: <bdi>8</bdi>") {
			t.Errorf("%s: %d %v %s", path, resp.StatusCode, did, body)
		}
	}
}

// A form that does not say which version was shown does nothing: neither what is staged now, nor all whatever it is.
func TestStagedWithoutAVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{"/_/en/layout/apply", "/_/en/layout/revert"} {
		for i, typed := range [][]string{nil, {"version", ""}, {"version", "0"}, {"version", "x"}, {"version", "-1"}} {
			typed = append([]string{"reason", "why", "confirm", "north-1"}, typed...)
			resp, body := s.post(t, path, formOf(fmt.Sprint("K", i, path), typed...))
			if did := s.api.changes(); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 || !strings.Contains(body, `name="version" value=`) {
				t.Errorf("%s with %q: %d %v %s", path, typed, resp.StatusCode, did, body)
			}
		}
	}
}

// Where changes are staged alone, one that was to be made at once is staged, and its doer is told that it is not done.
func TestChangesThatAreStagedAlone(t *testing.T) {
	t.Parallel()
	for path, typed := range map[string][]string{"drain": {"confirm", "north-1"}, "undrain": nil, "weight": {"weight", "50"}, "remove": {"reason", "why", "shown", "t0", "confirm", "north-1"}} {
		s := newSite(t)
		only := refusal(409, wire.CodeOnlyStaged, "changes of the layout are staged alone")
		s.api.answers["PATCH /nodes/north-1"], s.api.answers["POST /nodes/north-1/remove"] = only, only
		resp, body := s.post(t, "/_/en/nodes/north-1/"+path, formOf("K", typed...))
		did := s.api.changes()
		if resp.StatusCode != http.StatusSeeOther || len(did) != 2 || !strings.HasPrefix(did[1], "POST /nodes/north-1/stage") {
			t.Errorf("%s: %d %v %s", path, resp.StatusCode, did, body)
			continue
		}
		if _, body := s.get(t, resp.Header.Get("Location")); !strings.Contains(body, "Nothing of it has been done yet") || !strings.HasPrefix(resp.Header.Get("Location"), "/_/en/layout?") {
			t.Errorf("%s leads to %s: %s", path, resp.Header.Get("Location"), body)
		}
		s.api.refuseAll(refusal(409, wire.CodeConflict, "not now"))
		if resp, body := s.post(t, "/_/en/nodes/north-1/"+path, formOf("L", typed...)); resp.StatusCode != 409 || len(s.api.changes()) != 1 || !strings.Contains(body, "not now") {
			t.Errorf("%s, refused otherwise: %d %s", path, resp.StatusCode, body)
		}
	}
}

// A new disk is used after a start with a line of cluster.toml: the page says which. A disk is given up only after the
// archive has said what that does.
func TestNewDisks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["POST /disks/wish"] = wire.Disks{Disks: []wire.DiskState{{Path: "/a"}, {Path: `/b "x"`}}}
	resp, _ := s.post(t, "/_/en/disks/add", formOf("K", "node", "north-1", "path", "/c"))
	if _, body := s.get(t, resp.Header.Get("Location")); !strings.Contains(body, "<bdi>/c</bdi> is ready") || !strings.Contains(body, `files = [&#34;/a&#34;, &#34;/b \&#34;x\&#34;&#34;, &#34;/c&#34;]`) {
		t.Errorf("%s", body)
	}
	typed := []string{"node", "north-1", "by", "/c", "confirm", "/a"}
	s.api.answers["POST /disks/wish"] = wire.Problem{Type: wire.ProblemType + "unconfirmed", Status: 428, Detail: "cannot be undone", Errors: []wire.ProblemField{
		{Message: "12 shards are made again"}, {Message: "confirms this", Location: wire.ConfirmField, Value: "c0ffee"}}}
	resp, body := s.post(t, "/_/en/disks/%2Fa/replace", formOf("L", typed...))
	if resp.StatusCode != 428 || !strings.Contains(body, "12 shards are made again") || !strings.Contains(body, `name="shown" value="c0ffee"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	s.api.changes()
	s.api.answers["POST /disks/wish"] = wire.Disks{}
	resp, _ = s.post(t, "/_/en/disks/%2Fa/replace", formOf("L", append(typed, "shown", "c0ffee")...))
	if did := s.api.changes(); len(did) != 1 || !strings.Contains(did[0], `"confirm":"c0ffee"`) || resp.StatusCode != http.StatusSeeOther {
		t.Errorf("%d %v", resp.StatusCode, did)
	}
	resp, _ = s.post(t, "/_/en/disks/%2Fa/replace", formOf("M", "node", "north-1", "by", "/a", "confirm", "/a"))
	if _, body := s.get(t, resp.Header.Get("Location")); !strings.Contains(body, "Start the node again.") || strings.Contains(body, "files = [") {
		t.Errorf("the same path: %s", body)
	}
	for _, path := range []string{"/_/en/disks/add", "/_/en/disks/%2Fa/replace"} {
		s.api.changes()
		if resp, body := s.post(t, path, formOf("N"+path, "node", "south-1", "path", "/c", "by", "/c", "confirm", "/a")); resp.StatusCode != 422 || len(s.api.changes()) > 0 || !strings.Contains(body, "Another node got this form") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// The page of the node that answers has its disks, and that of another one has not.
func TestDisksOnTheNodesPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/nodes/south-1"] = wire.Node{Name: "south-1"}
	s.api.answers["/nodes/south-1/figures"] = figuresOf("south-1", "hour")
	if _, body := s.get(t, "/_/en/nodes/north-1"); !strings.Contains(body, `"/_/en/disks/add"`) || !strings.Contains(body, `"/_/en/disks/%2Fa/replace"`) {
		t.Errorf("%s", body)
	}
	if _, body := s.get(t, "/_/en/nodes/south-1"); strings.Contains(body, "/disks/") {
		t.Errorf("the disks of another node: %s", body)
	}
	if _, body := s.send(t, http.MethodGet, "/_/en/nodes/north-1", "reader", nil); strings.Contains(body, "/disks/") || !strings.Contains(body, ">/a</bdi>") {
		t.Errorf("for a reader: %s", body)
	}
}

// Today tells the last backup of each node that makes some, and names the nodes that did not say: these count as none.
func TestBackupsOfAllNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	of := func(backups ...wire.NodeBackup) string {
		s.api.answers["/alerts"] = wire.Alerts{At: now(), Items: []wire.Alert{}, Backups: backups}
		_, body := s.get(t, "/_/en/")
		return body
	}
	made := &wire.BackupState{Looked: true, Newest: now().Add(-time.Hour)}
	old := &wire.BackupState{Looked: true, Newest: now().Add(-48 * time.Hour), Failed: now().Add(-time.Hour)}
	silent := wire.NodeBackup{Name: "west-1", Silent: true, Reason: "no route"}
	body := of(wire.NodeBackup{Name: "north-1"}, wire.NodeBackup{Name: "east-1", State: old}, wire.NodeBackup{Name: "south-1", State: made}, silent)
	south, east := strings.Index(body, "Node <bdi>south-1</bdi> backed up"), strings.Index(body, "Node <bdi>east-1</bdi> backed up")
	if south < 0 || east < south || !strings.Contains(body, "The last try failed") || !strings.Contains(body, "When node <bdi>west-1</bdi> backed up the catalog last is not known") || strings.Contains(body, "Node <bdi>north-1</bdi> makes no") {
		t.Errorf("%s", body)
	}
	if body := of(wire.NodeBackup{Name: "north-1"}, silent); !strings.Contains(body, "No node that answered makes backups") || !strings.Contains(body, "west-1</bdi> backed up the catalog last is not known") || strings.Contains(body, "backed up the catalog last yesterday") {
		t.Errorf("none: %s", body)
	}
	s.api.answers["/alerts"] = refusal(503, wire.CodeUnavailable, "busy")
	if _, body := s.get(t, "/_/en/"); !strings.Contains(body, "Node <bdi>north-1</bdi> backed up the catalog last") || strings.Contains(body, "No node that answered") {
		t.Errorf("the others were not asked: %s", body)
	}
}
