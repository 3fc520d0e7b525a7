package node

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/catalog"
	"holdfast/gossip"
	"holdfast/node/archive"
	"holdfast/node/figures"
	"holdfast/node/front"
	"holdfast/node/metrics"
	"holdfast/node/status"
	"holdfast/node/steward"
	"holdfast/peer"
	"holdfast/raft"
	"holdfast/replica"
)

// openStatus makes what tells how this node is.
func (n *Node) openStatus() {
	alerts := []func() []alert.Alert{
		func() []alert.Alert {
			if err := n.raft.Room(); err != nil {
				return []alert.Alert{alert.New(alert.NoRoom, "", "reason", err.Error())}
			}
			return nil
		},
		n.clocks.Alerts,
	}
	if n.indexer != nil {
		alerts = append(alerts, n.indexer.Alerts)
	}
	alerts = append(alerts,
		func() []alert.Alert { return front.OriginsOf(n.cfg.Config).Alerts() },
		func() []alert.Alert { return n.crawls.Alerts() },
		n.vault.Alerts, n.harvester.Alerts,
		func() []alert.Alert { health, _ := n.health.Look(); return health },
		func() []alert.Alert { return n.refusals.Alerts(n.roster.NameOf) },
		n.notices.Alerts, n.backups.Alerts, n.book.Alerts)
	n.state = status.New(status.Config{Self: n.id, Name: n.cfg.Name, Version: Version(), Started: n.started,
		Ready: n.isReady, Lease: time.Duration(n.cfg.Limits.Lease) + steward.LoseMargin,
		Listen: func() api.Listen {
			return api.Listen{Peer: n.peer.Addr().String(), API: n.cfg.Listen.API, Access: n.cfg.Listen.Access}
		},
		Settings: func() any { return status.Settings(n.cfg.Config) },
		View:     n.raft.View, Alerts: alerts,
		Consensus: func() status.Consensus { return consensusOf(n.raft.Status(), n.id) },
		Heard:     func() map[catalog.NodeID]api.Presence { return heard(n.gossip) },
		Members:   func() []catalog.Member { return n.roster.Known().Members },
		Running:   func() []uint64 { return n.crawls.List() },
		Refused:   func() map[string]uint64 { return refused(n.peer.Stats()) },
		Disks:     n.space().Look, Outbox: n.health.Waiting, Backup: n.backups.Scheduled})
}

// consensusOf is how a node takes part in decisions.
func consensusOf(s raft.Status, self catalog.NodeID) status.Consensus {
	out := status.Consensus{Role: string(s.Role), Leader: s.Leader, Quorum: s.Quorum, Contact: s.LastContact,
		Term: s.Term, Applied: s.Applied, Commit: s.Commit, Voters: s.Voters, LogBytes: s.LogBytes}
	if s.Leader == self {
		out.Role = string(raft.Leader)
	}
	return out
}

// refused counts the connections that this node refused, by each reason that there is.
func refused(s peer.Stats) map[string]uint64 {
	return map[string]uint64{"strangers": s.RefusedStrangers, "removed": s.RefusedRemoved,
		"clusters": s.RefusedOtherCluster,
		"epochs":   s.RefusedEpoch, "malformed": s.RefusedMalformed, "busy": s.RefusedBusy, "joins": s.JoinsRefused,
		"unknown-tokens": s.TokensUnknown, "expired-tokens": s.TokensExpired, "used-tokens": s.TokensUsed}
}

