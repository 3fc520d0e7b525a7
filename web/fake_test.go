package web

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/internal/inprocess"
	"holdfast/internal/words"
)

// now is when the tests take place.
func now() time.Time { return time.Date(2026, 11, 24, 8, 30, 0, 0, time.UTC) }

// archive is an API that answers with what a test gives it.
type archive struct {
	mu      sync.Mutex
	answers map[string]any           // by path below /api/v1, with or without the query; what is no GET, after its method
	did     []string                 // what was changed: method, path with query, body
	asked   []string                 // paths with their queries
	names   []string                 // by which requests are carried out once
	old     bool                     // the cluster knows no such names
	tokens  map[string]bool          // that requests carried
	slow    map[string]chan struct{} // paths that answer when the channel is closed
	came    chan struct{}            // gets one for each request that waits, if there is one
}

func (a *archive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	a.mu.Lock()
	a.asked = append(a.asked, path+"?"+r.URL.RawQuery)
	a.tokens[r.Header.Get("Authorization")] = true
	if r.Method != http.MethodGet {
		path = r.Method + " " + path
		a.names = append(a.names, r.Header.Get("Idempotency-Key"))
		if a.old && r.Header.Get("Idempotency-Key") != "" {
			a.answers[path] = refusal(http.StatusNotImplemented, wire.CodeUnsupported, "the level is too low")
		} else if a.old {
			a.answers[path] = wire.Domain{Name: "a.example"}
		}
		a.did = append(a.did, path+strings.TrimSuffix("?"+r.URL.RawQuery, "?")+" "+string(body))
	}
	answer, ok := a.answers[path+"?"+r.URL.RawQuery]
	if !ok {
		answer, ok = a.answers[path]
	}
	wait := a.slow[path]
	a.mu.Unlock()
	if wait != nil {
		if a.came != nil {
			a.came <- struct{}{}
		}
		select {
		case <-wait:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
	status := http.StatusOK
	if p, is := answer.(wire.Problem); is {
		status = p.Status
	}
	if !ok {
		status, answer = http.StatusNotFound, refusal(http.StatusNotFound, wire.CodeNotFound, path+" is not there")
	}
	if text, is := answer.(plainText); is {
		w.Header().Set("Content-Type", "text/plain")
		if _, err := io.WriteString(w, string(text)); err != nil {
			panic(err)
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if answer == nil {
		return
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

// plainText is an answer that is no JSON.
type plainText string

// changes returns what was changed since the last time.
func (a *archive) changes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	did := a.did
	a.did = nil
	return did
}

func refusal(status int, code wire.Code, detail string) wire.Problem {
	return wire.Problem{Type: wire.ProblemType + string(code), Status: status, Detail: detail}
}

// queries returns what was asked since the last time.
func (a *archive) queries() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

// sessions are kept in memory.
type sessions struct {
	mu        sync.Mutex
	open      map[string]Session
	links     map[string]Session
	broken    error
	endless   error // what End fails with
	renewed   int
	last      time.Time       // no session ends after it
	elsewhere map[string]bool // sessions that only other nodes take
}

func (s *sessions) Open(_ context.Context, link string) (Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.links[link]
	if s.broken != nil {
		return Session{}, s.broken
	} else if !ok {
		return Session{}, ErrLink
	}
	delete(s.links, link)
	s.open[found.Text] = found
	return found, nil
}

func (s *sessions) Check(_ context.Context, text string) (Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.open[text]
	if s.broken != nil {
		return Session{}, s.broken
	} else if !ok {
		return Session{}, ErrSignedOut
	}
	return found, nil
}

func (s *sessions) Renew(_ context.Context, text string) (Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.open[text]
	s.renewed++
	if found.Text, found.Expires = text+"-renewed", now().Add(life); !s.last.IsZero() {
		found.Expires = s.last
	}
	s.open[found.Text] = found
	return found, nil
}

func (s *sessions) End(_ context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endless == nil {
		delete(s.open, text)
		delete(s.elsewhere, text)
	}
	return s.endless
}

// site is a handler with what it stands on. The session "admin" is signed in, and so are reader, curator, operator.
type site struct {
	*Handler
	api      *archive
	sessions *sessions
	secure   bool
}

func newSite(t *testing.T) *site { return newSiteOf(t, "lindhaven", "north-1") }

// offer are all languages: reading them takes longer than most tests.
var offer = sync.OnceValues(func() (*words.Offer, error) {
	all, err := words.Shipped()
	if err != nil {
		return nil, err
	}
	return all.Offer(all.Tags()...)
})

func newSiteOf(t *testing.T, cluster, name string) *site {
	t.Helper()
	s := &site{api: &archive{answers: filled(name), tokens: map[string]bool{}, slow: map[string]chan struct{}{}},
		sessions: &sessions{open: map[string]Session{}, links: map[string]Session{}}}
	for _, role := range roles() {
		s.sessions.open[role] = Session{Text: role, Name: name, Person: "p1", Role: role, Zone: "UTC", Expires: now().Add(life)}
	}
	languages, err := offer()
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(Config{Cluster: cluster, Node: name, Languages: languages, API: inprocess.New(s.api, slog.New(slog.DiscardHandler)), Sessions: s.sessions,
		Secure: func(*http.Request) bool { return s.secure }, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.Handler = h
	return s
}

func roles() []string { return []string{"reader", "curator", "operator", "admin"} }

// send sends a request with the cookie of a session, "" for none; headers are names and values.
func (s *site) send(t *testing.T, method, path, session string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://archive.test"+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if session != "" {
		r.AddCookie(&http.Cookie{Name: s.cookieName(r), Value: session})
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

// get opens a page as the administrator.
func (s *site) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	return s.send(t, http.MethodGet, path, "admin", nil)
}

// paths are a path of each page of the table, and of some with queries.
func paths() []string {
	return []string{"/", "/harvests", "/harvests?search=news&kind=event&state=failed&domain=example.org", "/harvests/3", "/domains", "/domains?prefix=ex&after=d-9",
		"/domains/example.org", "/ingests", "/ingests/i1", "/fields", "/presets", "/jobs", "/jobs?state=FAILED&harvest=3&run=2&domain=example.org&after=j-9", "/jobs/running", "/jobs/12", "/jobs/13",
		"/files", "/files?state=owed&job=12&prefix=12-", "/files/12-a.warc.gz", "/replicas", "/copies", "/copies?state=corrupt&replica=north",
		"/harvests/3/preview", "/harvests/3/configurations", "/domains/example.org/seeds/main", "/domains/example.org/seeds/main?version=2",
		"/templates", "/templates?search=x", "/templates/default", "/schedules", "/schedules/evenings", "/channels", "/traps", "/traps/calendars?version=1",
		"/jobs/15/crawl", "/jobs/15/crawl?queue=a&state=frozen",
		"/jobs/15/uris", "/jobs/15/uris?pattern=a&queue=b&after=u-1", "/jobs/15/explain", "/jobs/15/explain?url=https://a.example/", "/jobs/15/log", "/jobs/15/log?log=job.log&pattern=x&after=7",
		"/jobs/15/report?name=hosts", "/jobs/15/checkpoints",
		"/audits", "/batches", "/batches/b1", "/strays", "/trail", "/trail?actor=p1&after=e-7", "/collections", "/layout", "/disks", "/level", "/alerts", "/notices", "/nodes", "/nodes/north-1", "/nodes/north-1?span=week", "/nodes/north-1/log", "/nodes/north-1/log?level=warn&text=a%3Db&room=index&after=4d-7", "/people", "/people/p1",
		"/nodes/north-1/sole-files", "/join-tokens", "/index", "/node-settings", "/preservation", "/removed", "/removed?prefix=12-&collection=tv&after=f-1", "/replicas/north", "/quarantine", "/approvals", "/approvals?state=all", "/approvals/7", "/approvals/8", "/ledgers", "/ledgers?replica=north", "/backups"}
}

// filled is an archive that has something of each kind; each text that people or the web give is name.
func filled(name string) map[string]any {
	at := now().Add(-3 * time.Hour)
	total := int64(1234)
	done := wire.Job{ID: 12, Harvest: name, JobOrigin: wire.JobOrigin{HarvestID: 3, Run: 2}, Collection: name, Channel: name, State: wire.JobDone,
		Attempt: 1, NodeName: name, Created: at, Started: at, Ended: at, Stats: wire.JobStats{Objects: 41832, Bytes: 3_100_000_000, Failed: 7, StopReason: "completed"}}
	failed := done
	failed.ID, failed.State, failed.Reason, failed.Next, failed.WishReason = 13, wire.JobFailed, name, 14, name
	failed.Seeds, failed.HarvestErr = []string{"http://" + name, name}, &wire.JobError{Short: name, Detail: name}
	failed.UploadErr, failed.Note, failed.Progress = &wire.JobError{Short: name, Detail: name}, name, &wire.Progress{Done: 5, Rate: 41.24}
	copies := []wire.Copy{{Replica: name, State: wire.UploadCompleted, Node: name, Checksum: wire.ChecksumOK, FileList: wire.FileListOK, Verified: at},
		{Replica: name, State: wire.UploadFailed, Reason: name}, {Replica: name, State: wire.UploadCompleted, Checksum: wire.ChecksumCorrupt},
		{Replica: name, State: wire.UploadCompleted, Node: name, Checksum: wire.ChecksumOK, FileList: wire.FileListOK, Verified: at, Away: true}}
	file := wire.File{Name: name, Size: 1 << 30, SHA256: strings.Repeat("ab", 32), Shard: "abc", Collection: name, Added: at, Job: 12, Source: name,
		Reason: name, LostWhy: name, Copies: copies}
	status := wire.Status{Cluster: wire.Cluster{Name: name, Quorum: true}, Node: wire.NodeStatus{Name: name, Version: name, Started: at, Outbox: 3, Backup: &wire.BackupState{Looked: true, Newest: at, Failed: at},
		Disks: []wire.Disk{{Path: name, Free: 5e9, Total: 9e9}}},
		Nodes: []wire.Node{{Name: name, Replica: name, Place: name, Channels: []string{name}, Draining: true, Shards: 4096,
			Presence: wire.Presence{State: "alive", Voter: true, LastHeard: at, Version: name, Free: 5e9}}},
		Replicas: []wire.Replica{{Name: name, Kind: wire.Bitarchive, Place: name, Files: 10, Good: 7, Away: 2, Owed: 3, Disputed: 1, Held: 4096}}}
	silent := []wire.SilentNode{{Name: name, Reason: name}}
	alerts := wire.Alerts{At: now(), Silent: silent, Backups: []wire.NodeBackup{{Node: "id-1", Name: name, State: status.Node.Backup}, {Node: "id-2", Name: name, Silent: true, Reason: name}, {Node: "id-3", Name: name}}}
	for _, kind := range slices.Sorted(maps.Keys(alert.Kinds())) {
		a := wire.Alert{Kind: string(kind), Severity: "bad", Subject: name, Node: name, Since: at, Text: name, Parameters: map[string]string{}}
		for _, p := range alert.Kinds()[kind] {
			if a.Parameters[p] = name; counted(p) || p == "bytes" {
				a.Parameters[p] = "2"
			}
		}
		alerts.Items = append(alerts.Items, a)
	}
	alerts.Items = append(alerts.Items, wire.Alert{Kind: "of-the-future", Severity: "look", Subject: name, Text: name},
		wire.Alert{Kind: string(alert.HarvestLate), Severity: "look", Subject: "9", Text: name,
			Parameters:   map[string]string{"name": name, "date": name},
			Acknowledged: &wire.Acknowledgement{By: name, At: at, Until: at.Add(life), Note: name}})
	status.Alerts = alerts.Items
	grant := wire.Grant{ID: 1, Role: wire.RoleCurator, Collection: name, State: "open", ByName: name, Since: at, Until: now().Add(time.Hour), Reason: name}
	person := wire.Person{ID: "p1", Name: name, Mail: name, Institution: name, State: wire.Active, Since: at, Reason: name}
	whole := person
	whole.Grants = []wire.Grant{grant}
	whole.Identities = []wire.Identity{{ID: "00ff", Issuer: name, Subject: name, Since: at}}
	run := wire.HarvestRun{Number: 2, State: "failed", Date: at, Begun: at, Jobs: 4, Configurations: 9, There: 10, Waits: name, Error: name, Detail: name,
		Brought: &wire.RunBrought{Whole: true, Jobs: 4, Configurations: 9, Objects: 7, Bytes: 1 << 20, Usual: &wire.RunUsual{Runs: 5, Objects: 70, Bytes: 1 << 30, Differs: true}}}
	plan := wire.Harvest{Number: 3, Name: name, Kind: "snapshot", Collection: name, State: wire.HarvestFailed, Changed: at, ChangedBy: name, Channel: name,
		Schedule: name, Next: now().Add(time.Hour), Audience: name, Comments: name, Runs: 2, Error: name, Detail: name, LastRun: &run,
		HarvestLimits: wire.HarvestLimits{Objects: harvest.AtMost(5000), Continues: 1}}
	domain := wire.Domain{Name: name, Collection: name, Created: at, Owner: name, Comments: name, Default: name, Alias: &wire.Alias{Of: name}}
	wholeDomain := domain
	wholeDomain.Aliases, wholeDomain.Fields = []string{name}, map[string]string{name: name}
	wholeDomain.Configurations = []wire.Configuration{{Name: name, Template: name, Seeds: []string{name}, Bytes: harvest.AtMost(5e9), Comments: name, Default: true}}
	wholeDomain.Seeds = []wire.List{{Name: name, Items: 5, Changed: at, Comments: name}}
	answers := map[string]any{
		"/harvests": wire.Page[wire.Harvest]{Items: []wire.Harvest{plan}, Next: "h-1"}, "/harvests/3": plan,
		"/harvests/3/dates":    wire.Page[wire.Date]{Items: []wire.Date{{At: now().Add(time.Hour), Local: name}}},
		"/harvests/3/runs":     wire.Page[wire.HarvestRun]{Items: []wire.HarvestRun{run}, Next: "r-1"},
		"/domains":             wire.Page[wire.Domain]{Items: []wire.Domain{domain}, Next: "d-1"},
		"/domains/example.org": wholeDomain,
		"/domains/example.org/history": wire.Page[wire.DomainHistory]{Items: []wire.DomainHistory{{Job: 12, HarvestID: 3, Harvest: name, Received: at,
			Statistic: wire.Statistic{Configuration: name, Objects: 5, Stop: "completed"}}}, Next: "h-1"},
		"/status": status, "/alerts": alerts,
		"/jobs": wire.Page[wire.Job]{Items: []wire.Job{failed, done}, Next: "j-5", Total: &total},
		"/jobs/running": wire.RunningJobs{At: now(), Silent: silent, Jobs: []wire.RunningJob{{ID: 15, Harvest: name, NodeName: name, State: "RUNNING",
			Reason: name, Progress: &wire.Progress{Done: 12480, Queued: 9, Rate: 41.24, Bytes: 5e6}}, {ID: 16, Harvest: name, NodeName: name}}},
		"/jobs/12": done, "/jobs/13": failed,
		"/jobs/12/statistics": wire.Page[wire.Statistic]{Items: []wire.Statistic{{Domain: name, Configuration: name, Objects: 5, Bytes: 6, Stop: "time-limit",
			Best: &wire.BestHarvest{Job: 3, Received: at, Completed: true, Objects: 50, Bytes: 60}}}, Next: "s-1"},
		"/jobs/13/statistics": wire.Page[wire.Statistic]{},
		"/files":              wire.Page[wire.File]{Items: []wire.File{file}, Next: "f-1"},
		"/files/12-a.warc.gz": file,
		"/copies":             wire.Page[wire.FileCopy]{Items: []wire.FileCopy{{File: name, Size: 5, Copy: copies[1]}}, Next: "k-1", Total: &total},
		"/batches": wire.Page[wire.Batch]{Items: []wire.Batch{{ID: "b1", Program: name, State: wire.BatchDone, By: name, Opened: at, Ended: at,
			Progress: &wire.BatchProgress{Selected: 9, Files: 9}}, {ID: "b2", State: wire.BatchIncomplete, Reason: name, Opened: at}}, Total: &total},
		"/audits":   wire.Page[wire.Audit]{Items: []wire.Audit{{ID: "a1", Replicas: []string{name}, State: "done", Began: at, Ended: at, Files: 9, Total: 9}}, Total: &total, Silent: silent},
		"/strays":   wire.Page[wire.NodeStrays]{Items: []wire.NodeStrays{{Name: name, Files: 1, Bytes: 5, Strays: []wire.Stray{{Name: name, Where: "files", Path: name, Size: 5, State: name}}}, {Name: name, Unreachable: name}}},
		"/trail":    wire.Page[wire.Event]{Items: []wire.Event{{Seq: 5, At: at, ActorName: name, Act: name, Subject: name, Detail: name}}, Next: "e-5", Total: &total},
		"/users":    wire.Page[wire.Person]{Items: []wire.Person{person}},
		"/users/p1": whole,
	}
	maps.Copy(answers, defined(name))
	maps.Copy(answers, preserved(name))
	return answers
}
