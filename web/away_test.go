package web

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/api/wire"
)

// While a node is away, no page counts copies without naming it; and the page of another replica does not.
func TestCopiesOfNodesThatAreAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const note = "is away: its copies count as they were when last checked, and cannot be read now."
	for state, away := range map[string]bool{"alive": false, "suspected": true, "failed": true, "left": true, "": true} {
		s.api.answers["/status"] = wire.Status{Cluster: wire.Cluster{Quorum: true},
			Replicas: []wire.Replica{{Name: "north", Kind: wire.Bitarchive, Files: 5, Good: 5}},
			Nodes: []wire.Node{{ID: "x", Name: "north-7", Replica: "north", Presence: wire.Presence{State: state}},
				{ID: "y", Name: "south-7", Replica: "south", Presence: wire.Presence{State: "alive"}}}}
		for path, shows := range map[string]bool{"/preservation": true, "/replicas": true, "/replicas/north": true, "/copies": true,
			"/replicas/south": false} {
			s.api.answers["/replicas/north/checks"] = wire.ReplicaChecks{Replica: wire.Replica{Name: "north", Kind: wire.Bitarchive}}
			s.api.answers["/replicas/south/checks"] = wire.ReplicaChecks{Replica: wire.Replica{Name: "south", Kind: wire.Bitarchive}}
			_, body := s.get(t, "/_/en"+path)
			if strings.HasPrefix(path, "/replicas/") && !strings.Contains(body, "<h2>Checks</h2>") {
				t.Errorf("%s lacks what is known of the replica: %s", path, body)
			}
			if got := strings.Contains(body, "<bdi>north-7</bdi> "+note); got != (away && shows) || strings.Count(body, note) > 1 {
				t.Errorf("%s, a node is %q: said is %t: %s", path, state, got, body)
			}
		}
	}
}

// The first page says how many proposals wait, as far as it was told, and nothing when none does.
func TestTodayProposals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, n := range []int{0, 1, toldWaiting - 1, toldWaiting} {
		all := wire.Alerts{Items: []wire.Alert{{Kind: "disk-low", Severity: "look"}}}
		for i := range n {
			all.Items = append(all.Items, wire.Alert{Kind: "approval-waits", Severity: "look", Subject: strconv.Itoa(i)})
		}
		s.api.answers["/alerts"] = all
		_, body := s.get(t, "/_/en/")
		want := `<a href="/_/en/approvals">Proposals that wait for a second person: ` + strconv.Itoa(n) + `.</a>`
		if strings.Contains(body, want) != (n > 0) || strings.Contains(body, `/_/en/approvals"`) != (n > 0) ||
			strings.Contains(body, `</a> <span class="look">at least</span></li>`) != (n >= toldWaiting) {
			t.Errorf("%d wait: %s", n, body)
		}
	}
}

// Nodes of ledgers are named, not only numbered; and a node that makes no backups does not say how often it does.
func TestLedgersNameNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/status"] = wire.Status{Cluster: wire.Cluster{Quorum: true}, Replicas: []wire.Replica{{Name: "north", Kind: wire.Bitarchive}},
		Nodes: []wire.Node{{ID: "lxfnajm22tpsmd7c", Name: "north-7", Replica: "north"}}}
	s.api.answers["/replicas/north/ledger-making"] = wire.Page[wire.LedgerMaking]{Items: []wire.LedgerMaking{
		{Node: "lxfnajm22tpsmd7c", Replica: "north", State: "unreachable", Detail: "too late"}, {Node: "gone22tpsmd7c", Replica: "north", State: "failed"}}}
	_, body := s.get(t, "/_/en/ledgers?replica=north")
	if !strings.Contains(body, "Node <bdi>north-7</bdi> does not answer") || !strings.Contains(body, "<bdi>gone22tpsmd7c</bdi>") {
		t.Errorf("%s", body)
	}
	for scheduled := range map[bool]bool{true: true, false: true} {
		s.api.answers["/catalog/backups"] = wire.CatalogBackups{Node: "north-7", Scheduled: scheduled, Every: "24h0m0s", Keep: 7}
		if _, body := s.get(t, "/_/en/backups"); strings.Contains(body, "24h0m0s") != scheduled || strings.Contains(body, "How many stay") != scheduled {
			t.Errorf("scheduled is %t: %s", scheduled, body)
		}
	}
}

// The API gives a node that is away five seconds before it goes on without it: the pages of audits wait for that.
func TestAuditsWhileANodeIsAway(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/_/en/", "/_/en/preservation", "/_/en/audits"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t)
			wait := make(chan struct{})
			s.api.slow["/audits"] = wait
			time.AfterFunc(5*time.Second+100*time.Millisecond, func() { close(wait) })
			if _, body := s.get(t, path); strings.Contains(body, "There was no answer in time.") || strings.Contains(body, "Not read:") {
				t.Errorf("%s: %s", path, body)
			}
		})
	}
}
