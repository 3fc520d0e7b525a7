// Package raft carries the catalog's commands through consensus (hashicorp/raft) and keeps the agreed state
// on this node's disk. The state is a Badger database in managed mode whose commit versions are Raft
// indexes; it holds its own index, term and configuration, so that a restart replays only what the state
// lacks. A Raft snapshot is a marker in it, streamed when a node that is far behind needs it.
//
// Every node applies the catalog and reads locally. A command proposed on any node goes to the leader with
// the node's boot and sequence number and is applied once, however often it had to be tried. The leader
// stamps the time on commands and chooses the voters.
//
// A Node is put together from parts that do not know it. On the disk: storage opens log and state, makes them fit each
// other, and recovers them; trail and purger say how much of the log stays. On the way to a decision: proposer numbers
// this node's commands, relay sends them to the leader, intake takes them there, and linear reads what was decided;
// consensus is the running library and knows who leads. While the node leads: leader steps down when it must, and
// arranger changes who votes. observer hears from the library who leads and whom the leader hears; inquiry asks the
// other voters, after a start, how far this node's log had come.
package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// Answers that a caller acts on.
var (
	// ErrNoQuorum reports that no leader with a majority was found in time. A command that was on its way
	// may or may not have been applied.
	ErrNoQuorum = errors.New("no quorum: too few voters of the cluster can be reached")
	// ErrStopped reports that the node is not running.
	ErrStopped = errors.New("consensus is not running on this node")
	// ErrDamaged reports a state, log or stream that is not what this program wrote.
	ErrDamaged = errors.New("the agreed state is damaged")
	// ErrFounded reports that the node belongs to a cluster already.
	ErrFounded = errors.New("this node belongs to a cluster already")
	// ErrTooBig reports a command above the size bound.
	ErrTooBig = errors.New("the command is too big")
)

// Config holds the settings of a Node. Dir and Self are required.
type Config struct {
	Dir         string                         // data folder; the node uses raft/ and catalog/ in it
	Self        catalog.NodeID                 // this node
	Profile     string                         // distance between voters: "lan" (default), "wan" or "local"
	MemoryMiB   int                            // cache for the state's blocks, 16 by default
	Grace       time.Duration                  // how long a voter may be lost before it is replaced, 2 min by default
	TrailingMiB int                            // Raft log kept behind a marker, 1024 by default
	Alive       func() map[catalog.NodeID]bool // who gossip thinks is alive; advice; nil: everyone
	Skew        func() time.Duration           // how far this clock is ahead of the members' median now; nil: none
	Now         func() time.Time               // the clock that commands are stamped by; nil: the machine's
	Vouch       Vouch                          // checks what other members forward; nil: everything is accepted
}

// Vouch says of each command that a member forwards what keeps it from being proposed, a *catalog.Refusal, or nil.
type Vouch func(from catalog.NodeID, commands []catalog.Command) ([]error, error)

// timing are the times and amounts a node goes by.
type timing struct {
	heartbeat, election, lease, commit time.Duration
	network                            time.Duration // of one exchange
	quorum                             time.Duration // how long a caller waits for a leader
	tick                               time.Duration // of the leader's loop
	snapshotEvery                      time.Duration // between looks at whether to take a marker
	snapshotAfter                      uint64        // entries since the last marker
	segment                            int           // bytes of one file of the log
}

func timingOf(profile string) (timing, error) {
	t := timing{
		heartbeat: time.Second, election: time.Second, lease: time.Second, commit: 50 * time.Millisecond,
		network: 10 * time.Second, quorum: 5 * time.Second, tick: time.Second,
		snapshotEvery: time.Minute, snapshotAfter: 8192, segment: 64 << 20,
	}
	switch profile {
	case "", "lan":
	case "local":
		t.heartbeat, t.election, t.lease = 700*time.Millisecond, 700*time.Millisecond, 700*time.Millisecond
		t.commit, t.tick, t.segment = 20*time.Millisecond, 200*time.Millisecond, 8<<20
	case "wan":
		t.heartbeat, t.election, t.lease, t.commit = 3*time.Second, 3*time.Second, 3*time.Second, 100*time.Millisecond
		t.network, t.quorum = 30*time.Second, 10*time.Second
	default:
		return timing{}, fmt.Errorf("profile %q: want lan, wan or local", profile)
	}
	return t, nil
}

// cutting makes markers as frequent, and the log's files as small, as a log of that many MiB behind them demands. The
// log is cut by whole files, so a short log has small files.
func (t timing) cutting(trailingMiB int) timing {
	part := func(whole, least int64) int64 { return max(whole*min(int64(trailingMiB), 1024)/1024, least) }
	t.snapshotEvery = time.Duration(part(int64(t.snapshotEvery), int64(2*time.Second)))
	t.snapshotAfter = uint64(part(int64(t.snapshotAfter), 256))
	t.segment = int(part(int64(t.segment), 1<<20))
	return t
}

