package fetch

import (
	"context"
	"sync"
	"time"
)

// Limiter limits all who share it to a number of bytes a second together. They are served in the order they come, a
// piece each, so that none starves. A nil Limiter and the zero value limit nothing.
type Limiter struct {
	mu      sync.Mutex
	rate    int64     // bytes a second; 0: no limit
	free    time.Time // when all that was taken is paid for
	changed chan struct{}
}

// burst is how far ahead of its rate a Limiter may be that was idle.
const burst = 250 * time.Millisecond

// NewLimiter makes a Limiter; 0 is no limit.
func NewLimiter(bytesPerSecond int64) *Limiter {
	l := &Limiter{}
	l.SetRate(bytesPerSecond)
	return l
}

// SetRate changes the limit; callers that wait under the old one continue at once.
func (l *Limiter) SetRate(bytesPerSecond int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytesPerSecond = max(0, bytesPerSecond); bytesPerSecond == l.rate {
		return
	}
	l.rate, l.free = bytesPerSecond, time.Time{}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// piece is how much of n bytes to read at a time, so that waits are short and shared out evenly.
func (l *Limiter) piece(n int) int {
	if l == nil {
		return n
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate == 0 {
		return n
	}
	return int(min(int64(n), max(l.rate/8, 512)))
}

// take accounts for n bytes that were received and waits until they are paid for, or ctx ends.
func (l *Limiter) take(ctx context.Context, n int) error {
	if l == nil || n <= 0 {
		return nil
	}
	l.mu.Lock()
	if l.rate == 0 {
		l.mu.Unlock()
		return nil
	}
	now := time.Now()
	if earliest := now.Add(-burst); l.free.Before(earliest) {
		l.free = earliest
	}
	l.free = l.free.Add(time.Duration(float64(n) / float64(l.rate) * float64(time.Second)))
	wait := l.free.Sub(now)
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	changed := l.changed
	l.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
