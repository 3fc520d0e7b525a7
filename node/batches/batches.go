// Package batches tells the API of batches, whichever node drives them, and gives batch what it is to know of the
// cluster: which batches this node owes to drive, and whom it asks first for work.
package batches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"holdfast/api"
	shown "holdfast/api/wire"
	"holdfast/batch"
	"holdfast/catalog"
	agreed "holdfast/catalog/batches"
	"holdfast/catalog/people"
	"holdfast/node/wire"
)

// All tells the API of batches, whichever node drives them.
type All struct {
	Self  catalog.NodeID
	Own   *batch.Batches
	Table batch.Table // of programs
	View  func(func(catalog.View) error) error
	Ask   wire.Caller                           // asks other nodes in the name of who asks
	Token func(context.Context) (string, error) // of who asks, for a stream
	// Allowed returns why a request of a node with the token may not do the act, if so.
	Allowed func(from catalog.NodeID, token string, act catalog.Act, where catalog.Where) error
}

// Programs lists the programs.
func (a All) Programs() (out []shown.BatchProgram) {
	for _, p := range a.Table {
		one := shown.BatchProgram{Name: p.Name, Help: p.Help}
		for _, of := range p.Parameters {
			one.Parameters = append(one.Parameters, shown.BatchProgramParameter{Name: of.Name, Default: of.Default,
				Help: of.Help, Allowed: of.Allowed})
		}
		out = append(out, one)
	}
	return out
}

// Check returns what is wrong with a program and its parameters.
func (a All) Check(program string, parameters map[string]string) error {
	if _, _, err := a.Table.Find(program, parameters); err != nil {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return nil
}

// progressLimit is how long another node may take to say how far a batch is.
const progressLimit = 5 * time.Second

// Progress asks the node that drives the batch.
func (a All) Progress(ctx context.Context, b agreed.Batch) (shown.BatchProgress, error) {
	ctx, cancel := context.WithTimeout(ctx, progressLimit)
	defer cancel()
	var p batch.Progress
	var err error
	if b.Node == a.Self {
		p, err = a.ServeProgress(ctx, a.Self, b.ID)
	} else {
		p, err = wire.Ask[batch.Progress](ctx, a.Ask, b.Node, batch.ProgressCall, b.ID)
	}
	if err != nil {
		return shown.BatchProgress{}, fmt.Errorf("%w: the node that drives the batch does not say how far it is: %w",
			api.ErrUnavailable, err)
	}
	names := map[catalog.NodeID]string{}
	err = a.View(func(v catalog.View) error {
		members, err := v.Members()
		for _, m := range members {
			names[m.ID] = m.Name
		}
		return err
	})
	out := api.BatchProgressOf(&p.Summary, names)
	out.Shards, out.ShardsDone, out.Detail = p.Shards, p.ShardsDone, p.Detail
	return out, err
}

// ServeProgress answers for a batch that this node drives.
func (a All) ServeProgress(_ context.Context, _ catalog.NodeID, id string) (batch.Progress, error) {
	p, known, err := a.Own.Progress(id)
	if err == nil && !known {
		err = fmt.Errorf("batch %s has not begun on this node", id)
	}
	return p, err
}

// Result writes the result of a batch.
func (a All) Result(ctx context.Context, b agreed.Batch, failed bool, w io.Writer) error {
	token, err := a.Token(ctx)
	if err != nil {
		return err
	}
	err = a.Own.Result(ctx, &b, failed, token, w)
	if errors.Is(err, batch.ErrNoResult) {
		err = fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return err
}

// ServeResult gives another node a result, if the caller of that node may read it.
func (a All) ServeResult(ctx context.Context, from catalog.NodeID, s net.Conn) {
	a.Own.ServeResult(ctx, from, s, func(token, id string) error {
		var where catalog.Where
		err := a.View(func(v catalog.View) error {
			view := catalog.BatchesIn(v)
			b, err := view.Batch(id)
			if err == nil {
				where.Collections, err = view.Reach(&b)
			}
			return err
		})
		if err != nil {
			return err
		}
		return a.Allowed(from, token, people.ReadBatch, where)
	})
}
