package frontier

import (
	"container/heap"
	"container/list"
	"slices"
	"sort"
	"time"
)

// Lookups is the host of all look-ups of names, as Heritrix's reports have it, and what their URLs begin with.
const Lookups = "dns:"

// Host counts what was fetched from a host, for the reports.
type Host struct {
	URLs, Bytes, Robots               int64
	NovelURLs, NovelBytes             int64
	DuplicateURLs, DuplicateBytes     int64 // same content as an earlier capture
	NotModifiedURLs, NotModifiedBytes int64 // the server said so
}

func (h *Host) count(o Outcome) {
	if o.Robots {
		h.Robots++
	}
	if !o.Fetched {
		return
	}
	h.URLs++
	h.Bytes += o.Bytes
	switch o.Dedup {
	case Duplicate:
		h.DuplicateURLs++
		h.DuplicateBytes += o.Bytes
	case NotModified:
		h.NotModifiedURLs++
		h.NotModifiedBytes += o.Bytes
	case Discarded:
	default:
		h.NovelURLs++
		h.NovelBytes += o.Bytes
	}
}

func (h *Host) fields() []*int64 {
	return []*int64{&h.URLs, &h.Bytes, &h.Robots, &h.NovelURLs, &h.NovelBytes, &h.DuplicateURLs, &h.DuplicateBytes,
		&h.NotModifiedURLs, &h.NotModifiedBytes}
}

// listed says in which list a queue is.
type listed byte

const (
	nowhere listed = iota
	inReady
	inSnoozed
	inStarved
)

// queue is the URIs of one host. Only an active one gives URIs out.
type queue struct {
	record
	pauses
	unwritten
	name     string
	active   bool
	head     []*URI             // the next URIs, in order; more may lie in the database
	late     []*URI             // to be tried again later, the first to be so first
	cursor   [priorities]uint64 // up to where the database's entries were read
	edge     edge
	inFlight map[uint64]byte // numbers and priorities
	session  int64           // spent since it became active
	policy   Policy
	asked    uint64 // the policy's turn when that was asked for
	site     string // that it was asked for; "": it depends on none
	some     string // a URI of it, if one is known
	list     listed
	turn     *list.Element // in ready
	slot     int           // in snoozed
	at       time.Time     // its time there
}

// pauses say when a queue may give out a URI.
type pauses struct {
	rests  []time.Time   // until when slots rest that had a URI, in order
	wakeAt time.Time     // nothing is given out before
	spaced time.Time     // the next start, where slots would start together
	wait   time.Duration // the last that a slot had to keep
	paced  bool          // a wait is known
}

// unwritten is what of a queue is not in the database yet.
type unwritten struct {
	dirty   uint64 // number of the batch that is going to write it
	hard    bool   // more than its count changed
	fresh   bool   // its record is not in the database
	counted bool   // among all queues, while fresh
	gone    bool   // it dropped out of memory, its record is in the batch
}

// edge is a place in a queue's order: what waits in the database and not in memory comes after it.
type edge struct {
	priority byte
	seq      uint64
}

// has reports whether u comes before the edge.
func (e edge) has(u *URI) bool {
	return u.Priority < e.priority || u.Priority == e.priority && u.seq < e.seq
}

// queued is how many URIs wait, delayed ones too.
func (q *queue) queued() int { return int(q.count) - len(q.inFlight) }

// before is the order within a queue.
func before(a, b *URI) bool {
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	return a.seq < b.seq
}

func compare(a, b *URI) int {
	switch {
	case before(a, b):
		return -1
	case before(b, a):
		return 1
	}
	return 0
}

// push puts u at its place in the head.
func (q *queue) push(u *URI) {
	if n := len(q.head); n == 0 || before(q.head[n-1], u) {
		q.head = append(q.head, u)
		return
	}
	i, _ := slices.BinarySearchFunc(q.head, u, compare)
	q.head = slices.Insert(q.head, i, u)
}

func (q *queue) pop() *URI {
	u := q.head[0]
	q.head[0] = nil
	q.head = q.head[1:]
	return u
}

// delay puts u among the URIs that are to be tried again later.
func (q *queue) delay(u *URI) {
	i := sort.Search(len(q.late), func(i int) bool { return q.late[i].notBefore > u.notBefore })
	q.late = slices.Insert(q.late, i, u)
}

