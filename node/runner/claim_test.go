package runner

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/harvest"
	"holdfast/harvest/act"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
)

// alone is the agreed state of a cluster of one node, which decides at once.
type alone struct {
	t     *testing.T
	mu    sync.Mutex
	state memory.Tx
	index uint64
}

// self is the node.
func self() catalog.NodeID { return catalog.Fingerprint(make([]byte, 32)) }

func newAlone(t *testing.T) *alone {
	t.Helper()
	a := &alone{t: t}
	a.must(catalog.Found, catalog.Founding{
		Cluster:     catalog.Cluster{ID: "c1", Name: "test", Epoch: 1, Level: catalog.Level},
		Collections: []catalog.Collection{{Name: "web"}},
		Replicas:    []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "north"}},
		Member:      catalog.Member{ID: self(), Name: "north-1", Key: make([]byte, 32), Replica: "north", Level: catalog.Level}})
	return a
}

func (a *alone) View(look func(catalog.View) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return look(catalog.NewView(&a.state))
}

func (a *alone) Linear(context.Context) error { return nil }

func (a *alone) Propose(_ context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(time.Now()), Actor: actor, Body: text})
	if err != nil {
		return catalog.Result{}, err
	}
	return catalog.Apply(&a.state, a.index, data)
}

func (a *alone) must(kind catalog.Kind, body any) {
	a.t.Helper()
	result, err := a.Propose(a.t.Context(), kind, body, "test")
	if err != nil || result.Refusal != nil {
		a.t.Fatalf("%s: %v %v", kind, result.Refusal, err)
	}
}

// submit makes a job that waits, and returns its number.
func (a *alone) submit() uint64 {
	a.t.Helper()
	spec, err := json.Marshal(harvest.Job{Name: "j", Seeds: []string{"http://127.0.0.1:1/"}, Settings: harvest.DefaultSettings()})
	if err != nil {
		a.t.Fatal(err)
	}
	result, err := a.Propose(a.t.Context(), catalog.CreateJob, catalog.JobCreation{Harvest: "j", Collection: "web", Spec: spec, Submit: true}, "test")
	if err != nil || result.Refusal != nil {
		a.t.Fatalf("%v %v", result.Refusal, err)
	}
	var job catalog.Job
	if err := json.Unmarshal(result.Value, &job); err != nil {
		a.t.Fatal(err)
	}
	return job.ID
}

// shelf is an archive that takes a file when it is let to.
type shelf struct {
	putting chan catalog.FileName
	let     chan error

	mu   sync.Mutex
	kept []catalog.Addition
}

func (s *shelf) Put(_ context.Context, _ string, as catalog.Addition) error {
	s.putting <- as.Name
	err := <-s.let
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.kept = append(s.kept, as)
	}
	return err
}

func (s *shelf) InOutbox(name catalog.FileName) bool {
	all, _ := s.Outbox()
	return slices.ContainsFunc(all, func(a catalog.Addition) bool { return a.Name == name })
}

func (s *shelf) Outbox() ([]catalog.Addition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept), nil
}

// claiming is a runner of that node, with room for two jobs and as many bytes as room says.
func claiming(t *testing.T, a *alone, s *shelf, room *atomic.Int64) *Runner {
	t.Helper()
	return New(Config{Self: self(), Name: "north-1", Data: t.TempDir(), Slots: 2, Lease: time.Hour, Disk: disk.New(), Log: slog.New(slog.DiscardHandler),
		Agreement: a, Archive: s, Room: func() (int64, error) { return room.Load(), nil }, Silent: func() time.Duration { return 0 },
		Able: func(harvest.Job) error { return nil }, Stale: func(catalog.View) (bool, error) { return false, nil }})
}

