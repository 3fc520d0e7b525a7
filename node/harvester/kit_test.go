package harvester

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/cluster"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/internal/kv/memory"
)

// errCut is what a leader gets that is no longer one, or does not hear of a decision.
var errCut = errors.New("the leader was cut off")

// alone is the agreed state of a cluster of one node, which decides at once.
type alone struct {
	t     testing.TB
	mu    sync.Mutex
	state memory.Tx
	index uint64
	led   bool
	read  int // keys that View has read
	// before is asked about each command, if it is set: whether it is decided, and what the leader hears.
	before func(kind catalog.Kind, body any) (decide bool, err error)
}

// self is the node.
func self() catalog.NodeID { return catalog.Fingerprint(publicKey()) }

func private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) }

func publicKey() []byte { return private().Public().(ed25519.PublicKey) }

// sealed is a secret that the node can open, as far as the catalog knows.
func sealed(id string) *catalog.Secret {
	return &catalog.Secret{ID: id, Text: []byte("sealed"), Boxes: []catalog.Box{{Node: self(), Key: make([]byte, 32),
		Box: []byte("box")}}}
}

// newAlone is a cluster whose node crawls jobs of the default channels, with a template named default.
func newAlone(t testing.TB) *alone {
	t.Helper()
	a := &alone{t: t, led: true}
	a.must(catalog.Found, catalog.Founding{
		Cluster:     catalog.Cluster{ID: "c1", Name: "test", Epoch: 1, Level: catalog.Level},
		Collections: []catalog.Collection{{Name: "web"}, {Name: "radio"}},
		Replicas:    []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "north"}},
		Member: catalog.Member{ID: self(), Name: "north-1", Key: publicKey(), Replica: "north",
			Level: catalog.Level}})
	seal := &catalog.SealKey{Key: make([]byte, 32)}
	seal.Proof = ed25519.Sign(private(), cluster.SealStatement(seal.Key))
	a.must(catalog.UpdateMember, catalog.MemberChange{ID: self(), Crawls: new(true), Seal: seal})
	a.must(harvests.CreateTemplate, harvests.Creation{Name: "default", Text: `{"operator_contact":"web@example.org"}`})
	return a
}

func (a *alone) View(look func(catalog.View) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return look(catalog.NewView(counted{a}))
}

// counted is the state of a cluster, which counts what is read of it.
type counted struct{ a *alone }

// reads is how many keys View has read.
func (a *alone) reads() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.read
}

func (c counted) Get(key []byte) ([]byte, error) {
	c.a.read++
	return c.a.state.Get(key)
}

func (c counted) Scan(prefix, from []byte, visit func(key, value []byte) bool) error {
	return c.a.state.Scan(prefix, from, func(key, value []byte) bool {
		c.a.read++
		return visit(key, value)
	})
}

func (a *alone) Linear(ctx context.Context) error { return ctx.Err() }

func (a *alone) IsLeader() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.led
}

func (a *alone) lead(is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.led = is
}

func (a *alone) Propose(_ context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	a.mu.Lock()
	before := a.before
	a.mu.Unlock()
	if before == nil {
		return a.decide(kind, body, actor)
	}
	decide, err := before(kind, body)
	var r catalog.Result
	if decide {
		var failed error
		if r, failed = a.decide(kind, body, actor); failed != nil {
			return r, failed
		}
	}
	return r, err
}

func (a *alone) decide(kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(time.Now()), Actor: actor,
		Node: self(), Boot: 1, Seq: a.index, Body: text})
	if err != nil {
		return catalog.Result{}, err
	}
	if len(data) > catalog.MaxBytes {
		a.t.Errorf("%s of %d bytes", kind, len(data))
	}
	return catalog.Apply(&a.state, a.index, data)
}

func (a *alone) must(kind catalog.Kind, body any) catalog.Result {
	a.t.Helper()
	result, err := a.decide(kind, body, string(self()))
	if err != nil || result.Refusal != nil {
		a.t.Fatalf("%s: %v %v", kind, result.Refusal, err)
	}
	return result
}

// see reads something of the catalog.
func see[T any](a *alone, look func(catalog.View) (T, error)) T {
	a.t.Helper()
	var out T
	if err := a.View(func(v catalog.View) (err error) { out, err = look(v); return err }); err != nil {
		a.t.Fatal(err)
	}
	return out
}

// harvester is one for this cluster.
func (a *alone) harvester() *Harvester {
	return New(Config{Self: self(), Dir: a.t.TempDir(), Agreement: a, Zones: time.LoadLocation, Now: time.Now,
		Log: slog.New(slog.DiscardHandler)})
}

