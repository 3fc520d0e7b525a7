package simulate

import "container/heap"

// timed is what waits until a time.
type timed struct {
	due, last float64
	id        int
	number    int // of the place that adaptive gave it
}

type byTime []timed

func (q byTime) Len() int { return len(q) }
func (q byTime) Less(i, j int) bool {
	return q[i].due < q[j].due || q[i].due == q[j].due && q[i].id < q[j].id
}
func (q byTime) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *byTime) Push(x any)   { *q = append(*q, x.(timed)) }
func (q *byTime) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// timetable keeps what waits, by host.
type timetable struct {
	world *World
	hosts [hostCount]byTime
}

func (q *timetable) put(id int, last, due float64) {
	heap.Push(&q.hosts[q.world.items[id].host], timed{due: due, last: last, id: id})
}

// take returns what is due longest on a host that is free. If nothing is due, and early, it is the one that is ahead of
// its time by the least share of its wait, if under a quarter.
func (q *timetable) take(t float64, free func(int) bool, early bool) (int, bool) {
	best, rank := -1, 0.0
	for h := range q.hosts {
		if len(q.hosts[h]) == 0 || !free(h) {
			continue
		}
		first := q.hosts[h][0]
		r := first.due - t
		if r > 0 {
			if r = 1e6 + r/(first.due-first.last); !early || r >= 1e6+0.25 {
				continue
			}
		}
		if best < 0 || r < rank {
			best, rank = h, r
		}
	}
	if best < 0 {
		return 0, false
	}
	return heap.Pop(&q.hosts[best]).(timed).id, true
}
