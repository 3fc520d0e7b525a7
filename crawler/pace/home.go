package pace

import (
	"slices"
	"sync"
	"time"
)

// Home grants leases on the hosts that this node is the home of. It is safe for concurrent use.
type Home struct {
	self string

	mu     sync.Mutex
	living []string
	past   []view // who lived before, the latest first, as far as that still counts
	hosts  map[string]*lease
	swept  time.Time
}

// view is who was thought to live, until when.
type view struct {
	living []string
	until  time.Time
}

// lease is the state of one host.
type lease struct {
	holder  string // "": nobody
	since   time.Time
	until   time.Time
	rest    time.Time // nobody may ask the host before
	waiting []waiter
}

type waiter struct {
	holder string
	asked  time.Time
}

// NewHome makes the home of node self. It grants nothing before the first SetLiving.
func NewHome(self string) *Home {
	return &Home{self: self, hosts: map[string]*lease{}}
}

// SetLiving sets which nodes are alive. Leases that were granted stay granted; hosts that now have another home are
// no longer granted. A home that starts while others are alive does not know which home its hosts had before: it
// settles for all of them.
func (h *Home) SetLiving(living []string, now time.Time) {
	sorted := slices.Clone(living)
	slices.Sort(sorted)
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Equal(sorted, h.living) {
		return
	}
	if len(h.living) > 0 || len(sorted) > 1 {
		h.past = slices.Insert(h.past, 0, view{h.living, now})
	}
	h.past = slices.DeleteFunc(h.past, func(v view) bool { return now.Sub(v.until) > settling })
	h.living = sorted
}

// Serve answers the asks of one node, in order.
func (h *Home) Serve(asks []Ask, now time.Time) []Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep(now)
	out := make([]Answer, len(asks))
	for i, a := range asks {
		out[i] = h.answer(a, now)
	}
	return out
}

func (h *Home) answer(a Ask, now time.Time) Answer {
	l := h.hosts[a.Host]
	if l != nil && l.holder != "" && !now.Before(l.until) {
		l.holder = ""
	}
	if a.Return {
		if l == nil {
			l = &lease{}
			h.hosts[a.Host] = l
		}
		if l.holder == a.Holder || l.holder == "" {
			l.holder = ""
			if rest := now.Add(a.Rest); rest.After(l.rest) {
				l.rest = rest
			}
		}
		return Answer{}
	}
	if HomeOf(a.Host, h.living) != h.self {
		return Answer{Moved: true}
	}
	if l == nil {
		l = &lease{}
		h.hosts[a.Host] = l
	}
	if l.holder == a.Holder && l.holder != "" || l.holder == "" && a.Held {
		if l.holder == "" {
			l.holder, l.since = a.Holder, now
		}
		l.until = now.Add(Length)
		l.leave(a.Holder)
		l.forget(now)
		return Answer{Granted: true, For: Length, GiveBack: len(l.waiting) > 0 && now.Sub(l.since) >= Turn}
	}
	first := l.wait(a.Holder, now)
	switch {
	case l.holder != "":
		return Answer{Wait: Length / 10}
	case h.settling(a.Host, now):
		return Answer{Wait: Length / 5}
	case now.Before(l.rest):
		return Answer{Wait: max(l.rest.Sub(now), 10*time.Millisecond)}
	case !first:
		return Answer{Wait: Length / 10}
	}
	l.holder, l.since, l.until = a.Holder, now, now.Add(Length)
	l.leave(a.Holder)
	return Answer{Granted: true, For: Length}
}

// settling tells whether an earlier home may still have granted what this one would.
func (h *Home) settling(host string, now time.Time) bool {
	for _, v := range h.past {
		if now.Sub(v.until) < settling && HomeOf(host, v.living) != h.self {
			return true
		}
	}
	return false
}

// wait adds a holder to those that wait, and reports whether it is the first of them that still asks.
func (l *lease) wait(holder string, now time.Time) (first bool) {
	l.forget(now)
	i := slices.IndexFunc(l.waiting, func(w waiter) bool { return w.holder == holder })
	if i < 0 {
		i = len(l.waiting)
		l.waiting = append(l.waiting, waiter{holder: holder})
	}
	l.waiting[i].asked = now
	return i == 0
}

func (l *lease) leave(holder string) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool { return w.holder == holder })
}

// forget drops waiting holders that no longer ask.
func (l *lease) forget(now time.Time) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool { return now.Sub(w.asked) > Length })
}

// sweep forgets, once in a while, hosts that nobody has or waits for and that need no rest.
func (h *Home) sweep(now time.Time) {
	if now.Sub(h.swept) < Length {
		return
	}
	h.swept = now
	for host, l := range h.hosts {
		l.forget(now)
		if (l.holder == "" || !now.Before(l.until)) && len(l.waiting) == 0 && !now.Before(l.rest) {
			delete(h.hosts, host)
		}
	}
}
