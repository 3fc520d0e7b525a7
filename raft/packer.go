package raft

import (
	"sync"
	"time"

	"holdfast/catalog"
)

// gather is how long a command waits at most for others to go to Raft with it.
const gather = 3 * time.Millisecond

// packer brings commands to Raft in groups, so that they are written, sent, synced and applied together, in few log
// entries. A command goes at once if no other is under way. Otherwise it waits for the next group, which goes when
// all commands under way are answered, or after a moment: nobody waits for a distant node's answer to somebody else.
// The zero packer is ready.
type packer struct {
	mu     sync.Mutex
	inside int    // commands under way
	next   *group // that waits; nil: none
}

// group is the commands that wait to go together.
type group struct {
	parcels []*parcel
	limit   *time.Timer
}

// parcel is one command on its way through Raft.
type parcel struct {
	command catalog.Command
	done    chan answer // takes one answer without waiting
}

// submit takes the parcels and calls send with each group that is to go: at once, or later from a goroutine of its own.
// Who answers parcels of a group calls left.
func (k *packer) submit(parcels []*parcel, send func([]*parcel)) {
	k.mu.Lock()
	if k.inside == 0 && k.next == nil {
		k.inside = len(parcels)
		k.mu.Unlock()
		send(parcels)
		return
	}
	defer k.mu.Unlock()
	g := k.next
	if g == nil {
		g = &group{}
		g.limit = time.AfterFunc(gather, func() { k.admit(g, send) })
		k.next = g
	}
	g.parcels = append(g.parcels, parcels...)
}

// left notes that n commands are answered, and sends the waiting group if they were the last under way.
func (k *packer) left(n int, send func([]*parcel)) {
	k.mu.Lock()
	k.inside -= n
	g := k.next
	last := k.inside == 0 && g != nil
	k.mu.Unlock()
	if last {
		g.limit.Stop()
		k.admit(g, send)
	}
}

// admit lets the group go, unless it has gone.
func (k *packer) admit(g *group, send func([]*parcel)) {
	k.mu.Lock()
	if k.next != g {
		k.mu.Unlock()
		return
	}
	k.next = nil
	k.inside += len(g.parcels)
	k.mu.Unlock()
	go send(g.parcels)
}
