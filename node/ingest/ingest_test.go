package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/domains"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
)

var self = catalog.Fingerprint([]byte(strings.Repeat("x", 32)))

// agreement is a cluster of one node over a map. Every failEvery-th command is carried out and not answered.
type agreement struct {
	mu        sync.Mutex
	state     memory.Tx
	index     uint64
	failEvery int
	after     func(kind catalog.Kind, n int) // is told of each command
	asked     int
}

func newAgreement(t *testing.T) *agreement {
	t.Helper()
	a := &agreement{}
	a.must(t, catalog.Found, catalog.Founding{
		Cluster: catalog.Cluster{ID: "c", Name: "test", Epoch: 1, Level: catalog.Level}, Collections: []catalog.Collection{{Name: "web"}},
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "north"}},
		Member:   catalog.Member{ID: self, Name: "north-1", Key: []byte(strings.Repeat("x", 32)), Replica: "north", Level: catalog.Level},
	})
	return a
}

func (a *agreement) must(t *testing.T, kind catalog.Kind, body any) {
	t.Helper()
	if r, err := a.Propose(t.Context(), kind, body, "test"); err != nil || r.Refusal != nil {
		t.Fatalf("%s: %v %v", kind, r.Refusal, err)
	}
}

func (a *agreement) View(see func(catalog.View) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return see(catalog.NewView(&a.state))
}

func (a *agreement) Linear(ctx context.Context) error { return ctx.Err() }

func (a *agreement) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	if ctx.Err() != nil {
		return catalog.Result{}, ctx.Err()
	}
	a.mu.Lock()
	text, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	a.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.Time(a.index), Actor: actor, Body: text})
	if err != nil {
		return catalog.Result{}, err
	}
	r, err := catalog.Apply(&a.state, a.index, data)
	a.asked++
	n := a.asked
	a.mu.Unlock()
	if a.after != nil {
		a.after(kind, n)
	}
	if a.failEvery > 0 && n%a.failEvery == 0 {
		return catalog.Result{}, errors.New("nobody answers")
	}
	return r, err
}

// runner opens the lists of a folder, as a node does when it starts.
func (a *agreement) runner(dir string) *Runner {
	return New(Config{Self: self, Dir: dir, Disk: disk.New(), Agree: a, Now: time.Now, Pause: time.Microsecond,
		Room: func() (int64, error) { return 1 << 40, nil }, Log: slog.New(slog.DiscardHandler)})
}

// ended waits until the ingest does not run any more, and restarts whenever that is asked for.
func (a *agreement) ended(t *testing.T, id string, restart <-chan struct{}, do func()) (i domains.Ingest) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		err := a.View(func(v catalog.View) (err error) { i, err = catalog.DomainsIn(v).Ingest(id); return err })
		if err != nil {
			t.Fatal(err)
		}
		if i.State != domains.IngestRunning {
			return i
		}
		select {
		case <-restart:
			do()
		case <-time.After(time.Millisecond):
		}
	}
	t.Fatalf("it runs on: %+v", i)
	return i
}

// run runs a runner until stop is called or the test ends.
func run(t *testing.T, r *Runner) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// list has that number of domains, with bad lines and comments between them.
func list(n int) (text string, bad map[int64]string) {
	var b strings.Builder
	b.WriteString("\uFEFF# a list\r\n")
	bad = map[int64]string{}
	line := int64(1)
	add := func(text, why string) {
		b.WriteString(text + "\r\n")
		if line++; why != "" {
			bad[line] = why
		}
	}
	wrong := []struct{ text, why string }{{"co.uk", "suffix"}, {"192.0.2.1", "address"}, {"http://example.org/", "URL"},
		{"www.example.org", "host of the domain"}, {"b\xfccher.example", "Latin-1"}, {strings.Repeat("x", 100_000), "longer than"}}
	for i := range n {
		add(fmt.Sprintf("d%d.example # a comment", i), "")
		if i%(n/20+1) == 0 {
			w := wrong[i/(n/20+1)%len(wrong)]
			add(w.text, w.why)
			add("", "")
		}
	}
	add("d0.example", "")
	return b.String(), bad
}

