package batch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
	"holdfast/cdx"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
	"holdfast/warc"
)

// trial is a cluster of three nodes in memory: each is a replica of its own, and has every shard.
type trial struct {
	t     *testing.T
	mu    sync.Mutex // of the agreed state
	tx    memory.Tx
	index uint64
	nodes map[string]*fake

	lagging error // what Linear says
}

// fake is a node of a trial.
type fake struct {
	*trial
	name string
	id   catalog.NodeID
	dir  string

	state  sync.Mutex
	files  map[catalog.FileName][]byte
	doubts []catalog.FileName
	opens  map[catalog.FileName]int
	down   bool
	gate   chan struct{} // files are opened when it is closed; nil: at once
	busy   bool
	conns  []net.Conn // of tasks here

	*Batches
	changed chan struct{}
	cancel  context.CancelFunc
	ended   chan struct{}
}

func keyOf(name string) []byte { sum := sha256.Sum256([]byte(name)); return sum[:] }

var names = []string{"north-1", "south-1", "third-1"}

func newTrial(t *testing.T) *trial {
	t.Helper()
	tr := &trial{t: t, nodes: map[string]*fake{}}
	for i, name := range names {
		replica := catalog.ReplicaName(strings.TrimSuffix(name, "-1"))
		m := catalog.Member{ID: catalog.Fingerprint(keyOf(name)), Name: name, Key: keyOf(name), Replica: replica, Level: batches.Level}
		if i == 0 {
			var replicas []catalog.Replica
			for _, name := range names {
				replicas = append(replicas, catalog.Replica{Name: catalog.ReplicaName(strings.TrimSuffix(name, "-1")),
					Kind: catalog.Bitarchive, Place: name})
			}
			tr.does(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "c", Name: "C", Epoch: 1, Level: 1}, Member: m,
				Collections: []catalog.Collection{{Name: "web"}, {Name: "radio"}}, Replicas: replicas})
		} else {
			tr.does(catalog.CreateToken, catalog.JoinToken{ID: name, SecretHash: sha256.Sum256([]byte("s")), Replica: replica,
				Expires: catalog.At(time.Now().Add(time.Hour))})
			tr.does(catalog.JoinMember, catalog.Joining{Token: name, Secret: []byte("s"), Member: m})
		}
		for first := 0; first < catalog.Shards; first += 512 {
			var shards []catalog.Shard
			for s := range 512 {
				shards = append(shards, catalog.Shard(first+s))
			}
			tr.does(catalog.AssignShards, catalog.Assignment{Replica: replica, Shards: shards, Node: m.ID})
		}
		tr.nodes[name] = &fake{trial: tr, name: name, id: m.ID, dir: t.TempDir(), files: map[catalog.FileName][]byte{},
			opens: map[catalog.FileName]int{}}
	}
	tr.does(catalog.RaiseLevel, catalog.LevelChange{Level: batches.Level})
	return tr
}

func (tr *trial) apply(kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	tr.mu.Lock()
	tr.index++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(time.Now()), Actor: actor, Boot: 1, Seq: tr.index, Body: raw})
	var r catalog.Result
	if err == nil {
		r, err = catalog.Apply(&tr.tx, tr.index, data)
	}
	tr.mu.Unlock()
	for _, n := range tr.nodes {
		n.ring()
	}
	return r, err
}

func (f *fake) ring() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (tr *trial) does(kind catalog.Kind, body any) {
	tr.t.Helper()
	if r, err := tr.apply(kind, body, "test"); err != nil || r.Refusal != nil {
		tr.t.Fatalf("%s: %v %v", kind, r.Refusal, err)
	}
}

func (tr *trial) View(see func(catalog.View) error) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return see(catalog.NewView(&tr.tx))
}

func (tr *trial) Linear(context.Context) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.lagging
}

func (tr *trial) Propose(_ context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	return tr.apply(kind, body, actor)
}

// put puts a file into the archive; every node has a verified copy.
func (tr *trial) put(name catalog.FileName, content string) {
	tr.t.Helper()
	source := tr.nodes["north-1"].id
	tr.does(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: int64(len(content)),
		SHA256: sha256.Sum256([]byte(content)), Collection: "web", Source: source}}})
	for _, n := range tr.nodes {
		n.files[name] = []byte(content)
		tr.does(catalog.ReportCopies, catalog.CopyReports{Node: n.id, Copies: []catalog.CopyReport{{Name: name,
			State: catalog.UploadCompleted, SHA256: sha256.Sum256([]byte(content))}}})
	}
}

// putMany puts files of some lines, and returns what the program checksum makes of them.
func (tr *trial) putMany(n int) string {
	tr.t.Helper()
	var want strings.Builder
	for i := range n {
		name, content := catalog.FileName(fmt.Sprintf("f-%03d", i)), fmt.Sprintf("content of file %d\n", i)
		tr.put(name, content)
		fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256([]byte(content)), name)
	}
	return want.String()
}

// Near puts this node first, then the others that are up.
func (f *fake) near(all []catalog.Holding) []catalog.Holding {
	rank := func(h catalog.Holding) int {
		if h.Node == f.id {
			return 0
		}
		for _, n := range f.nodes {
			if n.id == h.Node && n.isDown() {
				return 2
			}
		}
		return 1
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b catalog.Holding) int { return rank(a) - rank(b) })
	return out
}

func (f *fake) isDown() bool {
	f.state.Lock()
	defer f.state.Unlock()
	return f.down
}

