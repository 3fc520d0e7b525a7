package crawler

import (
	"context"
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

// takeTurn waits, as the URI's queue, for this crawl's turn at the host.
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

// turn asks for the host once. A crawl whose politeness is off does not take part.
func (w *worker) turn(v *visit) (ok bool, wait time.Duration) {
	if v.set.MinDelay == 0 && v.set.DelayFactor == 0 {
		return true, 0
	}
	if v.part.admitted == "" && w.mayBrowse() {
		if wait := w.browsers.turns.enter(v.uri.Queue, v.set.HostValence, time.Now()); wait > 0 {
			return false, wait
		}
		v.entered = v.uri.Queue
	}
	if v.set.QueueBy == queueByIP && len(v.addrs) > 0 {
		address := v.addrs[0].String()
		if wait := w.addressTurns.admit(address, v.set.HostValence, time.Now()); wait > 0 {
			w.endTurn(v)
			return false, wait
		}
		v.address = address
	}
	v.factor = 1
	if w.cfg.Pacer == nil {
		return true, 0
	}
	g := w.cfg.Pacer.Admit(v.target.Authority)
	if g.Wait > 0 {
		w.endTurn(v)
		return false, g.Wait
	}
	v.factor, v.turnAt = max(g.Factor, 1), v.target.Authority
	return true, 0
}

// endTurn gives the host back, to rest as the settings ask for.
func (w *worker) endTurn(v *visit) {
	rest := w.politeness(v)
	if v.turnAt != "" {
		w.cfg.Pacer.Done(v.turnAt, rest)
	}
	if v.address != "" {
		w.addressTurns.done(v.address, time.Now().Add(rest))
	}
	if v.entered != "" {
		w.browsers.turns.exit(v.entered, v.set.HostValence, time.Now().Add(rest))
	}
	v.turnAt, v.address, v.entered = "", "", ""
}

// mayBrowse tells whether pages may be loaded in a browser, whose requests share the hosts with the queues.
func (c *Crawl) mayBrowse() bool {
	sheets := c.plan.Load().sheets
	return len(sheets.Base().BrowserRules) > 0 || !sheets.Empty()
}

// addressTurns keeps the hosts at one address polite together.
type addressTurns struct {
	mu sync.Mutex
	at map[string]*addressTurn
}

type addressTurn struct {
	asked int // fetches under way
	rest  time.Time
}

// maxAddresses is from when addresses that need no rest are forgotten.
const maxAddresses = 10_000

// admit counts a fetch at the address, or tells how long to wait.
func (a *addressTurns) admit(address string, valence int, now time.Time) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.at[address]
	if t == nil {
		if a.at == nil {
			a.at = map[string]*addressTurn{}
		}
		for name, old := range a.at {
			if len(a.at) >= maxAddresses && old.asked == 0 && now.After(old.rest) {
				delete(a.at, name)
			}
		}
		t = &addressTurn{}
		a.at[address] = t
	}
	switch {
	case now.Before(t.rest):
		return t.rest.Sub(now)
	case t.asked >= max(valence, 1):
		return 50 * time.Millisecond
	}
	t.asked++
	return 0
}

func (a *addressTurns) done(address string, rest time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.at[address]; t != nil {
		t.asked--
		if rest.After(t.rest) {
			t.rest = rest
		}
	}
}
