package replica

import (
	"sync"
	"time"

	"holdfast/catalog"
)

// How long a release that was refused rests before it is asked for again, and of how many that is remembered.
const (
	firstRefusal   = 10 * time.Second
	longestRefusal = 10 * time.Minute
	refusalsMost   = 100_000
)

// refusals are releases that the catalog refused lately: each time that one is asked for again costs all members. It is
// safe for concurrent use; the zero value is ready.
type refusals struct {
	mu    sync.Mutex
	until map[catalog.FileName]delay
}

// note lets a release rest, longer each time.
func (r *refusals) note(name catalog.FileName, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil || len(r.until) >= refusalsMost {
		r.until = make(map[catalog.FileName]delay)
	}
	d := r.until[name]
	d.tries++
	d.until = now.Add(backoff(d.tries, firstRefusal, longestRefusal))
	r.until[name] = d
}

// forget is for a release that was carried out.
func (r *refusals) forget(name catalog.FileName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, name)
}

// ready returns those of the names that do not rest, and how long the first of the others still does; 0: none rests.
func (r *refusals) ready(names []catalog.FileName, now time.Time) (ready []catalog.FileName, again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		rest := r.until[name].until.Sub(now)
		if rest <= 0 {
			ready = append(ready, name)
		} else if again == 0 || rest < again {
			again = rest
		}
	}
	return ready, again
}
