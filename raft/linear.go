package raft

import (
	"context"
	"fmt"
	"sync"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// entries are the entries of the Raft log by their index.
type entries interface {
	GetLog(index uint64, l *hraft.Log) error
}

// linear reads what was committed before: it asks the leader up to where the state must have come, and waits for it.
type linear struct {
	self    catalog.NodeID
	raft    *consensus
	state   *state
	log     entries
	room    *room
	forward Forwarder

	mu    sync.Mutex
	ready uint64 // the term of which this leader knows that everything before it is applied here
}

// wait returns when this node's state holds everything that was committed before the call.
func (q *linear) wait(ctx context.Context) error {
	return q.raft.withLeader(ctx, func(ctx context.Context, leader catalog.NodeID) error {
		if leader == q.self {
			index, err := q.index()
			if err != nil {
				return err
			}
			return q.reach(ctx, index)
		}
		asking, cancel := context.WithCancel(ctx)
		defer q.raft.endsWithLeader(asking, leader, cancel)()
		response, err := q.forward.Call(asking, leader, []byte{wireVersion, askReadIndex})
		if err != nil {
			return fmt.Errorf("%w: %w", errAgain, err)
		}
		index, err := decodeIndex(response)
		if err != nil {
			return err
		}
		return q.reach(ctx, index)
	})
}

// reach returns when this node's state has reached index.
func (q *linear) reach(ctx context.Context, index uint64) error {
	return q.state.changed.wait(ctx, func() bool { return q.state.store().applied.Load() >= index })
}

// index returns, on the leader, an index such that a state at it holds all that was acknowledged before
// the call.
func (q *linear) index() (uint64, error) {
	if !q.raft.gate.enter() {
		return 0, errAgain
	}
	defer q.raft.gate.leave()
	r := q.raft.now()
	if r.State() != hraft.Leader {
		return 0, errAgain
	}
	term := r.CurrentTerm()
	if err := q.begun(r, term); err != nil {
		return 0, err
	}

	// Every state that anyone has seen is at or below what is committed now. This node's state may be behind
	// another's, so its applied index would be too low. That this node led at this position is verified afterwards.
	index, err := q.lastTouching(r.CommitIndex())
	if err != nil {
		return 0, err
	}
	if err := r.VerifyLeader().Error(); err != nil || r.CurrentTerm() != term {
		return 0, fmt.Errorf("%w: %w", errAgain, orChanged(err))
	}
	return index, nil
}

// begun returns when an entry of this leader's term is committed, and with it everything that earlier leaders
// acknowledged. Callers beside each other wait for one of them.
func (q *linear) begun(r *hraft.Raft, term uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ready == term {
		return nil
	}
	var latest hraft.Log
	if err := q.log.GetLog(r.CommitIndex(), &latest); err == nil && latest.Term == term {
		q.ready = term
		return nil
	}
	if err := q.room.atLeast(roomToWrite); err != nil {
		return err // nothing is applied, and so the barrier would not come
	}
	if err := r.Barrier(q.raft.quorum).Error(); err != nil {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	q.ready = term
	return nil
}

// lastTouching returns the last entry up to index that changes the state's position; Raft's own entries, which
// mark the begin of a term, do not.
func (q *linear) lastTouching(index uint64) (uint64, error) {
	for ; index > q.state.store().marked(); index-- {
		var entry hraft.Log
		if err := q.log.GetLog(index, &entry); err != nil {
			// A new leader has cut it off.
			return 0, fmt.Errorf("%w: read the raft log at index %d: %w", errAgain, index, err)
		}
		if entry.Type == hraft.LogCommand || entry.Type == hraft.LogConfiguration {
			return index, nil
		}
	}
	return q.state.store().syncedTo(), nil
}

func orChanged(err error) error {
	if err == nil {
		return hraft.ErrLeadershipLost
	}
	return err
}
