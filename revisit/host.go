package revisit

import "slices"

// Host is what the policy keeps for the URIs of one host: how many are in which class, what was visited longest ago in
// each, and how much the host lets through. The URIs themselves are kept by the caller, in a plain queue for each
// class; a queue by time for those that are dated; and one for those that were never visited.
type Host struct {
	Hints    Hints
	Capacity float64 // requests a day that the host lets through; 0 as long as nobody knows

	lines  []line // in the order of their classes
	others [2]Turn
	has    [2]bool
	best   int   // of lines; -1 for none
	ahead  int64 // newest of the last visits of the heads
	offset int   // what the host's scarcity adds to the price
}

type line struct {
	class  Class
	count  int
	wait   int64
	head   int64 // last visit of the first URI of the queue
	queued bool
}

// Queue is a queue of a host.
type Queue uint8

const (
	// New is the queue of what was never visited, in the order it was found.
	New Queue = iota
	// Dated is the queue of what is due at a time of its own.
	Dated
	// Classed are the queues of the classes, in the order of the last visits.
	Classed
)

// Turn is the next URI of one of a host's queues.
type Turn struct {
	Queue     Queue
	Class     Class // with Classed
	Due, Last int64 // milliseconds since 1970; of New both are when it was found
}

// NewHost is a host without URIs.
func NewHost() *Host { return &Host{best: -1} }

func (h *Host) line(c Class) (int, bool) {
	return slices.BinarySearchFunc(h.lines, c, func(l line, c Class) int { return int(l.class) - int(c) })
}

// begin returns the place of a class among the lines, which has one from then on.
func (a *Adaptive) begin(h *Host, c Class) int {
	i, ok := h.line(c)
	if !ok {
		h.lines = slices.Insert(h.lines, i, line{class: c, wait: a.wait(c, a.price+h.offset)})
		h.look()
	}
	return i
}

// end takes a line away that has nothing any more.
func (h *Host) end(i int) {
	if h.lines[i].count == 0 && !h.lines[i].queued {
		h.lines = slices.Delete(h.lines, i, i+1)
		h.look()
	}
}

// count adds to the number of URIs of a class.
func (a *Adaptive) count(h *Host, c Class, by int) {
	if _, known := h.line(c); !known && by < 0 {
		return
	}
	i := a.begin(h, c)
	h.lines[i].count = max(h.lines[i].count+by, 0)
	h.end(i)
}

// SetHead tells when the first URI of a class's queue was visited last; ok is false if the queue is empty.
func (a *Adaptive) SetHead(h *Host, c Class, last int64, ok bool) {
	if _, known := h.line(c); !known && !ok {
		return
	}
	i := a.begin(h, c)
	l := &h.lines[i]
	l.head, l.queued = last, ok
	switch {
	case i == h.best || !ok || last > h.ahead:
		h.look()
		h.end(i)
	case h.best < 0 || l.due() < h.lines[h.best].due():
		h.best = i
	}
}

// SetNext tells the first URI of the queue New or Dated; ok is false if it is empty.
func (h *Host) SetNext(queue Queue, due, last int64, ok bool) {
	h.others[queue], h.has[queue] = Turn{Queue: queue, Due: due, Last: last}, ok
}

func (l *line) due() int64 { return later(l.head, l.wait) }

// look finds the class that is due first.
func (h *Host) look() {
	h.best, h.ahead = -1, 0
	for i := range h.lines {
		l := &h.lines[i]
		if !l.queued {
			continue
		}
		h.ahead = max(h.ahead, l.head)
		if h.best < 0 || l.due() < h.lines[h.best].due() {
			h.best = i
		}
	}
}

// slack is by how much a clock may run back, in milliseconds, before what was visited after now is taken for due.
const slack = 60_000

// Turns are the turns that the host could have at a time: at most one of each queue, of the classes the one that is due
// first. A URI whose last visit lies in the future, since a clock ran back, is due now.
func (h *Host) Turns(now int64) (turns [3]Turn, n int) {
	for q, t := range h.others {
		if h.has[q] {
			turns[n] = present(t, now)
			n++
		}
	}
	best := h.best
	if h.ahead > now+slack {
		best = slices.IndexFunc(h.lines, func(l line) bool { return l.queued && l.head > now+slack })
	}
	if best >= 0 {
		l := &h.lines[best]
		turns[n] = present(Turn{Classed, l.class, l.due(), l.head}, now)
		n++
	}
	return turns, n
}

func present(t Turn, now int64) Turn {
	if t.Last > now+slack {
		t.Due, t.Last = now, now
	}
	return t
}

// demand is how many visits a day the host's URIs ask for at a price.
func (a *Adaptive) demand(h *Host, price int) (sum float64) {
	for i := range h.lines {
		l := &h.lines[i]
		sum += float64(l.count) * msPerDay / float64(a.wait(l.class, price))
	}
	return sum
}

// reprice sets the waits of the host's classes by the price and, if the host lets less through than that asks for, by
// what makes its URIs ask for less. It returns how many visits a day they ask for.
func (a *Adaptive) reprice(h *Host, price int) float64 {
	asked := a.demand(h, price)
	h.offset = 0
	if most := a.usable(h); asked > most {
		h.offset = least(func(offset int) bool { return a.demand(h, price+offset) <= most }, 0, highest-lowest)
		asked = a.demand(h, price+h.offset)
	}
	for i := range h.lines {
		h.lines[i].wait = a.wait(h.lines[i].class, price+h.offset)
	}
	h.look()
	return asked
}