// claimed are the numbers of the jobs that the runner would start now.
func claimed(t *testing.T, c *Runner) (ids []uint64) {
	t.Helper()
	jobs, _, err := c.due(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	return ids
}

// TestADormantNodeClaimsNothing takes a node's room away: it claims no job and says why, until there is room again.
func TestADormantNodeClaimsNothing(t *testing.T) {
	t.Parallel()
	a, room := newAlone(t), new(atomic.Int64)
	c := claiming(t, a, &shelf{}, room)
	c.remains.looked(1)
	id := a.submit()
	if got := claimed(t, c); len(got) > 0 {
		t.Errorf("a node without room claims %d", got)
	}
	if p := alert.Texts(c.Alerts()); len(p) != 1 || !strings.HasPrefix(p[0], "this node is dormant and claims no jobs: there is no room") {
		t.Errorf("problems: %q", p)
	}
	c.SetSlots(0)
	if p := alert.Texts(c.Alerts()); len(p) > 0 {
		t.Errorf("a node that crawls nothing is dormant: %q", p)
	}
	c.SetSlots(1)
	room.Store(1)
	if got := claimed(t, c); !slices.Equal(got, []uint64{id}) {
		t.Errorf("with room it claims %d, want job %d", got, id)
	}
	if p := alert.Texts(c.Alerts()); len(p) > 0 {
		t.Errorf("problems with room: %q", p)
	}
}

// TestWhatWasLeftComesBeforeNewJobs has folders of earlier attempts on a node: no job is claimed while they are brought in,
// neither at the start nor after another attempt left something. What cannot be brought in does not hold up the node for
// ever.
func TestWhatWasLeftComesBeforeNewJobs(t *testing.T) {
	t.Parallel()
	a, room := newAlone(t), new(atomic.Int64)
	room.Store(1)
	s := &shelf{putting: make(chan catalog.FileName), let: make(chan error)}
	c := claiming(t, a, s, room)
	leave := func(job uint64, name string) {
		dir := filepath.Join(c.cfg.Data, "jobs", name)
		for path, text := range map[string]string{AttemptPath(dir): `{"id":` + name[:2] + `,"attempt":1,"created":5,"collection":"web"}`,
			filepath.Join(dir, "warcs", name+".warc.gz"): "bytes"} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave(98, "98_a")
	id := a.submit()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); c.leftovers(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	bringIn := func(want int, answer error) {
		t.Helper()
		for range want {
			<-s.putting
			if got := claimed(t, c); len(got) > 0 {
				t.Errorf("jobs %d are claimed while files of earlier ones are brought in", got)
			}
			s.let <- answer
		}
		<-c.freed
	}
	if got := claimed(t, c); len(got) > 0 {
		t.Errorf("jobs %d are claimed before anybody looked", got)
	}
	bringIn(2, nil) // with the metadata file
	if got := claimed(t, c); !slices.Equal(got, []uint64{id}) {
		t.Errorf("%d are claimed, want job %d", got, id)
	}
	leave(97, "97_a")
	next := a.submit()
	c.running[id] = &Attempt{Job: catalog.Job{ID: id}}
	c.remains.add()
	bringIn(2, os.ErrPermission)
	if got := claimed(t, c); !slices.Equal(got, []uint64{next}) {
		t.Errorf("%d are claimed, want job %d", got, next)
	}
	if p := alert.Texts(c.Alerts()); len(p) != 1 || !strings.Contains(p[0], "97_a is in the archive") {
		t.Errorf("problems: %q", p)
	}
}

// TestANewDeadlineIsHeeded stops a job, and stops it again with another deadline.
func TestANewDeadlineIsHeeded(t *testing.T) {
	t.Parallel()
	a, room := newAlone(t), new(atomic.Int64)
	room.Store(1)
	c := claiming(t, a, &shelf{}, room)
	id := a.submit()
	a.must(catalog.ClaimJob, catalog.JobRef{ID: id, Node: self()})
	a.must(catalog.StartJob, catalog.JobRef{ID: id, Node: self(), Attempt: 1})
	settings := harvest.DefaultSettings()
	settings.AllowPrivate = true
	crawl, err := crawler.New(crawler.Config{Dir: t.TempDir(), Job: harvest.Job{Name: "j", Seeds: []string{"http://127.0.0.1:1/"}, Settings: settings}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		over, end := context.WithCancel(context.Background())
		end()
		_, _ = crawl.Run(over)
	})
	c.running[id] = &Attempt{Job: catalog.Job{ID: id, Attempt: 1}, crawl: crawl}
	for _, within := range []time.Duration{0, time.Hour, 2 * time.Hour} {
		a.must(catalog.WishJob, catalog.JobWishing{ID: id, Wish: catalog.WishStop, Reason: "completed", Within: within.Milliseconds()})
		c.heed()
		if within == 0 {
			within = 10 * time.Minute
		}
		reply, err := crawl.Obey(t.Context(), act.Order{Act: act.Live{}})
		if err != nil || reply.Live == nil || reply.Live.Until == nil {
			t.Fatalf("%+v %v", reply.Live, err)
		}
		var job catalog.Job
		if err := a.View(func(v catalog.View) (err error) { job, err = v.Job(id); return err }); err != nil {
			t.Fatal(err)
		}
		if off := reply.Live.Until.Sub(job.WishBy.Std()).Abs(); off > time.Minute || job.WishReason != "completed" || reply.Live.State != "STOPPING" {
			t.Errorf("stop within %v: %s until %v, the job says %v", within, reply.Live.State, reply.Live.Until, job.WishBy.Std())
		}
	}
}

// Who stopped a crawl, and why, is not the stop reason.
func TestTheStopReason(t *testing.T) {
	t.Parallel()
	queued := func(reason string, n int64, limit bool) (s crawler.Summary) {
		s.Reason, s.StopLimits, s.Counters.Queued = reason, limit, n
		return s
	}
	for want, s := range map[string][]crawler.Summary{
		"completed":  {queued("completed", 0, false)},
		"time-limit": {queued("time-limit", 4, true)},
		"unfinished": {queued("unfinished", 4, false), queued("anna: enough", 4, false), queued("completed", 4, false), queued("anna: enough", 0, false)},
	} {
		for _, s := range s {
			if got := statsOf(s, catalog.Level).StopReason; got != want {
				t.Errorf("%q with %d queued: %s, want %s", s.Reason, s.Counters.Queued, got, want)
			}
		}
	}
}
