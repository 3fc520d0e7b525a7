package hosts

import (
	"slices"
	"sort"
	"sync"
	"time"

	"holdfast/crawler/fetch"
)

// Turns keeps all requests of this crawl polite to each host, by whichever way they come: by their queue, beside it as
// logins do, from another queue, or for a page in a browser. The zero value is ready.
type Turns struct {
	mu    sync.Mutex
	at    map[string]*turn
	sweep int // from how many on those are looked for that need not be remembered
}

// turn is the state of one host.
type turn struct {
	asked int         // requests under way
	rests []time.Time // until when slots rest that had a request, in order
}

// TurnPoll is how often a host is looked at again that is busy.
const TurnPoll = 50 * time.Millisecond

// minTurns is from how many on turns are looked through for such as need not be remembered.
const minTurns = 1000

// Admit takes a slot at each of the names, which have slots slots each, or returns how long to wait at least.
func (t *Turns) Admit(names []string, slots int, now time.Time) (wait time.Duration) {
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

// Done ends a request that was admitted; the slots that it had rest.
func (t *Turns) Done(names []string, rest time.Duration, now time.Time) {
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
func (t *Turns) get(name string, now time.Time) *turn {
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
		return TurnPoll
	}
	if n := len(t.rests) - free; n >= 0 {
		return t.rests[n].Sub(now)
	}
	return 0
}

// Limiters are the bandwidth limits of the queues that have one.
type Limiters struct {
	mu sync.Mutex
	of map[string]*fetch.Limiter
}

// maxLimiters bounds how many queues' limits are kept; a limit that was dropped starts afresh.
const maxLimiters = 20_000

// NewLimiters has no limit yet.
func NewLimiters() *Limiters { return &Limiters{of: map[string]*fetch.Limiter{}} }

// Get returns a queue's limiter at the rate, nil for none.
func (l *Limiters) Get(queue string, rate int64) *fetch.Limiter {
	if rate <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.of[queue]
	if limiter == nil {
		for old := range l.of {
			if len(l.of) < maxLimiters {
				break
			}
			delete(l.of, old)
		}
		limiter = fetch.NewLimiter(rate)
		l.of[queue] = limiter
	}
	limiter.SetRate(rate)
	return limiter
}
