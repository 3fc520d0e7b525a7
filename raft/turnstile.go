package raft

import (
	"sync"
	"time"
)

// gather is how long a command waits at most for others to go to Raft with it.
const gather = 3 * time.Millisecond

// turnstile lets commands through to Raft in groups, for what Raft is given at one time is written, sent and synced
// together. A command goes on at once when no other is under way. Otherwise it waits for the next group, which goes when
// all under way are answered, or after a moment: nobody waits for a distant node's answer to another.
type turnstile struct {
	mu     sync.Mutex
	inside int    // commands under way
	next   *group // that waits; nil: none
}

type group struct {
	members int
	let     chan struct{} // closed when the group may go
	limit   *time.Timer
}

// enter returns when the command may go; leave must follow when it is answered.
func (t *turnstile) enter() {
	t.mu.Lock()
	if t.inside == 0 && t.next == nil {
		t.inside = 1
		t.mu.Unlock()
		return
	}
	g := t.next
	if g == nil {
		g = &group{let: make(chan struct{})}
		g.limit = time.AfterFunc(gather, func() { t.admit(g) })
		t.next = g
	}
	g.members++
	t.mu.Unlock()
	<-g.let
}

// leave says that a command is answered.
func (t *turnstile) leave() {
	t.mu.Lock()
	t.inside--
	g := t.next
	last := t.inside == 0 && g != nil
	t.mu.Unlock()
	if last {
		g.limit.Stop()
		t.admit(g)
	}
}

// admit lets the group go, unless it has gone.
func (t *turnstile) admit(g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next != g {
		return
	}
	t.next = nil
	t.inside += g.members
	close(g.let)
}
