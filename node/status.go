package node

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/gossip"
	"holdfast/node/archive"
	"holdfast/node/front"
	"holdfast/node/membership"
	"holdfast/node/steward"
	"holdfast/peer"
	"holdfast/raft"
)

// Version is the program's version as the build knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}

// Config returns the node's settings.
func (n *Node) Config() any {
	c := n.cfg
	at := front.OriginsOf(c.Config)
	return map[string]any{
		"name": c.Name, "replica": c.Replica.Name, "kind": c.Replica.Kind, "place": c.Replica.Place,
		"data": c.Data, "files": c.Files,
		"peer": c.Listen.Peer, "api": c.Listen.API, "access": c.Listen.Access, "profile": c.File.Profile,
		"pages-url": at.Pages.String(), "access-url": at.Captures.String(),
		"limits": c.Limits, "channels": c.Channels,
	}
}

// Status returns this node's state; it asks no other node.
func (n *Node) Status(context.Context) api.NodeStatus {
	r := n.raft.Status()
	out := api.NodeStatus{Presence: map[catalog.NodeID]api.Presence{},
		Lease: time.Duration(n.cfg.Limits.Lease) + steward.LoseMargin}
	out.NodeStatus = wire.NodeStatus{
		ID: string(n.id), Name: n.cfg.Name, Version: Version(), Started: n.started, Ready: n.isReady(),
		Role: roleOf(r, n.id), Quorum: r.Quorum,
		Leader: string(r.Leader), Term: r.Term, Applied: r.Applied,
		Listen:  api.Listen{Peer: n.peer.Addr().String(), API: n.cfg.Listen.API, Access: n.cfg.Listen.Access},
		Running: n.crawls.List(), Refused: refusals(n.peer.Stats()),
	}
	for _, path := range n.cfg.Files {
		if n.replica.Disks.TakenAway(path) {
			continue
		}
		if n.replica.Disks.Mounted(path) != nil {
			continue // its mount point's disk is another one; that it is gone is said elsewhere
		}
		free, total, err := n.disk.Free(path)
		if err != nil && !n.replica.Disks.Takes(path) && n.store.Mounted() == nil {
			continue // it was emptied, and taken away
		}
		if err != nil {
			out.Alerts = append(out.Alerts, alert.New(alert.DiskUnreadable, path, "reason", err.Error()))
			continue
		}
		out.Disks = append(out.Disks, api.Disk{Path: path, Free: int64(free), Total: int64(total)})
		if free < uint64(n.cfg.Limits.Reserve) {
			out.Alerts = append(out.Alerts, alert.New(alert.DiskLow, path, "bytes", alert.Number(free)))
		}
	}
	if report, err := n.replica.Disks.Report(); err == nil {
		out.Alerts = append(out.Alerts, archive.Ailing(report)...)
		out.DiskMove = archive.Shown(report).Move
	}
	if err := n.raft.Room(); err != nil {
		out.Alerts = append(out.Alerts, alert.New(alert.NoRoom, "", "reason", err.Error()))
	}
	if off := n.clocks.Skew(); off.Abs() > membership.MaxSkew {
		out.Alerts = append(out.Alerts, alert.New(alert.ClockOff, "", "ahead", off.Round(time.Second).String()))
	}
	if n.indexer != nil {
		if failed := n.indexer.Status().Failed; len(failed) > 0 {
			out.Alerts = append(out.Alerts, alert.New(alert.FilesNotIndexed, "", "files", alert.Number(len(failed))))
		}
	}
	if at := front.OriginsOf(n.cfg.Config); at.Shared() {
		out.Alerts = append(out.Alerts, alert.New(alert.SharedHost, at.Pages.Host, "pages", at.Pages.String(),
			"access", at.Captures.String()))
	}
	health, outbox := n.health.Look()
	out.Outbox = outbox
	out.Alerts = n.seen.see(time.Now(), slices.Concat(out.Alerts, n.crawls.Alerts(), n.vault.Alerts(),
		n.harvester.Alerts(), health, n.refusals.Alerts(n.roster.NameOf), n.notices.Alerts(), n.backups.Alerts()))
	out.Problems = alert.Texts(out.Alerts)
	n.presence(out.Presence, r)
	return out
}

// refusals counts the connections that this node refused, by reason.
func refusals(s peer.Stats) map[string]uint64 {
	out := allRefusals(s)
	maps.DeleteFunc(out, func(_ string, count uint64) bool { return count == 0 })
	return out
}

// allRefusals is refusals with each reason that there is.
func allRefusals(s peer.Stats) map[string]uint64 {
	return map[string]uint64{"strangers": s.RefusedStrangers, "removed": s.RefusedRemoved,
		"clusters": s.RefusedOtherCluster,
		"epochs":   s.RefusedEpoch, "malformed": s.RefusedMalformed, "busy": s.RefusedBusy, "joins": s.JoinsRefused,
		"unknown-tokens": s.TokensUnknown, "expired-tokens": s.TokensExpired, "used-tokens": s.TokensUsed}
}

func (n *Node) presence(out map[catalog.NodeID]api.Presence, r raft.Status) {
	voters := map[catalog.NodeID]bool{}
	for _, v := range r.Voters {
		voters[v] = true
	}
	for _, m := range n.roster.Known().Members {
		out[m.ID] = api.Presence{State: "unknown", Voter: voters[m.ID]}
	}
	for _, f := range n.gossip.Nodes() {
		id := catalog.NodeID(f.Facts.ID)
		if _, member := out[id]; !member {
			continue
		}
		out[id] = api.Presence{State: string(f.State), Voter: voters[id], Version: f.Facts.Version,
			Free: int64(f.Facts.Free), Jobs: f.Facts.Jobs}
	}
	me := out[n.id]
	me.State, me.Version, me.Jobs, me.LastHeard = "alive", Version(), len(n.crawls.List()), time.Now()
	out[n.id] = me
}

func roleOf(r raft.Status, id catalog.NodeID) string {
	if r.Leader == id {
		return "leader"
	}
	return string(r.Role)
}

// facts is what this node tells the others by gossip.
func (n *Node) facts() gossip.Facts {
	f := gossip.Facts{ID: string(n.id), Name: n.cfg.Name, Replica: n.cfg.Replica.Name, Place: n.cfg.Replica.Place,
		Addresses: n.cfg.Table.Addresses, Version: Version()}
	if n.crawls != nil {
		f.Jobs = len(n.crawls.List())
	}
	if n.raft != nil {
		f.Raft = string(n.raft.Status().Leader)
		if s, err := n.raft.Standing(); err == nil {
			f.Standing = gossip.Standing(s)
		}
	}
	paths := slices.DeleteFunc(slices.Clone(n.cfg.Files), func(path string) bool {
		return n.replica != nil && !n.replica.Disks.Takes(path)
	})
	if n.replica != nil {
		shards, next := n.replica.Disks.Lacking(gossip.MaxLacking)
		f.Lacking.Shards = shards
		for _, s := range next {
			f.Lacking.Next = append(f.Lacking.Next, uint16(s))
		}
	}
	f.Free, f.Total = n.disk.Room(paths, uint64(n.cfg.Limits.Reserve))
	return f
}
