package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

func TestOnlyAnOperatorLetsACrawlReachTheNodesOwnNetwork(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	for name, change := range map[string]func(*harvest.Settings){
		"allow_private": func(s *harvest.Settings) { s.AllowPrivate = true },
		"nameserver":    func(s *harvest.Settings) { s.Nameserver = "127.0.0.1:53" },
	} {
		settings := &wire.Settings{Settings: harvest.DefaultSettings()}
		change(&settings.Settings)
		asked := wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}, Settings: settings}
		if _, err := as(catalog.RoleCurator).Jobs().Create(t.Context(), asked); status(err) != http.StatusForbidden ||
			!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "operator") {
			t.Errorf("%s: a curator gets %v", name, err)
		}
		if _, err := as(catalog.RoleOperator).Jobs().Create(t.Context(), asked); err != nil {
			t.Errorf("%s: an operator gets %v", name, err)
		}
	}
}

func TestReplicasAndCollectionsAreAdded(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	c := as(catalog.RoleAdmin)
	for range 2 { // the same again is no error
		if got, err := c.Collections().Add(t.Context(), "radio"); err != nil || got.Name != "radio" || got.Created.IsZero() {
			t.Errorf("%+v %v", got, err)
		}
		got, err := c.Replicas().Add(t.Context(), wire.ReplicaRequest{Name: "west", Kind: wire.Bitarchive, Collections: []string{"web", "radio"}})
		if err != nil || got.Place != "west" || len(got.Collections) != 2 {
			t.Errorf("%+v %v", got, err)
		}
	}
	if _, err := c.Replicas().Add(t.Context(), wire.ReplicaRequest{Name: "north", Kind: wire.Bitarchive, Place: "elsewhere"}); status(err) != http.StatusConflict {
		t.Errorf("another replica of the name: %v", err)
	}
	if _, err := c.Replicas().Add(t.Context(), wire.ReplicaRequest{Name: "east", Kind: wire.Bitarchive, Collections: []string{"tv"}}); status(err) != http.StatusNotFound {
		t.Errorf("a collection that is not there: %v", err)
	}
	if _, err := as(catalog.RoleOperator).Collections().Add(t.Context(), "tv"); status(err) != http.StatusForbidden {
		t.Errorf("an operator adds a collection: %v", err)
	}
	if all, err := c.Collections().List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%+v %v", all, err)
	}
}

func TestAFailedJobIsToldOfUntilItIsDecided(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	fail := func() uint64 {
		job, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
		if err != nil {
			t.Fatal(err)
		}
		b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
		b.must(catalog.FinishJob, catalog.JobEnd{ID: job.ID, Node: self, Attempt: 1, Failed: true, Reason: "disk full"})
		return job.ID
	}
	told := func() bool {
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(strings.Join(st.Problems, "\n"), "jobs failed in the last day") && !st.Healthy
	}
	id := fail()
	if !told() {
		t.Error("a failed job is not told of")
	}
	again, err := c.Jobs().Resubmit(t.Context(), id)
	if err != nil || again.ID == id || again.State != wire.JobSubmitted {
		t.Errorf("%+v %v", again, err)
	}
	if _, err := c.Jobs().Reject(t.Context(), again.ID); status(err) != http.StatusConflict {
		t.Errorf("a job that has not failed is rejected: %v", err)
	}
	if rejected, err := c.Jobs().Reject(t.Context(), fail()); err != nil || rejected.State != wire.JobFailedRejected {
		t.Errorf("%+v %v", rejected, err)
	}
	if told() {
		t.Error("what was decided is told of still")
	}
}

