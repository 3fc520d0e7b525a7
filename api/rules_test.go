package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/harvest"
)

func TestOnlyAnOperatorLetsACrawlReachTheNodesOwnNetwork(t *testing.T) {
	t.Parallel()
	_, client := cluster(t)
	for name, change := range map[string]func(*harvest.Settings){
		"allow_private": func(s *harvest.Settings) { s.AllowPrivate = true },
		"nameserver":    func(s *harvest.Settings) { s.Nameserver = "127.0.0.1:53" },
	} {
		settings := &Settings{harvest.DefaultSettings()}
		change(&settings.Settings)
		asked := JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}, Settings: settings}
		if _, err := client(catalog.RoleCurator).CreateJob(t.Context(), asked); status(err) != http.StatusForbidden ||
			!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "operator") {
			t.Errorf("%s: a curator gets %v", name, err)
		}
		if _, err := client(catalog.RoleOperator).CreateJob(t.Context(), asked); err != nil {
			t.Errorf("%s: an operator gets %v", name, err)
		}
	}
}

func TestReplicasAndCollectionsAreAdded(t *testing.T) {
	t.Parallel()
	_, client := cluster(t)
	c := client(catalog.RoleAdmin)
	for range 2 { // the same again is no error
		if got, err := c.AddCollection(t.Context(), "radio"); err != nil || got.Name != "radio" || got.Created.IsZero() {
			t.Errorf("%+v %v", got, err)
		}
		got, err := c.AddReplica(t.Context(), ReplicaRequest{Name: "west", Kind: catalog.Bitarchive, Collections: []catalog.CollectionName{"web", "radio"}})
		if err != nil || got.Place != "west" || len(got.Collections) != 2 {
			t.Errorf("%+v %v", got, err)
		}
	}
	if _, err := c.AddReplica(t.Context(), ReplicaRequest{Name: "north", Kind: catalog.Bitarchive, Place: "elsewhere"}); status(err) != http.StatusConflict {
		t.Errorf("another replica of the name: %v", err)
	}
	if _, err := c.AddReplica(t.Context(), ReplicaRequest{Name: "east", Kind: catalog.Bitarchive, Collections: []catalog.CollectionName{"tv"}}); status(err) != http.StatusNotFound {
		t.Errorf("a collection that is not there: %v", err)
	}
	if _, err := client(catalog.RoleOperator).AddCollection(t.Context(), "tv"); status(err) != http.StatusForbidden {
		t.Errorf("an operator adds a collection: %v", err)
	}
	if all, err := c.Collections(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%+v %v", all, err)
	}
}

func TestAFailedJobIsToldOfUntilItIsDecided(t *testing.T) {
	t.Parallel()
	b, client := cluster(t)
	c := client(catalog.RoleCurator)
	fail := func() uint64 {
		job, err := c.CreateJob(t.Context(), JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
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
	again, err := c.ResubmitJob(t.Context(), id)
	if err != nil || again.ID == id || again.State != catalog.JobSubmitted {
		t.Errorf("%+v %v", again, err)
	}
	if _, err := c.RejectJob(t.Context(), again.ID); status(err) != http.StatusConflict {
		t.Errorf("a job that has not failed is rejected: %v", err)
	}
	if rejected, err := c.RejectJob(t.Context(), fail()); err != nil || rejected.State != catalog.JobFailedRejected {
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
	b, client := cluster(t)
	c := client(catalog.RoleCurator)
	job, err := c.CreateJob(t.Context(), JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}})
	if err != nil {
		t.Fatal(err)
	}
	wish := func(w catalog.JobWish, want ...harvest.Act) {
		t.Helper()
		b.orders = nil
		if got, err := c.WishJob(t.Context(), job.ID, w, "a reason"); err != nil || got.Wish != w || !slices.Equal(b.orders, want) {
			t.Errorf("%s: %+v %v, orders %v, want %v", w, got, err, b.orders, want)
		}
	}
	wish(catalog.WishRun)
	b.must(catalog.ClaimJob, catalog.JobRef{ID: job.ID, Node: self})
	b.must(catalog.StartJob, catalog.JobRef{ID: job.ID, Node: self, Attempt: 1})
	wish(catalog.WishRun, harvest.ActResume)
	wish(catalog.WishPause)
	wish(catalog.WishRun, harvest.ActResume)
	b.deaf = true
	wish(catalog.WishRun, harvest.ActResume)
	wish(catalog.WishPause)
	b.silent = true
	_, err = c.WishJob(t.Context(), job.ID, catalog.WishRun, "")
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "job 1 is to run on, but") {
		t.Errorf("with a node that does not answer: %v", err)
	}
	if got, err := c.Job(t.Context(), job.ID); err != nil || got.Wish != "" {
		t.Errorf("wish %q, %v", got.Wish, err)
	}
}

// An order for a job that this node has not heard of yet is not refused before the leader was asked.
func TestAnOrderForAJobThatWasJustDecided(t *testing.T) {
	t.Parallel()
	b, client := cluster(t)
	c := client(catalog.RoleCurator)
	order := harvest.Order{Act: harvest.ActPause}
	if _, err := c.Order(t.Context(), 1, order); !errors.Is(err, ErrNotFound) {
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
	if r, err := c.Order(t.Context(), 1, order); err != nil || r.Count != 1 {
		t.Errorf("of a job that this node learns of: %+v %v", r, err)
	}
}

func TestAStopSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	heard := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	job := catalog.Job{ID: 7, State: catalog.JobStarted, Node: "n", Wish: catalog.WishStop}
	for _, tt := range []struct {
		at   Presence
		wish catalog.JobWish
		want string
	}{
		{Presence{State: "alive"}, catalog.WishStop, ""},
		{Presence{State: "failed"}, catalog.WishRun, ""},
		{Presence{State: "failed"}, catalog.WishPause, "node south-1 is not heard: the job pauses when it answers"},
		{Presence{State: "failed", LastHeard: heard}, catalog.WishStop, "node south-1 is not heard: the job stops when it answers, or fails when its lease ends, about 2026-01-02T09:10:00Z"},
		{Presence{State: "failed"}, catalog.WishStop, "node south-1 is not heard: the job stops when it answers, or fails when its lease ends, 6h10m0s after the node was last heard"},
	} {
		job.Wish = tt.wish
		self := NodeStatus{Lease: 6*time.Hour + 10*time.Minute, Presence: map[catalog.NodeID]Presence{"n": tt.at}}
		if got := waits(job, "south-1", self); got != tt.want {
			t.Errorf("%+v %s: %q, want %q", tt.at, tt.wish, got, tt.want)
		}
	}
}

func TestAPlaceWithMostVotersIsToldOf(t *testing.T) {
	t.Parallel()
	node := func(place string, voter bool) Node { return Node{Place: place, Presence: Presence{Voter: voter}} }
	for _, tt := range []struct {
		want  string
		nodes []Node
	}{
		{"", []Node{node("a", true), node("b", true), node("c", true)}},
		{"a", []Node{node("a", true), node("a", true), node("b", true), node("c", false)}},
		{"", []Node{node("a", true), node("a", true), node("b", true)}},
	} {
		if got := majorityAt(tt.nodes); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.nodes, got, tt.want)
		}
	}
}
