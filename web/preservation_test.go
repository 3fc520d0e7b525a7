package web

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/internal/words"
)

// Checks count as whole only if nothing was left out, nothing was never checked, and nothing was found.
func TestCheckedIsNeverClaimed(t *testing.T) {
	t.Parallel()
	all, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	l := ofCopies{all.Language("en")}
	for _, tt := range []struct {
		c           wire.ReplicaCheck
		class, text string
	}{
		{wire.ReplicaCheck{}, "look", "never checked"}, {wire.ReplicaCheck{Never: 3}, "look", "never checked"},
		{wire.ReplicaCheck{Checked: 9, Never: 1}, "look", "not all checked"}, {wire.ReplicaCheck{Checked: 9, Missed: 1}, "look", "not all checked"},
		{wire.ReplicaCheck{Checked: 9, Findings: 1}, "look", "with findings"}, {wire.ReplicaCheck{Checked: 9}, "good", "all checked"},
	} {
		if got := l.Covered(tt.c); got.Class != tt.class || got.Text != tt.text || l.Covered(&tt.c) != got {
			t.Errorf("%+v: %v", tt.c, got)
		}
	}
}

// What was counted only in part is "at least", and nothing that was counted in part is 0. What was not read is no table.
func TestPreservationInPart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := wire.ReplicaChecks{Replica: wire.Replica{Name: "north", Kind: wire.Bitarchive, Files: 5}, Changed: 2, Partly: true}
	s.api.answers["/replica-checks"] = wire.Page[wire.ReplicaChecks]{Items: []wire.ReplicaChecks{one}}
	_, body := s.get(t, "/_/en/preservation")
	if !strings.Contains(body, `<td class="number"><span class="look">not known</span></td><td class="number"><a href="/_/en/copies?replica=north&amp;state=corrupt" class="bad">2</a> <span class="look">at least</span></td>`) {
		t.Errorf("%s", body)
	}
	if strings.Contains(body, "all checked") || strings.Count(body, `<span class="look">not known</span>`) != 4 { // missing, and three kinds that are not told
		t.Errorf("a check is claimed: %s", body)
	}
	for _, path := range []string{"/replica-checks", "/audits", "/approvals"} {
		s.api.answers[path] = refusal(503, wire.CodeUnavailable, "busy")
	}
	_, body = s.get(t, "/_/en/preservation")
	for _, claim := range []string{"Nothing.", "None of the newest", "No proposal waits", "<table>"} {
		if strings.Contains(body, claim) {
			t.Errorf("claims %q: %s", claim, body)
		}
	}
}

// A shard is well only if the node that holds it is known to be there.
func TestShardMap(t *testing.T) {
	t.Parallel()
	shards := []wire.Shard{{Holder: "a"}, {Holder: "a"}, {Holder: "a", Next: "b"}, {Holder: "b"}, {Holder: "c"}, {}, {Next: "a"}}
	st := &wire.Status{Nodes: []wire.Node{{ID: "a", Name: "north-1", Presence: wire.Presence{State: "alive"}}, {ID: "b", Presence: wire.Presence{State: "failed"}}}}
	got := mapOf(shards, st)
	want := []shardArea{{"here", 2, "M0 0h2v1h-2z"}, {"moving", 1, "M2 0h1v1h-1z"}, {"away", 1, "M3 0h1v1h-1z"}, {"unknown", 1, "M4 0h1v1h-1z"}, {"none", 2, "M5 0h2v1h-2z"}}
	if len(got.States) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got.States[i] != want[i] {
			t.Errorf("%+v, want %+v", got.States[i], want[i])
		}
	}
	nodes := []shardNode{{"b", "failed", 1, 0, 1}, {"c", "", 1, 0, 0}, {"north-1", "alive", 3, 1, 1}}
	for i := range nodes {
		if got.Nodes[i] != nodes[i] {
			t.Errorf("%+v, want %+v", got.Nodes[i], nodes[i])
		}
	}
	for _, a := range mapOf(shards, nil).States {
		if a.State == "here" || a.State == "moving" {
			t.Errorf("without the state of the cluster, shards are %s", a.State)
		}
	}
	if got := squares([]int{62, 63, 64, 65, 4095}); got != "M62 0h2v1h-2zM0 1h2v1h-2zM63 63h1v1h-1z" {
		t.Errorf("drawn as %s", got)
	}
}

