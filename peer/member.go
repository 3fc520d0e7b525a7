package peer

import (
	"bytes"
	"crypto/ed25519"
	"slices"
)

// packetQueue is how many packets may wait for one node before more are dropped.
const packetQueue = 128

// maxLinks is how many connections one node may have to us, spare ones included.
const maxLinks = 8

// remote is one trusted other node. Its fields are guarded by Peer.mu; packets is a channel.
type remote struct {
	member  Member
	links   []*link // registered, oldest first
	wanted  [2]int  // callers of Open that wait now, by class
	rounds  [2]int  // finished attempts to dial, by class
	failure [2]error
	changed chan struct{} // closed and replaced when any of the above changes
	packets chan []byte
	last    string // address that answered last
}

func newRemote(m Member) *remote {
	return &remote{member: m, changed: make(chan struct{}), packets: make(chan []byte, packetQueue)}
}

// signal wakes all who wait for a change of r. The caller holds Peer.mu.
func (r *remote) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// usable returns the connection of a class on which new streams are opened, or nil.
func (r *remote) usable(class Class) *link {
	var best *link
	for _, l := range r.links {
		if l.class == class && l.open() && (best == nil || l.before(best)) {
			best = l
		}
	}
	return best
}

// SetMembers replaces the member list, which is the list of trusted nodes. Before it returns, connections of nodes
// that are no longer in it are closed, and so are those made in an older epoch. This node itself may be in the list.
// The epoch never goes back.
func (p *Peer) SetMembers(epoch uint64, members []Member) {
	trusted := make(map[ID]Member, len(members))
	gone := make(map[ID]bool)
	for _, m := range members {
		switch {
		case len(m.Key) > 0 && Fingerprint(ed25519.PublicKey(m.Key)) != m.ID:
			p.log.Error("member's key does not match its id; the member is not trusted", "node", m.ID, "name", m.Name)
		case m.Removed:
			gone[m.ID] = true
		default:
			m.Addresses = slices.Clone(m.Addresses)
			m.Key = bytes.Clone(m.Key)
			trusted[m.ID] = m
		}
	}

	p.mu.Lock()
	var expelled, outdated []*link
	raised := epoch > p.epoch
	p.epoch = max(epoch, p.epoch)
	for id, r := range p.remotes {
		if _, ok := trusted[id]; ok {
			continue
		}
		p.removed[id] = true
		expelled = append(expelled, r.links...)
		r.links = nil
		delete(p.remotes, id)
		r.signal()
	}
	for id := range gone {
		p.removed[id] = true
	}
	for id, m := range trusted {
		delete(p.removed, id)
		if id == p.self {
			p.outOnly = m.OutOnly
			continue
		}
		r := p.remotes[id]
		if r == nil {
			p.remotes[id] = newRemote(m)
			continue
		}
		r.member = m
		if raised {
			outdated = append(outdated, r.links...)
			r.links = nil
		}
		r.signal()
	}
	p.mu.Unlock()

	for _, l := range expelled {
		p.log.Info("closing connection of removed member", "node", l.peer, "class", l.class.String())
		closeConn(l.conn, Removed, "this node was removed from the cluster")
	}
	for _, l := range outdated {
		closeConn(l.conn, OlderEpoch, "the cluster has a new epoch; connect again")
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// register makes a greeted connection part of its pair, unless the node has ceased to be
// trusted since, and settles which connection of the class is used from now on.
func (p *Peer) register(l *link) Refusal {
	p.mu.Lock()
	r := p.remotes[l.peer]
	switch {
	case p.state != running:
		p.mu.Unlock()
		return Stopping
	case r == nil:
		p.mu.Unlock()
		return Removed
	case l.epoch != p.epoch:
		p.mu.Unlock()
		return OlderEpoch
	}
	p.order++
	l.order, l.remote = p.order, r
	first := r.usable(Control) == nil && l.class == Control
	var dead []*link
	keep := r.links[:0:0]
	for _, old := range r.links {
		restarted := old.boot != l.boot
		redialled := old.class == l.class && old.dialler == l.dialler && old.open()
		if restarted || redialled || (len(r.links) >= maxLinks && len(keep) == 0 && len(dead) == 0) {
			dead = append(dead, old)
			continue
		}
		keep = append(keep, old)
	}
	r.links = append(keep, l)
	best := r.usable(l.class)
	var spare []*link
	for _, other := range r.links {
		if other.class == l.class && other != best {
			spare = append(spare, other)
		}
	}
	r.last = l.address
	r.signal()
	p.mu.Unlock()

	p.windows.admit(l.conn, l.class, p.cfg.Window)
	for _, old := range dead {
		closeConn(old.conn, Replaced, "a newer connection took its place")
	}
	for _, other := range spare {
		other.retire()
	}
	p.log.Debug("connected", "node", l.peer, "class", l.class.String(), "address", l.address)
	if first {
		p.onEvent(Event{Kind: EventConnected, Peer: l.peer, Address: l.address, Epoch: l.epoch})
	}
	return Welcome
}

// unregister takes an ended connection out of its pair.
func (p *Peer) unregister(l *link, reason string) {
	r := l.remote
	p.mu.Lock()
	r.links = slices.DeleteFunc(r.links, func(other *link) bool { return other == l })
	lost := l.class == Control && r.usable(Control) == nil
	r.signal()
	p.mu.Unlock()
	p.windows.forget(l.conn)
	p.log.Debug("disconnected", "node", l.peer, "class", l.class.String(), "reason", reason)
	if lost {
		p.onEvent(Event{Kind: EventDisconnected, Peer: l.peer, Address: l.address, Reason: reason})
	}
}

// retired tells the pair that one of its connections takes no new streams.
func (p *Peer) retired(r *remote) {
	p.mu.Lock()
	r.signal()
	p.mu.Unlock()
}
