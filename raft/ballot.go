package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"holdfast/catalog"
)

// ErrAnswered is part of a Forwarder's error when the other node was reached and answered with an error of its own.
var ErrAnswered = errors.New("the other node answered with an error")

var errNoVote = errors.New("this node has just started and does not vote yet: " +
	"it first asks the other voters how far its log had come")

// ballot keeps a node that has just started from voting and standing for election, until it is open.
type ballot struct {
	opened atomic.Bool
	inner  <-chan hraft.RPC
	outer  chan hraft.RPC
	closed chan struct{}
	once   sync.Once
}

func newBallot(inner <-chan hraft.RPC) *ballot {
	return &ballot{inner: inner, outer: make(chan hraft.RPC), closed: make(chan struct{})}
}

// carry hands on what other nodes ask of Raft, but for votes while the ballot is not open.
func (b *ballot) carry() {
	for {
		var rpc hraft.RPC
		select {
		case rpc = <-b.inner:
		case <-b.closed:
			return
		}
		switch rpc.Command.(type) {
		case *hraft.RequestVoteRequest, *hraft.RequestPreVoteRequest:
			if !b.opened.Load() {
				rpc.Respond(nil, errNoVote)
				continue
			}
		}
		select {
		case b.outer <- rpc:
		case <-b.closed:
			return
		}
	}
}

// inquiry asks the other voters how far they have seen this node.
type inquiry struct {
	self     catalog.NodeID
	round    time.Duration // how long one round of asking may take
	forward  Forwarder
	fail     func(error)
	mine     Standing // before Raft was started: later the log may have grown beyond what was lost
	answered map[catalog.NodeID]bool
}

// run opens the ballot once enough others have answered, and asks on until all have. It stops the node when it is
// found to be set back. Enough are as many as it takes, with this node, to elect a leader: they can be asked whenever
// an election could succeed.
func (q *inquiry) run(ctx context.Context, r *hraft.Raft, b *ballot) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		voters := votersIn(r)
		voter := slices.Contains(voters, q.self)
		others := slices.DeleteFunc(voters, func(id catalog.NodeID) bool { return id == q.self })
		if err := q.ask(ctx, voter, others); err != nil {
			q.fail(err)
			return
		}
		answered := 0
		for _, id := range others {
			if q.answered[id] {
				answered++
			}
		}
		known := voter || len(others) > 0 // that there is a cluster, of which this node is told as it takes part
		if !known {
			pause = 10 * time.Millisecond // it costs nothing to look, and the others may soon need this node's vote
		}
		if known && answered >= (len(others)+1)/2 {
			b.opened.Store(true)
			pause = witnessEvery
		}
		if known && answered == len(others) || !sleep(ctx, pause) {
			return
		}
	}
}

// ask asks each that has not answered, once. ErrSetBack when one has seen this node further, and it votes.
func (q *inquiry) ask(ctx context.Context, voter bool, others []catalog.NodeID) error {
	ctx, cancel := context.WithTimeout(ctx, q.round)
	defer cancel()
	type answer struct {
		id    catalog.NodeID
		votes bool
		seen  sighting
		err   error
	}
	others = slices.DeleteFunc(slices.Clone(others), func(id catalog.NodeID) bool { return q.answered[id] })
	answers := make(chan answer, len(others))
	for _, id := range others {
		go func() {
			a := answer{id: id}
			var response []byte
			if response, a.err = q.forward.Call(ctx, id, []byte{wireVersion, askSeen}); a.err == nil {
				a.votes, a.seen, a.err = decodeSeen(response)
			}
			answers <- a
		}()
	}
	var failed error
	for range others {
		a := <-answers
		switch {
		case errors.Is(a.err, errWire), errors.Is(a.err, ErrAnswered): // of an earlier version: it has seen nothing
		case a.err != nil:
			continue
		case (voter || a.votes) && q.mine.behind(a.seen.before(q.mine.Boot)):
			failed = fmt.Errorf("%w: %s saw it in %s; now it is in %s",
				ErrSetBack, a.id, a.seen.place(), q.mine.place())
		}
		q.answered[a.id] = true
	}
	return failed
}

// sleep waits, and reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
