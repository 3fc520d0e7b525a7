package raft

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"holdfast/catalog"
)

// maxOpen bounds how many requests of this node may be open between the oldest and the newest, so that none falls out
// of the window that the catalog remembers before it is applied.
const maxOpen = catalog.WindowSize / 2

// requests numbers this node's requests.
type requests struct {
	mu     sync.Mutex
	seq    uint64
	open   map[uint64]struct{}
	closed *notice
}

func newRequests() *requests {
	return &requests{open: make(map[uint64]struct{}), closed: newNotice()}
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

// proposer has the commands of this node applied, each under a number of its own.
type proposer struct {
	self     catalog.NodeID
	boot     uint64
	raft     *consensus
	requests *requests
	relay    *relay                                              // to a leader that is another node
	here     func(ctx context.Context, c catalog.Command) answer // where this node leads
}

// propose has the command applied, exactly once.
func (p *proposer) propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return catalog.Result{}, fmt.Errorf("encode the command %s: %w", kind, err)
	}
	seq, err := p.requests.begin(ctx)
	if err != nil {
		return catalog.Result{}, fmt.Errorf("propose %s: %w", kind, err)
	}
	defer p.requests.end(seq)
	c := catalog.Command{Version: 1, Kind: kind, Actor: actor, Node: p.self, Boot: p.boot, Seq: seq, Body: raw}
	var result catalog.Result
	err = p.raft.withLeader(ctx, func(ctx context.Context, leader catalog.NodeID) error {
		var a answer
		if leader == p.self {
			a = p.here(ctx, c)
		} else {
			a = p.relay.send(ctx, leader, c)
		}
		result = a.result
		return a.err
	})
	if err != nil {
		return catalog.Result{}, fmt.Errorf("propose %s: %w", kind, err)
	}
	return result, nil
}

// command encodes a command in the form of the log.
func command(c catalog.Command) ([]byte, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the command %s: %w", c.Kind, err)
	}
	if len(data) > catalog.MaxBytes {
		return nil, fmt.Errorf("%w: %s of %d bytes", ErrTooBig, c.Kind, len(data))
	}
	return data, nil
}
