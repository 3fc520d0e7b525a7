package raft

import "time"

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
