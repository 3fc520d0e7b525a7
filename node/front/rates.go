package front

import (
	"sync"
	"time"
)

// maxBuckets bounds the addresses whose rates are remembered. The ones that were quiet for longest are forgotten first.
const maxBuckets = 1 << 16

// rates bounds how often something happens for each address: at most burst times at once, and perSecond on average.
type rates struct {
	perSecond, burst float64
	patience         time.Duration // how long something may be put off
	now              func() time.Time

	mu        sync.Mutex
	new, old  map[string]bucket // an address that is in neither has a full bucket
	exchanged time.Time         // when new became old
}

// bucket is how often something may still happen. Below zero, it was promised for later.
type bucket struct {
	tokens float64
	at     time.Time
}

func newRates(perSecond, burst float64, patience time.Duration) *rates {
	return &rates{perSecond: perSecond, burst: burst, patience: patience, now: time.Now, new: map[string]bucket{}}
}

// take returns how long to wait before it may happen for the address; false if that is too long, and then nothing was
// taken. It counts for as many as price says.
func (r *rates) take(address string, price float64) (wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	fill := time.Duration(r.burst / r.perSecond * float64(time.Second))
	if now.Sub(r.exchanged) > fill+r.patience || len(r.new) >= maxBuckets/2 { // by then an untouched bucket is full
		r.new, r.old, r.exchanged = map[string]bucket{}, r.new, now
	}
	b, known := r.new[address]
	if !known {
		if b, known = r.old[address]; !known {
			b = bucket{r.burst, now}
		}
	}
	b.tokens = min(r.burst, b.tokens+now.Sub(b.at).Seconds()*r.perSecond)
	b.at = now
	if b.tokens < price {
		wait = time.Duration((price - b.tokens) / r.perSecond * float64(time.Second))
	}
	if ok = wait <= r.patience; ok {
		b.tokens -= price
	}
	r.new[address] = b
	return wait, ok
}
