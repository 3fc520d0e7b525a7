package node

import (
	"context"
	"errors"
	"runtime"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/catalog/jobs"
	"holdfast/gossip"
	"holdfast/node/metrics"
	"holdfast/raft"
	"holdfast/replica"
)

// figuresOf returns the parts of a node's figures. Each reads a bounded number of things, however much the archive has.
func figuresOf(n *Node) []metrics.Part {
	parts := []metrics.Part{
		metrics.Known("node", func() metrics.Node {
			r := n.cfg.Replica
			return metrics.Node{Name: n.cfg.Name, Replica: r.Name, Kind: r.Kind, Place: r.Place, Version: Version(),
				Go: runtime.Version(), Started: n.started, Ready: n.isReady()}
		}),
		metrics.Of("consensus", func() (metrics.Consensus, error) { return consensusOf(n.raft, n.id) }),
		metrics.Known("members", func() metrics.Members { return membersOf(n) }),
		metrics.Known("alerts", func() metrics.Alerts {
			out := metrics.Alerts{}
			for _, a := range n.Status(context.Background()).Alerts {
				out[metrics.Alert{Kind: string(a.Kind), Severity: string(a.Severity)}]++
			}
			return out
		}),
		metrics.Of("copies", func() (metrics.Copies, error) { return copiesIn(n.raft.View) }),
		metrics.Of("jobs", func() (metrics.Jobs, error) { return jobsIn(n.raft.View) }),
		metrics.Known("audits", func() metrics.Audits { return auditsOf(n.replica.Audits()) }),
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
		parts = append(parts, metrics.Of("disk "+root, func() (metrics.Disk, error) { return diskAt(n, root) }))
	}
	return parts
}

func consensusOf(r *raft.Node, self catalog.NodeID) (metrics.Consensus, error) {
	s := r.Status()
	out := metrics.Consensus{Role: roleOf(s, self), Quorum: s.Quorum, Contact: s.LastContact, Term: s.Term,
		Applied: s.Applied, Commit: s.Commit, Voters: len(s.Voters), LogBytes: s.LogBytes}
	for _, role := range []raft.Role{raft.Leader, raft.Follower, raft.Candidacy, raft.NonVoter, raft.Outside} {
		out.Roles = append(out.Roles, string(role))
	}
	err := r.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		out.ClusterLevel = cluster.Level
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		return err
	})
	return out, err
}

func membersOf(n *Node) metrics.Members {
	presence := map[catalog.NodeID]api.Presence{}
	n.presence(presence, raft.Status{})
	s := n.peer.Stats()
	out := metrics.Members{ByState: map[string]int{}, Skew: n.clocks.Skew(), Others: len(n.roster.Others()),
		Compared: n.clocks.Compared(), Connected: len(s.Links), Dials: s.Dials, DialFailures: s.DialFailures,
		Refusals: allRefusals(s), Sent: s.PacketsSent, Received: s.PacketsReceived, Dropped: s.PacketsDropped}
	for _, state := range []gossip.State{gossip.Alive, gossip.Suspected, gossip.Failed, gossip.Left, "unknown"} {
		out.States = append(out.States, string(state))
	}
	for _, p := range presence {
		out.ByState[p.State]++
	}
	return out
}

// copiesIn counts the copies of all replicas, of which the catalog keeps totals.
func copiesIn(view func(func(catalog.View) error) error) (out metrics.Copies, err error) {
	err = view(func(v catalog.View) error {
		out = nil
		replicas, err := v.Replicas()
		if err != nil {
			return err
		}
		for _, r := range replicas {
			t, err := v.Totals(r.Name)
			if err != nil {
				return err
			}
			out = append(out, metrics.Replica{Name: string(r.Name), Files: t.Files, Bytes: t.Bytes, Verified: t.Good,
				Owed: t.Owed, Disputed: t.Disputed})
		}
		return nil
	})
	return out, err
}

// jobsIn counts the jobs by state, of which the catalog keeps count.
func jobsIn(view func(func(catalog.View) error) error) (metrics.Jobs, error) {
	out := metrics.Jobs{ByState: map[string]int{}}
	for _, state := range jobs.States() {
		out.States = append(out.States, string(state))
	}
	err := view(func(v catalog.View) error {
		if _, err := v.Cluster(); errors.Is(err, catalog.ErrNotFound) {
			return errors.New("this node has not received the catalog yet")
		} else if err != nil {
			return err
		}
		all, err := v.Counts()
		for state, count := range all {
			out.ByState[string(state)] = count
		}
		return err
	})
	return out, err
}

func auditsOf(all []replica.Audit) (out metrics.Audits) {
	for _, a := range all {
		switch {
		case a.State == replica.AuditRunning:
			out.Running++
		case a.Proves() && a.State.Ended() && a.State != replica.AuditStopped && a.Ended.After(out.Last.Ended):
			out.Last = metrics.Audit{Ended: a.Ended, Complete: a.State == replica.AuditDone, Files: a.Files,
				Missing: a.Missing, Corrupt: a.Corrupt, Relisted: a.Relisted, Unknowns: a.Unknowns}
		}
	}
	return out
}

// diskAt returns the room on a disk of files, nothing for one that was taken out.
func diskAt(n *Node, root string) (metrics.Disk, error) {
	free, size, gone, err := n.space().Of(root)
	if gone || err != nil {
		return metrics.Disk{}, err
	}
	return metrics.Disk{Root: root, Size: int64(size), Free: int64(free), Reserve: int64(n.cfg.Limits.Reserve)}, nil
}
