package web

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/api/wire"
)

// Nothing is called safe unless everybody answered and nothing is wrong.
func TestJudge(t *testing.T) {
	t.Parallel()
	good := func() *wire.Status {
		return &wire.Status{Cluster: wire.Cluster{Quorum: true}, Nodes: []wire.Node{{Presence: wire.Presence{State: "alive"}}},
			Replicas: []wire.Replica{{Files: 10, Good: 10, Held: wire.Shards}, {Files: 10, Good: 10, Held: wire.Shards}}}
	}
	if s := judge(good(), &wire.Alerts{}); !s.All || !s.Known || s.Copies != 20 {
		t.Errorf("all is well: %+v", s)
	}
	if s := judge(nil, &wire.Alerts{}); s.All || s.Known {
		t.Errorf("nobody answered: %+v", s)
	}
	for what, spoil := range map[string]func(*wire.Status, *wire.Alerts){
		"a copy is owed":        func(st *wire.Status, _ *wire.Alerts) { st.Replicas[1].Good, st.Replicas[1].Owed = 9, 1 },
		"a copy less":           func(st *wire.Status, _ *wire.Alerts) { st.Replicas[1].Good = 9 },
		"one less in the first": func(st *wire.Status, _ *wire.Alerts) { st.Replicas[0].Good = 9 },
		"a copy is disputed":    func(st *wire.Status, _ *wire.Alerts) { st.Replicas[0].Disputed = 1 },
		"a copy's disk is away": func(st *wire.Status, _ *wire.Alerts) { st.Replicas[1].Away = 1 },
		"a shard has no node":   func(st *wire.Status, _ *wire.Alerts) { st.Replicas[0].Held-- },
		"a file is lost":        func(st *wire.Status, _ *wire.Alerts) { st.Lost = 1 },
		"no quorum":             func(st *wire.Status, _ *wire.Alerts) { st.Cluster.Quorum = false },
		"a node is away":        func(st *wire.Status, _ *wire.Alerts) { st.Nodes[0].Presence.State = "suspected" },
		"a node is silent":      func(_ *wire.Status, a *wire.Alerts) { a.Silent = []wire.SilentNode{{Name: "south-1"}} },
		"nothing is there": func(st *wire.Status, _ *wire.Alerts) {
			for i := range st.Replicas {
				st.Replicas[i].Files, st.Replicas[i].Good = 0, 0
			}
		},
		"more here, less there": func(st *wire.Status, _ *wire.Alerts) { st.Replicas[0].Good, st.Replicas[1].Good = 9, 11 },
		"there is no replica":   func(st *wire.Status, _ *wire.Alerts) { st.Replicas = nil },
	} {
		st, alerts := good(), &wire.Alerts{}
		spoil(st, alerts)
		if s := judge(st, alerts); s.All || !s.Known {
			t.Errorf("%s: %+v", what, s)
		}
	}
	if s := judge(good(), nil); s.All || !s.Unasked {
		t.Errorf("the nodes could not be asked: %+v", s)
	}
}

// Only jobs that ended since yesterday count; when there are more than were looked at, the page says "at least".
func TestCameIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	job := func(ago time.Duration) wire.Job {
		return wire.Job{State: wire.JobDone, Ended: now().Add(-ago), Stats: wire.JobStats{Objects: 1000, Bytes: 2000, Files: 1}}
	}
	s.api.answers["/jobs"] = wire.Page[wire.Job]{}
	const query = "/jobs?from=2026-11-17T08%3A30%3A00Z&limit=500&state="
	s.api.answers[query+"DONE"] = wire.Page[wire.Job]{Items: []wire.Job{job(time.Hour), job(23 * time.Hour), job(25 * time.Hour)}}
	if _, body := s.get(t, "/_/en/"); !strings.Contains(body, "<strong>2,000</strong>") || !strings.Contains(body, "Objects, 4.0\u00a0kB, from 2 jobs") {
		t.Errorf("two jobs came in: %s", body)
	}
	s.api.answers[query+"DONE"] = wire.Page[wire.Job]{Items: []wire.Job{job(time.Hour)}, Next: "j-1"}
	s.api.answers[query+"FAILED"] = wire.Page[wire.Job]{Items: []wire.Job{job(time.Hour)}, Next: "j-1"}
	if _, body := s.get(t, "/_/en/"); !strings.Contains(body, "Objects at least, 2.0\u00a0kB, from 1 job looked at") ||
		!strings.Contains(body, "job at least that nobody has dealt with") {
		t.Errorf("there are more: %s", body)
	}
}

// The page opens whatever part of the API fails. It names the part, and says nothing of what it does not know.
func TestTodayWithFaults(t *testing.T) {
	t.Parallel()
	for part, tt := range map[string]struct {
		paths  []string
		never  []string
		answer wire.Problem
		why    string
	}{
		"State of the cluster": {[]string{"/status"}, []string{"copies verified", "No alerts at"}, refusal(503, wire.CodeNoQuorum, ""), "The cluster has no quorum."},
		"Running jobs":         {[]string{"/jobs/running"}, []string{"no job is running"}, refusal(500, wire.CodeInternal, "broken <b>"), "broken &lt;b&gt;"},
		"Alerts of all nodes":  {[]string{"/alerts"}, []string{"there is no alert", "All copies verified"}, refusal(403, wire.CodeForbidden, "not you"), "You may not see this."},
		"Finished jobs":        {[]string{"/jobs"}, []string{"Objects, "}, refusal(503, wire.CodeUnavailable, "busy"), "busy"},
		"Failed jobs":          {[]string{"/jobs"}, []string{"nobody has dealt with"}, refusal(503, wire.CodeUnavailable, "busy"), "busy"},
		"Audits of the copies": {[]string{"/audits"}, []string{"No audit has ended", "Last audit"}, refusal(504, wire.CodeTimeout, "slow"), "slow"},
	} {
		s := newSite(t)
		for _, path := range tt.paths {
			s.api.answers[path] = tt.answer
		}
		resp, body := s.get(t, "/_/en/")
		if resp.StatusCode != 200 || !strings.Contains(body, "Not read: "+part+".") || !strings.Contains(body, tt.why) {
			t.Errorf("%s: %d\n%s", part, resp.StatusCode, body)
		}
		for _, never := range tt.never {
			if strings.Contains(body, never) {
				t.Errorf("%s: the page says %q", part, never)
			}
		}
		checkPage(t, part, "en", body)
	}
}

