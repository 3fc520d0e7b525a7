// Package node puts the rooms together: it reads the configuration, starts and stops the parts of a node in
// order, connects mechanisms that do not know each other, and carries out what duty decides. It is the only
// room where mechanisms meet, and decides nothing itself.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"runtime/debug"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/gossip"
	"holdfast/index"
	"holdfast/internal/disk"
	"holdfast/node/config"
	"holdfast/node/front"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/runner"
	"holdfast/node/steward"
	"holdfast/node/vault"
	"holdfast/peer"
	"holdfast/raft"
	"holdfast/replay"
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
	crawls   *runner.Runner
	vault    *vault.Vault
	token    *membership.LocalToken
	warrants warrants

	roster   *membership.Roster
	refusals *membership.Refusals
	bell     *bell    // rings when something is due that the catalog does not tell
	changed  *changes // gossip has news
	clocks   *membership.Clocks
	health   health
	closers  []func() error
}

// New opens all that the node has on disk. It needs a configuration whose node has founded or joined a cluster, and
// is to be followed by Run, which closes what New opened.
func New(settings config.Config, log *slog.Logger) (_ *Node, err error) {
	cfg := folderOf(settings, log)
	n := &Node{cfg: cfg, log: log.With("node", cfg.Name), disk: cfg.PrivateDisk(), started: time.Now(), ready: make(chan struct{}),
		bell: newBell(), changed: newChanges(), clocks: membership.NewClocks(), refusals: membership.NewRefusals()}
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
	if err := n.openReplica(); err != nil {
		return nil, err
	}
	n.captures = lookup.New(lookup.Config{Self: n.id, Place: n.cfg.Replica.Place, Indexer: n.indexer, Doubts: lookup.NewDoubts(),
		Catalog: n.raft, Carrier: carrier{n.peer}, Alive: n.alive, Log: n.log})
	keeping, err := n.vaultConfig()
	if err != nil {
		return nil, err
	}
	n.vault = vault.New(keeping)
	n.openWarrants()
	n.openRunner()
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

func (n *Node) openPeer(k membership.Known) error {
	id, err := n.cfg.OwnIdentity()
	if err != nil {
		return err
	}
	n.id = catalog.NodeID(id.ID())
	n.token, err = n.cfg.OpenToken(n.disk)
	if err != nil {
		return err
	}
	n.peer, err = peer.New(peer.Config{Listen: n.cfg.Listen.Peer, Cluster: k.Cluster.ID, Name: k.Cluster.Name, Epoch: k.Cluster.Epoch}, id, n.log)
	if err != nil {
		return err
	}
	n.closers = append(n.closers, n.peer.Close)
	n.peer.Events(func(e peer.Event) {
		n.refusals.Note(e)
		if e.Kind == peer.EventConnected {
			n.clocks.Connected()
		}
	})
	n.roster = membership.NewRoster(n.cfg, n.disk, n.id, k, n.peer, n.log)
	return nil
}

func (n *Node) openState() error {
	cfg := raftConfig(n.cfg.Config, n.id)
	cfg.Alive, cfg.Skew, cfg.Now = n.alive, n.clocks.Skew, n.clocks.Wall
	cfg.Vouch = func(from catalog.NodeID, commands []catalog.Command) ([]error, error) {
		return n.warrants.vouch(from, commands)
	}
	carrier := raftCarrier{n.peer}
	var err error
	if n.raft, err = raft.Open(cfg, n.disk, carrier, carrier, n.log); err != nil {
		return lost(err)
	}
	n.closers = append(n.closers, n.raft.Close)
	if err := checkLevel(n.raft.View, catalog.Level); err != nil {
		return err
	}
	if err := n.cfg.NoteAgreed(n.disk); err != nil {
		return err
	}
	n.gossip, err = gossip.New(gossip.Config{Profile: n.cfg.File.Profile}, n.facts(), gossipCarrier{n.peer}, n.log)
	if err != nil {
		return err
	}
	n.gossip.Events(n.onGossip)
	return nil
}

func (n *Node) openReplica() error {
	in := func(name string) string { return filepath.Join(n.cfg.Data, name) }
	reserve := int64(n.cfg.Limits.Reserve)
	if reserve == 0 {
		reserve = -1
	}
	files := replica.StoreConfig{Roots: n.cfg.Files, Incoming: in("incoming"), Outbox: in("outbox"), Quarantine: in("quarantine"),
		Reserve: reserve, Known: in("roots"), Asked: in("disks.json"), Kept: n.fileKept, Gone: n.fileGone}
	store, err := replica.OpenStore(files, n.cfg.FilesDisk(), n.log)
	if err != nil {
		return err
	}
	n.store = store
	if err := n.dropReceived(); err != nil {
		return err
	}
	kind := catalog.ReplicaKind(n.cfg.Replica.Kind)
	var sums *replica.Checksums
	if kind == catalog.Checksum {
		if sums, err = replica.OpenChecksums(in("checksums"), n.cfg.FilesDisk(), n.log); err != nil {
			return err
		}
	} else {
		x, err := index.Open(index.Config{Dir: in("index"), MemoryMiB: int(n.cfg.Limits.Memory >> 20 / 24), Disk: n.disk}, n.log)
		if err != nil {
			return err
		}
		n.closers = append(n.closers, x.Close)
		room := func() (int64, error) { return n.room(in("index")) }
		n.index = x
		n.indexer = lookup.NewIndexer(x, indexedFiles{store}, func(ctx context.Context) bool { return waitForRoom(ctx, room) }, n.log)
	}
	n.replica, err = replica.New(replica.Config{
		Self: n.id, Replica: catalog.ReplicaName(n.cfg.Replica.Name), Audits: in("audits"),
		Bandwidth: int64(n.cfg.Limits.Bandwidth), Giving: int64(n.cfg.Limits.Giving), AuditRate: int64(n.cfg.Limits.AuditPace),
	}, store, sums, replicaPeers{n}, replicaCatalog{n.raft, n.id, catalog.ReplicaName(n.cfg.Replica.Name), n.bell}, &duties{n: n, kind: kind}, n.log)
	return err
}

// indexedFiles are the node's files as the index reads them.
type indexedFiles struct{ store *replica.Store }

func (f indexedFiles) Has(name catalog.FileName) bool { return f.store.Has(name) }
func (f indexedFiles) Shards() []catalog.Shard        { return f.store.Shards() }

func (f indexedFiles) Open(name catalog.FileName) (io.ReadCloser, error) {
	b, err := f.store.Open(name)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (f indexedFiles) List(s catalog.Shard) ([]catalog.FileName, error) {
	held, err := f.store.List(s)
	names := make([]catalog.FileName, len(held))
	for i := range held {
		names[i] = held[i].Name
	}
	return names, err
}

// steward returns what does the leader's duties on this node.
func (n *Node) steward() *steward.Steward {
	alive := func() map[catalog.NodeID]int64 {
		out := map[catalog.NodeID]int64{}
		for _, f := range n.gossip.Alive() {
			out[catalog.NodeID(f.ID)] = int64(f.Free)
		}
		out[n.id] = int64(n.facts().Free)
		return out
	}
	return steward.New(steward.Config{Self: n.id, Lease: time.Duration(n.cfg.Limits.Lease), Agreement: n.raft,
		Contacts: n.raft.Contacts, Alive: alive, News: n.changed.C, Now: n.clocks.Now,
		Unsure: func() bool { return n.clocks.Skew().Abs() > membership.MaxSkew }, Log: n.log})
}

// member returns what keeps this node a member.
func (n *Node) member() membership.Member {
	return membership.Member{Folder: n.cfg, Roster: n.roster, Refusals: n.refusals, Agreement: agreement{n.raft},
		Caller: carrier{n.peer}, Insist: n.insist, Log: n.log}
}

// timekeeper returns what keeps this node's clocks compared.
func (n *Node) timekeeper() membership.Timekeeper {
	links := func() (out []membership.Link) {
		for _, l := range n.peer.Stats().Links {
			out = append(out, membership.Link{Peer: catalog.NodeID(l.Peer), Since: l.Since, Ahead: l.Clock})
		}
		return out
	}
	connected := func() (out []catalog.NodeID) {
		for _, id := range n.peer.Connected() {
			out = append(out, catalog.NodeID(id))
		}
		return out
	}
	return membership.Timekeeper{Clocks: n.clocks, Others: n.roster.Others, Connected: connected, Links: links, Caller: carrier{n.peer}, Log: n.log}
}

// lack returns what tells the indexer of which shards this node lacks files.
func (n *Node) lack() func(context.Context) error {
	name := catalog.ReplicaName(n.cfg.Replica.Name)
	doubtful := func() []catalog.FileName { return append(n.store.Missing(), n.store.Loose()...) }
	return n.watching(func(ctx context.Context, changed <-chan struct{}) error {
		return n.indexer.Lack(ctx, n.raft, name, doubtful, changed)
	}, catalog.PrefixOwed(name), catalog.PrefixReplicaLayout(name))
}

// watching returns a part of the node that is told of changes of the catalog under the prefixes.
func (n *Node) watching(run func(context.Context, <-chan struct{}) error, prefixes ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		watch := n.raft.Watch(prefixes...)
		defer watch.Close()
		return run(ctx, watch.C)
	}
}

func (n *Node) fileKept(name catalog.FileName) {
	if n.indexer != nil {
		n.indexer.Stored(name)
	}
}

func (n *Node) fileGone(name catalog.FileName) {
	if n.indexer != nil {
		n.indexer.Gone(name)
	}
}

// handle names who answers which streams, calls and packets of other nodes.
func (n *Node) handle() {
	p := n.peer
	p.HandleJoin(n.member().Welcome)
	p.Handle(raftStream, peer.Control, func(_ context.Context, from peer.ID, s net.Conn) { n.raft.Stream(catalog.NodeID(from), s) })
	p.HandleCall(raftCall, func(ctx context.Context, from peer.ID, request []byte) ([]byte, error) {
		return n.raft.Serve(ctx, catalog.NodeID(from), request)
	})
	p.Handle(gossipStream, peer.Control, func(_ context.Context, from peer.ID, s net.Conn) { n.gossip.Stream(string(from), s) })
	p.Packets(func(from peer.ID, packet []byte) { n.gossip.Packet(string(from), packet) })
	p.Handle(fileStream, peer.Bulk, n.serveFile)
	p.Handle(lookup.Stream, peer.Control, func(ctx context.Context, from peer.ID, s net.Conn) {
		n.captures.Serve(ctx, catalog.NodeID(from), s)
	})
	p.Handle(runner.LogStream, peer.Bulk, n.serveLog)
	answer(p, checksumCall, n.serveChecksum)
	carrier{p}.answers(lookup.DigestCall, n.captures.AnswerDigest())
	carrier{p}.answers(membership.MembersCall, n.roster.AnswerMembers())
	carrier{p}.answers(membership.ClockCall, n.clocks.AnswerClock())
	carrier{p}.answers(runner.PaceCall, n.crawls.AnswerPace())
	n.handleActs()
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

// Run runs the node until ctx ends or a part of it fails. It returns when everything is stopped and closed, or with ErrHung when
// a part does not stop in time: then the process is to end.
func (n *Node) Run(ctx context.Context) error {
	readers, err := n.replayHandler()
	var ports front.Front
	if err == nil {
		ports, err = front.Listen(ctx, front.Config{API: n.cfg.Listen.API, Access: n.cfg.Listen.Access, Secure: n.cfg.Secure, Log: n.log})
	}
	if err != nil {
		return errors.Join(err, n.close())
	}
	n.cfg.Listen.API, n.cfg.Listen.Access = ports.API.Addr().String(), ports.Access.Addr().String()
	member := n.member()
	parts := []part{
		{"peer", n.peer.Run},
		{"raft", func(ctx context.Context) error { return lost(n.raft.Run(ctx)) }},
		{"gossip", n.gossip.Run},
		{"trust", n.watching(member.Trust, membership.Trusted()...)},
		{"acquaint", member.Acquaint},
		{"clocks", n.timekeeper().Run},
		{"epoch", member.Yield},
		{"membership", member.Stay},
		{"announce", n.watching(member.Announce, catalog.PrefixMembers)},
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
		part{"leader", n.watching(n.steward().Run, steward.Watched()...)},
		part{"pace", n.crawls.Pace},
		part{"vault", n.watching(n.vault.Run, vault.Watched()...)},
		part{"uses", n.warrants.uses.run},
		part{"crawls", n.watching(n.crawls.Run, catalog.PrefixJobs)},
		part{"api", func(ctx context.Context) error { return ports.API.Serve(ctx, api.New(n.backend(), n.log)) }},
		part{"access", func(ctx context.Context) error { return ports.Access.Serve(ctx, readers) }},
	)
	stop := newStages()
	return bounded(stop, stopPatience, func() error {
		err := runParts(ctx, n.log, stop, func() {
			close(n.ready)
			n.log.Info("node runs", "id", n.id, "replica", n.cfg.Replica.Name, "peer", n.peer.Addr(), "api", ports.API.Addr(), "access", ports.Access.Addr())
		}, parts...)
		stop.enter("the node's databases")
		return errors.Join(err, n.close())
	})
}

// backend is the node as the API sees it.
func (n *Node) backend() api.Backend {
	return api.Backend{
		Catalog: apiCatalog{n}, Archive: archive{n}, Losses: losses{apiCatalog{n}, n.id, n.replica.Find}, Self: self{n}, Audits: audits{n}, Strays: strays{n}, OwnDisks: disks{n.replica.Disks, n.log}, Crawls: crawlsAPI{n}, Secrets: secrets{n.vault},
		Captures: lookup.Arranged{Captures: n.captures}, Index: indexAPI{n}, Invites: invites{n.member(), apiCatalog{n}.Propose}, Local: n.token.Access,
		Node: n.id, Used: n.warrants.uses.note,
	}
}

// apiCatalog is the catalog as the API sees it.
type apiCatalog struct{ n *Node }

func (c apiCatalog) View(see func(catalog.View) error) error { return c.n.raft.View(see) }

func (c apiCatalog) Linear(ctx context.Context) error { return quorum(c.n.raft.Linear(ctx)) }

func (c apiCatalog) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	if err := c.n.raft.Room(); err != nil {
		return catalog.Result{}, fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	result, err := c.n.raft.Propose(ctx, kind, body, actor)
	if err == nil {
		c.n.catchUp(ctx)
	}
	return result, quorum(err)
}

// catchUp waits until this node's own state shows what the cluster has just decided, so that who asked finds what he
// changed. That a leader is lost meanwhile does not undo the decision.
func (n *Node) catchUp(ctx context.Context) {
	if n.raft.IsLeader() {
		return
	}
	if err := n.raft.Linear(ctx); err != nil {
		n.log.Debug("a decision is not seen here yet", "error", err)
	}
}

// quorum turns Raft's answer into the API's.
func quorum(err error) error {
	switch {
	case errors.Is(err, raft.ErrNoQuorum):
		return api.ErrNoQuorum // says the same
	case errors.Is(err, raft.ErrNoRoom):
		return fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	return err
}

// replayHandler is the handler of the access port.
func (n *Node) replayHandler() (*replay.Handler, error) {
	incoming := filepath.Join(n.cfg.Data, "incoming")
	cfg := replay.Config{Title: n.roster.Known().Cluster.Name, Spool: incoming, SpoolRoom: func(size int64) bool {
		left, err := n.room(incoming)
		return err == nil && left >= size
	}}
	return replay.New(cfg, n.captures, replayRecords{n.replica}, n.log)
}
