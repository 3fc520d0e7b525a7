package raft

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"holdfast/catalog"
)

// maxCalls is how many batches of commands this node has under way to the leader. More commands wait and go
// together in the next one.
const maxCalls = 4

// relay gathers the commands that callers on this node send to the leader.
type relay struct {
	raft    *consensus
	forward Forwarder

	mu      sync.Mutex
	waiting []*errand
	calls   int
	ended   bool
	all     sync.WaitGroup
}

// errand is one command on its way to the leader.
type errand struct {
	ctx    context.Context
	leader catalog.NodeID
	text   []byte
	done   chan answer
}

// send brings a command to the leader and returns the answer.
func (y *relay) send(ctx context.Context, leader catalog.NodeID, c catalog.Command) answer {
	text, err := command(c)
	if err != nil {
		return answer{err: err}
	}
	e := &errand{ctx: ctx, leader: leader, text: text, done: make(chan answer, 1)}
	y.mu.Lock()
	if y.ended {
		y.mu.Unlock()
		return answer{err: ErrStopped}
	}
	y.waiting = append(y.waiting, e)
	start := y.calls < maxCalls
	if start {
		y.calls++
		y.all.Go(func() { y.run() })
	}
	y.mu.Unlock()
	select {
	case a := <-e.done:
		return a
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	}
}

// end waits until nothing is under way; nothing is sent after that.
func (y *relay) end() {
	y.mu.Lock()
	y.ended = true
	y.mu.Unlock()
	y.all.Wait()
}

// run sends batches until nothing waits.
func (y *relay) run() {
	for {
		batch := y.take()
		if batch == nil {
			return
		}
		answers, err := y.call(batch)
		for i, e := range batch {
			if err != nil {
				e.done <- answer{err: err}
				continue
			}
			e.done <- answers[i]
		}
	}
}

// take returns the errands of the next batch, all to one leader, or nil and then the caller is to end.
func (y *relay) take() []*errand {
	y.mu.Lock()
	defer y.mu.Unlock()
	var batch, rest []*errand
	bytes := 0
	for _, e := range y.waiting {
		fits := len(batch) == 0 ||
			len(batch) < maxCommands && e.leader == batch[0].leader && bytes+len(e.text) < maxRequestBytes
		switch {
		case e.ctx.Err() != nil: // nobody waits for it
		case fits:
			batch = append(batch, e)
			bytes += len(e.text)
		default:
			rest = append(rest, e)
		}
	}
	y.waiting = rest
	if batch == nil {
		y.calls--
	}
	return batch
}

// call sends one batch. Every failure of the way may be tried again: the commands carry their numbers.
func (y *relay) call(batch []*errand) ([]answer, error) {
	texts := make([][]byte, len(batch))
	for i, e := range batch {
		texts[i] = e.text
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), y.raft.quorum)
	defer cancel()
	stop := y.raft.endsWithLeader(ctx, batch[0].leader, cancel)
	defer stop()
	response, err := y.forward.Call(ctx, batch[0].leader, encodeProposal(texts))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAgain, err)
	}
	answers, err := decodeAnswers(response, len(batch))
	if errors.Is(err, errWire) {
		return nil, fmt.Errorf("%w: %w", errAgain, err)
	}
	return answers, err
}
