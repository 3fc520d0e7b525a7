package runner

import (
	"maps"
	"sync"

	"holdfast/crawler"
)

// Brought counts what crawls on this node did.
type Brought struct {
	Succeeded, Failed, Disregarded int64 // URIs
	Bytes                          int64 // of content
}

// plus adds what was brought from one time to another.
func (b Brought) plus(from, to Brought) Brought {
	return Brought{b.Succeeded + max(0, to.Succeeded-from.Succeeded), b.Failed + max(0, to.Failed-from.Failed),
		b.Disregarded + max(0, to.Disregarded-from.Disregarded), b.Bytes + max(0, to.Bytes-from.Bytes)}
}

// progress is a crawl that says how far it is.
type progress interface{ Progress() crawler.Progress }

func broughtBy(c progress) Brought {
	p := c.Progress()
	return Brought{p.Succeeded, p.Failed, p.Disregarded, p.Bytes}
}

// Tally counts what crawls on this node bring, from the start of the process on. Its figures never fall.
type Tally struct {
	mu    sync.Mutex
	ended Brought              // by crawls that have ended
	open  map[progress]Brought // what each had brought before it was opened here
}

func (t *Tally) begin(c progress) {
	before := broughtBy(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[progress]Brought{}
	}
	t.open[c] = before
}

func (t *Tally) end(c progress) {
	all := broughtBy(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = t.ended.plus(t.open[c], all)
	delete(t.open, c)
}

// Brought returns what the crawls have brought, those that run too.
func (t *Tally) Brought() Brought {
	t.mu.Lock()
	sum, open := t.ended, maps.Clone(t.open)
	t.mu.Unlock()
	for c, before := range open { // without the lock: a crawl may be slow to say it
		sum = sum.plus(before, broughtBy(c))
	}
	return sum
}