// Every page opens when nothing but faults comes back, and claims nothing.
func TestEveryPageWithFaults(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for path := range s.api.answers {
		s.api.answers[path] = refusal(503, wire.CodeUnavailable, "busy")
	}
	for _, path := range paths() {
		resp, body := s.get(t, "/_/en"+path)
		if resp.StatusCode != 200 || !strings.Contains(body, "Not read: State of the cluster.") || !strings.Contains(body, "State not known") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
		for _, claim := range []string{"Nothing.", "no alert", "No alerts", "no job is running", "in all", "verified</strong>"} {
			if strings.Contains(body, claim) {
				t.Errorf("%s claims %q:\n%s", path, claim, body)
			}
		}
		checkPage(t, path, "en", body)
	}
}

// A part that does not answer in time is named, and does not keep the page.
func TestASlowPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		never := make(chan struct{})
		defer close(never)
		s.api.slow["/jobs/running"], s.api.slow["/audits"] = never, never
		began := time.Now()
		resp, body := s.get(t, "/_/en/")
		if took := time.Since(began); took != later {
			t.Errorf("the page took %s", took)
		}
		if resp.StatusCode != 200 || strings.Count(body, "There was no answer in time.") != 2 || !strings.Contains(body, "Not read: Running jobs.") ||
			!strings.Contains(body, "Not read: Audits of the copies.") || !strings.Contains(body, "83,664") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	})
}

// Silent nodes are named, and what they have is not taken for nothing.
func TestSilentNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	silent := []wire.SilentNode{{Name: "south-1", Reason: "no route"}}
	s.api.answers["/jobs/running"] = wire.RunningJobs{At: now(), Jobs: []wire.RunningJob{}, Silent: silent}
	s.api.answers["/alerts"] = wire.Alerts{At: now(), Items: []wire.Alert{}, Silent: silent}
	for _, path := range []string{"/", "/jobs/running", "/alerts"} {
		_, body := s.get(t, "/_/en"+path)
		if !strings.Contains(body, "Node <bdi>south-1</bdi> does not answer") || !strings.Contains(body, "no route") ||
			strings.Contains(body, "All nodes answered") {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// What a job brought is shown when it has ended; before, its progress is.
func TestARunningJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/jobs/12"] = wire.Job{ID: 12, State: wire.JobStarted, Created: now(), Progress: &wire.Progress{Done: 12480}}
	s.api.answers["/jobs/12/statistics"] = wire.Page[wire.Statistic]{Items: []wire.Statistic{}}
	_, body := s.get(t, "/_/en/jobs/12")
	if !strings.Contains(body, "12,480") || strings.Contains(body, "By configuration") || strings.Contains(body, "<dt>Objects</dt>") {
		t.Errorf("%s", body)
	}
	s.api.answers["/jobs/12"] = wire.Job{ID: 12, State: wire.JobDone, Created: now(), Ended: now()}
	if _, body := s.get(t, "/_/en/jobs/12"); !strings.Contains(body, "By configuration</h2>\n<p>Nothing.</p>") || !strings.Contains(body, "<dt>Objects</dt><dd>0</dd>") {
		t.Errorf("%s", body)
	}
}

// A session that ended while the page was asked for leads to signing in.
func TestSignedOutMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.answers["/jobs"] = refusal(401, wire.CodeUnauthorized, "the session has ended")
	resp, _ := s.get(t, "/jobs")
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/sign-in?next=%2Fjobs" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

// An archive without files is not called verified, nor wrong; and one whose replicas cannot be relied on not empty.
func TestAnEmptyArchive(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	empty := wire.Status{Cluster: wire.Cluster{Quorum: true}, Replicas: []wire.Replica{{Name: "north", Held: wire.Shards}}}
	s.api.answers["/status"], s.api.answers["/alerts"] = empty, wire.Alerts{At: now(), Items: []wire.Alert{}}
	if _, body := s.get(t, "/_/en/"); !strings.Contains(body, "<strong>No copies yet</strong>") || strings.Contains(body, "All copies verified") {
		t.Errorf("it is empty: %s", body)
	}
	empty.Cluster.Quorum = false
	s.api.answers["/status"] = empty
	if _, body := s.get(t, "/_/en/"); !strings.Contains(body, "Nobody can tell now") || strings.Contains(body, "No copies yet") {
		t.Errorf("without a quorum: %s", body)
	}
}

// That no audit has ended is said only when all were looked at.
func TestManyAudits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	running := []wire.Audit{{ID: "a9", State: "running", Began: now()}}
	for next, want := range map[string]bool{"": true, "a-8": false} {
		s.api.answers["/audits"] = wire.Page[wire.Audit]{Items: running, Next: next}
		if _, body := s.get(t, "/_/en/"); strings.Contains(body, "No audit has ended") != want {
			t.Errorf("more to come %q: the page says so: %t", next, !want)
		}
	}
}
