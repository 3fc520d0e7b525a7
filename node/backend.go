package node

import (
	"path/filepath"
	"time"

	"holdfast/api"
	"holdfast/batch"
	"holdfast/catalog"
	"holdfast/node/archive"
	"holdfast/node/batches"
	"holdfast/node/figures"
	"holdfast/node/front"
	"holdfast/node/harvester"
	"holdfast/node/layouts"
	"holdfast/node/ledgers"
	"holdfast/node/logbook"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/pages"
	"holdfast/node/policy"
	"holdfast/node/runner"
	"holdfast/node/soundness"
	"holdfast/node/status"
	"holdfast/node/vault"
	"holdfast/node/warrant"
)

// backend is the node as the API sees it.
func (n *Node) backend() api.Backend {
	cluster := n.cluster()
	var now func() time.Time
	if n.cfg.Dates != nil { // else the API asks this machine
		now = dates(n.cfg.Dates, n.clocks)
	}
	return api.Backend{
		Catalog: n.agreed, Alerts: n.alerts, Notices: n.hooks, Archive: n.files(),
		Losses: archive.Losses{Cluster: cluster}, Self: n.state, Strays: archive.Strays{Cluster: cluster},
		Proofs: api.Proofs{Audits: archive.Audits{Cluster: cluster, Name: n.cfg.Name},
			Ledgers: ledgers.Nodes{Ledgers: n.ledgers}, Backups: n.backups,
			Checks: soundness.Nodes{Checks: n.sound}},
		OwnDisks: archive.Disks{Own: n.replica.Disks, Log: n.log}, Crawls: n.jobs, Ended: n.jobs,
		Secrets: vault.Sealing{Vault: n.vault},
		Reading: api.Reading{Captures: lookup.Arranged{Captures: n.captures}, Policy: n.policy.InForce,
			Contents: policy.NewContents(n.files().Open)},
		Index:   n.indexes,
		Invites: membership.Invites{Member: n.member(), Propose: n.agreed.Propose},
		Ingests: n.ingests, Indexes: n.jobIndexes,
		Foresight: api.Foresight{Previews: harvester.Previews{Harvester: n.harvester},
			Layouts: layouts.Plans{Nodes: n.rooms, Limits: n.cfg.File.Bandwidths}},
		Sessions: pages.Links{Sessions: n.sessions,
			Origins: func() front.Origins { return front.OriginsOf(n.cfg.Config) }},
		OfNodes: api.OfNodes{Logs: n.books, Figures: n.overTime},
		Batches: n.allBatches,
		Local:   n.token.Access, Node: n.id, Used: n.warrants.Uses.Note, Now: now,
	}
}

// cluster returns what acts on the archive's files on all nodes need.
func (n *Node) cluster() archive.Cluster {
	return archive.Cluster{Self: n.id, Catalog: n.agreed, Ask: n.warrants.Caller(carrier{n.peer}),
		Own: n.answers, Log: n.log}
}

// files returns what puts and gets files.
func (n *Node) files() archive.Files {
	incoming := filepath.Join(n.cfg.Data, "incoming")
	return archive.Files{Cluster: n.cluster(), Incoming: incoming,
		Room: func() (int64, error) { return n.room.Left(incoming) }}
}

// space returns what this node's disks for files have.
func (n *Node) space() archive.Space {
	s := archive.Space{Disk: n.disk, Folders: n.cfg.Files, Reserve: uint64(n.cfg.Limits.Reserve)}
	if n.replica != nil {
		s.Own, s.Mounted = n.replica.Disks, n.store.Mounted
	}
	return s
}

// openAsking makes what asks all nodes, and answers the others.
func (n *Node) openAsking() {
	ask, members := n.warrants.Caller(carrier{n.peer}), func() []catalog.Member { return n.roster.Known().Members }
	n.jobs = runner.Nodes{Self: n.id, Own: n.crawls, Members: members, Ask: ask, Open: carrier{n.peer}.Open,
		Token: n.warrants.Of}
	n.indexes = lookup.Indexes{Self: n.id, Name: n.cfg.Name, Own: n.indexer, Members: members, Ask: ask, Log: n.log}
	n.allBatches = batches.All{Self: n.id, Own: n.batches, Table: batch.Programs(batch.Tools{}), View: n.raft.View,
		Ask: ask, Token: n.warrants.Of,
		Allowed: func(from catalog.NodeID, token string, act catalog.Act, where catalog.Where) error {
			_, err := n.warrants.Check(from, token, warrant.Deed{Act: act, Where: where})
			return err
		}}
	n.books = logbook.Books{Self: n.id, Name: n.roster.NameOf, Own: n.book, Ask: ask}
	n.overTime = figures.Nodes{Self: n.id, Name: n.roster.NameOf, Own: n.figures, Ask: ask}
	n.alerts = status.Nodes{Own: n.state, Ask: ask}
}
