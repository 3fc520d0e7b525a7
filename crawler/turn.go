package crawler

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"holdfast/crawler/pace"
)

// Pacer lets crawls take turns at a host, those on other machines among them.
type Pacer interface {
	// Admit tells whether the host may be asked now, or when to try again. If it may, it counts as being asked until Done.
	Admit(host string) pace.Grant
	// Done ends one asking; nobody is to ask the host for so long after it.
	Done(host string, rest time.Duration)
}

// takeTurn waits, as the URI's queue, for the URI's turn at the host.
func (w *worker) takeTurn(_ context.Context, v *visit) (step, error) {
	if v.host != "" {
		return next, nil
	}
	if ok, wait := w.turn(v); !ok {
		w.frontier.Return(v.uri, wait)
		return again, nil
	}
	return next, nil
}

// turn asks for the host once: for a slot of it within this crawl, and for this crawl's turn among others. A crawl whose
// politeness is off takes no turns with others.
func (w *worker) turn(v *visit) (ok bool, wait time.Duration) {
	names := turnNames(v)
	if wait := w.turns.admit(names, v.set.HostValence, time.Now()); wait > 0 {
		return false, wait
	}
	v.turns, v.factor = names, 1
	if w.cfg.Pacer == nil || !polite(v) {
		return true, 0
	}
	g := w.cfg.Pacer.Admit(v.target.Authority)
	if g.Wait > 0 {
		v.factor = 0
		w.endTurn(v)
		return false, g.Wait
	}
	v.factor, v.turnAt = max(g.Factor, 1), v.target.Authority
	return true, 0
}

// polite tells whether the settings ask for pauses.
func polite(v *visit) bool { return v.set.MinDelay > 0 || v.set.DelayFactor > 0 }

// endTurn gives the host back, to rest as the settings ask for. What was given back is not again.
func (w *worker) endTurn(v *visit) {
	if len(v.turns) == 0 {
		return
	}
	rest := w.politeness(v)
	if v.turnAt != "" {
		w.cfg.Pacer.Done(v.turnAt, rest)
	}
	w.turns.done(v.turns, rest, time.Now())
	v.turns, v.turnAt = nil, ""
}

// turnNames is what a request takes its turns at: its host, whichever queue it stands in, and what queues are by.
func turnNames(v *visit) []string {
	names := []string{v.target.Authority}
	if queue := queueOf(v.target, v.set); queue != v.target.Authority {
		names = append(names, "queue "+queue)
	}
	if v.set.QueueBy == queueByIP && len(v.addrs) > 0 {
		names = append(names, "address "+v.addrs[0].String())
	}
	return names
}

// turns keeps all requests of this crawl polite to each host, by whichever way they come: by their queue, beside it as logins do, from
// another queue, or for a page in a browser. The zero value is ready.
type turns struct {
	mu    sync.Mutex
	at    map[string]*turn
	sweep int // from how many on those are looked for that need not be remembered
}

// turn is how one host stands.
type turn struct {
	asked int         // requests under way
	rests []time.Time // until when slots rest that had a request, in order
}

// turnPoll is how often a host is looked at again that is busy.
const turnPoll = 50 * time.Millisecond

// minTurns is from how many on turns are looked through for such as need not be remembered.
const minTurns = 1000

// admit counts a request at all of the names, each of which has so many slots, or tells how long to wait at least.
func (t *turns) admit(names []string, slots int, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		if one := t.at[name]; one != nil {
			wait = max(wait, one.wait(max(slots, 1), now))
		}
	}
	if wait > 0 {
		return wait
	}
	for _, name := range names {
		t.get(name, now).asked++
	}
	return 0
}

// done ends a request that was admitted; the slots that it had rest.
func (t *turns) done(names []string, rest time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		one := t.get(name, now)
		one.asked--
		if one.wake(now); rest > 0 {
			until := now.Add(rest)
			i := sort.Search(len(one.rests), func(i int) bool { return one.rests[i].After(until) })
			one.rests = slices.Insert(one.rests, i, until)
		}
	}
}

// get returns a host's turn, made if need be. The caller holds mu.
func (t *turns) get(name string, now time.Time) *turn {
	one := t.at[name]
	if one != nil {
		return one
	}
	if len(t.at) >= max(t.sweep, minTurns) {
		for name, old := range t.at {
			if old.wake(now); old.asked == 0 && len(old.rests) == 0 {
				delete(t.at, name)
			}
		}
		t.sweep = 2 * len(t.at)
	}
	if t.at == nil {
		t.at = map[string]*turn{}
	}
	one = &turn{}
	t.at[name] = one
	return one
}

// wake forgets rests that are over.
func (t *turn) wake(now time.Time) {
	t.rests = slices.DeleteFunc(t.rests, func(until time.Time) bool { return !until.After(now) })
}

// wait is how long none of the slots is free, as far as time tells.
func (t *turn) wait(slots int, now time.Time) time.Duration {
	t.wake(now)
	free := slots - t.asked
	if free <= 0 {
		return turnPoll
	}
	if n := len(t.rests) - free; n >= 0 {
		return t.rests[n].Sub(now)
	}
	return 0
}