func (f *fake) set(change func()) {
	f.state.Lock()
	defer f.state.Unlock()
	change()
}

// opener is a fake's files.
type opener struct{ *fake }

func (f opener) Open(name catalog.FileName) (io.ReadCloser, int64, error) {
	f.state.Lock()
	text, there := f.files[name]
	gate := f.gate
	f.opens[name]++
	f.state.Unlock()
	if gate != nil {
		<-gate
	}
	if !there {
		return nil, 0, ErrAbsent
	}
	return io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
}

func (f opener) Doubt(name catalog.FileName) {
	f.set(func() { f.doubts = append(f.doubts, name) })
}

func (f opener) Busy() bool {
	f.state.Lock()
	defer f.state.Unlock()
	return f.busy
}

// dialer reaches the other nodes of a trial.
type dialer struct{ *fake }

func (d dialer) Open(ctx context.Context, to catalog.NodeID, kind string) (net.Conn, error) {
	for _, n := range d.nodes {
		if n.id != to {
			continue
		}
		if n.isDown() || n.Batches == nil {
			return nil, errors.New("it does not answer")
		}
		here, there := net.Pipe()
		switch kind {
		case TaskStream:
			n.set(func() { n.conns = append(n.conns, there) })
			go n.worker.Serve(context.WithoutCancel(ctx), d.id, there)
		case ResultStream:
			go n.ServeResult(context.WithoutCancel(ctx), d.id, there, func(token, _ string) error {
				if token != "good" {
					return errors.New("the token is not good")
				}
				return nil
			})
		}
		return here, nil
	}
	return nil, errors.New("no such node")
}

// claims takes on what nobody drives.
type claims struct{ *fake }

func (c claims) Claims(int) (out []batches.Holder, err error) {
	err = c.View(func(v catalog.View) error {
		all, err := catalog.BatchesIn(v).Batches()
		for _, b := range all {
			if b.State == batches.Running && b.Node == "" {
				out = append(out, batches.Holder{ID: b.ID, Node: c.id, Term: b.Term})
			}
		}
		return err
	})
	return out, err
}

func noTools() Tools {
	return Tools{Captures: func(*warc.Reader, string) iter.Seq2[cdx.Capture, error] {
		return func(func(cdx.Capture, error) bool) {}
	}, Duplicate: func([]byte) (cdx.Capture, bool) { return cdx.Capture{}, false }}
}

// start runs a node until stop, or to the end of the test.
func (f *fake) start() {
	ctx, cancel := context.WithCancel(context.Background())
	f.changed, f.cancel, f.ended = make(chan struct{}, 1), cancel, make(chan struct{})
	f.Batches = New(Config{Self: f.id, Dir: filepath.Join(f.dir, "batches"), Work: filepath.Join(f.dir, "work"), Disk: disk.New(),
		Room: func() (int64, error) { return 1 << 40, nil }, Programs: Programs(noTools()), Catalog: f.trial, Files: opener{f},
		Nodes: dialer{f}, Near: f.near, Duties: claims{f}, Now: time.Now, Limits: Limits{Patience: time.Minute},
		Log: slog.New(slog.DiscardHandler)})
	f.set(func() { f.down = false })
	go func() {
		defer close(f.ended)
		_ = f.Run(ctx, f.changed)
	}()
}

// cut cuts a node off from the others, and it goes on.
func (f *fake) cut() {
	f.state.Lock()
	defer f.state.Unlock()
	f.down = true
	for _, c := range f.conns {
		_ = c.Close()
	}
}

// stop ends a node, and nothing of it answers any more.
func (f *fake) stop() {
	f.set(func() { f.down = true })
	f.cancel()
	<-f.ended
}

func (tr *trial) startAll() {
	for _, name := range names {
		tr.nodes[name].start()
	}
}

func (tr *trial) stopAll() {
	for _, n := range tr.nodes {
		if n.cancel != nil {
			n.stop()
		}
	}
}

// begin asks for a batch that the node drives.
func (tr *trial) begin(id, program, node string, change func(*batches.Beginning)) {
	tr.t.Helper()
	b := batches.Beginning{ID: id, Program: program, Node: tr.nodes[node].id}
	if change != nil {
		change(&b)
	}
	tr.does(batches.Open, b)
}

func (tr *trial) batch(id string) (b batches.Batch) {
	tr.t.Helper()
	if err := tr.View(func(v catalog.View) (err error) { b, err = catalog.BatchesIn(v).Batch(id); return err }); err != nil {
		tr.t.Fatal(err)
	}
	return b
}

func (tr *trial) file(name catalog.FileName) (f catalog.File) {
	tr.t.Helper()
	if err := tr.View(func(v catalog.View) (err error) { f, err = v.File(name); return err }); err != nil {
		tr.t.Fatal(err)
	}
	return f
}

// awaitEnd waits for a batch to end, in the time of a bubble.
func (tr *trial) awaitEnd(id string) batches.Batch {
	tr.t.Helper()
	for range 3600 {
		if b := tr.batch(id); b.State.Ended() {
			return b
		}
		time.Sleep(time.Second)
	}
	tr.t.Fatalf("batch %s does not end: %+v", id, tr.batch(id))
	return batches.Batch{}
}

// result reads a result through a node.
func (tr *trial) result(id, node string, failed bool) (string, error) {
	var text strings.Builder
	b := tr.batch(id)
	err := tr.nodes[node].Result(context.Background(), &b, failed, "good", &text)
	return text.String(), err
}
