package replica

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/disk"
	"holdfast/internal/kv/memory"
)

// errNoQuorum is what proposals answer while the test says so.
var errNoQuorum = errors.New("no quorum")

// cluster is an agreed state that all nodes of a test share, with the real commands, and the nodes.
type cluster struct {
	t *testing.T

	mu       sync.Mutex
	state    memory.Tx
	index    uint64
	now      catalog.Time
	cut      bool // no quorum
	watchers map[chan struct{}]bool
	nodes    map[catalog.NodeID]*node
	counts   map[catalog.Kind]int
}

// node is one node of the test's cluster; it implements what a Replica asks of others.
type node struct {
	*cluster
	id      catalog.NodeID
	replica catalog.ReplicaName
	dir     string
	r       *Replica
	disk    disk.Disk
	config  Config
	roots   []string // none: one below dir

	// due are the shards whose audit is due; wrap, when set, stands between this node as a source and others.
	due  []catalog.Shard
	wrap func(name catalog.FileName, offset int64, in io.ReadCloser) (io.ReadCloser, error)
	// down is set while no other node reaches this one.
	down bool
	// twist, when set, changes what this node sends to readers.
	twist func(offset int64, in io.Reader) io.Reader
	// answer, when set, answers challenges in its place.
	answer func(ctx context.Context, c Challenge, honest func(context.Context, Challenge) ([]byte, error)) ([]byte, error)
}

func nodeID(name string) catalog.NodeID { return catalog.Fingerprint(nodeKey(name)) }

func nodeKey(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

func member(name string) catalog.Member {
	replica, _, _ := strings.Cut(name, "-")
	return catalog.Member{ID: nodeID(name), Name: name, Key: nodeKey(name), Replica: catalog.ReplicaName(replica), Level: 1}
}

// newCluster founds a cluster of the replicas north, south (bytes) and sums (checksums) with the given nodes,
// the first of each replica holding all its shards.
func newCluster(t *testing.T, names ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, watchers: map[chan struct{}]bool{},
		nodes: map[catalog.NodeID]*node{}, counts: map[catalog.Kind]int{}}
	founding := catalog.Founding{
		Cluster:     catalog.Cluster{ID: "test", Name: "Test", Epoch: 1, Level: 1},
		Collections: []catalog.Collection{{Name: "web"}},
		Member:      member(names[0]),
	}
	first := map[catalog.ReplicaName]string{}
	for _, name := range names {
		replica := member(name).Replica
		if first[replica] != "" {
			continue
		}
		first[replica] = name
		kind := catalog.Bitarchive
		if replica == "sums" {
			kind = catalog.Checksum
		}
		founding.Replicas = append(founding.Replicas, catalog.Replica{Name: replica, Kind: kind, Place: string(replica)})
	}
	c.must(catalog.Found, founding)
	for _, name := range names[1:] {
		token := catalog.JoinToken{ID: name, SecretHash: sha256.Sum256([]byte("s")), Replica: member(name).Replica, Expires: 1 << 40}
		c.must(catalog.CreateToken, token)
		c.must(catalog.JoinMember, catalog.Joining{Token: name, Secret: []byte("s"), Member: member(name)})
	}
	for replica, name := range first {
		c.assign(replica, name, 0, catalog.Shards)
	}
	for _, name := range names {
		n := &node{cluster: c, id: nodeID(name), replica: member(name).Replica, dir: filepath.Join(t.TempDir(), name)}
		c.nodes[n.id] = n
		n.config = Config{Self: n.id, Replica: n.replica, Audits: filepath.Join(n.dir, "audits")}
		n.open()
	}
	return c
}

func (c *cluster) assign(replica catalog.ReplicaName, name string, from, to int) {
	for ; from < to; from += 512 {
		var shards []catalog.Shard
		for s := from; s < min(from+512, to); s++ {
			shards = append(shards, catalog.Shard(s))
		}
		c.must(catalog.AssignShards, catalog.Assignment{Replica: replica, Shards: shards, Node: nodeID(name)})
	}
}

