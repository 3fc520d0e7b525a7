package raft

import (
	"context"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// answer is what became of one command.
type answer struct {
	result catalog.Result
	err    error // errAgain: may be repeated
}

// intake takes commands on the leader, stamps them, brings them to Raft and answers them.
type intake struct {
	raft    *consensus
	room    *room
	clock   clock
	grouped func() (bool, error) // whether one log entry may hold several commands
	packer  packer
}

// submit has commands applied by this node, the leader, and returns what became of each.
func (k *intake) submit(commands []catalog.Command) []answer {
	answers := make([]answer, len(commands))
	err := errAgain
	if k.raft.gate.enter() {
		defer k.raft.gate.leave()
		err = k.room.atLeast(roomToAccept)
	}
	if err != nil {
		for i := range answers {
			answers[i].err = err
		}
		return answers
	}
	parcels := make([]*parcel, len(commands))
	for i, c := range commands {
		parcels[i] = &parcel{command: c, done: make(chan answer, 1)}
	}
	k.packer.submit(parcels, k.send)
	for i, p := range parcels {
		answers[i] = <-p.done
	}
	return answers
}

// submitWithin is submit for one command. It waits no longer than ctx, as where the disk has no room to apply it.
func (k *intake) submitWithin(ctx context.Context, c catalog.Command) answer {
	done := make(chan answer, 1)
	go func() { done <- k.submit([]catalog.Command{c})[0] }()
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	}
}

// send stamps the commands and brings them to Raft in as few entries as may be. Each is answered, at once or later.
func (k *intake) send(parcels []*parcel) {
	r := k.raft.now()
	now := catalog.At(k.clock.now())
	// Behind the stamp: a clock that steps between the two is found out, and one that steps later has done no harm.
	if off := k.clock.off(r); off != 0 {
		k.turnAway(parcels, fmt.Errorf("%w: this node's clock is %v off", errAgain, off))
		return
	}
	grouped, err := k.grouped()
	if err != nil {
		k.turnAway(parcels, err)
		return
	}
	var e entry
	for _, p := range parcels {
		p.command.At = now
		text, err := command(p.command)
		if err != nil {
			k.turnAway([]*parcel{p}, err)
			continue
		}
		if len(e.texts) > 0 && !(grouped && e.fits(text)) {
			go k.carry(r, e)
			e = entry{}
		}
		e.add(p, text)
	}
	if len(e.texts) > 0 {
		go k.carry(r, e)
	}
}

// turnAway answers commands that do not get to Raft.
func (k *intake) turnAway(parcels []*parcel, err error) {
	k.packer.left(len(parcels), k.send)
	for _, p := range parcels {
		p.done <- answer{err: err}
	}
}

// maxSkew is how far a node's clock may be from the members' median for it to lead.
const maxSkew = 30 * time.Second

// clock is the clock of this node, which stamps commands while the node leads.
type clock struct {
	now  func() time.Time
	skew func() time.Duration // how far it is ahead of the members' median; nil: unknown
}

// off returns how far this node's clock is from the members' median when that is too far to lead and stamp
// commands, else 0. An only voter leads whatever its clock says, for nobody else may.
func (c clock) off(r *hraft.Raft) time.Duration {
	if c.skew == nil {
		return 0
	}
	if off := c.skew(); off.Abs() > maxSkew && len(votersIn(r)) > 1 {
		return off
	}
	return 0
}
