package raft

import (
	"sync"
	"time"

	"holdfast/catalog"
)

// How long a command waits at most for others to go to Raft with it.
const (
	gather = 3 * time.Millisecond // while others are under way
	linger = time.Millisecond     // after several were answered together: who asked is likely to ask again
)

// packer brings commands to Raft in groups, so that they are written, sent, synced and applied together, in few log
// entries. A command goes at once if no other is under way or was a moment ago. Otherwise it waits for the next group.
// That goes when the commands under way are answered and as many have come again, or after a moment: nobody waits for a
// distant node's answer to somebody else. Without the wait for those who come again, groups of one and of all the
// others would take turns. The zero packer is ready.
type packer struct {
	mu     sync.Mutex
	inside int       // commands under way
	next   *group    // that waits; nil: none
	idle   time.Time // since when no command has been under way
	wave   int       // how many were answered together then
}

// group is the commands that wait to go together.
type group struct {
	parcels []*parcel
	enough  int // with that many parcels it goes at once; 0: others are under way
	due     time.Time
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
	if k.inside == 0 && k.next == nil && !k.settling() {
		k.inside = len(parcels)
		k.mu.Unlock()
		send(parcels)
		return
	}
	g := k.next
	if g == nil {
		g = &group{}
		wait := gather
		if k.inside == 0 {
			g.enough, wait = k.wave, linger
		}
		g.due = time.Now().Add(wait)
		g.limit = time.AfterFunc(wait, func() { k.admit(g, send) })
		k.next = g
	}
	g.parcels = append(g.parcels, parcels...)
	full := g.enough > 0 && len(g.parcels) >= g.enough
	k.mu.Unlock()
	if full {
		k.admit(g, send)
	}
}

// settling reports whether several commands were answered together just now.
func (k *packer) settling() bool { return k.wave > 1 && time.Since(k.idle) < linger }

// left notes that n commands are answered or about to be. If they were the last under way, the waiting group goes: at
// once behind a single command, and otherwise when as many have come again, or after a moment.
func (k *packer) left(n int, send func([]*parcel)) {
	k.mu.Lock()
	k.inside -= n
	g := k.next
	if k.inside > 0 || n == 0 {
		k.mu.Unlock()
		return
	}
	k.idle, k.wave = time.Now(), n
	if g != nil && n > 1 {
		g.enough = n + len(g.parcels)
		if g.due.Sub(k.idle) > linger {
			g.limit.Reset(linger)
		}
		g = nil
	}
	k.mu.Unlock()
	if g != nil {
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
	g.limit.Stop()
	k.next = nil
	k.inside += len(g.parcels)
	k.mu.Unlock()
	go send(g.parcels)
}
