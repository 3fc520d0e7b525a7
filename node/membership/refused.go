package membership

import (
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	"holdfast/peer"
)

// Refusals remember which nodes turn this one away, and why.
type Refusals struct {
	mu    sync.Mutex
	by    map[peer.ID]peer.Event
	since time.Time // when a member first said that this node was removed, with no connection since; zero: never
	newer chan uint64
}

// NewRefusals returns the refusals of a node that nobody has refused yet.
func NewRefusals() *Refusals {
	return &Refusals{by: map[peer.ID]peer.Event{}, newer: make(chan uint64, 1)}
}

// Note is told what happens to the connections.
func (r *Refusals) Note(e peer.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Kind {
	case peer.EventRefused:
		r.by[e.Peer] = e
		if e.Refusal == peer.Removed && r.since.IsZero() {
			r.since = time.Now()
		}
	case peer.EventConnected:
		delete(r.by, e.Peer)
		r.since = time.Time{}
	case peer.EventNewerEpoch:
		select {
		case r.newer <- e.Epoch:
		default:
		}
	}
}

// removed returns for how long this node has been refused as removed, with no member accepting it.
func (r *Refusals) removed(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		return 0
	}
	return now.Sub(r.since)
}

// joinAgain is what helps a node that the others refuse.
const joinAgain = "let it join again, with a token from `holdfast node invite`"

// Alerts says who refuses this node and what helps.
func (r *Refusals) Alerts(name func(catalog.NodeID) string) (out []alert.Alert) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, e := range r.by {
		why := e.Reason
		switch e.Refusal {
		case peer.OlderEpoch:
			why = "the cluster was recovered without this node: " + joinAgain
		case peer.Removed:
			why = "this node was removed from the cluster: " + joinAgain
		case peer.Stranger:
			why = "this node is not in its member list: unless it has just joined, " + joinAgain
		}
		out = append(out, alert.New(alert.Refused, name(catalog.NodeID(id)), "reason", why))
	}
	slices.SortFunc(out, func(a, b alert.Alert) int { return strings.Compare(a.Subject, b.Subject) })
	return out
}
