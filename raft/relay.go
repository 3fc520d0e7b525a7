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
func (y *relay) send(ctx context.Context, n *Node, leader catalog.NodeID, c catalog.Command) answer {
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
		y.all.Go(func() { y.run(n) })
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
func (y *relay) run(n *Node) {
	for {
		batch := y.take()
		if batch == nil {
			return
		}
		answers, err := y.call(n, batch)
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
func (y *relay) call(n *Node, batch []*errand) ([]answer, error) {
	texts := make([][]byte, len(batch))
	for i, e := range batch {
		texts[i] = e.text
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), n.timing.quorum)
	defer cancel()
	stop := n.endsWithLeader(ctx, batch[0].leader, cancel)
	defer stop()
	response, err := n.forward.Call(ctx, batch[0].leader, encodeProposal(texts))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAgain, err)
	}
	answers, err := decodeAnswers(response, len(batch))
	if errors.Is(err, errWire) {
		return nil, fmt.Errorf("%w: %w", errAgain, err)
	}
	return answers, err
}

// endsWithLeader calls cancel when this node no longer takes the given one for the leader, so that nobody
// waits for an answer from a node that is cut off.
func (n *Node) endsWithLeader(ctx context.Context, leader catalog.NodeID, cancel func()) (stop func()) {
	var watching sync.WaitGroup
	watching.Go(func() {
		err := n.changed.wait(ctx, func() bool {
			r := n.raft.Load()
			if r == nil {
				return true
			}
			_, now := r.LeaderWithID()
			return catalog.NodeID(now) != leader
		})
		if err == nil {
			cancel()
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}