// Node is this node's part in consensus.
type Node struct {
	cfg     Config
	timing  timing
	forward Forwarder
	log     *slog.Logger
	opened  time.Time

	storage   *storage
	snapshots *snapshots
	fsm       *fsm
	layer     *layer

	raft     *consensus
	intake   *intake
	proposer *proposer
	linear   *linear
	leader   *leader
	observer *observer
	contacts *contacts
	trail    *trail
	purger   *purger

	running sync.Mutex
	fatal   chan error // what Run ends with
}

// parts are what tests of this room put in the place of the usual.
type parts struct {
	machine Machine
	timing  *timing
	step    func(name string) error
	free    func() (uint64, error) // bytes left on the disk
}

// with returns the settings and the parts with the usual where nothing else was given.
func (p parts) with(cfg Config, d disk.Disk) (Config, parts, error) {
	cfg = cfg.withDefaults()
	t, err := timingOf(cfg.Profile)
	if err != nil {
		return cfg, p, err
	}
	if p.timing == nil {
		t = t.cutting(cfg.TrailingMiB)
		p.timing = &t
	}
	if p.machine == nil {
		p.machine = theCatalog{}
	}
	if p.step == nil {
		p.step = func(string) error { return nil }
	}
	if p.free == nil {
		p.free = func() (uint64, error) { free, _, err := d.Free(cfg.Dir); return free, err }
	}
	return cfg, p, nil
}

// Open opens the node's state and log and makes them agree: an unfinished install is dropped, lost batches
// are found, an outdated log is removed. Run starts consensus; until then only View and Watch answer.
func Open(cfg Config, d disk.Disk, carrier Carrier, forward Forwarder, log *slog.Logger) (*Node, error) {
	return open(cfg, d, carrier, forward, log, parts{})
}

func open(cfg Config, d disk.Disk, carrier Carrier, forward Forwarder, log *slog.Logger, p parts) (n *Node, err error) {
	cfg, p, err = p.with(cfg, d)
	if err != nil {
		return nil, err
	}
	t := *p.timing
	n = &Node{
		cfg: cfg, timing: t, forward: forward, log: log,
		opened: time.Now(), raft: newConsensus(t.quorum), contacts: newContacts(), fatal: make(chan error, 1),
	}
	if n.storage, err = openStorage(cfg, d, p, log, n.fail); err != nil {
		return nil, err
	}
	state, room, agreed := n.storage.state, n.storage.room, n.storage.agreed
	n.trail = &trail{mib: cfg.TrailingMiB, mean: n.storage.wal.mean, raft: n.raft, log: log}
	n.snapshots = newSnapshots(state, n.trail.tell)
	n.fsm = &fsm{state: state, snapshots: n.snapshots, machine: p.machine, room: room, fail: n.fail}
	n.layer = newLayer(cfg.Self, carrier)
	clock := clock{now: cfg.Now, skew: cfg.Skew}
	n.intake = &intake{raft: n.raft, room: room, clock: clock, grouped: agreed.grouped}
	n.proposer = &proposer{
		self: cfg.Self, boot: n.storage.boot, raft: n.raft, requests: newRequests(),
		relay: &relay{raft: n.raft, forward: forward}, here: n.intake.submitWithin,
	}
	n.linear = &linear{
		self: cfg.Self, raft: n.raft, state: state, log: n.storage.wal, room: room, forward: forward,
	}
	handover := &handover{pause: 2 * t.network}
	n.leader = &leader{
		self: cfg.Self, tick: t.tick, limbo: limbo{wait: 2 * t.election}, clock: clock, room: room,
		contacts: n.contacts, handover: handover, log: log,
		voters: &arranger{
			self: cfg.Self, quorum: t.quorum, grace: cfg.Grace, alive: cfg.Alive, members: agreed.members,
			state: state, forward: forward, contacts: n.contacts, handover: handover, log: log,
		},
	}
	n.observer = &observer{contacts: n.contacts, changed: n.raft.changed, leading: make(chan bool, 1)}
	n.purger = &purger{storage: n.storage, fsm: n.fsm, raft: n.raft, trail: n.trail}
	return n, nil
}

func (c Config) withDefaults() Config {
	if c.MemoryMiB <= 0 {
		c.MemoryMiB = 16
	}
	if c.Grace <= 0 {
		c.Grace = 2 * time.Minute
	}
	if c.TrailingMiB <= 0 {
		c.TrailingMiB = 1024
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// fail stops the node.
func (n *Node) fail(err error) {
	select {
	case n.fatal <- err:
	default:
	}
}

// Stream hands in a stream for Raft that another node opened.
func (n *Node) Stream(from catalog.NodeID, c net.Conn) { n.layer.hand(from, c) }

// View calls fn with one consistent version of this node's state, which may lag behind the leader's. The
// view is valid only during the call.
func (n *Node) View(fn func(catalog.View) error) error {
	return n.storage.state.view(func(r reader) error { return fn(catalog.NewView(r)) })
}

// Forwarder carries small requests to other nodes. Requests of other nodes are handed to Node.Serve.
type Forwarder interface {
	// Call sends the request to the node and returns its answer.
	Call(ctx context.Context, to catalog.NodeID, request []byte) ([]byte, error)
}
