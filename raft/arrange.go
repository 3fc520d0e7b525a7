package raft

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// nearly is how many entries a node may be behind to become a voter.
const nearly = 2048

// arranger lets the members take part in consensus, and the right ones of them vote.
type arranger struct {
	self     catalog.NodeID
	quorum   time.Duration                  // how long one change of the configuration may take
	grace    time.Duration                  // how long a voter may be lost before it is replaced
	alive    func() map[catalog.NodeID]bool // who gossip thinks is alive; nil: everyone
	members  func() ([]Candidate, error)    // by the agreed state
	state    *state
	forward  Forwarder
	contacts *contacts
	handover *handover
	log      *slog.Logger
}

// arrange changes Raft's configuration by one step towards what the members and their places demand.
func (a *arranger) arrange(ctx context.Context, r *hraft.Raft) error {
	members, err := a.members()
	if err != nil || len(members) == 0 {
		return err
	}
	conf := configurationOf(0, r.GetConfiguration().Configuration())
	if err := a.enrol(r, conf, members); err != nil {
		return err
	}
	for i := range members {
		c := &members[i]
		_, c.Voter = conf.has(c.ID)
		c.Lost = c.ID != a.self && a.contacts.since(c.ID) > a.grace
		c.Ready = c.ID == a.self || a.contacts.since(c.ID) == 0
	}
	now := votersOf(members)
	if slices.Equal(ChooseVoters(members), now) {
		return nil
	}
	known, ok := a.state.configured(configurationOf(0, r.GetConfiguration().Configuration()))
	if !ok {
		return nil // it is applied in a moment
	}
	a.askReady(ctx, members, known)
	return a.elect(r, now, ChooseVoters(members))
}

func votersOf(members []Candidate) []catalog.NodeID {
	return idsOf(slices.DeleteFunc(slices.Clone(members), func(c Candidate) bool { return !c.Voter }))
}

// enrol lets new members take part without a vote, and removes nodes that are no longer members.
func (a *arranger) enrol(r *hraft.Raft, conf configuration, members []Candidate) error {
	for _, c := range members {
		if in, _ := conf.has(c.ID); in {
			continue
		}
		a.log.Info("a member takes part in consensus", "node", c.ID)
		a.contacts.heard(c.ID) // it may have been silent as a member before, and nothing says when that ends
		if err := r.AddNonvoter(hraft.ServerID(c.ID), hraft.ServerAddress(c.ID), 0, a.quorum).Error(); err != nil {
			return fmt.Errorf("add %s: %w", c.ID, err)
		}
	}
	for _, s := range conf.Servers {
		if slices.ContainsFunc(members, func(c Candidate) bool { return c.ID == s.ID }) {
			continue
		}
		if s.ID == a.self {
			return a.yield(r)
		}
		a.log.Info("a removed member leaves consensus", "node", s.ID)
		if err := r.RemoveServer(hraft.ServerID(s.ID), 0, a.quorum).Error(); err != nil {
			return fmt.Errorf("remove %s: %w", s.ID, err)
		}
	}
	return nil
}

// yield gives the leadership to another voter, which then changes this node's part.
func (a *arranger) yield(r *hraft.Raft) error {
	if len(votersIn(r)) < 2 {
		return nil
	}
	if err := a.handover.resign(r); err != nil {
		return fmt.Errorf("hand over the leadership: %w", err)
	}
	return nil
}

// askReady asks the nodes that might become voters how far they are. A node is ready if it is not far behind and has
// the latest configuration, which came with the entry at known. The reason: a node refuses its vote to a node that is
// not in its configuration, and a new voter counts for the majority at once. A cluster with a voter that knows only
// an older configuration might never elect a leader.
func (a *arranger) askReady(ctx context.Context, members []Candidate, known uint64) {
	var alive map[catalog.NodeID]bool
	if a.alive != nil {
		alive = a.alive()
	}
	ctx, cancel := context.WithTimeout(ctx, a.quorum)
	defer cancel()
	goal := a.state.store().applied.Load()
	var all sync.WaitGroup
	for i := range members {
		c := &members[i]
		if c.Voter || !c.Ready || c.ID == a.self {
			continue
		}
		if alive != nil && !alive[c.ID] {
			c.Ready = false
			continue
		}
		all.Go(func() {
			response, err := a.forward.Call(ctx, c.ID, []byte{wireVersion, askApplied})
			if err != nil {
				c.Ready = false
				return
			}
			applied, err := decodeIndex(response)
			c.Ready = err == nil && applied+nearly >= goal && applied >= known
		})
	}
	all.Wait()
}

// elect makes the chosen nodes voters, and then only them.
func (a *arranger) elect(r *hraft.Raft, now, chosen []catalog.NodeID) error {
	for _, id := range chosen {
		if slices.Contains(now, id) {
			continue
		}
		a.log.Info("a member becomes a voter", "node", id)
		if err := r.AddVoter(hraft.ServerID(id), hraft.ServerAddress(id), 0, a.quorum).Error(); err != nil {
			return fmt.Errorf("make %s a voter: %w", id, err)
		}
	}
	for _, id := range now {
		if slices.Contains(chosen, id) {
			continue
		}
		if id == a.self {
			return a.yield(r)
		}
		a.log.Info("a member stops being a voter", "node", id)
		if err := r.DemoteVoter(hraft.ServerID(id), 0, a.quorum).Error(); err != nil {
			return fmt.Errorf("take the vote from %s: %w", id, err)
		}
	}
	return nil
}
