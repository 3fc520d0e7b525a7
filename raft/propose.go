package raft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast/catalog"
)

// errAgain reports that a request found no leader, or one that lost the leadership meanwhile: it may be repeated.
var errAgain = errors.New("the leader changed")

// maxOpen bounds how many requests of this node may be open between the oldest and the newest, so that none falls out
// of the window that the catalog remembers before it is applied.
const maxOpen = catalog.WindowSize / 2

// answer is what became of one command.
type answer struct {
	result catalog.Result
	err    error // errAgain: may be repeated
}

// requests numbers this node's requests.
type requests struct {
	mu     sync.Mutex
	seq    uint64
	open   map[uint64]struct{}
	closed *notice
}

func (q *requests) init() {
	q.open = make(map[uint64]struct{})
	q.closed = newNotice()
}

// begin returns the next sequence number, once it is not too far above the oldest open one.
func (q *requests) begin(ctx context.Context) (seq uint64, err error) {
	err = q.closed.wait(ctx, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		oldest := q.seq + 1
		if len(q.open) > 0 {
			for open := range q.open {
				oldest = min(oldest, open)
			}
		}
		if q.seq+1-oldest >= maxOpen {
			return false
		}
		q.seq++
		seq = q.seq
		q.open[seq] = struct{}{}
		return true
	})
	return seq, err
}

func (q *requests) end(seq uint64) {
	q.mu.Lock()
	delete(q.open, seq)
	q.mu.Unlock()
	q.closed.announce()
}

// Propose has a command applied, exactly once, and returns the answer; a refusal is in the result. It may be
// called on any node. When no leader with a majority is found within seconds it returns ErrNoQuorum, and then,
// as when ctx ends, the command may or may not be applied.
func (n *Node) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, fmt.Errorf("encode the command %s: %w", kind, err)
	}
	seq, err := n.requests.begin(ctx)
	if err != nil {
		return catalog.Result{}, fmt.Errorf("propose %s: %w", kind, err)
	}
	defer n.requests.end(seq)
	c := catalog.Command{Version: 1, Kind: kind, Actor: actor, Node: n.cfg.Self, Boot: n.boot, Seq: seq, Body: raw}
	var result catalog.Result
	err = n.withLeader(ctx, func(ctx context.Context, leader catalog.NodeID) error {
		var a answer
		if leader == n.cfg.Self {
			a = n.submitWithin(ctx, c)
		} else {
			a = n.relay.send(ctx, n, leader, c)
		}
		result = a.result
		return a.err
	})
	if err != nil {
		return catalog.Result{}, fmt.Errorf("propose %s: %w", kind, err)
	}
	return result, nil
}

// withLeader calls try with the leader until it answers something else than errAgain. Without a leader for
// the quorum time, or after twice that time in all, it gives up.
func (n *Node) withLeader(ctx context.Context, try func(context.Context, catalog.NodeID) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, 2*n.timing.quorum, ErrNoQuorum)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		leader, err := n.findLeader(limited)
		if err == nil {
			err = try(limited, leader)
		}
		if err == nil || !errors.Is(err, errAgain) {
			if limited.Err() != nil && ctx.Err() == nil && err != nil {
				return ErrNoQuorum
			}
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-limited.Done():
			timer.Stop()
			return context.Cause(limited)
		}
	}
}

// findLeader returns the leader as soon as this node knows of one.
func (n *Node) findLeader(ctx context.Context) (leader catalog.NodeID, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, n.timing.quorum, ErrNoQuorum)
	defer cancel()
	err = n.changed.wait(limited, func() bool {
		if r := n.raft.Load(); r != nil {
			_, id := r.LeaderWithID()
			leader = catalog.NodeID(id)
		}
		return leader != "" || n.stopped.Load()
	})
	if n.stopped.Load() {
		return "", ErrStopped
	}
	return leader, err
}

// submit has commands applied by this node, the leader, and returns what became of each.
func (n *Node) submit(commands []catalog.Command) []answer {
	answers := make([]answer, len(commands))
	err := errAgain
	if n.gate.enter() {
		defer n.gate.leave()
		err = n.room.atLeast(roomToAccept)
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
	n.packer.submit(parcels, n.send)
	for i, p := range parcels {
		answers[i] = <-p.done
	}
	return answers
}

// submitWithin is submit for one command. It waits no longer than ctx, as where the disk has no room to apply it.
func (n *Node) submitWithin(ctx context.Context, c catalog.Command) answer {
	done := make(chan answer, 1)
	go func() { done <- n.submit([]catalog.Command{c})[0] }()
	select {
	case a := <-done:
		return a
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	}
}

// send stamps the commands and brings them to Raft in as few entries as may be. Each is answered, at once or later.
func (n *Node) send(parcels []*parcel) {
	r := n.raft.Load()
	now := catalog.At(n.cfg.Now())
	// Behind the stamp: a clock that steps between the two is found out, and one that steps later has done no harm.
	if off := n.clockOff(r); off != 0 {
		n.turnAway(parcels, fmt.Errorf("%w: this node's clock is %v off", errAgain, off))
		return
	}
	grouped, err := n.grouped()
	if err != nil {
		n.turnAway(parcels, err)
		return
	}
	var e entry
	for _, p := range parcels {
		p.command.At = now
		text, err := command(p.command)
		if err != nil {
			n.turnAway([]*parcel{p}, err)
			continue
		}
		if len(e.texts) > 0 && !(grouped && e.fits(text)) {
			go n.carry(r, e)
			e = entry{}
		}
		e.add(p, text)
	}
	if len(e.texts) > 0 {
		go n.carry(r, e)
	}
}

// turnAway answers commands that do not get to Raft.
func (n *Node) turnAway(parcels []*parcel, err error) {
	for _, p := range parcels {
		p.done <- answer{err: err}
	}
	n.packer.left(len(parcels), n.send)
}

// grouped reports whether the cluster's level lets several commands go in one log entry. What this node has applied is in
// the log before what it proposes.
func (n *Node) grouped() (grouped bool, err error) {
	err = n.state.view(func(r reader) error {
		grouped, err = n.machine.Grouped(r)
		return err
	})
	return grouped, err
}
