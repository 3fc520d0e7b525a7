// Package node puts the rooms together: it makes them with what the configuration says, starts and stops the parts of a
// node in order, and connects mechanisms that do not know each other. It is the room where mechanisms meet, and decides
// nothing itself: what decides, gathers or writes stands in the rooms inside it, each with what it needs by name.
package node

import (
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"holdfast/batch"
	"holdfast/catalog"
	"holdfast/gossip"
	"holdfast/index"
	"holdfast/index/dedup"
	"holdfast/internal/disk"
	"holdfast/internal/trace"
	"holdfast/node/agreed"
	"holdfast/node/archive"
	"holdfast/node/backups"
	"holdfast/node/batches"
	"holdfast/node/config"
	"holdfast/node/figures"
	"holdfast/node/harvester"
	"holdfast/node/ingest"
	"holdfast/node/ledgers"
	"holdfast/node/logbook"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/metadata"
	"holdfast/node/notices"
	"holdfast/node/owed"
	"holdfast/node/policy"
	"holdfast/node/runner"
	"holdfast/node/session"
	"holdfast/node/soundness"
	"holdfast/node/status"
	"holdfast/node/vault"
	"holdfast/node/warrant"
	"holdfast/peer"
	"holdfast/raft"
	"holdfast/replica"
)

// Node is one running node of a cluster.
type Node struct {
	cfg     membership.Folder
	log     *slog.Logger
	disk    disk.Disk
	room    archive.Room // on the disks of the node's own folder, and its files
	id      catalog.NodeID
	started time.Time
	ready   chan struct{}
	closers []func() error

	raft   *raft.Node
	agreed agreed.State
	company
	keeping
	harvests
	trust
	telling
	proving
	asking
}

// company are the parts of a node by which it knows the others.
type company struct {
	peer     *peer.Peer
	gossip   *gossip.Gossip
	roster   *membership.Roster
	refusals *membership.Refusals
	changed  *membership.Changes // gossip has news
	clocks   *membership.Clocks
}

// keeping are the parts of a node that hold its part of the archive, and find their way in the whole.
type keeping struct {
	store    *replica.Store
	replica  *replica.Replica
	bell     *owed.Bell      // rings when something is due that the catalog does not tell
	index    *index.Index    // nil on a node of a checksum replica, as the indexer is
	indexer  *lookup.Indexer // nil on a node of a checksum replica
	captures *lookup.Captures
	policy   *policy.Policy  // by which readers are answered
	answers  replica.Answers // of other nodes about what is here
}

// harvests are the parts of a node that have to do with harvests, and with what is made of them.
type harvests struct {
	crawls     *runner.Runner
	ingests    *ingest.Runner // lists of domains
	vault      *vault.Vault
	harvester  *harvester.Harvester // makes jobs of harvests
	batches    *batch.Batches       // programs over files
	documents  *dedup.Cache         // what jobs recorded
	jobIndexes metadata.JobIndexes  // of sets of jobs
}

// trust are the parts of a node by which it knows in whose name a request is.
type trust struct {
	token    *membership.LocalToken
	warrants warrant.Warrants
	sessions *session.Sessions // of this node's pages
}

// telling are the parts of a node by which people are told what goes on and what goes wrong.
type telling struct {
	notices *notices.Notices
	hooks   notices.Hooks
	book    *logbook.Book    // the node's log
	traces  *trace.Tracer    // nil: none are wanted
	figures *figures.Figures // over time
	state   *status.Node
}

// proving are the parts of a node that look whether the archive is as it was.
type proving struct {
	health  *archive.Health
	ledgers *ledgers.Ledgers
	backups *backups.Backups
	sound   *soundness.Checks
}

// asking are the parts of a node that ask all nodes, each in the name of who asks, and answer the others for this one.
type asking struct {
	jobs       runner.Nodes
	indexes    lookup.Indexes
	allBatches batches.All
	books      logbook.Books
	overTime   figures.Nodes
	alerts     status.Nodes
}

// New opens all that the node has on disk. It needs a configuration whose node has founded or joined a cluster, and
// is to be followed by Run, which closes what New opened.
func New(settings config.Config, log *slog.Logger) (_ *Node, err error) {
	cfg := folderOf(settings, log)
	n := &Node{cfg: cfg, log: log.With("node", cfg.Name), disk: cfg.PrivateDisk(), started: time.Now(),
		ready: make(chan struct{}),
		company: company{refusals: membership.NewRefusals(), changed: membership.NewChanges(),
			clocks: membership.NewClocks()},
		keeping: keeping{bell: owed.NewBell()}}
	n.room = archive.Room{Disk: n.disk, Reserve: int64(cfg.Limits.Reserve)}
	if err := cfg.CheckRestoring(); err != nil {
		return nil, err
	}
	if err := cfg.CheckAgreed(); err != nil {
		return nil, err
	}
	k, err := cfg.Recall(n.disk, log)
	if err == nil {
		err = cfg.CheckSuperseded()
	}
	if err != nil {
		return nil, err
	}
	unlock, err := cfg.Lock()
	if err != nil {
		return nil, err
	}
	n.closers = append(n.closers, unlock)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	n.openLog(log)
	if n.cfg.Traces != "" {
		n.traces = trace.New(trace.Config{URL: n.cfg.Traces, Service: "holdfast", Node: n.cfg.Name, Version: Version(),
			Scope: k.Cluster.ID, Now: time.Now, Log: n.log.With("room", "trace")})
	}
	if err := cfg.Guard(n.log); err != nil {
		return nil, err
	}
	debug.SetMemoryLimit(int64(cfg.Limits.Memory))
	if err := n.openPeer(k); err != nil {
		return nil, err
	}
	for _, open := range []func() error{n.openState, n.openReplica, n.openTrust, n.openNotices, n.openHarvests,
		n.openBatches, n.openProving} {
		if err := open(); err != nil {
			return nil, err
		}
	}
	n.openStatus()
	n.openFigures()
	n.openAsking()
	n.handle()
	return n, cfg.Guard(slog.New(slog.DiscardHandler)) // what libraries have just made
}

func (n *Node) close() error {
	var err error
	for i := len(n.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, n.closers[i]())
	}
	n.closers = nil
	return err
}

// Ready is closed when all parts of the node run.
func (n *Node) Ready() <-chan struct{} { return n.ready }

func (n *Node) isReady() bool {
	select {
	case <-n.ready:
		return true
	default:
		return false
	}
}

// Version is the program's version as the build knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}