// Who lets a job run on ends an order's pause too, which the catalog does not know of; a job that no node crawls needs no order, and one
// whose crawl just ended takes none.
func TestRunningOnEndsAnOrdersPause(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	job, err := c.Jobs().Create(t.Context(), wire.JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	wish := func(w wire.Wish, want ...act.Kind) {
		t.Helper()
		b.orders = nil
		if got, err := c.Jobs().Wish(t.Context(), job.ID, w, "a reason"); err != nil || got.Wish != map[wire.Wish]wire.Wish{wire.WishPause: wire.WishPause}[w] || !slices.Equal(b.orders, want) {
			t.Errorf("%s: %+v %v, orders %v, want %v", w, got, err, b.orders, want)
		}
	}
	wish(wire.WishRun)
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: job.ID, Node: self, Attempt: 1})
	wish(wire.WishRun, "resume")
	wish(wire.WishPause)
	wish(wire.WishRun, "resume")
	b.deaf = true
	wish(wire.WishRun, "resume")
	wish(wire.WishPause)
	b.silent = true
	_, err = c.Jobs().Wish(t.Context(), job.ID, wire.WishRun, "")
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "job 1 may run again, but") {
		t.Errorf("with a node that does not answer: %v", err)
	}
	if got, err := c.Jobs().Show(t.Context(), job.ID); err != nil || got.Wish != "" {
		t.Errorf("wish %q, %v", got.Wish, err)
	}
}

// An order for a job that this node has not heard of yet is not refused before the leader was asked.
func TestAnOrderForAJobThatWasJustDecided(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	order := act.Pause{}
	if _, err := c.Jobs().Act(t.Context(), 1, order); !errors.Is(err, ErrNotFound) {
		t.Errorf("of no job: %v", err)
	}
	b.lags = func() {
		b.lags = nil
		ref := catalog.JobRef{ID: 1, Node: self, Attempt: 1}
		job := catalog.JobCreation{Harvest: "h", Collection: "web", Submit: true, Spec: []byte(`{"name":"j","seeds":["http://127.0.0.1/"]}`)}
		for _, c := range []struct {
			kind catalog.Kind
			body any
		}{{catalog.CreateJob, job}, {catalog.ClaimJob, ref}, {catalog.StartJob, ref}} {
			if result, err := b.Propose(context.Background(), c.kind, c.body, "test"); err != nil || result.Refusal != nil {
				t.Errorf("%s: %+v %v", c.kind, result.Refusal, err)
			}
		}
	}
	if r, err := c.Jobs().Act(t.Context(), 1, order); err != nil || r.Count != 1 {
		t.Errorf("of a job that this node learns of: %+v %v", r, err)
	}
}

func TestAStopSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	heard := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	job := catalog.Job{ID: 7, State: catalog.JobStarted, Node: "n", Wish: catalog.WishStop}
	for _, tt := range []struct {
		at   wire.Presence
		wish catalog.JobWish
		want string
	}{
		{wire.Presence{State: "alive"}, catalog.WishStop, ""},
		{wire.Presence{State: "failed"}, catalog.WishRun, ""},
		{wire.Presence{State: "failed"}, catalog.WishPause, "node south-1 is not heard: the job pauses when it answers"},
		{wire.Presence{State: "failed", LastHeard: heard}, catalog.WishStop, "node south-1 is not heard: the job stops when it answers, or fails when its lease ends, about 2026-01-02T09:10:00Z"},
		{wire.Presence{State: "failed"}, catalog.WishStop, "node south-1 is not heard: the job stops when it answers, or fails when its lease ends, 6h10m0s after the node was last heard"},
	} {
		job.Wish = tt.wish
		self := NodeStatus{Lease: 6*time.Hour + 10*time.Minute, Presence: map[catalog.NodeID]wire.Presence{"n": tt.at}}
		if got := waits(job, "south-1", self); got != tt.want {
			t.Errorf("%+v %s: %q, want %q", tt.at, tt.wish, got, tt.want)
		}
	}
}

func TestAPlaceWithMostVotersIsToldOf(t *testing.T) {
	t.Parallel()
	node := func(place string, voter bool) wire.Node {
		return wire.Node{Place: place, Presence: wire.Presence{Voter: voter}}
	}
	for _, tt := range []struct {
		want  string
		nodes []wire.Node
	}{
		{"", []wire.Node{node("a", true), node("b", true), node("c", true)}},
		{"a", []wire.Node{node("a", true), node("a", true), node("b", true), node("c", false)}},
		{"", []wire.Node{node("a", true), node("a", true), node("b", true)}},
	} {
		if got := majorityAt(tt.nodes); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.nodes, got, tt.want)
		}
	}
}
