package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/harvest"
	"holdfast/node/agreed"
	"holdfast/node/archive"
	"holdfast/node/front"
	"holdfast/node/harvester"
	"holdfast/node/ledgers"
	"holdfast/node/lookup"
	"holdfast/node/membership"
	"holdfast/node/pages"
	"holdfast/node/runner"
	"holdfast/node/soundness"
	"holdfast/node/vault"
	"holdfast/replica"
)

// backend is the node as the API sees it.
func (n *Node) backend() api.Backend {
	state, cluster := n.agreed(), n.cluster()
	var now func() time.Time
	if n.cfg.Dates != nil { // else the API asks this machine
		now = dates(n.cfg.Dates, n.clocks)
	}
	return api.Backend{
		Catalog: state, Alerts: alertsOf(n), Notices: n.hooks, Archive: n.files(),
		Losses: archive.Losses{Cluster: cluster}, Self: n, Strays: archive.Strays{Cluster: cluster},
		Proofs: api.Proofs{Audits: archive.Audits{Cluster: cluster, Name: n.cfg.Name},
			Ledgers: ledgers.Nodes{Ledgers: n.ledgers}, Backups: n.backups,
			Checks: soundness.Nodes{Checks: n.sound}},
		OwnDisks: archive.Disks{Own: n.replica.Disks, Log: n.log}, Crawls: n.jobs(), Ended: n.jobs(),
		Secrets:  secrets{n.vault},
		Captures: lookup.Arranged{Captures: n.captures}, Index: n.indexes(),
		Invites: invites{n.member(), state.Propose},
		Ingests: n.ingests, Previews: harvester.Previews{Harvester: n.harvester}, Indexes: jobIndexesOf(n),
		Sessions: pages.Links{Sessions: n.sessions,
			Origins: func() front.Origins { return front.OriginsOf(n.cfg.Config) }},
		OfNodes: api.OfNodes{Logs: booksOf(n), Figures: figuresOfAll(n)},
		Batches: batchesOf(n),
		Local:   n.token.Access, Node: n.id, Used: n.warrants.Uses.Note, Now: now,
	}
}

// agreed returns the agreed state as the rooms see it.
func (n *Node) agreed() agreed.State {
	return agreed.State{Consensus: n.raft, Room: n.raft.Room, Self: n.id, Log: n.log}
}

// cluster returns what acts on the archive's files on all nodes need.
func (n *Node) cluster() archive.Cluster {
	return archive.Cluster{Self: n.id, Catalog: n.agreed(), Ask: n.warrants.Caller(carrier{n.peer}),
		Own: n.answers(), Log: n.log}
}

// answers returns what answers other nodes about this node's replica.
func (n *Node) answers() replica.Answers {
	return replica.Answers{Replica: n.replica, Name: n.cfg.Name}
}

// files returns what puts and gets files.
func (n *Node) files() archive.Files {
	incoming := filepath.Join(n.cfg.Data, "incoming")
	return archive.Files{Cluster: n.cluster(), Incoming: incoming,
		Room: func() (int64, error) { return n.room().Left(incoming) }}
}

// room is what may be written to this node's disks.
func (n *Node) room() archive.Room {
	return archive.Room{Disk: n.disk, Reserve: int64(n.cfg.Limits.Reserve)}
}

// space returns what this node's disks for files have.
func (n *Node) space() archive.Space {
	s := archive.Space{Disk: n.disk, Folders: n.cfg.Files, Reserve: uint64(n.cfg.Limits.Reserve)}
	if n.replica != nil {
		s.Own, s.Mounted = n.replica.Disks, n.store.Mounted
	}
	return s
}

// jobs returns what tells how jobs stand on all nodes.
func (n *Node) jobs() runner.Nodes {
	members := func() []catalog.Member { return n.roster.Known().Members }
	return runner.Nodes{Self: n.id, Own: n.crawls, Members: members, Ask: n.warrants.Caller(carrier{n.peer}),
		Open: carrier{n.peer}.Open, Token: n.warrants.Of}
}

// indexes returns what tells how the indexes of all nodes stand.
func (n *Node) indexes() lookup.Indexes {
	members := func() []catalog.Member { return n.roster.Known().Members }
	return lookup.Indexes{Self: n.id, Name: n.cfg.Name, Own: n.indexer, Members: members,
		Ask: n.warrants.Caller(carrier{n.peer}), Log: n.log}
}

// invites makes join tokens for the API.
type invites struct {
	member  membership.Member
	propose membership.Propose
}

// Create agrees on a token and returns its text.
func (i invites) Create(ctx context.Context, replica catalog.ReplicaName, lifetime time.Duration,
	actor string) (string, catalog.JoinToken, error) {
	return i.member.Invite(ctx, i.propose, replica, lifetime, actor)
}

// secrets are the vault as the API sees it.
type secrets struct{ vault *vault.Vault }

// Seal parts a job from its secrets and seals these.
func (s secrets) Seal(job harvest.Job) (harvest.Job, *catalog.Secret, error) {
	open, sealed, err := s.vault.Seal(job)
	if errors.Is(err, vault.ErrNobodyOpens) {
		err = fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return open, sealed, err
}
