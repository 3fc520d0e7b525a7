// Package status says how a node is: its state, with what a person should look at, which members it hears of, and its
// figures. Of the other members it asks what they see.
package status

import (
	"context"
	"maps"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/node/config"
	"holdfast/node/front"
)

// Consensus is how a node takes part in decisions.
type Consensus struct {
	Role     string         // leader, or its part
	Leader   catalog.NodeID // as this node knows
	Quorum   bool           // a leader was heard just now
	Contact  time.Duration  // since a leader was heard
	Term     uint64         // 0: it takes no part yet
	Applied  uint64
	Commit   uint64
	Voters   []catalog.NodeID
	LogBytes int64
}

// Config is what a Node is told of the other rooms. All functions answer at once: none asks another node.
type Config struct {
	Self      catalog.NodeID
	Name      string // of the node
	Version   string // of the program
	Started   time.Time
	Ready     func() bool
	Lease     time.Duration // after so long without a word a node's jobs are taken from it
	Listen    func() api.Listen
	Settings  func() any // without secrets, encodes to JSON
	View      func(func(catalog.View) error) error
	Consensus func() Consensus
	Members   func() []catalog.Member
	Heard     func() map[catalog.NodeID]api.Presence // what gossip says of each node, who votes left out
	Running   func() []uint64                        // jobs that crawl here
	Refused   func() map[string]uint64               // connections since the start, by reason
	Disks     func() ([]api.Disk, *api.DiskMove, []alert.Alert)
	Outbox    func() (files int, err error)
	Backup    func() *api.BackupState // that the node makes by itself; nil if it makes none
	Alerts    []func() []alert.Alert  // of the rooms, in the order in which they are shown
}

// Node tells the state of this node. It is safe for concurrent use.
type Node struct {
	cfg Config

	mu    sync.Mutex
	since alert.Watch // since when there are alerts
}

// New returns a node of which no alert was seen yet.
func New(cfg Config) *Node { return &Node{cfg: cfg} }

// Config returns the node's settings.
func (n *Node) Config() any { return n.cfg.Settings() }

// Status returns this node's state; it asks no other node.
func (n *Node) Status(context.Context) api.NodeStatus {
	is, refused := n.cfg.Consensus(), maps.Clone(n.cfg.Refused())
	maps.DeleteFunc(refused, func(_ string, count uint64) bool { return count == 0 })
	out := api.NodeStatus{Presence: n.presence(is.Voters), Lease: n.cfg.Lease}
	out.NodeStatus = wire.NodeStatus{
		ID: string(n.cfg.Self), Name: n.cfg.Name, Version: n.cfg.Version, Started: n.cfg.Started,
		Ready: n.cfg.Ready(), Role: is.Role, Quorum: is.Quorum, Leader: string(is.Leader), Term: is.Term,
		Applied: is.Applied, Listen: n.cfg.Listen(), Running: n.cfg.Running(), Refused: refused,
		Backup: n.cfg.Backup(),
	}
	out.Disks, out.DiskMove, out.Alerts = n.cfg.Disks()
	for _, of := range n.cfg.Alerts {
		out.Alerts = append(out.Alerts, of()...)
	}
	out.Outbox, _ = n.cfg.Outbox() // what keeps it from being listed is told among the figures
	out.Alerts = n.see(time.Now(), out.Alerts)
	out.Problems = alert.Texts(out.Alerts)
	return out
}

// see notes since when there are the alerts.
func (n *Node) see(now time.Time, all []alert.Alert) []alert.Alert {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.since.See(now, all)
}

// presence says of each member whether it is there, as this node hears.
func (n *Node) presence(voters []catalog.NodeID) map[catalog.NodeID]api.Presence {
	votes := map[catalog.NodeID]bool{}
	for _, v := range voters {
		votes[v] = true
	}
	heard, out := n.cfg.Heard(), map[catalog.NodeID]api.Presence{}
	for _, m := range n.cfg.Members() {
		p := heard[m.ID]
		if p.State == "" {
			p.State = Unknown
		}
		p.Voter = votes[m.ID]
		out[m.ID] = p
	}
	me := out[n.cfg.Self]
	me.State, me.Version, me.Jobs, me.LastHeard = "alive", n.cfg.Version, len(n.cfg.Running()), time.Now()
	out[n.cfg.Self] = me
	return out
}

// Unknown is the state of a member of which gossip says nothing.
const Unknown = "unknown"

// Settings returns what a node runs with, without secrets.
func Settings(c config.Config) any {
	at := front.OriginsOf(c)
	return map[string]any{
		"name": c.Name, "replica": c.Replica.Name, "kind": c.Replica.Kind, "place": c.Replica.Place,
		"data": c.Data, "files": c.Files,
		"peer": c.Listen.Peer, "api": c.Listen.API, "access": c.Listen.Access, "profile": c.File.Profile,
		"pages-url": at.Pages.String(), "access-url": at.Captures.String(),
		"limits": c.Limits, "channels": c.Channels,
	}
}
