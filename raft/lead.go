package raft

import (
	"context"
	"log/slog"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// leader does what the leader owes the cluster's consensus, while this node leads: members take part, removed nodes do
// not, and the right members vote. It steps down when it cannot lead well.
type leader struct {
	self     catalog.NodeID
	tick     time.Duration // between looks
	limbo    limbo
	clock    clock
	room     *room
	voters   *arranger
	contacts *contacts
	handover *handover
	log      *slog.Logger
}

// run looks, until ctx is done, at what is owed. It prevents a candidate from blocking the election.
func (l *leader) run(ctx context.Context, r *hraft.Raft, trans hraft.Transport) {
	ticker := time.NewTicker(l.tick)
	defer ticker.Stop()
	complained := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if _, known := r.LeaderWithID(); l.limbo.lasts(r.State() == hraft.Candidate && known != "") {
			l.freeOf(known, trans)
		}
		if r.State() != hraft.Leader {
			complained = false
			continue
		}
		l.contacts.leads()
		if l.skewed(r, complained) || l.cramped(r, complained) {
			complained = true
			continue
		}
		if err := l.voters.arrange(ctx, r); err != nil && ctx.Err() == nil && r.State() == hraft.Leader {
			l.log.Info("the voters could not be arranged yet", "error", err)
		}
	}
}

// skewed gives the leadership away when this node's clock is too far off, and reports whether it is.
func (l *leader) skewed(r *hraft.Raft, complained bool) bool {
	off := l.clock.off(r)
	if off == 0 {
		return false
	}
	if !complained {
		l.log.Error("this node does not lead: its clock is too far from the other members' clocks", "by", off)
	}
	if err := l.handover.resign(r); err != nil {
		l.log.Info("the leadership could not be handed over yet", "error", err)
	}
	return true
}

// cramped gives the leadership away when this node's disk is nearly full, and reports whether it is.
func (l *leader) cramped(r *hraft.Raft, complained bool) bool {
	why := l.room.atLeast(RoomToDecide)
	if why == nil || len(votersIn(r)) < 2 {
		return false
	}
	if !complained {
		l.log.Error("this node does not lead", "reason", why)
	}
	if err := l.handover.resign(r); err != nil {
		l.log.Info("the leadership could not be handed over yet", "error", err)
	}
	return true
}

// freeOf makes Raft forget the leader, as it does when a leader asks it to stand for election.
func (l *leader) freeOf(leader hraft.ServerID, trans hraft.Transport) {
	l.log.Warn("raft stands for election although it knows a leader: it is made to forget the leader", "leader", leader)
	self := []byte(l.self)
	header := hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: self, Addr: self}
	request := hraft.TimeoutNowRequest{RPCHeader: header}
	err := trans.TimeoutNow(hraft.ServerID(l.self), hraft.ServerAddress(l.self), &request, &hraft.TimeoutNowResponse{})
	if err != nil {
		l.log.Error("raft could not be made to forget the leader", "leader", leader, "error", err)
	}
}

// leave gives the leadership to another voter, if there is one to take it: the node ends.
func (l *leader) leave(r *hraft.Raft) {
	if r.State() != hraft.Leader || len(votersIn(r)) < 2 {
		return
	}
	if err := l.handover.resign(r); err != nil {
		l.log.Info("the leadership was not handed over before stopping", "error", err)
	}
}
