package peer

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// EventKind is the kind of an Event.
type EventKind string

const (
	EventConnected    EventKind = "connected"    // the first control connection to a node was made
	EventDisconnected EventKind = "disconnected" // the last control connection to a node ended
	EventTurnedAway   EventKind = "turned away"  // this node refused another
	EventRefused      EventKind = "refused"      // another node refused this one
	EventNewerEpoch   EventKind = "newer epoch"  // a member is in a newer epoch than this node
)

// Event is something that happened to this node's connections.
type Event struct {
	Kind    EventKind
	Peer    ID // who it was, by its key
	Address string
	Refusal Refusal
	Reason  string
	Epoch   uint64 // of a newer epoch: that epoch
}

// Stats counts what happened since the Peer was made.
type Stats struct {
	Epoch   uint64
	Members int // trusted, this node not counted
	Links   []LinkStats

	Dials, DialFailures                          uint64
	RefusedStrangers, RefusedRemoved             uint64
	RefusedOtherCluster, RefusedEpoch            uint64
	RefusedMalformed, RefusedBusy                uint64
	Joins, JoinsRefused                          uint64
	TokensUnknown, TokensExpired, TokensUsed     uint64
	PacketsSent, PacketsReceived, PacketsDropped uint64
	UnknownKinds                                 uint64
	Visitors                                     int // connections not admitted yet
}

// LinkStats describes one connection.
type LinkStats struct {
	Peer     ID
	Class    Class
	Address  string
	Dialled  bool // by this node
	Retiring bool // takes no new streams
	Streams  int
	Since    time.Time
	RTT      time.Duration
	Clock    time.Duration // other side's clock less ours; on connections it dialled, less the way here
	Sent     uint64        // bytes
	Received uint64
}

type counters struct {
	dials, dialFailures                          atomic.Uint64
	refusedStrangers, refusedRemoved             atomic.Uint64
	refusedOtherCluster, refusedEpoch            atomic.Uint64
	refusedMalformed, refusedBusy                atomic.Uint64
	joins, joinsRefused                          atomic.Uint64
	tokensUnknown, tokensExpired, tokensUsed     atomic.Uint64
	packetsSent, packetsReceived, packetsDropped atomic.Uint64
	unknownKinds                                 atomic.Uint64
}

func (c *counters) refuse(why Refusal) {
	switch why {
	case Stranger:
		c.refusedStrangers.Add(1)
	case Removed:
		c.refusedRemoved.Add(1)
	case OtherCluster:
		c.refusedOtherCluster.Add(1)
	case OlderEpoch, NewerEpoch:
		c.refusedEpoch.Add(1)
	case Busy:
		c.refusedBusy.Add(1)
	case Malformed, OldProtocol:
		c.refusedMalformed.Add(1)
	}
}

func (c *counters) joined(err error) {
	if err == nil {
		c.joins.Add(1)
		return
	}
	c.joinsRefused.Add(1)
	var remote *RemoteError
	if !errors.As(err, &remote) {
		return
	}
	switch remote.Code {
	case CodeTokenUnknown:
		c.tokensUnknown.Add(1)
	case CodeTokenExpired:
		c.tokensExpired.Add(1)
	case CodeTokenUsed:
		c.tokensUsed.Add(1)
	}
}

// Stats returns the counts and the connections of this moment.
func (p *Peer) Stats() Stats {
	c := &p.count
	s := Stats{
		Dials: c.dials.Load(), DialFailures: c.dialFailures.Load(),
		RefusedStrangers: c.refusedStrangers.Load(), RefusedRemoved: c.refusedRemoved.Load(),
		RefusedOtherCluster: c.refusedOtherCluster.Load(), RefusedEpoch: c.refusedEpoch.Load(),
		RefusedMalformed: c.refusedMalformed.Load(), RefusedBusy: c.refusedBusy.Load(),
		Joins: c.joins.Load(), JoinsRefused: c.joinsRefused.Load(),
		TokensUnknown: c.tokensUnknown.Load(), TokensExpired: c.tokensExpired.Load(), TokensUsed: c.tokensUsed.Load(),
		PacketsSent: c.packetsSent.Load(), PacketsReceived: c.packetsReceived.Load(),
		PacketsDropped: c.packetsDropped.Load(), UnknownKinds: c.unknownKinds.Load(),
		Visitors: p.gate.count(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Epoch, s.Members = p.epoch, len(p.remotes)
	for _, r := range p.remotes {
		for _, l := range r.links {
			s.Links = append(s.Links, l.stats(p.self))
		}
	}
	slices.SortFunc(s.Links, func(a, b LinkStats) int {
		if by := strings.Compare(string(a.Peer), string(b.Peer)); by != 0 {
			return by
		}
		return int(a.Class) - int(b.Class)
	})
	return s
}

func (l *link) stats(self ID) LinkStats {
	q := l.conn.ConnectionStats()
	l.mu.Lock()
	defer l.mu.Unlock()
	return LinkStats{
		Peer: l.peer, Class: l.class, Address: l.address, Dialled: l.dialler == self,
		Retiring: l.retiring, Streams: l.live, Since: l.since,
		RTT: q.SmoothedRTT, Clock: l.clock, Sent: q.BytesSent, Received: q.BytesReceived,
	}
}

// Connected returns the nodes to which a control connection exists, sorted.
func (p *Peer) Connected() []ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []ID
	for id, r := range p.remotes {
		if r.usable(Control) != nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// learn reports what another node's refusal means for this one.
func (p *Peer) learn(by ID, address string, err error) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return
	}
	switch refused.Refusal {
	case Removed, Stranger, OtherCluster, OldProtocol:
	case OlderEpoch:
		p.newerEpoch(by, address, refused.Epoch)
	default:
		return // passing troubles and housekeeping
	}
	p.log.Warn("refused by a node", "node", by, "address", address,
		"why", refused.Refusal.String(), "reason", clip(refused.Reason))
	p.onEvent(Event{Kind: EventRefused, Peer: by, Address: address,
		Refusal: refused.Refusal, Reason: refused.Reason, Epoch: refused.Epoch})
}

// newerEpoch tells that a member claims an epoch that this node has not heard of.
func (p *Peer) newerEpoch(by ID, address string, epoch uint64) {
	p.mu.Lock()
	own := p.epoch
	p.mu.Unlock()
	if epoch <= own {
		return
	}
	p.log.Warn("a member is in a newer epoch", "node", by, "epoch", epoch, "own", own)
	p.onEvent(Event{Kind: EventNewerEpoch, Peer: by, Address: address, Epoch: epoch})
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.visitors
}
