// Package raft carries the catalog's commands through consensus (hashicorp/raft) and keeps the agreed state
// on this node's disk. The state is a Badger database in managed mode whose commit versions are Raft
// indexes; it holds its own index, term and configuration, so that a restart replays only what the state
// lacks. A Raft snapshot is a marker in it, streamed when a node that is far behind needs it.
//
// Every node applies the catalog and reads locally. A command proposed on any node goes to the leader with
// the node's boot and sequence number and is applied once, however often it had to be tried. The leader
// stamps the time on commands and chooses the voters.
package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// Answers that a caller acts on.
var (
	// ErrNoQuorum reports that no leader with a majority was found in time. A command that was on its way
	// may or may not have been applied.
	ErrNoQuorum = errors.New("no quorum: too few voters of the cluster can be reached")
	// ErrStopped reports that the node is not running.
	ErrStopped = errors.New("the node's consensus is stopped")
	// ErrDamaged reports a state, log or stream that is not what this program wrote.
	ErrDamaged = errors.New("damaged agreed state")
	// ErrFounded reports that the node belongs to a cluster already.
	ErrFounded = errors.New("the node has an agreed state already")
	// ErrTooBig reports a command above the size bound.
	ErrTooBig = errors.New("command too big")
)

// Config holds the settings of a Node. Dir and Self are required.
type Config struct {
	Dir         string                         // data folder; the node uses raft/ and catalog/ in it
	Self        catalog.NodeID                 // this node
	Profile     string                         // "lan" (default), "wan" or "local", on one machine: timeouts for the distance between voters
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
		t.commit, t.tick = 20*time.Millisecond, 200*time.Millisecond
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
	disk    disk.Disk
	forward Forwarder
	machine Machine
	log     *slog.Logger

	state     *state
	agreed    agreed
	snapshots *snapshots
	fsm       *fsm
	wal       *logStore
	room      *room
	witness   *Witness
	layer     *layer
	boot      uint64
	opened    time.Time

	raft     *consensus
	intake   *intake
	proposer *proposer
	linear   *linear
	leader   *leader

	fatal chan error
	trail atomic.Uint64 // entries of the log to keep behind a marker

	purging   atomic.Bool   // the log is to be cut at the next marker
	rewritten atomic.Uint64 // the state was rewritten when this index was applied, or later

	contacts contacts
	leading  chan bool
	running  sync.Mutex
}

// parts are what tests of this room put in the place of the usual.
type parts struct {
	machine Machine
	timing  *timing
	step    func(name string) error
	free    func() (uint64, error) // bytes left on the disk
}

// Open opens the node's state and log and makes them agree: an unfinished install is dropped, lost batches
// are found, an outdated log is removed. Run starts consensus; until then only View and Watch answer.
func Open(cfg Config, d disk.Disk, carrier Carrier, forward Forwarder, log *slog.Logger) (*Node, error) {
	return open(cfg, d, carrier, forward, log, parts{})
}

