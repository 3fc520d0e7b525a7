package raft

import (
	"context"
	"time"

	hraft "github.com/hashicorp/raft"
)

// herald has the members hear soon that the leader's last entry is committed. Raft tells them of it with the next
// entry, or else after its commit timeout, by a message to each member again and again, also when nothing happens. That
// timeout is long, so that a cluster at rest is quiet; when no other entry follows the last one, the herald appends one
// without content.
type herald struct {
	raft  *consensus
	state *state
	room  *room
	pause time.Duration // for which another entry may follow
	back  chan struct{} // holds a signal when the leader hears of a member again, which may lack entries
}

// run has the last entries told until ctx is done.
func (h *herald) run(ctx context.Context, r *hraft.Raft) {
	var term, told uint64 // what was told, and by the leader of which term
	for {
		applied, leader := h.state.changed.next(), h.raft.changed.next()
		last := h.state.store().applied.Load()
		if now := r.CurrentTerm(); r.State() == hraft.Leader && (last > told || now != term) {
			if !sleep(ctx, h.pause) {
				return
			}
			if h.state.store().applied.Load() != last {
				continue // that entry's successors tell of it
			}
			h.tell(r)
			term, told = now, last
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-applied:
		case <-leader:
		case <-h.back:
			told = 0 // Raft sends the member nothing before the next entry or its timeout
		}
	}
}

// tell appends an entry without content, where there is a member to hear of it. Nobody waits for it.
func (h *herald) tell(r *hraft.Raft) {
	if !h.raft.gate.enter() {
		return
	}
	defer h.raft.gate.leave()
	members := r.GetConfiguration()
	if members.Error() != nil || len(members.Configuration().Servers) < 2 || h.room.atLeast(roomToWrite) != nil {
		return
	}
	r.Barrier(h.raft.quorum)
}
