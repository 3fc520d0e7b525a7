package replica

import (
	"context"
	"errors"
	"sync"
	"time"
)

// limiter holds users to a number of bytes per second, together. After a rest it lets one second's worth
// through at once. A nil limiter, or one of rate 0, lets everything through.
type limiter struct {
	rate int64

	mu   sync.Mutex
	paid time.Time // everything let through so far is paid for at this moment
}

func newLimiter(rate int64) *limiter {
	if rate <= 0 {
		return nil
	}
	return &limiter{rate: rate}
}

// wait lets n bytes through and blocks until they are paid for, but for one second's worth, or until the
// context ends.
func (l *limiter) wait(ctx context.Context, n int) error {
	if l == nil || n == 0 {
		return nil
	}
	l.mu.Lock()
	now := time.Now()
	if l.paid.Before(now) {
		l.paid = now
	}
	l.paid = l.paid.Add(time.Duration(float64(n) / float64(l.rate) * float64(time.Second)))
	pause := l.paid.Sub(now) - time.Second
	l.mu.Unlock()
	return sleep(ctx, pause)
}

// sleep waits for d or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// backoff returns the pause after the n-th failure in a row: doubling from first to most.
func backoff(n int, first, most time.Duration) time.Duration {
	pause := first
	for ; n > 1 && pause < most; n-- {
		pause *= 2
	}
	return min(pause, most)
}

// slots admits a fixed number of users at a time.
type slots chan struct{}

// take returns a function that gives the slot back, or false when none is free.
func (s slots) take() (release func(), ok bool) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), true
	default:
		return nil, false
	}
}

// together calls do for all items, n at a time, and returns what failed when all have ended.
func together[T any](items []T, n int, do func(T) error) error {
	errs := make([]error, len(items))
	slot := make(chan struct{}, n)
	var all sync.WaitGroup
	for i, item := range items {
		slot <- struct{}{}
		all.Go(func() {
			errs[i] = do(item)
			<-slot
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
