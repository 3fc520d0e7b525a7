package peer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// keeper keeps connections of one class to one member.
type keeper struct {
	p     *Peer
	r     *remote
	class Class
}

// due says whether the node is to be dialled now, and if so after which wait. The caller holds Peer.mu.
func (k keeper) due(failures int) (wait time.Duration, urgent, dial bool) {
	if k.p.state != running || k.r.member.OutOnly || len(k.r.member.Addresses) == 0 || k.r.usable(k.class) != nil {
		return 0, false, false
	}
	self := k.p.outOnly
	urgent = k.r.wanted[k.class] > 0
	switch {
	case failures > 0:
		wait = pauseAfter(failures, rand.Float64())
	case !urgent && !self && k.p.self > k.r.member.ID:
		wait = politePause
	}
	return wait, urgent, urgent || self || k.class == Control
}

// run makes a connection to the node whenever one is missing that should be there.
func (k keeper) run(ctx context.Context) {
	failures := 0
	var last, made time.Time // end of the last attempt; when the last connection was made
	for ctx.Err() == nil {
		k.p.mu.Lock()
		wait, _, dial := k.due(failures)
		changed := k.r.changed
		k.p.mu.Unlock()
		if !dial {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		if !made.IsZero() {
			failures++
			if time.Since(made) > stableTime {
				failures = 0
			}
			made = time.Time{}
			continue
		}
		if !k.pauseBefore(ctx, wait, last) {
			continue
		}
		l, err := k.dial(ctx)
		if err == nil {
			k.p.tasks.Go(func() { k.p.runLink(ctx, l) })
			made = time.Now()
		} else {
			failures++
			k.p.count.dialFailures.Add(1)
			k.noteFailure(ctx, failures, err)
		}
		last = time.Now()
		k.finishRound(err)
	}
}

// pauseBefore waits before an attempt to dial, shorter if a caller of Open waits. It returns false if the attempt has
// become needless meanwhile.
func (k keeper) pauseBefore(ctx context.Context, wait time.Duration, last time.Time) bool {
	begin := time.Now()
	for {
		k.p.mu.Lock()
		_, urgent, dial := k.due(0)
		changed := k.r.changed
		k.p.mu.Unlock()
		rest := time.Until(begin.Add(wait))
		if urgent {
			rest = min(rest, time.Until(last.Add(leastPause)))
		}
		if !dial || rest <= 0 {
			return dial
		}
		timer := time.NewTimer(rest)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-changed:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false
		}
	}
}

func (k keeper) noteFailure(ctx context.Context, failures int, err error) {
	if ctx.Err() != nil {
		return
	}
	level := k.p.log.Debug
	if failures == 1 {
		level = k.p.log.Info
	}
	k.p.mu.Lock()
	id := k.r.member.ID // the rest of it may change
	k.p.mu.Unlock()
	level("cannot reach node", "node", id, "class", k.class.String(), "attempts", failures, "reason", err.Error())
}

// finishRound lets the callers of Open know that an attempt has ended.
func (k keeper) finishRound(err error) {
	k.p.mu.Lock()
	defer k.p.mu.Unlock()
	k.r.rounds[k.class]++
	k.r.failure[k.class] = err
	k.r.signal()
}

// dial makes and registers one connection to the node.
func (k keeper) dial(ctx context.Context) (*link, error) {
	k.p.mu.Lock()
	m, epoch, last := k.r.member, k.p.epoch, k.r.last
	k.p.mu.Unlock()
	k.p.count.dials.Add(1)
	targets := make([]target, 0, len(m.Addresses))
	for _, address := range m.Addresses {
		targets = append(targets, target{address: address, id: m.ID})
	}
	d := dialer{transport: k.p.transport, cert: k.p.cert, config: quicConfig(k.p.cfg, k.p.windows)}
	conn, to, err := d.race(ctx, targets, last)
	if err != nil {
		return nil, err
	}
	h := hello{version: protocolVersion, class: k.class, epoch: epoch, boot: k.p.boot, cluster: k.p.cfg.Cluster}
	meta, a, clock, err := introduce(ctx, conn, h, m.ID)
	if err != nil {
		closeConn(conn, Unwanted, "no answer to hello")
		k.p.learn(m.ID, to.address, err)
		return nil, err
	}
	l := &link{
		peer: m.ID, class: k.class, dialler: k.p.self, address: to.address, conn: conn, meta: meta,
		boot: a.boot, epoch: epoch, clock: clock, since: time.Now(), out: make(chan []byte, 2),
	}
	if refusal := k.p.register(l); refusal != Welcome {
		closeConn(conn, refusal, "the member list has changed")
		return nil, fmt.Errorf("%w: the member list has changed", ErrNotMember)
	}
	return l, nil
}
