package raft

import "sync"

// gate lets callers through to Raft while it runs. It starts closed.
type gate struct {
	mu     sync.Mutex
	opened bool
	inside sync.WaitGroup
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = true
}

// enter reports whether Raft may be asked; leave must follow then.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened {
		g.inside.Add(1)
	}
	return g.opened
}

func (g *gate) leave() { g.inside.Done() }

// close admits nobody any more, and waits until all have left.
func (g *gate) close() {
	g.mu.Lock()
	g.opened = false
	g.mu.Unlock()
	g.inside.Wait()
}
