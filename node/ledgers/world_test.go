package ledgers

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
	"holdfast/node/wire"
	"holdfast/replica"
)

// world is a cluster of four nodes over one catalog in memory: north-1 and north-2 hold replica north at Oslo, south-1
// holds south at Bergen, and sums-1 keeps checksums at Tromsø.
type world struct {
	t       *testing.T
	mu      sync.Mutex
	tx      *memory.Tx
	index   uint64
	now     catalog.Time
	nodes   map[string]*node
	bytes   map[catalog.FileName][]byte
	names   map[catalog.Shard][]catalog.FileName // of them, by shard
	dead    map[catalog.NodeID]bool
	fail    func(what string) error // of what a node does; nil: nothing fails
	failing sync.Mutex              // held while fail is asked
}

// node is one node of the world.
type node struct {
	*Ledgers
	w       *world
	lacks   map[catalog.FileName]bool // that its manifest does not have
	catalog *memory.Tx                // its own, if it was altered; nil: the world's
}

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func idOf(name string) catalog.NodeID {
	return catalog.Fingerprint(keyOf(name).Public().(ed25519.PublicKey))
}

func memberOf(name string) catalog.Member {
	of, _, _ := strings.Cut(name, "-")
	return catalog.Member{ID: idOf(name), Name: name, Key: keyOf(name).Public().(ed25519.PublicKey),
		Replica: catalog.ReplicaName(of), Level: catalog.Level}
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, tx: new(memory.Tx), now: catalog.At(time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)),
		nodes: map[string]*node{}, bytes: map[catalog.FileName][]byte{}, names: map[catalog.Shard][]catalog.FileName{}, dead: map[catalog.NodeID]bool{}}
	w.must(catalog.Found, catalog.Founding{
		Cluster: catalog.Cluster{ID: "c1", Name: "Test", Epoch: 1, Level: catalog.Level}, Collections: []catalog.Collection{{Name: "web"}},
		Replicas: []catalog.Replica{{Name: "north", Kind: catalog.Bitarchive, Place: "Oslo"},
			{Name: "south", Kind: catalog.Bitarchive, Place: "Bergen"}, {Name: "sums", Kind: catalog.Checksum, Place: "Tromsø"}},
		Member: memberOf("north-1")})
	for _, name := range []string{"north-2", "south-1", "sums-1"} {
		w.must(catalog.CreateToken, catalog.JoinToken{ID: name, SecretHash: sha256.Sum256([]byte("s")),
			Replica: memberOf(name).Replica, Expires: w.now + 1e9})
		w.must(catalog.JoinMember, catalog.Joining{Token: name, Secret: []byte("s"), Member: memberOf(name)})
	}
	w.hold("north-1", 0, catalog.Shards/2)
	w.hold("north-2", catalog.Shards/2, catalog.Shards)
	w.hold("south-1", 0, catalog.Shards)
	w.hold("sums-1", 0, catalog.Shards)
	for _, name := range []string{"north-1", "north-2", "south-1", "sums-1"} {
		w.start(name)
	}
	return w
}

// start starts the node, or starts it again after it was killed.
func (w *world) start(name string) *node {
	n := &node{w: w, lacks: map[catalog.FileName]bool{}}
	dir := filepath.Join(w.t.TempDir(), "ledgers")
	if was := w.nodes[name]; was != nil {
		dir = was.cfg.Dir
		was.stop() // what it still wrote would be taken for what the new one left
	}
	l, err := New(Config{Self: idOf(name), Replica: memberOf(name).Replica, Key: keyOf(name), Every: 24 * time.Hour, Dir: dir,
		Disk: disk.New(), Agreement: n, Bytes: Bytes{List: n.list, Put: n.put, Open: w.open}, Call: n, Ask: n,
		Alive: w.alive, Now: func() time.Time { return w.clock().Std() }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	n.Ledgers = l
	w.nodes[name] = n
	return n
}

func (w *world) hold(name string, from, to int) {
	for ; from < to; from += 512 {
		var shards []catalog.Shard
		for s := from; s < min(from+512, to); s++ {
			shards = append(shards, catalog.Shard(s))
		}
		w.must(catalog.AssignShards, catalog.Assignment{Replica: memberOf(name).Replica, Shards: shards, Node: idOf(name)})
	}
}

func (w *world) alive() map[catalog.NodeID]bool {
	out := map[catalog.NodeID]bool{}
	for _, name := range []string{"north-1", "north-2", "south-1", "sums-1"} {
		if id := idOf(name); !w.dead[id] {
			out[id] = true
		}
	}
	return out
}

func (w *world) clock() catalog.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// decide applies a command to the world's catalog, and to one that was altered.
func (w *world) decide(kind catalog.Kind, body any) (catalog.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	raw, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	w.index++
	w.now += 1000
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, Actor: "test", At: w.now, Body: raw})
	if err != nil {
		return catalog.Result{}, err
	}
	for _, n := range w.nodes {
		if n.catalog != nil {
			if _, err := catalog.Apply(n.catalog, w.index, data); err != nil {
				return catalog.Result{}, err
			}
		}
	}
	return catalog.Apply(w.tx, w.index, data)
}