// domain makes a domain, with configurations of its own beside the default.
func (a *alone) domain(name domains.Name, configurations ...domains.Configuring) {
	a.t.Helper()
	a.must(domains.Create, domains.Creation{Name: name, Collection: "web"})
	for _, c := range configurations {
		c.Domain = name
		if c.Template == "" {
			c.Template = "default"
		}
		if c.Lists == nil {
			c.Lists = []string{domains.DefaultSeedList}
		}
		a.must(domains.SetConfiguration, c)
	}
}

// define makes a harvest with configurations, given as domain/configuration, and returns its number.
func (a *alone) define(kind runs.Kind, asked runs.Asked, of ...string) uint64 {
	a.t.Helper()
	if kind != runs.Snapshot && asked.Schedule == "" {
		asked.Schedule = "hourly"
	}
	var h runs.Harvest
	result := a.must(runs.Create, runs.Creation{Kind: kind, Collection: "web", Asked: asked})
	if err := json.Unmarshal(result.Value, &h); err != nil {
		a.t.Fatal(err)
	}
	for some := range slices.Chunk(of, 100) {
		var all []runs.Configuration
		for _, text := range some {
			domain, name, _ := strings.Cut(text, "/")
			all = append(all, runs.Configuration{Domain: domains.Name(domain), Name: name})
		}
		a.must(runs.AddConfigurations, runs.Listing{Number: h.Number, Configurations: all})
	}
	return h.Number
}

// activate makes a harvest due at a time.
func (a *alone) activate(number uint64, at time.Time) {
	a.t.Helper()
	a.must(runs.Activate, runs.Activation{Number: number, Version: a.harvest(number).Version, Next: catalog.At(at)})
}

func (a *alone) harvest(number uint64) runs.Harvest {
	a.t.Helper()
	return see(a, func(v catalog.View) (runs.Harvest, error) { return catalog.RunsIn(v).Harvest(number) })
}

// begin begins a run now.
func (a *alone) begin(number uint64) {
	a.t.Helper()
	a.activate(number, time.Now())
	a.must(runs.BeginRun, runs.Beginning{Number: number, Date: a.harvest(number).Next, Schedule: `{"unit":"hour"}`})
}

func (a *alone) run(number, run uint64) runs.Run {
	a.t.Helper()
	return see(a, func(v catalog.View) (runs.Run, error) { return catalog.RunsIn(v).Run(number, run) })
}

// made is what a run's jobs have, by job, as domain/configuration.
func (a *alone) made(number, run uint64) map[uint64][]string {
	a.t.Helper()
	return see(a, func(v catalog.View) (map[uint64][]string, error) {
		all, err := v.JobsOfRun(number, run, 0, 0)
		out := map[uint64][]string{}
		for i := range all {
			lines, err := v.Configurations(&all[i])
			if err != nil {
				return nil, err
			}
			for _, c := range lines {
				out[all[i].ID] = append(out[all[i].ID], c.Domain+"/"+c.Name)
			}
		}
		return out, err
	})
}

// once fails unless the run's jobs have exactly the configurations, each once.
func (a *alone) once(number, run uint64, want []string) {
	a.t.Helper()
	times := map[string]int{}
	for _, some := range a.made(number, run) {
		for _, name := range some {
			times[name]++
		}
	}
	for _, name := range want {
		if times[name] != 1 {
			a.t.Fatalf("%s is in %d jobs", name, times[name])
		}
	}
	if len(times) != len(want) {
		a.t.Fatalf("%d configurations are in jobs, instead of %d", len(times), len(want))
	}
	r := a.run(number, run)
	if r.State != runs.Made || r.Configurations != int64(len(want)) {
		a.t.Errorf("the run is %+v", r)
	}
	made := see(a, func(v catalog.View) (jobs.Run, error) {
		made, err := v.Run(number, run)
		if errors.Is(err, catalog.ErrNotFound) {
			err = nil
		}
		return made, err
	})
	if made.Open != 0 || made.Jobs != r.Jobs {
		a.t.Errorf("the run has %+v, and says %d jobs", made, r.Jobs)
	}
}

func (a *alone) settings(text string) {
	a.t.Helper()
	version := see(a, func(v catalog.View) (version uint64, err error) {
		_, version, err = catalog.RunsIn(v).SplitSettings()
		return version, err
	})
	a.must(runs.SetSettings, runs.SettingsChange{Version: version, Text: text})
}

func host(i int) domains.Name { return domains.Name(fmt.Sprintf("d%04d.org", i)) }

// isSnapshot reports whether a job that is begun is of a snapshot.
func (a *alone) isSnapshot(body any) bool {
	o, is := body.(jobs.JobOpening)
	if m, made := body.(jobs.JobMaking); made {
		o, is = m.Opening, true
	}
	return is && o.Channel == jobs.Snapshot
}