// open opens the node's store again, as after a restart.
func (n *node) open() {
	n.t.Helper()
	log := discard()
	store, err := OpenStore(n.storeConfig(), n.disk, log)
	if err != nil {
		n.t.Fatal(err)
	}
	var sums *Checksums
	if n.replica == "sums" {
		if sums, err = OpenChecksums(filepath.Join(n.dir, "checksums"), n.disk, log); err != nil {
			n.t.Fatal(err)
		}
	}
	r, err := New(n.config, store, sums, n, n.cluster, n, log)
	if err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.r = r
}

func (n *node) storeConfig() StoreConfig {
	cfg := storeConfig(n.dir)
	if len(n.roots) > 0 {
		cfg.Roots, cfg.Known, cfg.Asked = n.roots, filepath.Join(n.dir, "roots"), filepath.Join(n.dir, "disks.json")
		cfg.Shards = filepath.Join(n.dir, "shards")
	}
	return cfg
}

// run runs the nodes until the returned function is called, which waits for them.
func (c *cluster) run(names ...string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, name := range names {
		r := c.node(name).r
		all.Go(func() {
			if err := r.Run(ctx); err != nil {
				c.t.Errorf("%s: %v", name, err)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// runCluster is newCluster with all its nodes running until the end of the test.
func runCluster(t *testing.T, names ...string) *cluster {
	t.Helper()
	c := newCluster(t, names...)
	t.Cleanup(c.run(names...))
	return c
}

func (c *cluster) node(name string) *node { return c.nodes[nodeID(name)] }

// View, Propose and Watch are the catalog's.
func (c *cluster) View(see func(catalog.View) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return see(catalog.NewView(&c.state))
}

func (c *cluster) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return catalog.Result{}, errNoQuorum
	}
	c.index++
	c.now += 10
	c.counts[kind]++
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: c.now, Actor: actor, Body: raw})
	if err != nil {
		return catalog.Result{}, err
	}
	res, err := catalog.Apply(&c.state, c.index, data)
	for w := range c.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
	return res, err
}

func (c *cluster) Watch() (<-chan struct{}, func()) {
	w := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers[w] = true
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, w)
	}
}

// must applies a command that is not to be refused.
func (c *cluster) must(kind catalog.Kind, body any) {
	c.t.Helper()
	res, err := c.Propose(context.Background(), kind, body, "test")
	if err != nil || res.Refusal != nil {
		c.t.Fatalf("%s: %v, %v", kind, res.Refusal, err)
	}
}

// until waits for the catalog, or something that changes with it, to hold.
func (c *cluster) until(what string, holds func(catalog.View) bool) {
	c.t.Helper()
	changed, stop := c.Watch()
	defer stop()
	for {
		ok := false
		c.View(func(v catalog.View) error { ok = holds(v); return nil })
		if ok {
			return
		}
		select {
		case <-changed:
		case <-c.t.Context().Done():
			c.t.Fatalf("never: %s", what)
		}
	}
}

// complete waits until every replica has verified copies of the files and their source is released.
func (c *cluster) complete(names ...catalog.FileName) {
	c.t.Helper()
	c.until("complete", func(v catalog.View) bool {
		for _, name := range names {
			f, err := v.File(name)
			if err != nil || !f.Complete() || !f.Released {
				return false
			}
		}
		return true
	})
}

// Sources, Fetch, Read and Checksum are the peers'.
func (n *node) Sources(f catalog.File) (from []catalog.NodeID, err error) {
	err = n.View(func(v catalog.View) error {
		from = n.sources(v, f)
		return nil
	})
	return from, err
}

func (n *node) sources(v catalog.View, f catalog.File) (from []catalog.NodeID) {
	holdings, err := v.CoveringFile(&f)
	if err != nil {
		n.t.Error(err)
	}
	for _, h := range holdings {
		if h.Node != n.id {
			from = append(from, h.Node)
		}
	}
	return from
}

// errDown is what asking a node answers that is not reached.
var errDown = errors.New("no route")

// silent reports whether the node is not reached, or this one reaches nobody.
func (n *node) silent(from catalog.NodeID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.down || n.nodes[from].down
}

func (n *node) setDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