// metrics are the parts of this node's figures. Each reads a bounded number of things, however much the archive has.
func (n *Node) metrics() []metrics.Part {
	parts := []metrics.Part{
		metrics.Known("node", func() metrics.Node {
			r := n.cfg.Replica
			return metrics.Node{Name: n.cfg.Name, Replica: r.Name, Kind: r.Kind, Place: r.Place, Version: Version(),
				Go: runtime.Version(), Started: n.started, Ready: n.isReady()}
		}),
		metrics.Of("consensus", func() (metrics.Consensus, error) { return n.state.Consensus(roles()) }),
		metrics.Known("members", func() metrics.Members {
			s := n.peer.Stats()
			return metrics.Members{States: states(), ByState: n.state.ByState(), Skew: n.clocks.Skew(),
				Others: len(n.roster.Others()), Compared: n.clocks.Compared(), Connected: len(s.Links), Dials: s.Dials,
				DialFailures: s.DialFailures, Refusals: refused(s), Sent: s.PacketsSent, Received: s.PacketsReceived,
				Dropped: s.PacketsDropped}
		}),
		metrics.Known("alerts", func() metrics.Alerts { return n.state.Counted(context.Background()) }),
		metrics.Of("copies", n.state.Copies),
		metrics.Of("jobs", n.state.Jobs),
		metrics.Known("audits", func() metrics.Audits {
			running, a := archive.LastAudit(n.replica.Audits())
			return metrics.Audits{Running: running, Last: metrics.Audit{Ended: a.Ended,
				Complete: a.State == replica.AuditDone, Files: a.Files, Missing: a.Missing, Corrupt: a.Corrupt,
				Relisted: a.Relisted, Unknowns: a.Unknowns}}
		}),
		metrics.Of("outbox", func() (metrics.Outbox, error) {
			files, err := n.health.Waiting()
			return metrics.Outbox{Files: files}, err
		}),
		metrics.Known("crawls", func() metrics.Crawls {
			b := n.crawls.Tally.Brought()
			return metrics.Crawls{Running: len(n.crawls.List()), Slots: n.crawls.Slots(), Succeeded: b.Succeeded,
				Failed: b.Failed, Disregarded: b.Disregarded, Bytes: b.Bytes}
		}),
	}
	if n.indexer != nil {
		parts = append(parts, metrics.Known("index", func() metrics.Index {
			s := n.indexer.Status()
			return metrics.Index{Files: s.Files, Captures: s.Captures, Waiting: s.Waiting, Failed: len(s.Failed),
				Damaged: len(s.Damaged), Rebuilding: s.Building}
		}))
	}
	for _, root := range n.cfg.Files { // each by itself: one that does not answer keeps no other back
		parts = append(parts, metrics.Of("disk "+root, func() (metrics.Disk, error) {
			free, size, gone, err := n.space().Of(root)
			if gone || err != nil {
				return metrics.Disk{}, err
			}
			return metrics.Disk{Root: root, Size: int64(size), Free: int64(free),
				Reserve: int64(n.cfg.Limits.Reserve)}, nil
		}))
	}
	return parts
}

// roles are all that a node can have in consensus.
func roles() (out []string) {
	for _, role := range []raft.Role{raft.Leader, raft.Follower, raft.Candidacy, raft.NonVoter, raft.Outside} {
		out = append(out, string(role))
	}
	return out
}

// states are all that a member can be in, as gossip says, or does not.
func states() (out []string) {
	for _, state := range []gossip.State{gossip.Alive, gossip.Suspected, gossip.Failed, gossip.Left} {
		out = append(out, string(state))
	}
	return append(out, status.Unknown)
}

// openFigures opens what keeps this node's figures over time. Each source reads what the node counts anyway.
func (n *Node) openFigures() {
	brought := func(of func() int64) func() (float64, error) {
		return func() (float64, error) { return float64(of()), nil }
	}
	all := []figures.Source{
		{Name: "cpu", Unit: "cores", Rate: true, Read: figures.CPU},
		{Name: "memory", Unit: "bytes", Read: figures.Memory},
		{Name: "crawl-uris", Unit: "uris/s", Rate: true, Read: brought(func() int64 {
			b := n.crawls.Tally.Brought()
			return b.Succeeded + b.Failed + b.Disregarded
		})},
		{Name: "crawl-bytes", Unit: "bytes/s", Rate: true,
			Read: brought(func() int64 { return n.crawls.Tally.Brought().Bytes })},
		{Name: "outbox", Unit: "files", Read: func() (float64, error) {
			files, err := n.health.Waiting()
			return float64(files), err
		}},
		{Name: "raft-behind", Unit: "entries", Read: n.state.Behind},
		{Name: "connections", Unit: "connections",
			Read: brought(func() int64 { return int64(len(n.peer.Stats().Links)) })},
	}
	if n.indexer != nil {
		all = append(all, figures.Source{Name: "index-behind", Unit: "files",
			Read: brought(func() int64 { return int64(n.indexer.Status().Waiting) })})
	}
	for _, root := range n.cfg.Files {
		all = append(all, figures.Source{Name: "disk-free", Of: root, Unit: "bytes", Read: func() (float64, error) {
			free, _, gone, err := n.space().Of(root)
			if gone {
				err = errors.New("the disk was taken out")
			}
			return float64(free), err
		}})
	}
	n.figures = figures.New(figures.Config{Path: filepath.Join(n.cfg.Data, "figures"), Disk: n.disk, Least: logRoom,
		Sources: all, Log: n.log.With("room", "figures")})
}
