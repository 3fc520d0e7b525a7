package control

import (
	"context"
	"sync"
)

// Gate keeps a crawl open while orders are carried out. It is safe for concurrent use.
type Gate struct {
	halted <-chan struct{} // closed when the run is cut off

	mu      sync.Mutex
	closed  bool           // orders are no longer accepted
	obeying sync.WaitGroup // orders that are carried out
}

// NewGate is open; orders end when halted is closed.
func NewGate(halted <-chan struct{}) *Gate { return &Gate{halted: halted} }

// Close refuses further orders, and waits for those being carried out.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.obeying.Wait()
}

// Reopen takes orders again.
func (g *Gate) Reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
}

// Closed reports whether orders are no longer accepted.
func (g *Gate) Closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Enter keeps the crawl open until done is called, if it still takes orders. The context ends when the crawl is cut
// off.
func (g *Gate) Enter(ctx context.Context) (during context.Context, done func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, false
	}
	g.obeying.Add(1)
	during, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		select {
		case <-g.halted:
			cancel()
		case <-over:
		}
	}()
	return during, func() { close(over); cancel(); g.obeying.Done() }, true
}
