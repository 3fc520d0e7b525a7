package peer

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/quic-go/quic-go"
)

// accept serves connections that others dialled, until ctx ends or the Peer is closed.
func (p *Peer) accept(ctx context.Context) error {
	for {
		conn, err := p.listener.Accept(ctx)
		switch {
		case err != nil && (ctx.Err() != nil || p.stopped()):
			return nil
		case err != nil:
			return fmt.Errorf("accept on peer port: %w", err)
		}
		p.tasks.Go(func() { p.serve(ctx, conn) })
	}
}

// serve greets one connection and, if it is welcome, serves it until it ends.
func (p *Peer) serve(ctx context.Context, conn *quic.Conn) {
	unhook := context.AfterFunc(ctx, func() { closeConn(conn, Stopping, "this node is stopping") })
	defer unhook()
	key, err := remoteKey(conn.ConnectionState().TLS)
	if err != nil {
		closeConn(conn, Malformed, err.Error())
		return
	}
	from := Fingerprint(key)
	meta, h, err := readHello(conn)
	if err != nil {
		p.turnAway(conn, meta, from, answer{refusal: Malformed, reason: err.Error()})
		return
	}
	verdict := p.judge(h, from)
	if verdict.refusal != Welcome {
		if verdict.refusal == NewerEpoch {
			p.newerEpoch(from, conn.RemoteAddr().String(), h.epoch)
		}
		p.turnAway(conn, meta, from, verdict)
		return
	}
	switch h.class {
	case joinClass:
		p.serveJoin(ctx, conn, meta, key)
	case checkClass:
		p.serveCheck(conn, meta, verdict)
	case whichClass:
		p.serveWhich(conn, meta, verdict)
	default:
		p.serveLink(ctx, conn, meta, h, from, verdict)
	}
}

func readHello(conn *quic.Conn) (*quic.Stream, hello, error) {
	ctx, cancel := context.WithTimeout(conn.Context(), greetTime)
	defer cancel()
	meta, err := conn.AcceptStream(ctx)
	if err != nil {
		return nil, hello{}, fmt.Errorf("no hello: %w", err)
	}
	if err := meta.SetReadDeadline(time.Now().Add(greetTime)); err != nil {
		return meta, hello{}, err
	}
	frame, err := readFrame(meta, maxHello)
	if err != nil {
		return meta, hello{}, fmt.Errorf("no hello: %w", err)
	}
	h, err := parseHello(frame)
	if err != nil {
		return meta, hello{}, err
	}
	return meta, h, meta.SetReadDeadline(time.Time{})
}

// judge decides whether a node may stay, by its hello and the member list.
func (p *Peer) judge(h hello, from ID) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, member := p.remotes[from]
	a := answer{clock: time.Now(), boot: p.boot}
	refuse := func(why Refusal, format string, args ...any) answer {
		a.refusal, a.reason = why, fmt.Sprintf(format, args...)
		return a
	}
	switch {
	case h.version < protocolVersion:
		return refuse(OldProtocol, "protocol version %d is too old: %d is needed", h.version, protocolVersion)
	case h.class > whichClass:
		return refuse(Malformed, "unknown kind of connection: %s", h.class)
	case h.class == whichClass && (p.cfg.Name == "" || h.cluster != p.cfg.Name),
		h.class != whichClass && h.cluster != p.cfg.Cluster:
		return refuse(OtherCluster, "this node belongs to another cluster")
	case p.state != running:
		return refuse(Stopping, "this node is stopping")
	case h.class == joinClass, h.class == whichClass:
		return a
	case p.removed[from]:
		return refuse(Removed, "your node was removed from the cluster")
	case !member:
		return refuse(Stranger, "your node's key is not in the member list")
	}
	a.epoch = p.epoch
	switch {
	case h.epoch < p.epoch:
		return refuse(OlderEpoch, "the cluster was recovered: it is in epoch %d, your node in %d", p.epoch, h.epoch)
	case h.epoch > p.epoch:
		return refuse(NewerEpoch, "this node is in epoch %d and has not heard of epoch %d yet", p.epoch, h.epoch)
	}
	return a
}

