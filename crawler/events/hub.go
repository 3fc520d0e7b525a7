package events

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config says how a hub keeps events.
type Config struct {
	Keep   int    // events kept for Since; default 2 000
	Sample int    // events URIFinished a second at most; default 10
	Last   uint64 // number of the last event in job.log (LastNumber); 0: a new crawl
	// takes each line for job.log, in order; it must neither call the hub nor keep line; default: none
	Write func(line []byte)
	Now   func() time.Time // default time.Now
}

// Hub numbers events, keeps the last of them, and gives them to subscribers. It has no goroutine, and nobody who
// publishes waits for one who listens. Its methods may be called by several goroutines.
type Hub struct {
	cfg Config

	mu      sync.Mutex
	last    uint64 // number of the last event
	logged  uint64 // number of the last one that was written
	ring    []Event
	next    int // where the next event goes in a ring that is full
	line    []byte
	subs    []*Subscription
	changed chan struct{} // closed with the next event; nil: nobody waits
	closed  bool

	second  int64 // of the events that were sampled
	sampled int
}

// step is how far numbers jump when a crawl continues after a restart, so that no number is given twice, even if it
// was not written.
const step = 1_000_000

// NewHub makes a hub.
func NewHub(cfg Config) *Hub {
	if cfg.Keep <= 0 {
		cfg.Keep = 2000
	}
	if cfg.Sample <= 0 {
		cfg.Sample = 10
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Write == nil {
		cfg.Write = func([]byte) {}
	}
	h := &Hub{cfg: cfg}
	if cfg.Last > 0 {
		h.last = (cfg.Last/step + 2) * step
		h.logged = h.last
	}
	return h
}

// Publish gives the event its number, and the time where it has none, and tells everyone. It returns the number, or 0
// where the event was dropped: because it was one URIFinished too many in a second, or the hub is closed.
func (h *Hub) Publish(e Event) uint64 {
	now := h.cfg.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || e.Kind == URIFinished && !h.sample(now.Unix()) {
		return 0
	}
	if e.Time.IsZero() {
		e.Time = now
	}
	e.Time = e.Time.UTC()
	h.last++
	e.Number = h.last
	if len(h.ring) < h.cfg.Keep {
		h.ring = append(h.ring, e)
	} else {
		h.ring[h.next] = e
		h.next = (h.next + 1) % len(h.ring)
	}
	if e.Kind.Logged() || e.Number/step != h.logged/step {
		h.logged = e.Number
		h.line = e.AppendTo(h.line[:0])
		h.cfg.Write(h.line)
	}
	for _, s := range h.subs {
		s.offer(e)
	}
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
	return e.Number
}

// Wanted reports whether a URIFinished published now would reach anybody, so that nobody makes one in vain.
func (h *Hub) Wanted() bool {
	now := h.cfg.Now().Unix()
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.closed && (now != h.second || h.sampled < h.cfg.Sample)
}

func (h *Hub) sample(second int64) bool {
	if second != h.second {
		h.second, h.sampled = second, 0
	}
	h.sampled++
	return h.sampled <= h.cfg.Sample
}

// Page is events in the order of their numbers.
type Page struct {
	Events []Event
	Last   uint64 // number of the last event there is
	Missed bool   // events after the one asked for are kept no more
	Ended  bool   // the hub is closed: there will be no more
}

// Since returns the events after the number, the oldest at most max of them.
func (h *Hub) Since(after uint64, max int) Page {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := Page{Last: h.last, Ended: h.closed}
	n := len(h.ring)
	if n == 0 || after >= h.last {
		p.Missed = after < h.last // of a run before
		return p
	}
	at := func(i int) *Event { return &h.ring[(h.next+i)%n] }
	from := 0
	if oldest := at(0).Number; after >= oldest {
		from = int(after - oldest + 1) // numbers in the ring have no gaps
	} else {
		p.Missed = after+1 < oldest
	}
	for i := from; i < n && len(p.Events) < max; i++ {
		p.Events = append(p.Events, *at(i))
	}
	return p
}

// Changed returns a channel that is closed when an event after the number has come, or the hub is closed: to wait for
// more than Since had.
func (h *Hub) Changed(after uint64) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.last > after {
		done := make(chan struct{})
		close(done)
		return done
	}
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// Subscription is one listener's buffer of events.
type Subscription struct {
	C       <-chan Event // closed by Close, the subscription's or the hub's
	c       chan Event
	hub     *Hub
	dropped atomic.Int64
}

// Subscribe gives events from now on. Those for which the buffer has no room are dropped and counted. Close must
// follow.
func (h *Hub) Subscribe(buffer int) *Subscription {
	c := make(chan Event, max(buffer, 1))
	s := &Subscription{C: c, c: c, hub: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(c)
		return s
	}
	h.subs = append(h.subs, s)
	return s
}

// offer gives an event if there is room. The caller holds the hub's mu.
func (s *Subscription) offer(e Event) {
	select {
	case s.c <- e:
	default:
		s.dropped.Add(1)
	}
}

// Dropped is how many events this listener was too slow for.
func (s *Subscription) Dropped() int64 { return s.dropped.Load() }

// Close ends the subscription. It may be called twice.
func (s *Subscription) Close() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.subs, s); i >= 0 {
		h.subs = slices.Delete(h.subs, i, i+1)
		close(s.c)
	}
}

// Close ends all subscriptions. Events published later are dropped; Since still answers.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, s := range h.subs {
		close(s.c)
	}
	h.subs = nil
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}
