package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"time"

	"holdfast/api"
	shown "holdfast/api/wire"
	"holdfast/batch"
	"holdfast/catalog"
	"holdfast/catalog/batches"
	"holdfast/catalog/people"
	"holdfast/duty"
	"holdfast/index"
	"holdfast/node/lookup"
	"holdfast/node/metadata"
	"holdfast/node/warrant"
	"holdfast/node/wire"
	"holdfast/replica"
)

// openBatches opens what drives batches on this node, and works for those that others drive.
func openBatches(n *Node) {
	in := func(name string) string { return filepath.Join(n.cfg.Data, name) }
	near := nearest{n.id, n.cfg.Replica.Place, n.alive, n.captures.Doubts}
	n.batches = batch.New(batch.Config{Self: n.id, Dir: in("batches"), Work: in("batch-work"), Disk: n.disk,
		Room:     func() (int64, error) { return n.room().Left(n.cfg.Data) },
		Programs: batch.Programs(batch.Tools{Captures: index.Captures, Duplicate: metadata.Duplicate}),
		Catalog:  n.raft, Files: batchFiles{n.store.Open, n.replica}, Nodes: carrier{n.peer},
		Near: near.order, Duties: batchDuties{n.id, n.raft.View}, Now: n.clocks.Now,
		Limits: batch.Limits{Files: n.cfg.Limits.BatchFiles, Pace: int64(n.cfg.Limits.BatchPace),
			Memory: int64(n.cfg.Limits.BatchMem)},
		Log: n.log.With("room", "batch")})
}

// batchDuties say which batches this node owes to drive.
type batchDuties struct {
	self catalog.NodeID
	view func(func(catalog.View) error) error
}

// Claims returns what duty says.
func (d batchDuties) Claims(driving int) (out []batches.Holder, err error) {
	err = d.view(func(v catalog.View) (err error) {
		out, err = duty.BatchClaims(v, d.self, driving)
		return err
	})
	return out, err
}

// batchFiles are this node's files as programs read them.
type batchFiles struct {
	open func(catalog.FileName) (*replica.Bytes, error)
	doubting
}

// doubting is what a worker reports about what it reads, and asks about the disks that it reads from.
type doubting interface {
	Doubt(name catalog.FileName)
	Busy() bool
}

// Open opens a file in its shard or in the outbox.
func (f batchFiles) Open(name catalog.FileName) (io.ReadCloser, int64, error) {
	b, err := f.open(name)
	if errors.Is(err, replica.ErrNotHere) {
		return nil, 0, batch.ErrAbsent
	}
	if err != nil {
		return nil, 0, err
	}
	return b, b.Size, nil
}

// nearest puts nodes in the order in which they are asked.
type nearest struct {
	self   catalog.NodeID
	place  string
	alive  func() map[catalog.NodeID]bool
	doubts *lookup.Doubts
}

func (n nearest) order(all []catalog.Holding) []catalog.Holding {
	alive := n.alive()
	rank := func(h catalog.Holding) int {
		switch {
		case h.Node == n.self:
			return 0
		case !alive[h.Node] || n.doubts.Has(h.Node):
			return 3
		case h.Place == n.place:
			return 1
		}
		return 2
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b catalog.Holding) int { return rank(a) - rank(b) })
	return out
}

// allBatches tells the API of batches, whichever node drives them.
type allBatches struct {
	self     catalog.NodeID
	own      *batch.Batches
	programs batch.Table
	view     func(func(catalog.View) error) error
	carrier  carrier
	warrants warrant.Warrants
}

func batchesOf(n *Node) allBatches {
	return allBatches{n.id, n.batches, batch.Programs(batch.Tools{}), n.raft.View, carrier{n.peer}, n.warrants}
}

// Programs lists the programs.
func (a allBatches) Programs() (out []shown.BatchProgram) {
	for _, p := range a.programs {
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
func (a allBatches) Check(program string, parameters map[string]string) error {
	if _, _, err := a.programs.Find(program, parameters); err != nil {
		return fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	return nil
}

// batchProgressLimit is how long another node may take to say how far a batch is.
const batchProgressLimit = 5 * time.Second

// Progress asks the node that drives the batch.
func (a allBatches) Progress(ctx context.Context, b batches.Batch) (shown.BatchProgress, error) {
	ctx, cancel := context.WithTimeout(ctx, batchProgressLimit)
	defer cancel()
	var p batch.Progress
	var err error
	if b.Node == a.self {
		p, err = a.serveProgress(ctx, a.self, b.ID)
	} else {
		p, err = wire.Ask[batch.Progress](ctx, a.warrants.Caller(a.carrier), b.Node, batch.ProgressCall, b.ID)
	}
	if err != nil {
		return shown.BatchProgress{}, fmt.Errorf("%w: the node that drives the batch does not say how far it is: %w",
			api.ErrUnavailable, err)
	}
	names := map[catalog.NodeID]string{}
	err = a.view(func(v catalog.View) error {
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

// serveProgress answers for a batch that this node drives.
func (a allBatches) serveProgress(_ context.Context, _ catalog.NodeID, id string) (batch.Progress, error) {
	p, known, err := a.own.Progress(id)
	if err == nil && !known {
		err = errors.New("it has not begun there")
	}
	return p, err
}

// Result writes the result of a batch.
func (a allBatches) Result(ctx context.Context, b batches.Batch, failed bool, w io.Writer) error {
	token, err := a.warrants.Of(ctx)
	if err != nil {
		return err
	}
	err = a.own.Result(ctx, &b, failed, token, w)
	if errors.Is(err, batch.ErrNoResult) {
		err = fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return err
}

// serveResult gives another node a result, if who asks that node may read it.
func (a allBatches) serveResult(ctx context.Context, from catalog.NodeID, s net.Conn) {
	a.own.ServeResult(ctx, from, s, func(token, id string) error {
		deed := warrant.Deed{Act: people.ReadBatch}
		err := a.view(func(v catalog.View) error {
			view := catalog.BatchesIn(v)
			b, err := view.Batch(id)
			if err == nil {
				deed.Where.Collections, err = view.Reach(&b)
			}
			return err
		})
		if err == nil {
			_, err = a.warrants.Check(from, token, deed)
		}
		return err
	})
}