// turnAway tells the other side why it is refused, gives it a moment to read that, and
// closes the connection with the same reason.
func (p *Peer) turnAway(conn *quic.Conn, meta *quic.Stream, from ID, a answer) {
	p.count.refuse(a.refusal)
	address := conn.RemoteAddr().String()
	if p.noise.Allow() {
		p.log.Warn("turned a connection away", "node", from, "address", address,
			"why", a.refusal.String(), "reason", a.reason)
	}
	p.onEvent(Event{Kind: EventTurnedAway, Peer: from, Address: address, Refusal: a.refusal, Reason: a.reason})
	if meta != nil && sendAnswer(meta, a) == nil {
		read := time.NewTimer(refusalTime)
		defer read.Stop()
		select {
		case <-conn.Context().Done():
		case <-read.C:
		}
	}
	closeConn(conn, a.refusal, a.reason)
}

func sendAnswer(meta *quic.Stream, a answer) error {
	if err := meta.SetWriteDeadline(time.Now().Add(greetTime)); err != nil {
		return err
	}
	if err := writeFrame(meta, a.encode()); err != nil {
		return err
	}
	return meta.SetWriteDeadline(time.Time{})
}

func (p *Peer) serveLink(ctx context.Context, conn *quic.Conn, meta *quic.Stream, h hello, from ID, a answer) {
	l := &link{
		peer: from, class: h.class, dialler: from, address: conn.RemoteAddr().String(),
		conn: conn, meta: meta, boot: h.boot, epoch: h.epoch,
		clock: time.Until(h.clock), since: time.Now(), out: make(chan []byte, 2),
	}
	if refusal := p.register(l); refusal != Welcome {
		p.turnAway(conn, meta, from, answer{refusal: refusal, clock: time.Now(), reason: "the member list has changed"})
		return
	}
	leaveGate(conn)
	if err := sendAnswer(meta, a); err != nil {
		closeConn(conn, Malformed, "hello could not be answered")
	}
	p.runLink(ctx, l)
}

func (p *Peer) serveJoin(ctx context.Context, conn *quic.Conn, meta *quic.Stream, key ed25519.PublicKey) {
	from := Fingerprint(key)
	leave, ok := p.gate.enterJoin()
	if !ok || p.join == nil {
		p.turnAway(conn, meta, from, answer{refusal: Busy, clock: time.Now(),
			reason: "too many joins at once; try again in a minute"})
		if ok {
			leave()
		}
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	unhook := context.AfterFunc(conn.Context(), cancel)
	defer unhook()
	if err := p.answerJoin(ctx, meta, key); err != nil {
		p.log.Info("join was interrupted", "node", from, "address", conn.RemoteAddr().String(), "reason", err.Error())
		closeConn(conn, Malformed, "join broke off")
		return
	}
	select { // the joiner closes when it has read the reply
	case <-conn.Context().Done():
	case <-ctx.Done():
	}
	closeConn(conn, Welcome, "")
}

func (p *Peer) answerJoin(ctx context.Context, meta *quic.Stream, key ed25519.PublicKey) error {
	if err := sendAnswer(meta, answer{clock: time.Now()}); err != nil {
		return err
	}
	if err := meta.SetDeadline(time.Now().Add(visitTime)); err != nil {
		return err
	}
	request, err := readFrame(meta, maxJoinRequest)
	if err != nil {
		return err
	}
	reply, err := p.join(ctx, key, request)
	p.count.joined(err)
	if err != nil {
		p.log.Warn("join refused", "node", Fingerprint(key), "reason", err.Error())
	} else {
		p.log.Info("join accepted", "node", Fingerprint(key))
	}
	if err := writeReply(meta, reply, err, maxJoinReply); err != nil {
		return err
	}
	return meta.Close()
}
