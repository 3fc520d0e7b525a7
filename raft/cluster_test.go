package raft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// tiny is a state machine for tests: counters, with a memory of requests, and members.
type tiny struct{}

type tinyAdd struct {
	Key string `json:"key"`
	N   int    `json:"n"`
	Pad []byte `json:"pad,omitempty"`
}

const (
	addKind    catalog.Kind = "test.add"
	fillKind   catalog.Kind = "test.fill"   // N keys below Key, each with Pad
	memberKind catalog.Kind = "test.member" // a Candidate; an OutOnly place "gone" removes it
)

func (tiny) Apply(tx catalog.Tx, _ uint64, data []byte) (catalog.Result, error) {
	var c catalog.Command
	if err := json.Unmarshal(data, &c); err != nil {
		return catalog.Result{Refusal: &catalog.Refusal{Code: catalog.Invalid, Message: err.Error()}}, nil
	}
	seen := fmt.Appendf(nil, "seen/%s/%d/%d", c.Node, c.Boot, c.Seq)
	if c.Node != "" {
		if old, err := tx.Get(seen); err != nil || old != nil {
			return catalog.Result{Value: old}, err
		}
	}
	value, err := tinyDo(tx, c)
	if err == nil && c.Node != "" {
		err = errors.Join(tx.Set(seen, value), tx.Set([]byte("boot/"+c.Node), fmt.Append(nil, c.Boot)))
	}
	return catalog.Result{Value: value}, err
}

func tinyDo(tx catalog.Tx, c catalog.Command) ([]byte, error) {
	switch c.Kind {
	case catalog.RaiseEpoch:
		var change catalog.EpochChange
		if err := json.Unmarshal(c.Body, &change); err != nil {
			return nil, err
		}
		return []byte("0"), tx.Set([]byte("epoch"), fmt.Append(nil, change.Epoch))
	case memberKind, catalog.Found:
		var m Candidate
		if err := json.Unmarshal(c.Body, &m); err != nil {
			return nil, err
		}
		if m.Place == "gone" {
			return []byte("0"), tx.Delete([]byte("member/" + m.ID))
		}
		return []byte("0"), tx.Set([]byte("member/"+m.ID), c.Body)
	}
	var add tinyAdd
	if err := json.Unmarshal(c.Body, &add); err != nil {
		return nil, err
	}
	if c.Kind == fillKind {
		for i := range add.N {
			if err := tx.Set(fmt.Appendf(nil, "%s/%05d", add.Key, i), add.Pad); err != nil {
				return nil, err
			}
		}
		return []byte("0"), nil
	}
	n, err := tinyCount(tx, add.Key)
	if err != nil {
		return nil, err
	}
	value := fmt.Append(nil, n+add.N)
	return value, tx.Set([]byte("count/"+add.Key), value)
}

func tinyCount(r catalog.Reader, key string) (n int, err error) {
	value, err := r.Get([]byte("count/" + key))
	if err != nil || value == nil {
		return 0, err
	}
	return n, json.Unmarshal(value, &n)
}

func (tiny) Grouped(catalog.Reader) (bool, error) { return true, nil }

func (tiny) Members(r catalog.Reader) (out []Candidate, err error) {
	scan := r.Scan([]byte("member/"), nil, func(_, value []byte) bool {
		var c Candidate
		err = json.Unmarshal(value, &c)
		out = append(out, c)
		return err == nil
	})
	return out, errors.Join(err, scan)
}

func (tiny) Epoch(r catalog.Reader) (n uint64, err error) {
	value, err := r.Get([]byte("epoch"))
	if err != nil || value == nil {
		return 0, err
	}
	return n, json.Unmarshal(value, &n)
}

func (tiny) Boot(r catalog.Reader, node catalog.NodeID) (n uint64, err error) {
	value, err := r.Get([]byte("boot/" + node))
	if err != nil || value == nil {
		return 0, err
	}
	return n, json.Unmarshal(value, &n)
}

// hub is an in-memory network of nodes.
type hub struct {
	mu    sync.Mutex
	nodes map[catalog.NodeID]*Node
	apart map[[2]catalog.NodeID]bool
	deaf  map[catalog.NodeID]bool // no stream reaches it, but calls do
	conns map[[2]catalog.NodeID][]net.Conn
	calls func(to catalog.NodeID, answer []byte) error // a fault after a call was answered
}

var errApart = errors.New("no way to the node")

