package replica

import (
	"context"
	"slices"
	"sync"

	"holdfast/catalog"
)

// class is how soon an owed copy is wanted.
type class int

// The classes, in the order of need.
const (
	needed  class = iota // of new files, and of files with few good copies
	moving               // of a shard that moves here
	filling              // whatever else is owed
	classes
)

// offeredMost is how many copies of a class wait for a worker at most.
const offeredMost = 256

// queue holds copies that can be made now until a worker takes them. Nobody who offers one waits.
type queue struct {
	low func() // called when a class has run out

	mu      sync.Mutex
	waiting [classes][]Fetch
	turn    int           // counts the copies taken
	more    chan struct{} // closed when something was offered
}

func newQueue(low func()) *queue { return &queue{low: low, more: make(chan struct{})} }

// offer adds copies to those of their class, as far as there is room. A copy that waits already is not added again.
func (q *queue) offer(c class, fetches ...Fetch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range fetches {
		if len(q.waiting[c]) < offeredMost && !q.has(c, f.File.Name) {
			q.waiting[c] = append(q.waiting[c], f)
		}
	}
	q.tell()
}

// replace puts copies in the place of all of their class.
func (q *queue) replace(c class, fetches []Fetch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting[c] = fetches
	q.tell()
}

func (q *queue) has(c class, name catalog.FileName) bool {
	return slices.ContainsFunc(q.waiting[c], func(f Fetch) bool { return f.File.Name == name })
}

// tell wakes those who wait for a copy. The caller holds mu.
func (q *queue) tell() {
	close(q.more)
	q.more = make(chan struct{})
}

// wants reports how many copies of the class may still be offered.
func (q *queue) wants(c class) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return offeredMost - len(q.waiting[c])
}

// take returns the next copy to make, and waits for one; if only is true, only of the copies that are needed most.
func (q *queue) take(ctx context.Context, only bool) (Fetch, class, error) {
	for {
		q.mu.Lock()
		f, c, ok := q.next(only)
		more, out := q.more, ok && len(q.waiting[c]) == 0
		q.mu.Unlock()
		if out {
			q.low()
		}
		if ok {
			return f, c, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return Fetch{}, 0, ctx.Err()
		}
	}
}

// next takes the first copy of the class whose turn it is, or else of the neediest class that has one: of eight copies
// one is of the last class and one of the last but one, so that nothing waits for ever.
func (q *queue) next(only bool) (Fetch, class, bool) {
	order := []class{needed, moving, filling}
	switch {
	case only:
		order = order[:1]
	case q.turn%8 == 3:
		order = []class{moving, needed, filling}
	case q.turn%8 == 7:
		order = []class{filling, needed, moving}
	}
	for _, c := range order {
		if len(q.waiting[c]) == 0 {
			continue
		}
		f := q.waiting[c][0]
		q.waiting[c] = q.waiting[c][1:]
		if !only {
			q.turn++
		}
		return f, c, true
	}
	return Fetch{}, 0, false
}
