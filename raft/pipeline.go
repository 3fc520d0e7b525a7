package raft

import (
	"log/slog"

	hraft "github.com/hashicorp/raft"
)

// transport is the library's transport over a layer, with pipelines that cannot be stopped up, without its fast path
// for heartbeats, and without votes while the ballot is not open.
type transport struct {
	*hraft.NetworkTransport
	ballot *ballot
}

// Consumer returns what other nodes ask of Raft.
func (t transport) Consumer() <-chan hraft.RPC { return t.ballot.outer }

// Close closes the transport.
func (t transport) Close() error {
	t.ballot.once.Do(func() { close(t.ballot.closed) })
	return t.NetworkTransport.Close()
}

// RequestVote asks for a vote, once this node may stand for election.
func (t transport) RequestVote(
	id hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestVoteRequest, a *hraft.RequestVoteResponse,
) error {
	if !t.ballot.opened.Load() {
		return errNoVote
	}
	return t.NetworkTransport.RequestVote(id, to, q, a)
}

// RequestPreVote asks whether this node would get a vote, once it may stand for election.
func (t transport) RequestPreVote(
	id hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestPreVoteRequest, a *hraft.RequestPreVoteResponse,
) error {
	if !t.ballot.opened.Load() {
		return errNoVote
	}
	return t.NetworkTransport.RequestPreVote(id, to, q, a)
}

// SetHeartbeatHandler does nothing, so that heartbeats wait their turn like everything else. Raft would handle them
// beside its own goroutine. A leader that hears of a newer term while it takes commands would then give them that
// term, although another node leads in it, and the members' logs and states would differ for good (hashicorp/raft
// issue 695).
func (transport) SetHeartbeatHandler(func(hraft.RPC)) {}

func newTransport(l *layer, t timing, log *slog.Logger) transport {
	inner := hraft.NewNetworkTransportWithConfig(&hraft.NetworkTransportConfig{
		Stream: l, MaxPool: 3, Timeout: t.network, Logger: libraryLog{log: log},
	})
	out := transport{inner, newBallot(inner.Consumer())}
	go out.ballot.carry()
	return out
}

// AppendEntriesPipeline returns a pipeline of appends to the node.
func (t transport) AppendEntriesPipeline(id hraft.ServerID, to hraft.ServerAddress) (hraft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, to)
	if err != nil {
		return nil, err
	}
	out := &pipeline{AppendPipeline: p, answers: make(chan hraft.AppendFuture), closed: make(chan struct{})}
	go out.carry()
	return out, nil
}

// pipeline keeps the answers to appends until they are asked for. Raft stops asking at the first append that is
// refused, and may be sending another at that moment. The library's pipeline waits until each answer is taken; it
// would block the sender for ever, and with it the shutdown and every further entry for that node (hashicorp/raft
// issue 612).
type pipeline struct {
	hraft.AppendPipeline
	answers chan hraft.AppendFuture
	closed  chan struct{}
}

// Consumer returns the channel of the answers.
func (p *pipeline) Consumer() <-chan hraft.AppendFuture { return p.answers }

// Close ends the pipeline. It is called once.
func (p *pipeline) Close() error {
	close(p.closed)
	return p.AppendPipeline.Close()
}

// carry takes answers as they come and hands them on until the pipeline is closed.
func (p *pipeline) carry() {
	var kept []hraft.AppendFuture
	for {
		var out chan hraft.AppendFuture
		var next hraft.AppendFuture
		if len(kept) > 0 {
			out, next = p.answers, kept[0]
		}
		select {
		case answer := <-p.AppendPipeline.Consumer():
			kept = append(kept, answer)
		case out <- next:
			kept = kept[1:]
		case <-p.closed:
			return
		}
	}
}
