// Package node puts the rooms together: it reads the configuration, starts and stops the parts of a node in
// order, connects mechanisms that do not know each other, and carries out what duty decides. It is the only
// room where mechanisms meet, and decides nothing itself.
package node

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"holdfast/api"
	"holdfast/batch"
	"holdfast/catalog"
	asked "holdfast/catalog/batches"
	"holdfast/gossip"
	"holdfast/index"
	"holdfast/index/dedup"
	"holdfast/index/jobset"
	"holdfast/internal/disk"
	"holdfast/node/config"
	"holdfast/node/front"
	"holdfast/node/harvester"
	"holdfast/node/ingest"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/metrics"
	"holdfast/node/notices"
	"holdfast/node/owed"
	"holdfast/node/pages"
	"holdfast/node/runner"
	"holdfast/node/session"
	"holdfast/node/steward"
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
	id      catalog.NodeID
	started time.Time
	ready   chan struct{}

	peer     *peer.Peer
	raft     *raft.Node
	gossip   *gossip.Gossip
	store    *replica.Store
	replica  *replica.Replica
	index    *index.Index    // nil on a node of a checksum replica, as the indexer is
	indexer  *lookup.Indexer // nil on a node of a checksum replica
	captures *lookup.Captures
	harvests
	trust
	telling

	roster   *membership.Roster
	refusals *membership.Refusals
	bell     *owed.Bell // rings when something is due that the catalog does not tell
	changed  *changes   // gossip has news
	clocks   *membership.Clocks
	proving
	seen    *watch // since when there are alerts
	closers []func() error
}

// trust are the parts of a node by which it knows in whose name a request is.
type trust struct {
	token    *membership.LocalToken
	warrants warrant.Warrants
	sessions *session.Sessions // of this node's pages
}

// harvests are the parts of a node that have to do with harvests, and with what is made of them.
type harvests struct {
	crawls    *runner.Runner
	ingests   *ingest.Runner // lists of domains
	vault     *vault.Vault
	harvester *harvester.Harvester // makes jobs of harvests
	batches   *batch.Batches       // programs over files
	documents *dedup.Cache         // what jobs recorded
	jobLines  *jobset.Cache        // indexes of sets of jobs
}

