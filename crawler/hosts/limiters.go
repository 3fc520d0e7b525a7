package hosts

import (
	"sync"

	"holdfast/crawler/fetch"
)

// Limiters are the bandwidth limits of the queues that have one.
type Limiters struct {
	mu sync.Mutex
	of map[string]*fetch.Limiter
}

// maxLimiters is how many queues' limits are kept; one that was pushed out begins anew.
const maxLimiters = 20_000

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
