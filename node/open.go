package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/gossip"
	"holdfast/index"
	"holdfast/node/agreed"
	"holdfast/node/archive"
	"holdfast/node/backups"
	"holdfast/node/config"
	"holdfast/node/ledgers"
	"holdfast/node/logbook"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/owed"
	"holdfast/node/policy"
	"holdfast/node/soundness"
	"holdfast/peer"
	"holdfast/raft"
	"holdfast/replica"
)

// logRoom is what the log leaves free on its disk: more than the databases need to go on.
const logRoom = 192 << 20

// openLog opens the node's log, which passes on to the program's.
func (n *Node) openLog(program *slog.Logger) {
	var level slog.Level
	_ = level.UnmarshalText([]byte(n.cfg.Limits.LogLevel))      // it was checked
	if program.Enabled(context.Background(), slog.LevelDebug) { // as with --verbose
		level = slog.LevelDebug
	}
	n.book = logbook.Open(logbook.Config{Node: n.cfg.Name, Dir: filepath.Join(n.cfg.Data, "log"), Level: level,
		JSON: n.cfg.Limits.LogFormat == "json", Size: int64(n.cfg.Limits.LogSize), Files: n.cfg.Limits.LogFiles,
		Least: logRoom, Disk: n.disk, Out: program.Handler()})
	n.log = slog.New(n.book.Handler())
	n.closers = append(n.closers, n.book.Close)
}

// openPeer opens what connects this node to the others.
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

// openState opens the agreed state, and the gossip.
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
	if err := membership.CheckLevel(n.raft.View, catalog.Level, Version()); err != nil {
		return err
	}
	n.agreed = agreed.State{Consensus: n.raft, Room: n.raft.Room, Self: n.id, Log: n.log}
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

// storeConfig says where a node's files lie.
func storeConfig(cfg config.Config) replica.StoreConfig {
	in := func(name string) string { return filepath.Join(cfg.Data, name) }
	reserve := int64(cfg.Limits.Reserve)
	if reserve == 0 {
		reserve = -1
	}
	return replica.StoreConfig{Roots: cfg.Files, Incoming: in("incoming"), Outbox: in("outbox"),
		Quarantine: in("quarantine"), Reserve: reserve, Known: in("roots"), Shards: in("shards"), Fresh: in("fresh"),
		Asked: in("disks.json")}
}

// openReplica opens the node's part of the archive, and what finds captures in the whole.
func (n *Node) openReplica() error {
	doubts := lookup.NewDoubts()
	in := func(name string) string { return filepath.Join(n.cfg.Data, name) }
	files := storeConfig(n.cfg.Config)
	files.Kept = func(name catalog.FileName) {
		if n.indexer != nil {
			n.indexer.Stored(name)
		}
	}
	files.Gone = func(name catalog.FileName) {
		if n.indexer != nil {
			n.indexer.Gone(name)
		}
	}
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
		room := func(ctx context.Context) bool { return n.room.Wait(ctx, in("index")) }
		n.indexer = lookup.NewIndexer(x, archive.Indexed{Store: store}, room, n.log)
	}
	name := catalog.ReplicaName(n.cfg.Replica.Name)
	others := replica.Remote{Self: n.id, Place: n.cfg.Replica.Place, Carrier: carrier{n.peer},
		View: n.raft.View, Alive: n.alive, Doubts: doubts}
	news := n.raft.Keys(catalog.PrefixFiles)
	n.closers = append(n.closers, func() error { news.Close(); return nil })
	duties := owed.New(owed.Config{Self: n.id, Replica: name, Kind: kind,
		AuditEvery: time.Duration(n.cfg.Limits.AuditEvery), View: n.raft.View, Alive: n.isAlive, Clocks: n.clocks,
		Bell: n.bell, News: news})
	watched := owed.Catalog{Agreement: n.raft, Self: n.id, Replica: name, Bell: n.bell,
		Changes: func(prefixes ...string) (<-chan struct{}, func()) {
			w := n.raft.Watch(prefixes...)
			return w.C, w.Close
		}}
	n.replica, err = replica.New(replica.Config{
		Self: n.id, Replica: name, Audits: in("audits"),
		Bandwidth: int64(n.cfg.Limits.Bandwidth), Giving: int64(n.cfg.Limits.Giving),
		AuditRate: int64(n.cfg.Limits.AuditPace), PresenceEvery: time.Duration(n.cfg.Limits.Presence),
		Challenges: n.cfg.Limits.Challenges,
		AuditHours: n.cfg.Limits.AuditHours.Has, DiskGrace: time.Duration(n.cfg.Limits.DiskGrace),
		Way: wayOf(n.traces),
	}, store, sums, others, watched, duties, n.log)
	if err != nil {
		return err
	}
	n.answers = replica.Answers{Replica: n.replica, Name: n.cfg.Name}
	n.health = &archive.Health{Self: n.id, Outbox: in("outbox"), Store: n.store, Replica: n.replica,
		View: n.raft.View, Alive: n.alive, Clock: n.clocks.Duty, Log: n.log,
		More: func(v catalog.View) ([]alert.Alert, error) { return membership.Unlisted(n.cfg.File, v) }}
	n.captures = lookup.New(lookup.Config{Self: n.id, Place: n.cfg.Replica.Place, Indexer: n.indexer, Doubts: doubts,
		Catalog: n.raft, Carrier: carrier{n.peer}, Alive: n.alive, Log: n.log})
	n.policy = policy.New(policy.Config{Agreement: n.raft, File: in("access-confirmed"), Disk: n.disk,
		Age: time.Duration(n.cfg.Limits.AccessAge), Now: time.Now, Log: n.log.With("room", "policy")})
	return nil
}

