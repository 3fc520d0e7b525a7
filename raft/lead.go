package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// nearly is how many entries a node may be behind to become a voter.
const nearly = 2048

// lead does what the leader owes the cluster's consensus, while this node leads: members take part, removed nodes do
// not, and the right members vote. It prevents a candidate from blocking the election. It returns when ctx is done.
func (n *Node) lead(ctx context.Context, r *hraft.Raft, trans hraft.Transport) {
	ticker := time.NewTicker(n.timing.tick)
	defer ticker.Stop()
	complained := false
	candidate := limbo{wait: 2 * n.timing.election}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if _, leader := r.LeaderWithID(); candidate.lasts(r.State() == hraft.Candidate && leader != "") {
			n.freeOf(leader, trans)
		}
		if r.State() != hraft.Leader {
			complained = false
			continue
		}
		n.contacts.leads()
		if n.skewed(r, complained) || n.cramped(r, complained) {
			complained = true
			continue
		}
		if err := n.arrange(ctx, r); err != nil && ctx.Err() == nil && r.State() == hraft.Leader {
			n.log.Info("the voters could not be arranged yet", "error", err)
		}
	}
}

// skewed gives the leadership away when this node's clock is too far off, and reports whether it is.
func (n *Node) skewed(r *hraft.Raft, complained bool) bool {
	off := n.clock.off(r)
	if off == 0 {
		return false
	}
	if !complained {
		n.log.Error("this node's clock is off: it does not lead", "by", off)
	}
	if err := n.resign(r); err != nil {
		n.log.Info("the leadership could not be handed over yet", "error", err)
	}
	return true
}

// arrange changes Raft's configuration by one step towards what the members and their places demand.
func (n *Node) arrange(ctx context.Context, r *hraft.Raft) error {
	var members []Candidate
	err := n.state.view(func(v reader) (err error) {
		members, err = n.machine.Members(v)
		return err
	})
	if err != nil || len(members) == 0 {
		return err
	}
	conf := configurationOf(0, r.GetConfiguration().Configuration())
	if err := n.enrol(r, conf, members); err != nil {
		return err
	}
	for i := range members {
		c := &members[i]
		_, c.Voter = conf.has(c.ID)
		c.Lost = c.ID != n.cfg.Self && n.contacts.since(c.ID) > n.cfg.Grace
		c.Ready = c.ID == n.cfg.Self || n.contacts.since(c.ID) == 0
	}
	now := votersOf(members)
	if slices.Equal(ChooseVoters(members), now) {
		return nil
	}
	known, ok := n.state.configured(configurationOf(0, r.GetConfiguration().Configuration()))
	if !ok {
		return nil // it is applied in a moment
	}
	n.askReady(ctx, members, known)
	return n.elect(r, now, ChooseVoters(members))
}

func votersOf(members []Candidate) []catalog.NodeID {
	return idsOf(slices.DeleteFunc(slices.Clone(members), func(c Candidate) bool { return !c.Voter }))
}

// enrol lets new members take part without a vote, and removes nodes that are no longer members.
func (n *Node) enrol(r *hraft.Raft, conf configuration, members []Candidate) error {
	for _, c := range members {
		if in, _ := conf.has(c.ID); in {
			continue
		}
		n.log.Info("a member takes part in consensus", "node", c.ID)
		n.contacts.heard(c.ID) // it may have been silent as a member before, and nothing says when that ends
		if err := r.AddNonvoter(hraft.ServerID(c.ID), hraft.ServerAddress(c.ID), 0, n.timing.quorum).Error(); err != nil {
			return fmt.Errorf("add %s: %w", c.ID, err)
		}
	}
	for _, s := range conf.Servers {
		if slices.ContainsFunc(members, func(c Candidate) bool { return c.ID == s.ID }) {
			continue
		}
		if s.ID == n.cfg.Self {
			return n.yield(r)
		}
		n.log.Info("a removed member leaves consensus", "node", s.ID)
		if err := r.RemoveServer(hraft.ServerID(s.ID), 0, n.timing.quorum).Error(); err != nil {
			return fmt.Errorf("remove %s: %w", s.ID, err)
		}
	}
	return nil
}

