package raft

import (
	"context"
	"sync"
)

// notice wakes everyone who waits for something to change.
type notice struct {
	mu sync.Mutex
	ch chan struct{}
}

func newNotice() *notice { return &notice{} }

// next returns a channel that is closed at the next announcement.
func (n *notice) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch == nil {
		n.ch = make(chan struct{})
	}
	return n.ch
}

// announce wakes all who wait.
func (n *notice) announce() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch != nil {
		close(n.ch)
		n.ch = nil
	}
}

// wait returns nil as soon as ready reports true, which is asked at once and after each announcement.
func (n *notice) wait(ctx context.Context, ready func() bool) error {
	for {
		next := n.next()
		if ready() {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
