package raft

import (
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// Role is a node's part in consensus.
type Role string

// The roles.
const (
	Leader    Role = "leader"
	Follower  Role = "follower"
	Candidacy Role = "candidate"
	NonVoter  Role = "non-voter"
	Outside   Role = "outside" // not yet, or no longer, taking part
)

// Status is a node's state in consensus.
type Status struct {
	Role        Role             `json:"role"`
	Leader      catalog.NodeID   `json:"leader,omitempty"` // as this node knows
	Quorum      bool             `json:"quorum"`           // a leader with a majority was heard from recently
	Term        uint64           `json:"term"`
	Applied     uint64           `json:"applied"`     // index up to which the state is applied
	Commit      uint64           `json:"commit"`      // index known to be committed
	Marker      uint64           `json:"marker"`      // index of the Raft snapshot marker
	LogBytes    int64            `json:"logBytes"`    // about, of the Raft log
	LastContact time.Duration    `json:"lastContact"` // since a leader was heard; 0 on the leader
	Voters      []catalog.NodeID `json:"voters"`
	Boot        uint64           `json:"boot"`     // this start of the node
	Replayed    uint64           `json:"replayed"` // log entries applied since start
}

// Status returns this node's state in consensus.
func (n *Node) Status() Status {
	st := n.storage.state.store()
	s := Status{
		Role: Outside, Applied: st.applied.Load(), Marker: st.marked(),
		Boot: n.storage.boot, Replayed: n.fsm.entries(),
	}
	r := n.raft.now()
	if r == nil {
		return s
	}
	if size, err := n.storage.wal.size(); err == nil {
		s.LogBytes = size
	}
	_, leader := r.LeaderWithID()
	s.Leader, s.Term, s.Commit, s.Voters = catalog.NodeID(leader), r.CurrentTerm(), r.CommitIndex(), votersIn(r)
	s.LastContact, s.Quorum = n.Heard()
	s.Quorum = s.Quorum && leader != "" && s.LastContact < 3*n.timing.heartbeat
	in, voter := configurationOf(0, r.GetConfiguration().Configuration()).has(n.cfg.Self)
	switch {
	case r.State() == hraft.Leader:
		s.Role = Leader
	case !in:
		s.Role = Outside
	case !voter:
		s.Role = NonVoter
	case r.State() == hraft.Candidate:
		s.Role = Candidacy
	default:
		s.Role = Follower
	}
	return s
}

// Votes reports whether the node has a vote, as far as this node knows: by what was agreed, or by what is being
// agreed now.
func (n *Node) Votes(id catalog.NodeID) bool {
	st := n.storage.state.store()
	st.mu.Lock()
	_, voter := st.configuration.has(id)
	st.mu.Unlock()
	if r := n.raft.now(); r != nil && !voter {
		_, voter = configurationOf(0, r.GetConfiguration().Configuration()).has(id)
	}
	return voter
}

// Heard returns how long ago this node last heard a leader, by the monotonic clock, and false when it has
// heard none since it was opened: then the time since that. On a leader that holds its lease it is 0, and on one that
// led, at most the time since that.
func (n *Node) Heard() (time.Duration, bool) {
	r := n.raft.now()
	if r == nil {
		return time.Since(n.opened), false
	}
	if r.State() == hraft.Leader {
		return 0, true
	}
	// When a leader steps down, Raft sets the last contact only a moment later: until then it may be of long ago.
	last := r.LastContact()
	if led := n.contacts.lastLed(); led.After(last) {
		last = led
	}
	if last.IsZero() {
		return time.Since(n.opened), false
	}
	return time.Since(last), true
}

// Contacts returns, on the leader, how long each node that takes part has been silent: 0 for one that answers its
// heartbeats. The count restarts when the leader changes. On other nodes it returns nil.
func (n *Node) Contacts() map[catalog.NodeID]time.Duration {
	r := n.raft.now()
	if r == nil || r.State() != hraft.Leader {
		return nil
	}
	out := make(map[catalog.NodeID]time.Duration)
	for _, s := range r.GetConfiguration().Configuration().Servers {
		out[catalog.NodeID(s.ID)] = n.contacts.since(catalog.NodeID(s.ID))
	}
	return out
}

// Standing returns how far this node's log is.
func (n *Node) Standing() (Standing, error) { return n.storage.standing() }

// Witness is what this node remembers of the others.
func (n *Node) Witness() *Witness { return n.storage.witness }

// marked returns the index of the store's marker.
func (s *store) marked() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marker.Index
}

// syncedTo returns the position up to which the store was synced for its marker.
func (s *store) syncedTo() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marker.Synced
}