// yield gives the leadership to another voter, which then changes this node's part.
func (n *Node) yield(r *hraft.Raft) error {
	if len(votersIn(r)) < 2 {
		return nil
	}
	if err := n.resign(r); err != nil {
		return fmt.Errorf("hand over the leadership: %w", err)
	}
	return nil
}

// askReady asks the nodes that might become voters how far they are. A node is ready if it is not far behind and has
// the latest configuration, which came with the entry at known. The reason: a node refuses its vote to a node that is
// not in its configuration, and a new voter counts for the majority at once. A cluster with a voter that knows only
// an older configuration might never elect a leader.
func (n *Node) askReady(ctx context.Context, members []Candidate, known uint64) {
	var alive map[catalog.NodeID]bool
	if n.cfg.Alive != nil {
		alive = n.cfg.Alive()
	}
	ctx, cancel := context.WithTimeout(ctx, n.timing.quorum)
	defer cancel()
	goal := n.state.store().applied.Load()
	var all sync.WaitGroup
	for i := range members {
		c := &members[i]
		if c.Voter || !c.Ready || c.ID == n.cfg.Self {
			continue
		}
		if alive != nil && !alive[c.ID] {
			c.Ready = false
			continue
		}
		all.Go(func() {
			response, err := n.forward.Call(ctx, c.ID, []byte{wireVersion, askApplied})
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
func (n *Node) elect(r *hraft.Raft, now, chosen []catalog.NodeID) error {
	for _, id := range chosen {
		if slices.Contains(now, id) {
			continue
		}
		n.log.Info("a member becomes a voter", "node", id)
		if err := r.AddVoter(hraft.ServerID(id), hraft.ServerAddress(id), 0, n.timing.quorum).Error(); err != nil {
			return fmt.Errorf("let %s vote: %w", id, err)
		}
	}
	for _, id := range now {
		if slices.Contains(chosen, id) {
			continue
		}
		if id == n.cfg.Self {
			return n.yield(r)
		}
		n.log.Info("a member ceases to be a voter", "node", id)
		if err := r.DemoteVoter(hraft.ServerID(id), 0, n.timing.quorum).Error(); err != nil {
			return fmt.Errorf("let %s vote no more: %w", id, err)
		}
	}
	return nil
}

// theCatalog is the catalog as a Machine.
type theCatalog struct{}

// Apply carries out one command.
func (theCatalog) Apply(tx catalog.Tx, index uint64, data []byte) (catalog.Result, error) {
	return catalog.Apply(tx, index, data)
}

// Grouped reports whether the cluster's level has entries with several commands.
func (theCatalog) Grouped(r catalog.Reader) (bool, error) {
	cluster, err := catalog.NewView(r).Cluster()
	if errors.Is(err, catalog.ErrNotFound) {
		return false, nil
	}
	return cluster.Level >= catalog.LevelOfGroups, err
}

// Members returns the members with the places of their replicas.
func (theCatalog) Members(r catalog.Reader) ([]Candidate, error) {
	view := catalog.NewView(r)
	replicas, err := view.Replicas()
	if err != nil {
		return nil, err
	}
	places := make(map[catalog.ReplicaName]string)
	for _, replica := range replicas {
		places[replica.Name] = replica.Place
	}
	members, err := view.Members()
	if err != nil {
		return nil, err
	}
	out := make([]Candidate, 0, len(members))
	for _, m := range members {
		out = append(out, Candidate{ID: m.ID, Place: places[m.Replica], OutOnly: m.OutOnly})
	}
	return out, nil
}

// Epoch returns the cluster's epoch, 0 before it was founded.
func (theCatalog) Epoch(r catalog.Reader) (uint64, error) {
	cluster, err := catalog.NewView(r).Cluster()
	if errors.Is(err, catalog.ErrNotFound) {
		return 0, nil
	}
	return cluster.Epoch, err
}

// Boot returns the last boot of the node from which the catalog has seen a request.
func (theCatalog) Boot(r catalog.Reader, node catalog.NodeID) (uint64, error) {
	return catalog.NewView(r).Boot(node)
}