// New opens all that the node has on disk. It needs a configuration whose node has founded or joined a cluster, and
// is to be followed by Run, which closes what New opened.
func New(settings config.Config, log *slog.Logger) (_ *Node, err error) {
	cfg := folderOf(settings, log)
	n := &Node{cfg: cfg, log: log.With("node", cfg.Name), disk: cfg.PrivateDisk(), started: time.Now(),
		ready: make(chan struct{}),
		bell:  owed.NewBell(), changed: newChanges(), clocks: membership.NewClocks(),
		refusals: membership.NewRefusals(), seen: &watch{}}
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
	openLog(n, log)
	if err := cfg.Guard(n.log); err != nil {
		return nil, err
	}
	debug.SetMemoryLimit(int64(cfg.Limits.Memory))
	if err := n.openPeer(k); err != nil {
		return nil, err
	}
	if err := n.openState(); err != nil {
		return nil, err
	}
	doubts := lookup.NewDoubts()
	if err := n.openReplica(doubts); err != nil {
		return nil, err
	}
	n.captures = lookup.New(lookup.Config{Self: n.id, Place: n.cfg.Replica.Place, Indexer: n.indexer, Doubts: doubts,
		Catalog: n.raft, Carrier: carrier{n.peer}, Alive: n.alive, Log: n.log})
	keeping, err := n.vaultConfig()
	if err != nil {
		return nil, err
	}
	n.vault = vault.New(keeping)
	if err := n.openWarrants(); err != nil {
		return nil, err
	}
	if err := openNotices(n); err != nil {
		return nil, err
	}
	n.openHarvester()
	openDerived(n)
	n.openRunner()
	n.openIngests()
	openFigures(n)
	if err := openLedgers(n); err != nil {
		return nil, err
	}
	openBatches(n)
	if err := openBackups(n); err != nil {
		return nil, err
	}
	openChecks(n)
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

// Run runs the node until ctx ends or a part of it fails. It returns when everything is stopped and closed, or with
// ErrHung when a part does not stop in time: then the process is to end.
func (n *Node) Run(ctx context.Context) error {
	answers := api.New(n.backend(), n.log)
	n.notices.See(answers.Seen)
	var origins front.Origins
	var readers, archivists http.Handler
	offered, err := n.cfg.Offered(n.hooks.Texts, n.log)
	if err == nil {
		readers, err = n.replayHandler(offered)
	}
	if err == nil {
		archivists, err = pages.New(pages.Config{Cluster: n.roster.Known().Cluster.Name, Node: n.cfg.Name,
			Place: n.cfg.Replica.Place, OpenID: n.cfg.OpenID, API: answers.Pages(), Sessions: n.sessions,
			Origins: &origins, Languages: offered, Log: n.log})
	}
	var ports front.Front
	if err == nil {
		ports, err = front.Listen(ctx, front.Config{API: n.cfg.Listen.API, Access: n.cfg.Listen.Access,
			Secure: n.cfg.Secure, Log: n.log})
	}
	if err != nil {
		return errors.Join(err, n.close())
	}
	n.cfg.Listen.API, n.cfg.Listen.Access = ports.API.Addr().String(), ports.Access.Addr().String()
	origins = front.OriginsOf(n.cfg.Config) // the ports are known
	figures := metrics.New(figuresOf(n), n.log.With("room", "metrics"))
	atAPI := figures.Count("api", front.Beside(answers, answers.Guard(catalog.Look, figures),
		origins.ForPages(archivists)))
	member, captures := n.member(), figures.Count("access", origins.ForCaptures(readers))
	parts := []part{
		{"peer", n.peer.Run},
		{"raft", func(ctx context.Context) error { return lost(n.raft.Run(ctx)) }},
		{"gossip", n.gossip.Run},
		{"trust", n.watching(member.Trust, membership.Trusted()...)},
		{"acquaint", member.Acquaint},
		{"clocks", n.timekeeper().Run},
		{"epoch", member.Yield},
		{"membership", member.Stay},
		{"announce", n.watching(member.Announce, catalog.PrefixMembers, catalog.PrefixCluster)},
		{"news", n.news},
		{"cover", n.watching(func(ctx context.Context, changed <-chan struct{}) error {
			return n.captures.Cover(ctx, changed, n.changed.C)
		}, catalog.PrefixLayout, catalog.PrefixMembers, catalog.PrefixReplicas)},
	}
	if n.indexer != nil {
		parts = append(parts, part{"index", n.indexer.Run}, part{"lack", n.lack()})
	}
	parts = append(parts,
		part{"replica", n.replica.Run},
		part{"ledgers", n.ledgers.Run},
		part{"backups", n.backups.Run},
		part{"soundness", n.sound.Run},
		part{"leader", n.watching(n.steward().Run, steward.Watched()...)},
		part{"harvests", n.watching(n.harvester.Run, harvester.Watched()...)},
		part{"pace", n.crawls.Pace},
		part{"vault", n.watching(n.vault.Run, vault.Watched()...)},
		part{"uses", n.warrants.Uses.Run},
		part{"sessions", n.sessions.Run},
		part{"crawls", n.watching(n.crawls.Run, catalog.PrefixJobs)},
		part{"ingest", n.ingests.Run},
		part{"batches", n.watching(n.batches.Run, asked.PrefixBatches, catalog.PrefixMembers)},
		part{"api", func(ctx context.Context) error { return ports.API.Serve(ctx, atAPI) }},
		part{"alerts", answers.Watch},
		part{"figures", n.figures.Run},
		part{"notices", n.watching(n.notices.Run, notices.Watched()...)},
		part{"access", func(ctx context.Context) error { return ports.Access.Serve(ctx, captures) }},
	)
	stop := newStages()
	return bounded(stop, stopPatience, func() error {
		err := runParts(ctx, n.log, stop, func() {
			close(n.ready)
			n.log.Info("node runs", "id", n.id, "replica", n.cfg.Replica.Name, "peer", n.peer.Addr(),
				"api", ports.API.Addr(), "access", ports.Access.Addr())
		}, parts...)
		stop.enter("the node's databases")
		return errors.Join(err, n.close())
	})
}