func newHub() *hub {
	return &hub{
		nodes: make(map[catalog.NodeID]*Node),
		apart: make(map[[2]catalog.NodeID]bool),
		deaf:  make(map[catalog.NodeID]bool),
		conns: make(map[[2]catalog.NodeID][]net.Conn),
	}
}

func pair(a, b catalog.NodeID) [2]catalog.NodeID { return [2]catalog.NodeID{min(a, b), max(a, b)} }

// port is one node's way into the hub: its Carrier and Forwarder.
type port struct {
	hub  *hub
	self catalog.NodeID
}

func (p port) Dial(_ context.Context, to catalog.NodeID) (net.Conn, error) {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	target := p.hub.nodes[to]
	if target == nil || p.hub.apart[pair(p.self, to)] || p.hub.deaf[to] {
		return nil, errApart
	}
	ours, theirs := net.Pipe()
	key := pair(p.self, to)
	p.hub.conns[key] = append(p.hub.conns[key], ours, theirs)
	target.Stream(p.self, theirs)
	return ours, nil
}

func (p port) Call(ctx context.Context, to catalog.NodeID, request []byte) ([]byte, error) {
	p.hub.mu.Lock()
	target, apart, fault := p.hub.nodes[to], p.hub.apart[pair(p.self, to)], p.hub.calls
	p.hub.mu.Unlock()
	if target == nil || apart {
		return nil, errApart
	}
	response, err := target.Serve(ctx, p.self, request)
	if err == nil && fault != nil {
		err = fault(to, response)
	}
	return response, err
}

// cut separates each of some from each of others.
func (h *hub) cut(some, others []catalog.NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range some {
		for _, b := range others {
			h.apart[pair(a, b)] = true
			for _, c := range h.conns[pair(a, b)] {
				c.Close()
			}
			delete(h.conns, pair(a, b))
		}
	}
}

// deafen lets no stream reach the node, or lets them reach it again.
func (h *hub) deafen(id catalog.NodeID, deaf bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaf[id] = deaf
}

func (h *hub) heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.apart)
}

func (h *hub) join(n *Node) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nodes[n.cfg.Self] = n
}

// leave takes the node off the network at once.
func (h *hub) leave(id catalog.NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.nodes, id)
	for key, conns := range h.conns {
		if key[0] == id || key[1] == id {
			for _, c := range conns {
				c.Close()
			}
			delete(h.conns, key)
		}
	}
}

// quick are timers for tests, on a machine that may be slow.
func quick() timing {
	return timing{
		heartbeat: 300 * time.Millisecond, election: 300 * time.Millisecond, lease: 300 * time.Millisecond,
		commit: 5 * time.Millisecond, network: 5 * time.Second, quorum: 30 * time.Second,
		tick: 20 * time.Millisecond, snapshotEvery: time.Hour, snapshotAfter: 1 << 30, segment: 256 << 10,
	}
}

// cluster is some nodes on a hub.
type cluster struct {
	t       testing.TB
	hub     *hub
	dir     string
	timing  timing
	config  func(*Config)
	machine Machine
	carrier func(catalog.NodeID) Carrier // nil: the hub
	free    func(catalog.NodeID) func() (uint64, error)
	nodes   map[catalog.NodeID]*running
}

// running is a node with its Run.
type running struct {
	*Node
	cancel context.CancelFunc
	done   chan error
}

func newCluster(t testing.TB) *cluster {
	c := &cluster{t: t, hub: newHub(), dir: t.TempDir(), timing: quick(), machine: tiny{}, nodes: make(map[catalog.NodeID]*running)}
	t.Cleanup(func() {
		for _, n := range c.nodes { // together, so that none waits for another that is gone
			n.cancel()
		}
		for id := range c.nodes {
			c.stop(id)
		}
	})
	return c
}

// lone returns a cluster for one voter. It waits for nobody, so it finds out at once that it is to lead, on any machine.
func lone(t testing.TB) *cluster {
	c := newCluster(t)
	c.timing.heartbeat, c.timing.election, c.timing.lease = 10*time.Millisecond, 10*time.Millisecond, 10*time.Millisecond
	return c
}

func (c *cluster) configOf(id catalog.NodeID) Config {
	cfg := Config{Dir: filepath.Join(c.dir, string(id)), Self: id, Grace: time.Hour, MemoryMiB: 4}
	if c.config != nil {
		c.config(&cfg)
	}
	return cfg
}

