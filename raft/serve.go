package raft

import (
	"context"
	"errors"
	"fmt"

	"holdfast/catalog"
)

// Propose has a command applied, exactly once, and returns the answer; a refusal is in the result. It may be
// called on any node. When no leader with a majority is found within seconds it returns ErrNoQuorum, and then,
// as when ctx ends, the command may or may not be applied.
func (n *Node) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	return n.proposer.propose(ctx, kind, body, actor)
}

// Serve answers a request that another node sent with its Forwarder.
func (n *Node) Serve(ctx context.Context, from catalog.NodeID, request []byte) ([]byte, error) {
	if len(request) < 2 || request[0] != wireVersion {
		return nil, fmt.Errorf("%w: from %s: not version %d", errWire, from, wireVersion)
	}
	switch request[1] {
	case askPropose:
		commands, err := decodeProposal(request[2:])
		if err != nil {
			return nil, fmt.Errorf("proposal from %s: %w", from, err)
		}
		for _, c := range commands {
			if c.Node != from {
				return nil, fmt.Errorf("%w: %s proposes in the name of %.60q", errWire, from, string(c.Node))
			}
		}
		if !n.IsLeader() {
			return encodeUnable(errAgain), nil
		}
		return encodeAnswers(n.cfg.Vouch.submit(from, commands, n.intake.submit))
	case askReadIndex:
		index, err := n.linear.index()
		if err != nil {
			return encodeUnable(err), nil
		}
		return encodeIndex(index), nil
	case askSeen:
		return encodeSeen(n.Votes(from), n.storage.witness.of(from)), nil
	case askApplied:
		return encodeIndex(n.storage.state.store().applied.Load()), nil
	}
	return nil, fmt.Errorf("%w: from %s: request %d", errWire, from, request[1])
}

// submit has those of the commands proposed that the member may forward, and refuses the others. Answers are in the
// order of the commands.
func (vouch Vouch) submit(
	from catalog.NodeID, commands []catalog.Command, propose func([]catalog.Command) []answer,
) []answer {
	if vouch == nil {
		return propose(commands)
	}
	wrong, err := vouch(from, commands)
	out := make([]answer, len(commands))
	var good []catalog.Command
	var places []int
	for i, c := range commands {
		var refusal *catalog.Refusal
		switch {
		case err != nil:
			out[i].err = err
		case wrong[i] == nil:
			good, places = append(good, c), append(places, i)
		case errors.As(wrong[i], &refusal):
			out[i].result.Refusal = refusal
		default:
			out[i].err = wrong[i]
		}
	}
	if len(good) > 0 {
		for i, a := range propose(good) {
			out[places[i]] = a
		}
	}
	return out
}

// Linear returns when the state that View reads on this node holds everything that was committed before the
// call. It returns ErrNoQuorum when no leader is found within seconds.
func (n *Node) Linear(ctx context.Context) error {
	if err := n.linear.wait(ctx); err != nil {
		return fmt.Errorf("read the latest agreed state: %w", err)
	}
	return nil
}
