package node

import (
	"context"
	"path/filepath"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/crawler"
	"holdfast/gossip"
	"holdfast/index"
	"holdfast/internal/words"
	"holdfast/node/archive"
	"holdfast/node/front"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/runner"
	"holdfast/node/session"
	"holdfast/node/vault"
	"holdfast/node/warrant"
	"holdfast/peer"
	"holdfast/raft"
	"holdfast/replay"
	"holdfast/replica"
)

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
	n.peer, err = peer.New(peer.Config{Listen: n.cfg.Listen.Peer, Cluster: k.Cluster.ID, Name: k.Cluster.Name,
		Epoch: k.Cluster.Epoch}, id, n.log)
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
		return n.warrants.Vouch(from, commands)
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

func (n *Node) openReplica(doubts *lookup.Doubts) error {
	in := func(name string) string { return filepath.Join(n.cfg.Data, name) }
	reserve := int64(n.cfg.Limits.Reserve)
	if reserve == 0 {
		reserve = -1
	}
	files := replica.StoreConfig{Roots: n.cfg.Files, Incoming: in("incoming"), Outbox: in("outbox"),
		Quarantine: in("quarantine"),
		Reserve:    reserve, Known: in("roots"), Shards: in("shards"), Fresh: in("fresh"),
		Asked: in("disks.json"), Kept: n.fileKept, Gone: n.fileGone}
	store, err := replica.OpenStore(files, n.cfg.FilesDisk(), n.log)
	if err != nil {
		return err
	}
	n.store = store
	if err := archive.DropReceived(in("incoming"), n.disk); err != nil {
		return err
	}
	kind := catalog.ReplicaKind(n.cfg.Replica.Kind)
	var sums *replica.Checksums
	if kind == catalog.Checksum {
		if sums, err = replica.OpenChecksums(in("checksums"), n.cfg.FilesDisk(), n.log); err != nil {
			return err
		}
	} else {
		memory := int(n.cfg.Limits.Memory >> 20 / 24)
		x, err := index.Open(index.Config{Dir: in("index"), MemoryMiB: memory, Disk: n.disk}, n.log)
		if err != nil {
			return err
		}
		n.closers = append(n.closers, x.Close)
		n.index = x
		room := func(ctx context.Context) bool { return n.room().Wait(ctx, in("index")) }
		n.indexer = lookup.NewIndexer(x, indexedFiles{store}, room, n.log)
	}
	name := catalog.ReplicaName(n.cfg.Replica.Name)
	others := replica.Remote{Self: n.id, Place: n.cfg.Replica.Place, Carrier: carrier{n.peer},
		View: n.raft.View, Alive: n.alive, Doubts: doubts}
	owed := &duties{self: n.id, replica: name, kind: kind, auditEvery: time.Duration(n.cfg.Limits.AuditEvery),
		view: n.raft.View, alive: n.isAlive, clocks: n.clocks, bell: n.bell,
		news: n.raft.Keys(catalog.PrefixFiles)}
	n.closers = append(n.closers, func() error { owed.news.Close(); return nil })
	n.replica, err = replica.New(replica.Config{
		Self: n.id, Replica: name, Audits: in("audits"),
		Bandwidth: int64(n.cfg.Limits.Bandwidth), Giving: int64(n.cfg.Limits.Giving),
		AuditRate: int64(n.cfg.Limits.AuditPace), PresenceEvery: time.Duration(n.cfg.Limits.Presence),
		Challenges: n.cfg.Limits.Challenges,
		AuditHours: n.cfg.Limits.AuditHours.Has, DiskGrace: time.Duration(n.cfg.Limits.DiskGrace),
	}, store, sums, others, replicaCatalog{n.raft, n.id, name, n.bell}, owed, n.log)
	n.health = &archive.Health{Self: n.id, Outbox: in("outbox"), Store: n.store, Replica: n.replica,
		View: n.raft.View, Alive: n.alive, Clock: n.clocks.Duty, Log: n.log,
		More: func(v catalog.View) ([]alert.Alert, error) { return membership.Unlisted(n.cfg.File, v) }}
	return err
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

// vaultConfig returns the settings of the node's vault.
func (n *Node) vaultConfig() (vault.Config, error) {
	id, err := n.cfg.OwnIdentity()
	if err != nil {
		return vault.Config{}, err
	}
	key, err := n.cfg.SealKey(n.disk)
	if err != nil {
		return vault.Config{}, err
	}
	only := make([]catalog.NodeID, len(n.cfg.SecretsTo))
	for i, id := range n.cfg.SecretsTo {
		only[i] = catalog.NodeID(id)
	}
	return vault.Config{Self: n.id, Crawls: n.cfg.Limits.Crawls > 0, Only: only, Key: key,
		Proved: *membership.ProveKey(id, key),
		Agree:  n.raft, NoQuorum: raft.ErrNoQuorum, NotPurged: raft.ErrNotPurged,
		Alive: n.isAlive, Local: n.token.Access, Log: n.log.With("room", "vault")}, nil
}

func (n *Node) openWarrants() error {
	id, err := n.cfg.OwnIdentity()
	if err != nil {
		return err
	}
	n.warrants = warrant.Warrants{Self: n.id, View: n.raft.View, Now: time.Now, Own: n.token.Text,
		Trusts: func(m catalog.Member) (catalog.Role, bool) { return n.cfg.LocalRole(m.Name) }}
	propose := func(ctx context.Context, kind catalog.Kind, body any) error {
		_, err := n.raft.Propose(ctx, kind, body, string(n.id))
		return err
	}
	n.warrants.Uses = &warrant.Uses{View: n.raft.View, Now: time.Now, Log: n.log, Propose: propose}
	n.sessions = session.New(session.Config{Self: n.id, Key: id.Key, View: n.raft.View,
		Local: func(v catalog.View, id catalog.NodeID) (catalog.AccessToken, error) {
			if id == n.id {
				return n.token.Access()
			}
			return n.warrants.LocalOf(v, id)
		},
		Pages:   func() error { return servesPages(front.OriginsOf(n.cfg.Config)) },
		Propose: refusing(n.agreed()), Used: n.warrants.Uses.Note, Now: time.Now, Log: n.log.With("room", "session")})
	n.warrants.Session = n.sessions.Of
	return nil
}

// refusing has commands decided, and takes a refusal for an error.
func refusing(a agreed) session.Propose {
	return func(ctx context.Context, kind catalog.Kind, body any, actor string) error {
		result, err := a.Propose(ctx, kind, body, actor)
		if err == nil && result.Refusal != nil {
			err = result.Refusal
		}
		return err
	}
}

func (n *Node) openRunner() {
	n.crawls = runner.New(runner.Config{Self: n.id, Name: n.cfg.Name, Version: Version(), Data: n.cfg.Data,
		Origin: runner.Origin{Organization: n.cfg.Organization, Address: n.cfg.Address(),
			Definition: definitions{n.harvester}.find},
		Slots: n.cfg.Limits.Crawls, Lease: time.Duration(n.cfg.Limits.Lease), Disk: n.disk, Log: n.log,
		Agreement: n.raft, Archive: harvested{n.store, n.replica, n.log}, Insist: n.agreed().insist,
		Silent: func() time.Duration { silent, _ := n.raft.Heard(); return silent },
		Room:   func() (int64, error) { return n.room().Left(n.cfg.Data) },
		Able:   crawler.Able, Channels: n.cfg.Channels,
		Open: n.vault.Open, Stale: n.vault.Stale, Captures: n.captures, Records: replayRecords{n.replica},
		Documents: n.documents, Caller: carrier{n.peer}, Alive: n.alive, News: n.changed.C})
}

// replayHandler is the handler of the access port.
func (n *Node) replayHandler(offered *words.Offer) (*replay.Handler, error) {
	incoming := filepath.Join(n.cfg.Data, "incoming")
	cfg := replay.Config{Title: n.roster.Known().Cluster.Name, Spool: incoming, SpoolRoom: func(size int64) bool {
		left, err := n.room().Left(incoming)
		return err == nil && left >= size
	}, Languages: offered}
	return replay.New(cfg, n.captures, replayRecords{n.replica}, n.log)
}