func (c *cluster) open(id catalog.NodeID) *Node {
	c.t.Helper()
	p := port{hub: c.hub, self: id}
	carrier := Carrier(p)
	if c.carrier != nil {
		carrier = c.carrier(id)
	}
	replaced := parts{machine: c.machine, timing: &c.timing}
	if c.free != nil {
		replaced.free = c.free(id)
	}
	n, err := open(c.configOf(id), disk.New(), carrier, p, quiet(), replaced)
	if err != nil {
		c.t.Fatalf("open %s: %v", id, err)
	}
	return n
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (c *cluster) run(n *Node) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Node: n, cancel: cancel, done: make(chan error, 1)}
	c.hub.join(n)
	c.nodes[n.cfg.Self] = r
	go func() { r.done <- n.Run(ctx) }()
	return r
}

func (c *cluster) start(id catalog.NodeID) *running { return c.run(c.open(id)) }

// found starts the first node.
func (c *cluster) found(id catalog.NodeID, place string) *running {
	c.t.Helper()
	n := c.open(id)
	if err := n.Bootstrap(context.Background(), catalog.Command{Kind: catalog.Found, Body: member(id, place)}); err != nil {
		c.t.Fatalf("found: %v", err)
	}
	r := c.run(n)
	if c.timing.heartbeat >= quick().heartbeat {
		c.urge(id)
	}
	return r
}

// urge has the node stand for election at once, and not only after it has heard of no leader for a while.
func (c *cluster) urge(id catalog.NodeID) {
	c.t.Helper()
	way := newLayer("urge", port{hub: c.hub, self: "urge"})
	trans := newTransport(way, c.timing, quiet())
	request := hraft.TimeoutNowRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte("urge"), Addr: []byte("urge")}}
	err := trans.TimeoutNow(hraft.ServerID(id), hraft.ServerAddress(id), &request, &hraft.TimeoutNowResponse{})
	if err := errors.Join(err, trans.Close(), way.Close()); err != nil {
		c.t.Fatalf("urge %s: %v", id, err)
	}
}

func member(id catalog.NodeID, place string) []byte {
	body, err := json.Marshal(Candidate{ID: id, Place: place})
	if err != nil {
		panic(err)
	}
	return body
}

// grow adds a node to a cluster of which via is a member.
func (c *cluster) grow(via *running, id catalog.NodeID, place string) *running {
	c.t.Helper()
	r := c.start(id)
	c.propose(via, memberKind, json.RawMessage(member(id, place)))
	return r
}

func (c *cluster) propose(n *running, kind catalog.Kind, body any) catalog.Result {
	c.t.Helper()
	result, err := n.Propose(context.Background(), kind, body, "test")
	if err != nil {
		c.t.Fatalf("%s on %s: %v", kind, n.cfg.Self, err)
	}
	return result
}

// stop ends a node in order.
func (c *cluster) stop(id catalog.NodeID) {
	c.t.Helper()
	r := c.nodes[id]
	delete(c.nodes, id)
	r.cancel()
	if err := <-r.done; err != nil {
		c.t.Errorf("%s ended: %v", id, err)
	}
	c.hub.leave(id)
}

// kill takes a node off the network before it can tell anyone.
func (c *cluster) kill(id catalog.NodeID) {
	c.t.Helper()
	c.hub.leave(id)
	c.stop(id)
}

// eventually waits until the condition holds.
func (c *cluster) eventually(what string, holds func() bool) {
	c.t.Helper()
	deadline := time.NewTimer(3 * time.Minute)
	defer deadline.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			for id, n := range c.nodes {
				c.t.Logf("%s: %+v", id, n.Status())
			}
			c.t.Fatalf("not in time: %s", what)
		}
	}
}

func (c *cluster) leader() *running {
	c.t.Helper()
	var leader *running
	c.eventually("a leader", func() bool {
		for _, n := range c.nodes {
			if n.IsLeader() && n.Linear(context.Background()) == nil {
				leader = n
				return true
			}
		}
		return false
	})
	return leader
}

// count reads a counter on a node.
func count(t testing.TB, n *Node, key string) (value int) {
	t.Helper()
	err := n.storage.state.view(func(r reader) (err error) { value, err = tinyCount(r, key); return err })
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// three founds a cluster of three voters in three places.
func three(t testing.TB, c *cluster) (a, b, d *running) {
	t.Helper()
	a = c.found("a", "north")
	b = c.grow(a, "b", "south")
	d = c.grow(a, "c", "west")
	c.eventually("three voters, and each knows them", func() bool {
		for _, n := range []*running{a, b, d} {
			if len(n.Status().Voters) != 3 || n != a && n.Status().Role != Follower {
				return false
			}
		}
		return true
	})
	return a, b, d
}
