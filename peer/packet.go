package peer

import (
	"context"
)

// MaxPacket is the most bytes of a packet that every path is known to carry.
const MaxPacket = 1120

// SendPacket sends a packet to a node if that can be done at once. It never blocks and
// never dials; it reports false when the packet was dropped: too long, no connection, or
// too many waiting. A packet that was accepted may still be lost, or overtake another.
func (p *Peer) SendPacket(to ID, packet []byte) bool {
	p.mu.Lock()
	r := p.remotes[to]
	ready := r != nil && len(packet) <= MaxPacket && r.usable(Control) != nil
	p.mu.Unlock()
	if !ready {
		p.count.packetsDropped.Add(1)
		return false
	}
	select {
	case r.packets <- append([]byte(nil), packet...):
		return true
	default:
		p.count.packetsDropped.Add(1)
		return false
	}
}

// sendPackets carries r's queue to whichever connection is in use. Sending blocks while
// the path is full; the queue then overflows, and the newest packets are dropped.
func (p *Peer) sendPackets(ctx context.Context, r *remote) {
	for {
		var packet []byte
		select {
		case <-ctx.Done():
			return
		case packet = <-r.packets:
		}
		p.mu.Lock()
		l := r.usable(Control)
		p.mu.Unlock()
		if l == nil || l.conn.SendDatagram(packet) != nil {
			p.count.packetsDropped.Add(1)
			continue
		}
		p.count.packetsSent.Add(1)
	}
}

// receivePackets hands the packets of one connection to the room that wants them.
func (p *Peer) receivePackets(l *link) {
	for {
		packet, err := l.conn.ReceiveDatagram(l.conn.Context())
		if err != nil {
			return
		}
		p.count.packetsReceived.Add(1)
		p.onPacket(l.peer, packet)
	}
}
