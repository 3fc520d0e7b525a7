package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/catalog/jobs"
	"holdfast/catalog/runs"
	"holdfast/internal/kv/memory"
	"holdfast/node/agreed"
	"holdfast/node/archive"
	"holdfast/node/config"
	"holdfast/node/runner"
)

// envBenchNode makes the program of the tests a node of a benchmark: the path of the cluster.toml, and the node's name.
const envBenchNode = "HOLDFAST_BENCH_NODE"

// TestMain runs the tests, or a node of a benchmark, which is a process of its own so that its memory can be measured.
func TestMain(m *testing.M) {
	if what := os.Getenv(envBenchNode); what != "" {
		if err := beNode(strings.Fields(what)); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// beNode runs a node that serves its channels and takes no job.
func beNode(what []string) error {
	file, err := config.Load(what[0])
	if err != nil {
		return err
	}
	cfg, err := file.Node(what[1])
	if err != nil {
		return err
	}
	n, err := New(cfg, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	n.crawls.SetSlots(0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return n.Run(ctx)
}

// manyDomains is a cluster of three processes, one of them this one, that keeps many domains.
type manyDomains struct {
	b       *testing.B
	n       running
	domains int
	pids    []int

	mu      sync.Mutex
	most    int64              // RssAnon of one of the processes, in KiB
	figures map[string]float64 // to be reported in the end: the loop forgets those from before it
}

// noJobs is an agreed state without jobs, for the runner of a node whose jobs the benchmark ends by itself.
type noJobs struct{ agreed.State }

func (noJobs) View(see func(catalog.View) error) error { return see(catalog.NewView(&memory.Tx{})) }

// BenchmarkManyDomains brings a list of HOLDFAST_DOMAINS domains (20 000 if it is not set) into a cluster of three
// processes, and splits snapshots of all of them: the first without history, that which is timed after three whose jobs
// told their statistics. A selective harvest becomes due in the last one. No job is crawled.
func BenchmarkManyDomains(b *testing.B) {
	m := newManyDomains(b)
	m.measure("ingest-s", m.ingest)
	for round := range 3 {
		number := m.define(runs.Snapshot, fmt.Sprint("snapshot ", round))
		m.measure([]string{"split-s", "second-split-s", "third-split-s"}[round], func() { m.split(number) })
		m.measure("history-s", func() { m.end(number) })
	}
	selective := m.define(runs.Selective, "selective")
	for round := 3; b.Loop(); round++ {
		number := m.define(runs.Snapshot, fmt.Sprint("snapshot ", round))
		if round == 3 {
			go m.measure("selective-s", func() { m.split(selective) })
		}
		m.measure("split-with-history-s", func() { m.split(number) })
	}
	m.await("the selective harvest has its jobs", func(catalog.View) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.figures["selective-s"] == 0 {
			return errors.New("it has not")
		}
		return nil
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	b.ReportMetric(float64(m.most)/1024, "RssAnon-MiB")
	for metric, figure := range m.figures {
		b.ReportMetric(figure, metric)
	}
}

func newManyDomains(b *testing.B) *manyDomains {
	m := &manyDomains{b: b, domains: 20_000, pids: []int{os.Getpid()}, figures: map[string]float64{}}
	if text := os.Getenv("HOLDFAST_DOMAINS"); text != "" {
		var err error
		if m.domains, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	ports := freeUDP(b, 3)
	path := filepath.Join(b.TempDir(), "cluster.toml")
	if err := os.WriteFile(path, fmt.Appendf(nil, threeNodes, b.TempDir(), ports[0], ports[1], ports[2]), 0o600); err != nil {
		b.Fatal(err)
	}
	file, err := config.Load(path)
	if err != nil {
		b.Fatal(err)
	}
	for i, name := range file.NodeNames() {
		cfg, err := file.Node(name)
		if err != nil {
			b.Fatal(err)
		}
		if i == 0 {
			m.n = m.here(cfg)
			continue
		}
		if err := joinBy(b, m.n, cfg); err != nil {
			b.Fatal(err)
		}
		m.elsewhere(path, name)
	}
	go m.watch(b.Context())
	m.decide(runs.SetSettings, runs.SettingsChange{Text: `{"max_total_size":1000000000}`}) // 10 000 configurations a job
	m.decide(defined.CreateTemplate, defined.Creation{Name: "default", Text: `{"operator_contact":"web@example.org"}`})
	return m
}

// here founds the cluster with a node in this process.
func (m *manyDomains) here(cfg config.Config) running {
	if _, err := Init(m.b.Context(), cfg, slogOf(m.b)); err != nil {
		m.b.Fatal(err)
	}
	n, err := New(cfg, slogOf(m.b))
	if err != nil {
		m.b.Fatal(err)
	}
	n.crawls = runner.New(runner.Config{Self: n.id, Name: cfg.Name, Data: cfg.Data, Disk: n.disk, Log: n.log,
		Agreement: noJobs{n.agreed}, Caller: carrier{n.peer}, Alive: n.alive, News: n.changed.C,
		Archive: archive.Entering{Kept: n.store, Replica: n.replica, Log: n.log}, Lease: time.Hour,
		Room:   func() (int64, error) { return n.room.Left(n.cfg.Data) },
		Stale:  func(catalog.View) (bool, error) { return false, nil },
		Silent: func() time.Duration { return 0 }})
	n.jobs.Own = n.crawls
	ctx, stop := context.WithCancel(m.b.Context())
	end := make(chan error, 1)
	go func() { end <- n.Run(ctx) }()
	m.b.Cleanup(func() { stop(); <-end })
	<-n.Ready()
	return running{Node: n, stop: stop, end: end}
}

// elsewhere starts a node in a process of its own.
func (m *manyDomains) elsewhere(path, name string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envBenchNode+"="+path+" "+name)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		m.b.Fatal(err)
	}
	m.b.Cleanup(func() { _, _ = cmd.Process.Signal(syscall.SIGTERM), cmd.Wait() })
	m.pids = append(m.pids, cmd.Process.Pid)
}

// watch looks at the memory of all processes until ctx ends.
func (m *manyDomains) watch(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, pid := range m.pids {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // a process that ended has none
			_, rest, _ := strings.Cut(string(text), "RssAnon:")
			var size int64
			_, _ = fmt.Sscan(rest, &size)
			m.mu.Lock()
			m.most = max(m.most, size)
			m.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// measure reports how long something takes, and how much of the processors all processes use meanwhile.
func (m *manyDomains) measure(metric string, do func()) {
	began, used := time.Now(), m.used()
	do()
	m.keep(metric, time.Since(began).Seconds())
	m.keep(strings.TrimSuffix(metric, "-s")+"-cpu-s", m.used()-used)
}

// used is the processor time of all processes so far, in seconds.
func (m *manyDomains) used() (seconds float64) {
	const ticks = 100 // of a second, on all machines that Linux runs on
	for _, pid := range m.pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // a process that ended has none
		_, rest, _ := strings.Cut(string(text), ") ")
		if words := strings.Fields(rest); len(words) > 12 {
			user, _ := strconv.ParseFloat(words[11], 64)
			system, _ := strconv.ParseFloat(words[12], 64)
			seconds += (user + system) / ticks
		}
	}
	return seconds
}

// keep keeps a figure.
func (m *manyDomains) keep(metric string, figure float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.figures[metric] = figure
}

// decide proposes what people do until it is decided, and returns the answer.
func (m *manyDomains) decide(kind catalog.Kind, body any) json.RawMessage {
	return m.propose(kind, body, catalog.Local(m.n.id))
}

// propose proposes a command in the actor's name until it is decided, and returns the answer.
func (m *manyDomains) propose(kind catalog.Kind, body any, actor string) (answer json.RawMessage) {
	eventually(m.b, string(kind), func() error {
		r, err := m.n.agreed.Propose(m.b.Context(), kind, body, actor)
		if err == nil && r.Refusal != nil {
			err = r.Refusal
		}
		answer = r.Value
		return err
	})
	return answer
}

// await waits for something for an hour.
func (m *manyDomains) await(what string, check func(catalog.View) error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		err := m.n.raft.View(check)
		if err == nil {
			return
		}
		if time.Since(began) > time.Hour {
			m.b.Errorf("%s: %v", what, err)
			return
		}
	}
}

// ingest brings the list of domains in.
func (m *manyDomains) ingest() {
	var text strings.Builder
	for i := range m.domains {
		fmt.Fprintf(&text, "site-%07d.example\n", i)
	}
	begun, err := m.n.ingests.Begin(m.b.Context(), api.IngestRequest{Collection: "web",
		Body: strings.NewReader(text.String()), Actor: catalog.Local(m.n.id)})
	if err != nil {
		m.b.Fatal(err)
	}
	m.await("the list is brought in", func(v catalog.View) error {
		i, err := catalog.DomainsIn(v).Ingest(begun.ID)
		if err == nil && i.State != domains.IngestDone {
			err = fmt.Errorf("%s at line %d", i.State, i.Line)
		}
		return err
	})
}

// define makes a harvest; a selective one has a configuration of each of a hundred domains.
func (m *manyDomains) define(kind runs.Kind, name string) uint64 {
	asked := runs.Asked{Name: name}
	if kind != runs.Snapshot {
		asked.Schedule = "daily"
	}
	var h runs.Harvest
	if err := json.Unmarshal(m.decide(runs.Create, runs.Creation{Kind: kind, Collection: "web", Asked: asked}), &h); err != nil {
		m.b.Fatal(err)
	}
	if kind != runs.Snapshot {
		var some []runs.Configuration
		for i := range 100 {
			some = append(some, runs.Configuration{Domain: domains.Name(fmt.Sprintf("site-%07d.example", i)),
				Name: domains.DefaultConfiguration})
		}
		m.decide(runs.AddConfigurations, runs.Listing{Number: h.Number, Configurations: some})
	}
	return h.Number
}

// isMade reports whether the jobs of the first run of a harvest are made.
func isMade(v catalog.View, harvest uint64) error {
	r, err := catalog.RunsIn(v).Run(harvest, 1)
	if err == nil && r.State != runs.Made {
		err = fmt.Errorf("the run is %s: %s", r.State, r.Error)
	}
	return err
}

// split has a harvest run now, and waits until its jobs are made.
func (m *manyDomains) split(number uint64) {
	var h runs.Harvest
	m.await("the harvest", func(v catalog.View) (err error) { h, err = catalog.RunsIn(v).Harvest(number); return err })
	m.decide(runs.Activate, runs.Activation{Number: number, Version: h.Version, Next: catalog.At(time.Now())})
	m.await("the jobs are made", func(v catalog.View) error { return isMade(v, number) })
}

// end lets each job of a harvest's run tell its statistics and end, eight at a time. It reports how long the first one
// took for each 10 000 configurations, and waits until all are in the history.
func (m *manyDomains) end(harvest uint64) {
	var all []catalog.Job
	m.await("the jobs", func(v catalog.View) (err error) { all, err = v.JobsOfRun(harvest, 1, 0, 0); return err })
	var ending sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range all {
		slots <- struct{}{}
		ending.Go(func() {
			count, took := m.endJob(all[i].ID)
			if i == 0 {
				m.keep("statistics-of-10000-s", took.Seconds()*10_000/float64(count))
			}
			<-slots
		})
		if i == 0 { // alone, for its time
			ending.Wait()
		}
	}
	ending.Wait()
	m.await("all statistics are in the history", func(v catalog.View) error {
		left, err := v.Uncounted(1)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("job %d is at chunk %d", left[0].Job, left[0].After)
		}
		return err
	})
}

// endJob claims a job for this node and ends it. It returns how many configurations the job has, and how long it took to
// tell their statistics and end.
func (m *manyDomains) endJob(id uint64) (count int, took time.Duration) {
	m.await("the job is submitted", func(v catalog.View) error {
		job, err := v.Job(id)
		if err == nil && job.State != catalog.JobSubmitted {
			err = fmt.Errorf("it is %s", job.State)
		}
		return err
	})
	m.propose(catalog.ClaimJob, catalog.JobRef{ID: id, Node: m.n.id}, string(m.n.id))
	var brought []jobs.Statistic
	var attempt int
	m.await("the job is claimed", func(v catalog.View) error {
		job, err := v.Job(id)
		if err != nil {
			return err
		}
		attempt = job.Attempt
		all, err := v.Configurations(&job)
		brought = brought[:0]
		for i := range all {
			brought = append(brought, jobs.Statistic{Domain: all[i].Domain, Name: all[i].Name, Objects: int64(50 + i%1000),
				Bytes: int64(i) * 10_000, Stop: "completed"})
		}
		return err
	})
	m.propose(catalog.StartJob, catalog.JobRef{ID: id, Node: m.n.id, Attempt: attempt}, string(m.n.id))
	began, chunks := time.Now(), 0
	for rest := brought; len(rest) > 0; {
		n := min(len(rest), jobs.StatisticsInChunk)
		chunks++
		m.propose(jobs.AddStatistics, jobs.JobStatistics{ID: id, Node: m.n.id, Attempt: attempt, Number: chunks,
			Last: n == len(rest), Statistics: rest[:n]}, string(m.n.id))
		rest = rest[n:]
	}
	m.propose(catalog.FinishJob, catalog.JobEnd{ID: id, Node: m.n.id, Attempt: attempt, Statistics: chunks}, string(m.n.id))
	return len(brought), time.Since(began)
}
