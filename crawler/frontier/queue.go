package frontier

import (
	"slices"
	"time"
)

// Host is what a queue has seen, for the reports.
type Host struct {
	URLs, Bytes, Robots int64
}

// queue is the URIs of one host. It is in at most one of the lists ready, snoozed and starved.
type queue struct {
	name     string
	head     []*URI // the next URIs, in order; more may lie in the database
	count    int    // URIs queued: head, delayed and in the database, not in flight
	waiting  int    // of them, delayed
	cursor   [priorities]uint64
	inFlight map[uint64]struct{}
	wakeAt   time.Time
	listed   bool // in a list
	host     Host
}

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

// remove takes the URI with that number out of the head, if it is there.
func (q *queue) remove(seq uint64) bool {
	i := slices.IndexFunc(q.head, func(u *URI) bool { return u.seq == seq })
	if i < 0 {
		return false
	}
	q.head = slices.Delete(q.head, i, i+1)
	return true
}

// touch marks the queue's record to be written with the batch.
func (q *queue) touch(b *Batch) { b.touched[q] = struct{}{} }

// fifo is the queues that are ready, first come first served.
type fifo struct {
	list []*queue
	from int
}

func (l *fifo) push(q *queue) { l.list = append(l.list, q) }

func (l *fifo) pop() *queue {
	if l.from == len(l.list) {
		return nil
	}
	q := l.list[l.from]
	l.list[l.from] = nil
	l.from++
	if l.from > 1024 && l.from*2 > len(l.list) {
		l.list = append(l.list[:0], l.list[l.from:]...)
		l.from = 0
	}
	return q
}

func (l *fifo) len() int { return len(l.list) - l.from }

// wakeHeap is the queues that rest, the first to wake up first.
type wakeHeap []*queue

func (h wakeHeap) Len() int           { return len(h) }
func (h wakeHeap) Less(i, j int) bool { return h[i].wakeAt.Before(h[j].wakeAt) }
func (h wakeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *wakeHeap) Push(x any)        { *h = append(*h, x.(*queue)) }
func (h *wakeHeap) Pop() any {
	old := *h
	q := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return q
}

// delayedURI is a URI that is to be tried again later.
type delayedURI struct {
	u *URI
	q *queue
}

type delayHeap []delayedURI

func (h delayHeap) Len() int           { return len(h) }
func (h delayHeap) Less(i, j int) bool { return h[i].u.notBefore < h[j].u.notBefore }
func (h delayHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *delayHeap) Push(x any)        { *h = append(*h, x.(delayedURI)) }
func (h *delayHeap) Pop() any {
	old := *h
	d := old[len(old)-1]
	old[len(old)-1] = delayedURI{}
	*h = old[:len(old)-1]
	return d
}
