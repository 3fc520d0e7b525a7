package crawler

import (
	"context"
	"sync"
	"time"

	"holdfast/crawler/frontier"
)

// browserTurns lets the requests of pages take turns at hosts: with each other, and with the URIs of the frontier's queues.
type browserTurns struct {
	mu sync.Mutex
	of map[string]*browserTurn // by queue
}

// browserTurn is one queue's.
type browserTurn struct {
	pages int // being loaded
	asked int // requests of pages under way
	own   int // fetches of the queue's own URIs under way
	rest  time.Time
}

// hold notes that a page of the queue is being loaded, and until when its host rests.
func (b *browserTurns) hold(queue string, rest time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.get(queue)
	t.pages++
	t.until(rest)
}

// drop ends that.
func (b *browserTurns) drop(queue string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.get(queue)
	t.pages--
	b.tidy(queue, t)
}

func (b *browserTurns) get(queue string) *browserTurn {
	t := b.of[queue]
	if t == nil {
		t = &browserTurn{}
		b.of[queue] = t
	}
	return t
}

func (b *browserTurns) tidy(queue string, t *browserTurn) {
	for name, old := range b.of {
		if len(b.of) < maxAddresses {
			break
		}
		if old.pages+old.asked+old.own == 0 && time.Now().After(old.rest) {
			delete(b.of, name)
		}
	}
	if t.pages+t.asked+t.own == 0 && time.Now().After(t.rest) {
		delete(b.of, queue)
	}
}

func (t *browserTurn) until(rest time.Time) {
	if rest.After(t.rest) {
		t.rest = rest
	}
}

// turnPoll is how often a host is looked at again that is busy.
const turnPoll = 50 * time.Millisecond

// admit counts a page's request, or tells how long to wait at least.
func (b *browserTurns) admit(queue string, valence int, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.get(queue)
	if wait = t.wait(valence, now); wait == 0 {
		t.asked++
	}
	return wait
}

// enter counts a fetch of one of the queue's own URIs, or tells how long to wait at least: a page may be asking its host.
func (b *browserTurns) enter(queue string, valence int, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.get(queue)
	if wait = t.wait(valence, now); wait == 0 {
		t.own++
	}
	return wait
}

func (t *browserTurn) wait(valence int, now time.Time) time.Duration {
	switch {
	case now.Before(t.rest):
		return t.rest.Sub(now)
	case t.own+t.asked >= max(valence, 1):
		return turnPoll
	}
	return 0
}

// exit ends what enter counted. With one slot the host rests until then; several rest each by itself, as the frontier has it.
func (b *browserTurns) exit(queue string, valence int, rest time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.get(queue)
	t.own--
	if valence <= 1 {
		t.until(rest)
	}
	b.tidy(queue, t)
}

// done ends a request, after which the host rests.
func (b *browserTurns) done(queue string, rest time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.get(queue)
	t.asked--
	t.until(rest)
	b.tidy(queue, t)
}

// await waits for a request's turn at its host, as its queue's URIs do. It answers false where ctx ends first, or the queue may
// not be asked: it is frozen, or its budget is spent.
func (p *pageLoad) await(ctx context.Context, w *worker, v *visit) (bool, error) {
	polite := v.set.MinDelay > 0 || v.set.DelayFactor > 0
	for {
		found, err := w.frontier.Queues(ctx, frontier.QueueFilter{Name: v.uri.Queue})
		if err != nil {
			return false, err
		}
		wait := time.Duration(0)
		now := time.Now()
		if len(found) > 0 {
			q := found[0]
			if q.State == frontier.Frozen || q.State == frontier.Retired && q.Name != p.page.uri.Queue {
				return false, nil
			}
			if q.WakeAt.After(now) && q.Name != p.page.uri.Queue { // the page's own queue rests as browserTurns has it
				wait = q.WakeAt.Sub(now)
			}
		}
		if !polite {
			return true, nil
		}
		if wait == 0 {
			if wait = w.browsers.turns.admit(v.uri.Queue, v.set.HostValence, now); wait == 0 {
				v.part.admitted = v.uri.Queue
				ok, other := w.turn(v)
				if ok {
					return true, nil
				}
				v.part.admitted = ""
				w.browsers.turns.done(v.uri.Queue, now)
				wait = other
			}
		}
		if !pause(ctx, min(wait, time.Second)) {
			return false, nil
		}
	}
}

// rest ends a request's turn.
func (w *worker) rest(v *visit) {
	if v.part.admitted != "" {
		w.browsers.turns.done(v.part.admitted, time.Now().Add(w.politeness(v)))
	}
	v.part.admitted = ""
	w.endTurn(v)
}
