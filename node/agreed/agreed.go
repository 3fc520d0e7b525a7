// Package agreed is the agreed state as the rooms of a node read and change it. It waits until this node shows what was
// decided, goes on proposing what must not be lost, and says in the API's words why nothing can be decided.
package agreed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/internal/trace"
	"holdfast/raft"
)

// Consensus decides commands, and shows what was decided.
type Consensus interface {
	View(see func(catalog.View) error) error
	Linear(ctx context.Context) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	IsLeader() bool
}

// State is the agreed state, through which this node decides.
type State struct {
	Consensus Consensus
	Room      func() error   // why there is no room for another command here; nil: there is
	Self      catalog.NodeID // the actor of what this node decides by itself
	Log       *slog.Logger
}

// View shows one consistent version of this node's state.
func (s State) View(see func(catalog.View) error) error { return s.Consensus.View(see) }

// Linear returns when View sees all that was committed before the call.
func (s State) Linear(ctx context.Context) error { return shown(s.Consensus.Linear(ctx)) }

// Propose has a command decided, and waits until this node shows it. A refusal is in the result.
func (s State) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	ctx, noted := command(ctx, kind)
	result, err := s.decided(ctx, kind, body, actor)
	if err == nil {
		s.CatchUp(ctx)
	}
	return noted(result, err)
}

// decided has a command decided, if there is room for it.
func (s State) decided(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	if err := s.Room(); err != nil {
		return catalog.Result{}, fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	result, err := s.Consensus.Propose(ctx, kind, body, actor)
	return result, shown(err)
}

// command notes a command as a part of what is being done. What it returns is called at the end, and passes on.
func command(ctx context.Context, kind catalog.Kind) (context.Context,
	func(catalog.Result, error) (catalog.Result, error)) {
	ctx, span := trace.Part(ctx, "command "+string(kind), trace.Attribute{Key: "holdfast.command", Value: string(kind)})
	return ctx, func(result catalog.Result, err error) (catalog.Result, error) {
		if result.Refusal != nil {
			span.Note(trace.Attribute{Key: "holdfast.refused", Value: string(result.Refusal.Code)})
		}
		span.End(err)
		return result, err
	}
}

// Decide has a command decided, as Propose does. A refusal is an error.
func (s State) Decide(ctx context.Context, kind catalog.Kind, body any, actor string) error {
	result, err := s.Propose(ctx, kind, body, actor)
	if err == nil && result.Refusal != nil {
		err = result.Refusal
	}
	return err
}

// CatchUp waits until this node's own state shows what the cluster has just decided, so that who asked finds what he
// changed. That a leader is lost meanwhile does not undo the decision.
func (s State) CatchUp(ctx context.Context) {
	if s.Consensus.IsLeader() {
		return
	}
	ctx, span := trace.Part(ctx, "apply")
	defer func() { span.End(nil) }()
	if err := s.Consensus.Linear(ctx); err != nil {
		s.Log.Debug("a decision is not seen here yet", "error", err)
	}
}

// retryPause is the pause between tries of a command that must not be lost.
const retryPause = 2 * time.Second

// Insist proposes a command in this node's name until it is decided or ctx ends, and returns the refusal if there is
// one.
func (s State) Insist(ctx context.Context, kind catalog.Kind, body any) (*catalog.Refusal, error) {
	for {
		trying, noted := command(ctx, kind)
		result, err := noted(s.Consensus.Propose(trying, kind, body, string(s.Self)))
		if err == nil {
			return result.Refusal, nil
		}
		s.Log.Warn("command waits", "kind", kind, "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// Unseen is the State for callers who propose many commands and need only the answers: it does not wait until this node
// shows each decision.
type Unseen struct{ State }

// Propose has a command decided. A refusal is in the result.
func (u Unseen) Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error) {
	ctx, noted := command(ctx, kind)
	return noted(u.decided(ctx, kind, body, actor))
}

// shown turns the reason why nothing is decided into the API's.
func shown(err error) error {
	switch {
	case errors.Is(err, raft.ErrNoQuorum):
		return api.ErrNoQuorum // says the same
	case errors.Is(err, raft.ErrNoRoom):
		return fmt.Errorf("%w: %w", api.ErrNoRoom, err)
	}
	return err
}