func open(cfg Config, d disk.Disk, carrier Carrier, forward Forwarder, log *slog.Logger, p parts) (n *Node, err error) {
	t, err := timingOf(cfg.Profile)
	if err != nil {
		return nil, err
	}
	t = t.cutting(cfg.withDefaults().TrailingMiB)
	if p.timing != nil {
		t = *p.timing
	}
	if p.machine == nil {
		p.machine = theCatalog{}
	}
	if p.step == nil {
		p.step = func(string) error { return nil }
	}
	n = &Node{
		cfg: cfg.withDefaults(), timing: t, disk: d, forward: forward, machine: p.machine, log: log,
		opened: time.Now(), raft: newConsensus(t.quorum), fatal: make(chan error, 1), leading: make(chan bool, 1),
	}
	if p.free == nil {
		p.free = func() (uint64, error) { free, _, err := d.Free(cfg.Dir); return free, err }
	}
	n.room = newRoom(p.free, log)
	n.contacts.init()
	if err := n.openStorage(p.step); err != nil {
		return nil, err
	}
	n.snapshots = newSnapshots(n.state, n.setTrail)
	n.fsm = &fsm{state: n.state, snapshots: n.snapshots, machine: p.machine, room: n.room, fail: n.fail}
	n.layer = newLayer(cfg.Self, carrier)
	n.agreed = agreed{state: n.state, machine: p.machine}
	clock := clock{now: n.cfg.Now, skew: n.cfg.Skew}
	n.intake = &intake{raft: n.raft, room: n.room, clock: clock, grouped: n.agreed.grouped}
	n.proposer = &proposer{
		self: cfg.Self, boot: n.boot, raft: n.raft, requests: newRequests(),
		relay: &relay{raft: n.raft, forward: forward}, here: n.intake.submitWithin,
	}
	n.linear = &linear{
		self: cfg.Self, raft: n.raft, state: n.state, log: n.wal, room: n.room, forward: forward,
	}
	handover := &handover{pause: 2 * t.network}
	n.leader = &leader{
		self: cfg.Self, tick: t.tick, limbo: limbo{wait: 2 * t.election}, clock: clock, room: n.room,
		contacts: &n.contacts, handover: handover, log: log,
		voters: &arranger{
			self: cfg.Self, quorum: t.quorum, grace: n.cfg.Grace, alive: cfg.Alive, members: n.agreed.members,
			state: n.state, forward: forward, contacts: &n.contacts, handover: handover, log: log,
		},
	}
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

// openStorage opens log and state.
func (n *Node) openStorage(step func(string) error) (err error) {
	raftDir := filepath.Join(n.cfg.Dir, "raft")
	if err := n.disk.MkdirAll(raftDir); err != nil {
		return err
	}
	ledger, err := openLedger(filepath.Join(n.cfg.Dir, "catalog"), n.disk, n.log)
	if err != nil {
		return err
	}
	if n.witness, err = openWitness(raftDir, n.disk, n.log); err != nil {
		return err
	}
	if n.wal, err = openLog(raftDir, n.timing.segment, ledger, n.room, n.log, n.fail); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.wal.Close())
		}
	}()
	used, err := hraft.HasExistingState(n.wal, n.wal, hraft.NewDiscardSnapshotStore())
	if err != nil {
		return fmt.Errorf("open the raft log in %s: %w", raftDir, err)
	}
	if err := step("log opened"); err != nil {
		return err
	}
	n.state, err = openState(filepath.Join(n.cfg.Dir, "catalog"), n.disk, n.cfg.MemoryMiB, !used, step, n.log)
	if err != nil {
		return err
	}
	if err = errors.Join(n.checkLog(), n.checkStart(raftDir)); err == nil {
		err = n.agree(step)
	}
	if err == nil {
		err = n.wal.begin()
	}
	if err == nil {
		n.boot, err = n.countStart(raftDir)
	}
	if err == nil {
		err = step("boot")
	}
	if err != nil {
		return errors.Join(err, n.state.close())
	}
	return nil
}

// agree removes a log that an install has made obsolete: one that ends before the state, or that holds
// another entry at the state's place.
func (n *Node) agree(step func(string) error) error {
	st := n.state.store()
	first, err := n.wal.FirstIndex()
	if err != nil {
		return fmt.Errorf("open the raft log: %w", err)
	}
	last, err := n.wal.LastIndex()
	if err != nil {
		return fmt.Errorf("open the raft log: %w", err)
	}
	m := st.marker
	if last == 0 {
		return nil
	}
	if first > m.Index+1 {
		return fmt.Errorf("%w: the raft log begins at index %d, the state stands at %d", ErrDamaged, first, m.Index)
	}
	obsolete := last < m.Index
	if !obsolete && first <= m.Index {
		var entry hraft.Log
		if err := n.wal.GetLog(m.Index, &entry); err != nil {
			return fmt.Errorf("read the raft log at index %d: %w", m.Index, err)
		}
		obsolete = entry.Term != m.Term
	}
	if !obsolete {
		return nil
	}
	if err := step("log obsolete"); err != nil {
		return err
	}
	n.log.Info("the raft log before an installed state is removed", "from", first, "to", last, "state", m.Index)
	if err := n.wal.DeleteRange(first, last); err != nil {
		return fmt.Errorf("remove the raft log: %w", err)
	}
	return nil
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
	return n.state.view(func(r reader) error { return fn(catalog.NewView(r)) })
}

// Forwarder carries small requests to other nodes. Requests of other nodes are handed to Node.Serve.
type Forwarder interface {
	// Call sends the request to the node and returns its answer.
	Call(ctx context.Context, to catalog.NodeID, request []byte) ([]byte, error)
}
