package raft

import (
	"time"

	hraft "github.com/hashicorp/raft"
)

// limbo watches for a state that Raft does not leave by itself: a candidate that knows a leader. It arises when this
// node stands for election because a leader hands over to it, and hears that leader once more. If the election is
// lost and that leader is gone, the node refuses its vote to everybody, because it has a leader, and follows none.
type limbo struct {
	wait  time.Duration
	since time.Time
}

// lasts reports, once in a wait, that the node has been in limbo for so long.
func (l *limbo) lasts(in bool) bool {
	now := time.Now()
	switch {
	case !in:
		l.since = time.Time{}
	case l.since.IsZero():
		l.since = now
	case now.Sub(l.since) >= l.wait:
		l.since = now
		return true
	}
	return false
}

// freeOf makes Raft forget the leader, as it does when a leader asks it to stand for election.
func (n *Node) freeOf(leader hraft.ServerID, trans hraft.Transport) {
	n.log.Warn("raft stands for election and yet holds on to a leader: it is made to forget it", "leader", leader)
	self := []byte(n.cfg.Self)
	request := hraft.TimeoutNowRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: self, Addr: self}}
	err := trans.TimeoutNow(hraft.ServerID(n.cfg.Self), hraft.ServerAddress(n.cfg.Self), &request, &hraft.TimeoutNowResponse{})
	if err != nil {
		n.log.Error("raft could not be made to forget a leader", "leader", leader, "error", err)
	}
}