func (w *world) must(kind catalog.Kind, body any) {
	w.t.Helper()
	r, err := w.decide(kind, body)
	if err != nil || r.Refusal != nil {
		w.t.Fatalf("%s: %v %v", kind, err, r.Refusal)
	}
	var items []catalog.ItemResult
	if json.Unmarshal(r.Value, &items) == nil {
		for _, i := range items {
			if i.Refusal != nil {
				w.t.Fatalf("%s: %v", kind, i.Refusal)
			}
		}
	}
}

// add lets a file enter, with verified copies everywhere.
func (w *world) add(name, content string) {
	w.t.Helper()
	w.enter(catalog.Addition{Name: catalog.FileName(name), Size: int64(len(content)), SHA256: sha256.Sum256([]byte(content)),
		Collection: "web", Source: idOf("south-1")}, []byte(content))
}

func (w *world) enter(as catalog.Addition, content []byte) {
	w.t.Helper()
	w.mu.Lock()
	if _, again := w.bytes[as.Name]; !again {
		w.names[as.Name.Shard()] = append(w.names[as.Name.Shard()], as.Name)
	}
	w.bytes[as.Name] = content
	w.mu.Unlock()
	w.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{as}})
	for _, name := range []string{w.holder(as.Name), "south-1", "sums-1"} {
		w.must(catalog.ReportCopies, catalog.CopyReports{Node: idOf(name),
			Copies: []catalog.CopyReport{{Name: as.Name, State: catalog.UploadCompleted, SHA256: as.SHA256}}})
	}
}

// holder is the node of north that holds the file.
func (w *world) holder(name catalog.FileName) string {
	if name.Shard() < catalog.Shards/2 {
		return "north-1"
	}
	return "north-2"
}

func (w *world) open(_ context.Context, name catalog.FileName) (io.ReadCloser, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text, there := w.bytes[name]; there {
		return io.NopCloser(bytes.NewReader(text)), nil
	}
	return nil, fs.ErrNotExist
}

// failure asks the test whether a call fails, one call at a time: nodes at other places are asked side by side.
func (w *world) failure(what string) error {
	w.failing.Lock()
	defer w.failing.Unlock()
	if w.fail == nil {
		return nil
	}
	return w.fail(what)
}

func (n *node) View(see func(catalog.View) error) error {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	if n.catalog != nil {
		return see(catalog.NewView(n.catalog))
	}
	return see(catalog.NewView(n.w.tx))
}

func (n *node) Propose(_ context.Context, kind catalog.Kind, body any, _ string) (catalog.Result, error) {
	if err := n.w.failure("propose"); err != nil {
		return catalog.Result{}, err
	}
	return n.w.decide(kind, body)
}

func (n *node) put(_ context.Context, path string, as catalog.Addition) error {
	if err := n.w.failure("put"); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err == nil {
		n.w.enter(as, text)
	}
	return err
}

func (n *node) list(shard catalog.Shard) (out []replica.Held, err error) {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	for _, name := range n.w.names[shard] {
		if !n.lacks[name] {
			out = append(out, replica.Held{Name: name, Size: int64(len(n.w.bytes[name])), SHA256: sha256.Sum256(n.w.bytes[name])})
		}
	}
	return out, nil
}

// Call carries a request to another node.
func (n *node) Call(ctx context.Context, to catalog.NodeID, kind string, request []byte) ([]byte, error) {
	if err := n.w.failure(kind); err != nil {
		return nil, err
	}
	for _, other := range n.w.nodes {
		if other.cfg.Self != to {
			continue
		}
		if n.w.dead[to] {
			break
		}
		handle := map[string]wire.Handler{PageCall: wire.Answer(kind, other.Page), KeepCall: wire.Answer(kind, other.Keep),
			SignCall: wire.Answer(kind, other.Sign)}[kind]
		return handle(ctx, n.cfg.Self, request)
	}
	return nil, errors.New("no answer")
}