// A ledger that nobody countersigned says so; nodes that did not answer are named; a failed backup is no backup.
func TestLedgersAndBackups(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, body := s.get(t, "/_/en/ledgers?replica=north")
	for _, want := range []string{`<span class="look">nobody</span>`, "does not answer", `<option value="north" selected>`, "holdfast ledger get 12 --replica north --out ledger", `<span class="bad">the last ledger could not be made</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s: %s", want, body)
		}
	}
	if _, body := s.get(t, "/_/en/ledgers"); !strings.Contains(body, "holdfast ledger get 12") { // of the first replica with bytes
		t.Errorf("%s", body)
	}
	s.api.answers["/replicas/north/ledger-making"] = refusal(503, wire.CodeUnavailable, "busy")
	if _, body := s.get(t, "/_/en/ledgers?replica=north"); !strings.Contains(body, "Not read: Ledgers that are being made.") || !strings.Contains(body, "holdfast ledger get 12") {
		t.Errorf("%s", body)
	}
	for what, tt := range map[string]struct {
		has  wire.CatalogBackups
		says string
	}{
		"failed": {wire.CatalogBackups{Scheduled: true, Failure: "disk full", Items: []wire.CatalogBackup{{Name: "b"}}}, "The last try failed:"},
		"none":   {wire.CatalogBackups{Scheduled: true}, "There is no backup yet."}, "not by itself": {wire.CatalogBackups{Items: []wire.CatalogBackup{{Name: "b"}}}, "makes no backups by itself"},
		"well": {wire.CatalogBackups{Scheduled: true, Items: []wire.CatalogBackup{{Name: "b"}}}, "Backups are made by schedule."},
	} {
		s.api.answers["/catalog/backups"] = tt.has
		_, body := s.get(t, "/_/en/backups")
		if !strings.Contains(body, tt.says) || what != "well" && strings.Contains(body, "made by schedule") {
			t.Errorf("%s: %s", what, body)
		}
	}
}

// Only a copy that was found with other bytes is offered for replacing, and a form for another does nothing.
func TestReplaceOnlyWhatWasFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if _, body := s.get(t, "/_/en/copies?state=corrupt&replica=north"); !strings.Contains(body, `"/_/en/files/bad.warc/replace?replica=north"`) || !strings.Contains(body, strings.Repeat("cd", 32)) {
		t.Errorf("%s", body)
	}
	if _, body := s.get(t, "/_/en/files/bad.warc/replace?replica=north"); !strings.Contains(body, `<option value="north" selected>`) || strings.Contains(body, `<option value="south"`) ||
		!strings.Contains(body, "<bdi>1</bdi> copy of it is good") {
		t.Errorf("%s", body)
	}
	s.api.answers["/files/f"] = wire.File{Name: "f", Copies: []wire.Copy{{Replica: "north", State: wire.UploadCompleted, Verified: now()}}}
	s.api.answers["POST /files/f/replace"] = wire.File{}
	if _, body := s.get(t, "/_/en/files/f"); strings.Contains(body, "/files/f/replace") || strings.Contains(body, "/files/f/checksum") {
		t.Errorf("%s", body)
	}
	resp, body := s.post(t, "/_/en/files/f/replace", formOf("K", "replica", "north", "sha256", strings.Repeat("cd", 32), "reason", "why", "confirm", "f"))
	if did := s.api.changes(); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 || !strings.Contains(body, "No copy of this file was found with other bytes") {
		t.Errorf("%d, did %v: %s", resp.StatusCode, did, body)
	}
}

// Bytes that are kept are not deleted, those that go are offered for nothing; and a node that does not tell what it has
// is not said to have nothing.
func TestAsides(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, body := s.get(t, "/_/en/quarantine")
	if !strings.Contains(body, "As of 24 ") || strings.Count(body, "does not answer") != 1 || !strings.Contains(body, "could not list everything") ||
		!strings.Contains(body, "<span class=\"look\">Listed here: 0.</span>") {
		t.Errorf("%s", body)
	}
	for link, want := range map[string]bool{"north-9/quarantine/a.warc.1/delete": true, "north-9/quarantine/a.warc.2/restore": true, "north-9/quarantine/a.warc.2/delete": false,
		"north-1/quarantine/a.warc.3/delete": false, "north-1/quarantine/a.warc.3/restore": false} {
		if strings.Contains(body, `"/_/en/nodes/`+link+`"`) != want {
			t.Errorf("%s is offered: %v", link, !want)
		}
	}
	_, body = s.send(t, http.MethodGet, "/_/en/quarantine", "operator", nil)
	if strings.Contains(body, "/delete") || !strings.Contains(body, "north-9/quarantine/a.warc.1/restore") {
		t.Errorf("an operator is offered: %s", body)
	}
	s.api.answers["POST /nodes/north-9/quarantine/a.warc.2/delete"] = nil
	resp, body := s.post(t, "/_/en/nodes/north-9/quarantine/a.warc.2/delete", formOf("K", "sha256", strings.Repeat("cd", 32), "reason", "why", "confirm", "north-1"))
	if did := s.api.changes(); resp.StatusCode != http.StatusUnprocessableEntity || len(did) > 0 || !strings.Contains(body, "These bytes are not deleted now") {
		t.Errorf("%d, did %v: %s", resp.StatusCode, did, body)
	}
	for path, want := range map[string]int{"/nodes/away-1/quarantine/x/delete": 503, "/nodes/away-1/strays/x/adopt": 503, "/nodes/north-9/quarantine/x/delete": 404, "/nodes/north-9/strays/x/set-aside": 404,
		"/nodes/nothing/strays/x/adopt": 404} {
		if resp, _ := s.get(t, path); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	s.api.answers["POST /nodes/north-9/quarantine/a.warc.1/delete"] = wire.Problem{Type: wire.ProblemType + string(wire.CodePending), Status: 409, Detail: "proposal 7 waits"}
	resp, body = s.post(t, "/_/en/nodes/north-9/quarantine/a.warc.1/delete", formOf("L", "sha256", strings.Repeat("cd", 32), "reason", "why", "confirm", "north-1"))
	if resp.StatusCode == http.StatusSeeOther || !strings.Contains(body, "It waits for a second person:") || strings.Contains(body, "asked to delete") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
