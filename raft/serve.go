package raft

import (
	"context"
	"errors"
	"fmt"
	"sync"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// Serve answers a request that another node sent with its Forwarder.
func (n *Node) Serve(ctx context.Context, from catalog.NodeID, request []byte) ([]byte, error) {
	if len(request) < 2 || request[0] != wireVersion {
		return nil, fmt.Errorf("%w: from %s: not version %d", errWire, from, wireVersion)
	}
	switch request[1] {
	case askPropose:
		commands, err := decodeProposal(request[2:])
		if err != nil {
			return nil, fmt.Errorf("proposal from %s: %w", from, err)
		}
		for _, c := range commands {
			if c.Node != from {
				return nil, fmt.Errorf("%w: %s proposes in the name of %.60q", errWire, from, string(c.Node))
			}
		}
		if !n.IsLeader() {
			return encodeUnable(errAgain), nil
		}
		return encodeAnswers(n.cfg.Vouch.submit(from, commands, n.submit))
	case askReadIndex:
		index, err := n.readIndex()
		if err != nil {
			return encodeUnable(err), nil
		}
		return encodeIndex(index), nil
	case askSeen:
		return encodeSeen(n.Votes(from), n.witness.of(from)), nil
	case askApplied:
		return encodeIndex(n.state.store().applied.Load()), nil
	}
	return nil, fmt.Errorf("%w: from %s: request %d", errWire, from, request[1])
}

// submit has those of the commands proposed that the member may forward, and refuses the others. Answers are in the
// order of the commands.
func (vouch Vouch) submit(from catalog.NodeID, commands []catalog.Command, propose func([]catalog.Command) []answer) []answer {
	if vouch == nil {
		return propose(commands)
	}
	wrong, err := vouch(from, commands)
	out := make([]answer, len(commands))
	var good []catalog.Command
	var places []int
	for i, c := range commands {
		var refusal *catalog.Refusal
		switch {
		case err != nil:
			out[i].err = err
		case wrong[i] == nil:
			good, places = append(good, c), append(places, i)
		case errors.As(wrong[i], &refusal):
			out[i].result.Refusal = refusal
		default:
			out[i].err = wrong[i]
		}
	}
	if len(good) > 0 {
		for i, a := range propose(good) {
			out[places[i]] = a
		}
	}
	return out
}

// Linear returns when the state that View reads on this node holds everything that was committed before the
// call. It returns ErrNoQuorum when no leader is found within seconds.
func (n *Node) Linear(ctx context.Context) error {
	err := n.withLeader(ctx, func(ctx context.Context, leader catalog.NodeID) error {
		if leader == n.cfg.Self {
			index, err := n.readIndex()
			if err != nil {
				return err
			}
			return n.reach(ctx, index)
		}
		asking, cancel := context.WithCancel(ctx)
		defer n.endsWithLeader(asking, leader, cancel)()
		response, err := n.forward.Call(asking, leader, []byte{wireVersion, askReadIndex})
		if err != nil {
			return fmt.Errorf("%w: %w", errAgain, err)
		}
		index, err := decodeIndex(response)
		if err != nil {
			return err
		}
		return n.reach(ctx, index)
	})
	if err != nil {
		return fmt.Errorf("linear read: %w", err)
	}
	return nil
}

// reach returns when this node's state has reached index.
func (n *Node) reach(ctx context.Context, index uint64) error {
	return n.state.changed.wait(ctx, func() bool { return n.state.store().applied.Load() >= index })
}

// ready remembers the term of which this leader knows that everything before it is applied here.
type ready struct {
	mu   sync.Mutex
	term uint64
}

// readIndex returns, on the leader, an index such that a state at it holds all that was acknowledged before
// the call.
func (n *Node) readIndex() (uint64, error) {
	if !n.gate.enter() {
		return 0, errAgain
	}
	defer n.gate.leave()
	r := n.raft.Load()
	if r.State() != hraft.Leader {
		return 0, errAgain
	}
	term := r.CurrentTerm()
	n.ready.mu.Lock()
	if n.ready.term != term {
		if err := n.begun(r, term); err != nil {
			n.ready.mu.Unlock()
			return 0, err
		}
		n.ready.term = term
	}
	n.ready.mu.Unlock()

	// Every state that anyone has seen is at or below what is committed now. This node's state may be behind
	// another's, so its applied index would be too low. That this node led at this position is verified afterwards.
	index, err := n.lastTouching(r.CommitIndex())
	if err != nil {
		return 0, err
	}
	if err := r.VerifyLeader().Error(); err != nil || r.CurrentTerm() != term {
		return 0, fmt.Errorf("%w: %w", errAgain, orChanged(err))
	}
	return index, nil
}

// begun returns when an entry of this leader's term is committed, and with it everything that earlier leaders acknowledged.
func (n *Node) begun(r *hraft.Raft, term uint64) error {
	var latest hraft.Log
	if err := n.wal.GetLog(r.CommitIndex(), &latest); err == nil && latest.Term == term {
		return nil
	}
	if err := n.room.atLeast(roomToWrite); err != nil {
		return err // nothing is applied, and so the barrier would not come
	}
	if err := r.Barrier(n.timing.quorum).Error(); err != nil {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return nil
}

// lastTouching returns the last entry up to index that changes the state's position; Raft's own entries, which
// mark the begin of a term, do not.
func (n *Node) lastTouching(index uint64) (uint64, error) {
	for ; index > n.state.store().marked(); index-- {
		var entry hraft.Log
		if err := n.wal.GetLog(index, &entry); err != nil {
			return 0, fmt.Errorf("%w: read the raft log at index %d: %w", errAgain, index, err) // cut off by a new leader
		}
		if entry.Type == hraft.LogCommand || entry.Type == hraft.LogConfiguration {
			return index, nil
		}
	}
	return n.state.store().syncedTo(), nil
}

func orChanged(err error) error {
	if err == nil {
		return hraft.ErrLeadershipLost
	}
	return err
}