// TestListIsBroughtIn brings in a list while commands go unanswered and the node is restarted again and again.
func TestListIsBroughtIn(t *testing.T) {
	for name, tt := range map[string]struct{ failEvery, restartEvery int }{
		"undisturbed": {}, "unanswered": {failEvery: 3}, "restarted": {restartEvery: 2},
		"both": {failEvery: 3, restartEvery: 4},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 5000
			a, dir := newAgreement(t), t.TempDir()
			text, bad := list(n)
			restart := make(chan struct{}, 1)
			a.after = func(kind catalog.Kind, n int) {
				if kind == domains.AddIngested && tt.restartEvery > 0 && n%tt.restartEvery == 0 {
					select {
					case restart <- struct{}{}:
					default:
					}
				}
			}
			r := a.runner(dir)
			begun, err := r.Begin(t.Context(), api.IngestRequest{Collection: "web", Body: strings.NewReader(text), Actor: "carl"})
			if err != nil {
				t.Fatal(err)
			}
			a.failEvery = tt.failEvery
			stop := run(t, r)
			i := a.ended(t, begun.ID, restart, func() {
				stop()
				stop = run(t, a.runner(dir))
			})
			if i.State != domains.IngestDone || i.Made != n || i.Known != 1 || i.Bad != int64(len(bad)) || i.By != "carl" {
				t.Errorf("%+v, want %d bad lines", i, len(bad))
			}
			err = a.View(func(v catalog.View) error {
				lines, err := catalog.DomainsIn(v).BadLines(i.ID, 0, 1000)
				for _, l := range lines {
					if !strings.Contains(l.Reason, bad[l.Line]) || bad[l.Line] == "" {
						t.Errorf("line %d: %s; want %q", l.Line, l.Reason, bad[l.Line])
					}
					delete(bad, l.Line)
				}
				count, err2 := catalog.DomainsIn(v).Count("web")
				if count != n {
					t.Errorf("%d domains", count)
				}
				return errors.Join(err, err2)
			})
			if err != nil || len(bad) > 0 {
				t.Errorf("not told: %v, %v", bad, err)
			}
			stop()
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 1 {
				t.Errorf("%v is left, %v", entries, err)
			}
		})
	}
}

// TestIngestThatCannotGoOn loses the list, changes it, stops the ingest, and finds lists of which nothing is known.
func TestIngestThatCannotGoOn(t *testing.T) {
	a, dir := newAgreement(t), t.TempDir()
	begin := func() string {
		t.Helper()
		i, err := a.runner(dir).Begin(t.Context(), api.IngestRequest{Collection: "web", Body: strings.NewReader("a.org\n")})
		if err != nil {
			t.Fatal(err)
		}
		return i.ID
	}
	lost, changed, stopped := begin(), begin(), begin()
	if err := os.Remove(a.runner(dir).path(lost)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.runner(dir).path(changed), []byte("b.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.must(t, domains.StopIngest, domains.IngestStop{ID: stopped, Reason: "enough"})
	unknown := a.runner(dir).path("unknown")
	if err := os.WriteFile(unknown, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop := run(t, a.runner(dir))
	for id, why := range map[string]string{lost: "cannot be read", changed: "not the one"} {
		if i := a.ended(t, id, nil, nil); i.State != domains.IngestFailed || !strings.Contains(i.Reason, why) {
			t.Errorf("%+v, want %q", i, why)
		}
	}
	if i := a.ended(t, stopped, nil, nil); i.State != domains.IngestStopped || i.Made != 0 {
		t.Errorf("%+v", i)
	}
	stop()
	for _, path := range []string{unknown, a.runner(dir).path(stopped)} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

// TestListIsRefused has no room, no such collection, and a list that breaks off.
func TestListIsRefused(t *testing.T) {
	a, dir := newAgreement(t), t.TempDir()
	r := a.runner(dir)
	begin := func(collection catalog.CollectionName, body string) error {
		_, err := r.Begin(t.Context(), api.IngestRequest{Collection: collection, Body: strings.NewReader(body)})
		return err
	}
	var refusal *catalog.Refusal
	if err := begin("none", "a.org"); !errors.As(err, &refusal) || refusal.Code != catalog.NotFound {
		t.Errorf("%v", err)
	}
	r.cfg.Room = func() (int64, error) { return 5, nil }
	if err := begin("web", "a.org"); !errors.Is(err, api.ErrNoRoom) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}