func (n *node) peer(id catalog.NodeID) (*Replica, func(catalog.FileName, int64, io.ReadCloser) (io.ReadCloser, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nodes[id].r, n.nodes[id].wrap
}

func (n *node) Fetch(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset int64) (io.ReadCloser, error) {
	if n.silent(from) {
		return nil, errDown
	}
	peer, wrap := n.peer(from)
	in := stream(func(w io.Writer) error { return peer.Serve(ctx, n.id, name, offset, w) })
	if wrap == nil {
		return answered(in)
	}
	out, err := wrap(name, offset, in)
	if err != nil {
		_ = in.Close() // or who serves it would wait for ever
	}
	return out, err
}

func (n *node) Read(ctx context.Context, from catalog.NodeID, name catalog.FileName, offset, length int64) (io.ReadCloser, error) {
	if n.silent(from) {
		return nil, errDown
	}
	peer, _ := n.peer(from)
	in, err := answered(stream(func(w io.Writer) error { return peer.ServeRange(ctx, n.id, name, offset, length, w) }))
	if twist := n.nodes[from].twist; err == nil && twist != nil {
		return io.NopCloser(twist(offset, in)), nil
	}
	return in, err
}

func (n *node) Checksum(ctx context.Context, from catalog.NodeID, name catalog.FileName) (Held, error) {
	if n.silent(from) {
		return Held{}, errDown
	}
	peer, _ := n.peer(from)
	return peer.Checksum(ctx, n.id, name)
}

// stream returns what write writes, and its error at the end.
func stream(write func(io.Writer) error) io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	return r
}

// answered returns a refusal to serve at once, as a peer's protocol does.
func answered(in io.ReadCloser) (io.ReadCloser, error) {
	first := make([]byte, 1)
	n, err := in.Read(first)
	if errors.Is(err, ErrBusy) || errors.Is(err, ErrNotHere) || errors.Is(err, ErrRange) {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first[:n]), in), in}, nil
}

// Needed, Fetches, Releases, Moves and Audits are the duties, straight from the view.
func (n *node) Needed(after catalog.FileName, max int) (fetches []Fetch, next catalog.FileName, err error) {
	err = n.View(func(v catalog.View) error {
		layout, err := v.Layout(n.replica)
		if err != nil {
			return err
		}
		files, err := v.Needed(n.replica, func(s catalog.Shard) bool { return layout[s].Holder == n.id }, after, max)
		if len(files) == max {
			next = files[max-1].Name
		}
		for _, f := range files {
			from := n.sources(v, f)
			if f.Source == n.id {
				from = append(from, n.id)
			}
			fetches = append(fetches, Fetch{File: f, Sources: from})
		}
		return err
	})
	return fetches, next, err
}

func (n *node) Fetches(after catalog.Cursor, max int) (fetches []Fetch, next catalog.Cursor, err error) {
	err = n.View(func(v catalog.View) error {
		layout, err := v.Layout(n.replica)
		if err != nil {
			return err
		}
		files, next2, err := v.Owed(n.replica, func(s catalog.Shard) bool { return layout[s].Holder == n.id }, after, max)
		for _, f := range files {
			from := n.sources(v, f)
			if f.Source == n.id {
				from = append(from, n.id)
			}
			fetches = append(fetches, Fetch{File: f, Sources: from})
		}
		if len(files) == max {
			next = next2
		}
		return err
	})
	return fetches, next, err
}

func (n *node) Releases(after catalog.FileName, max int) (names []catalog.FileName, err error) {
	err = n.View(func(v catalog.View) error {
		files, err := v.Releases(n.id, after, max)
		for _, f := range files {
			names = append(names, f.Name)
		}
		return err
	})
	return names, err
}

func (n *node) Moves() (m Moves, err error) {
	err = n.View(func(v catalog.View) error {
		layout, err := v.Layout(n.replica)
		if err != nil {
			return err
		}
		for s, p := range layout {
			if p.Next == n.id {
				m.In = append(m.In, catalog.Shard(s))
			}
		}
		left, err := v.Left(n.id)
		for _, l := range left {
			m.Out = append(m.Out, l.Shard)
		}
		return err
	})
	return m, err
}

func (n *node) Audits() ([]catalog.Shard, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	due := n.due
	n.due = nil
	return due, nil
}

func fileName(i int) catalog.FileName {
	return catalog.FileName(fmt.Sprintf("1-1-20260101000000000-%05d-north.warc.gz", i))
}