// openProving makes what looks whether the archive and the catalog are as they were.
func (n *Node) openProving() error {
	if err := n.openLedgers(); err != nil {
		return err
	}
	n.sound = soundness.New(soundness.Config{Self: n.id, View: n.raft.View, Linear: n.agreed.Linear,
		Ask: n.warrants.Caller(carrier{n.peer}), Log: n.log.With("room", "soundness"),
		Pin: func(ctx context.Context, window time.Duration, most int) (map[uint64]soundness.Pinned, error) {
			all, err := n.raft.Boundaries(ctx, window, most)
			out := make(map[uint64]soundness.Pinned, len(all))
			for _, p := range all {
				out[p.Index] = p
			}
			return out, err
		}})
	return n.openBackups()
}

// openLedgers opens what makes the ledgers of this node's replica.
func (n *Node) openLedgers() (err error) {
	id, err := n.cfg.OwnIdentity()
	if err != nil {
		return err
	}
	bytes := ledgers.Bytes{List: n.store.List,
		Put: func(ctx context.Context, path string, as catalog.Addition) error {
			_, err := n.replica.Put(ctx, path, as, replica.Owned)
			return err
		},
		Open: func(ctx context.Context, name catalog.FileName) (io.ReadCloser, error) {
			return n.replica.OpenRange(ctx, name, 0, -1)
		}}
	n.ledgers, err = ledgers.New(ledgers.Config{Self: n.id, Replica: catalog.ReplicaName(n.cfg.Replica.Name),
		Key:   id.Key,
		Every: time.Duration(n.cfg.Limits.LedgerEvery), First: time.Hour,
		Dir: filepath.Join(n.cfg.Data, "ledgers"), Disk: n.disk,
		Agreement: n.agreed, Bytes: bytes, Call: carrier{n.peer}, Ask: n.warrants.Caller(carrier{n.peer}),
		Alive: n.alive, Now: n.clocks.Now, Log: n.log.With("room", "ledgers")})
	return err
}

// openBackups makes what backs up the catalog on this node.
func (n *Node) openBackups() error {
	var key []byte
	if text := n.cfg.Backups.Key; text != "" {
		var err error
		if key, err = backups.ParsePublic(text); err != nil {
			return fmt.Errorf("%w: backup-key: %w", config.ErrConfig, err)
		}
	}
	n.backups = backups.New(backups.Config{Self: n.id, Member: n.cfg.Name, Dir: n.cfg.Backups.Folder, Key: key,
		Every: time.Duration(n.cfg.Backups.Every), Keep: n.cfg.Backups.Keep, Disk: n.disk,
		Pin: func() (backups.Pinned, uint64, uint64, error) {
			p, err := n.raft.Pin()
			if err != nil {
				return nil, 0, 0, err
			}
			return p, p.Index, p.Term, nil
		},
		Cluster: func() string { return n.roster.Known().Cluster.ID }, Linear: n.agreed.Linear, Now: time.Now,
		Log: n.log.With("room", "backups")})
	return nil
}
