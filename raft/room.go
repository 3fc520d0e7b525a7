package raft

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"holdfast/internal/disk"
)

// Room on the disk that holds log and state, in bytes.
const (
	// RoomToDecide is the room below which a node refuses its callers' commands and does not lead.
	RoomToDecide = 160 << 20
	roomToAccept = 96 << 20 // below it no command is accepted, not even of other nodes
	roomToWrite  = 64 << 20 // below it nothing is applied; entries already applied are still tidied up
)

const (
	roomEvery = 100 * time.Millisecond // a look at the disk counts for so long
	roomPause = time.Second            // between looks while the node waits for room
)

// ErrNoRoom reports that the disk of the node's databases is full.
var ErrNoRoom = errors.New("the disk that holds the node's databases is full: " +
	"the node accepts no changes until there is room again")

// room watches the disk with log and state. As the disk fills, the node does less, in this order: it refuses its
// callers' commands and gives the leadership away; if nobody else can lead, it takes no commands at all; then it
// applies nothing, and the others' decisions wait. It continues by itself when there is room again. A disk whose free
// space cannot be read counts as full.
type room struct {
	free    func() (uint64, error)
	log     *slog.Logger
	closing chan struct{} // closed when the node stops: nobody waits any longer

	mu      sync.Mutex
	looked  time.Time
	left    uint64
	err     error
	waiting bool // the log says that nothing is applied
}

func newRoom(free func() (uint64, error), log *slog.Logger) *room {
	return &room{free: free, log: log, closing: make(chan struct{})}
}

// look returns how many bytes are left.
func (r *room) look() (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.looked.IsZero() || time.Since(r.looked) > roomEvery {
		r.left, r.err = r.free()
		r.looked = time.Now()
	}
	return r.left, r.err
}

// atLeast answers ErrNoRoom when fewer bytes are left.
func (r *room) atLeast(bytes uint64) error {
	left, err := r.look()
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	case left < bytes:
		return fmt.Errorf("%w: %d MiB are free, %d MiB are needed: %w", ErrNoRoom, left>>20, bytes>>20, disk.ErrFull)
	}
	return nil
}

// wait returns once ready answers nil. It answers ErrStopped when the node stops first.
func (r *room) wait(ready func() error) error {
	for {
		err := ready()
		if r.say(err); err == nil {
			return nil
		}
		select {
		case <-r.closing:
			return ErrStopped
		case <-time.After(roomPause):
		}
	}
}

// say logs when the node begins to wait for room, and when it has it.
func (r *room) say(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil && !r.waiting:
		r.log.Error("decisions are not applied until the disk has room", "reason", err)
	case err == nil && r.waiting:
		r.log.Info("the disk has room again: decisions are applied")
	}
	r.waiting = err != nil
}

// Room answers ErrNoRoom, with the free space, if the disk with log and state has too little room for callers'
// commands.
func (n *Node) Room() error { return n.storage.hasRoom() }