// remove takes the URI with that number out of memory and reports whether it was in the head.
func (q *queue) remove(seq uint64) bool {
	is := func(u *URI) bool { return u.seq == seq }
	if i := slices.IndexFunc(q.head, is); i >= 0 {
		q.head = slices.Delete(q.head, i, i+1)
		return true
	}
	q.late = slices.DeleteFunc(q.late, is)
	return false
}

func (q *queue) spend(cost int64) {
	q.spent += cost
	q.session += cost
}

// rest lets a slot rest for wait.
func (q *queue) rest(now time.Time, wait time.Duration) {
	q.rests = slices.DeleteFunc(q.rests, func(t time.Time) bool { return !t.After(now) })
	if wait <= 0 {
		return
	}
	q.wait = wait
	at := now.Add(wait)
	i := sort.Search(len(q.rests), func(i int) bool { return q.rests[i].After(at) })
	q.rests = slices.Insert(q.rests, i, at)
}

// rested is when all rests are over.
func (q *queue) rested() time.Time {
	at := q.wakeAt
	if n := len(q.rests); n > 0 && q.rests[n-1].After(at) {
		at = q.rests[n-1]
	}
	return at
}

// start marks that a slot begins. The next begins when this one's pause, shared among all slots, is over.
func (q *queue) start(now time.Time) {
	if v := q.policy.Valence; v > 1 {
		q.spaced = now.Add(q.wait / time.Duration(v))
	}
}

// next is when the queue may give a URI out, or false if that depends on something else than time.
// While no pause is known only one slot is used.
func (q *queue) next() (time.Time, bool) {
	slots := max(q.policy.Valence, 1)
	if !q.paced {
		slots = 1
	}
	free := slots - len(q.inFlight)
	if q.queued() <= 0 || free <= 0 {
		return time.Time{}, false
	}
	at := q.wakeAt
	later := func(t time.Time) {
		if t.After(at) {
			at = t
		}
	}
	if n := len(q.rests) - free; n >= 0 {
		later(q.rests[n])
	}
	if slots > 1 {
		later(q.spaced)
	}
	if len(q.head) == 0 && q.queued() == len(q.late) {
		later(time.UnixMilli(q.late[0].notBefore))
	}
	return at, true
}

// due moves to the head the URIs that are to be tried again by now, and returns how many.
func (q *queue) due(now time.Time) (n int) {
	for len(q.late) > 0 && q.late[0].notBefore <= now.UnixMilli() {
		u := q.late[0]
		q.late = q.late[1:]
		u.notBefore = 0
		q.push(u)
		n++
	}
	return n
}

// fifo holds the queues that are ready, first come first served. A queue that leaves it is removed at once, so that
// its length is the number of ready queues.
type fifo struct{ list list.List }

func (l *fifo) push(q *queue) {
	q.list, q.turn = inReady, l.list.PushBack(q)
}

// remove takes a queue out that is in it.
func (l *fifo) remove(q *queue) {
	l.list.Remove(q.turn)
	q.list, q.turn = nowhere, nil
}

// pop removes and returns the first queue, nil if there is none.
func (l *fifo) pop() *queue {
	first := l.list.Front()
	if first == nil {
		return nil
	}
	q := first.Value.(*queue)
	l.remove(q)
	return q
}

func (l *fifo) len() int { return l.list.Len() }

// wakeHeap is the queues that rest, the first to wake up first.
type wakeHeap []*queue

func (h wakeHeap) Len() int           { return len(h) }
func (h wakeHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h wakeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}
func (h *wakeHeap) Push(x any) {
	q := x.(*queue)
	q.slot = len(*h)
	*h = append(*h, q)
}
func (h *wakeHeap) Pop() any {
	old := *h
	q := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return q
}

// put puts q in, to wake up at that time, or changes its time.
func (h *wakeHeap) put(q *queue, at time.Time) {
	if q.list == inSnoozed {
		if q.at.Equal(at) {
			return
		}
		q.at = at
		heap.Fix(h, q.slot)
		return
	}
	q.list, q.at = inSnoozed, at
	heap.Push(h, q)
}

func (h *wakeHeap) remove(q *queue) {
	heap.Remove(h, q.slot)
	q.list = nowhere
}
