package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/batches"
)

// drive is a batch that this node drives.
type drive struct {
	d        *driver
	b        batches.Batch
	dir      string
	cancel   context.CancelFunc
	ended    chan struct{}
	progress *tally
	plan     *plan
}

func newDrive(d *driver, b batches.Batch) *drive {
	return &drive{d: d, b: b, dir: d.folder(b.ID), ended: make(chan struct{}), progress: newTally()}
}

// Reasons for which a batch ends before all its files were processed.
var (
	errTime  = errors.New("the time limit of the batch has passed")
	errNode  = errors.New("the node gives no more results")
	errEmpty = errors.New("no file of the archive is selected")
)

// run drives the batch to its end, or until ctx ends. What fails here is tried again.
func (one *drive) run(ctx context.Context) {
	log := one.d.cfg.Log.With("batch", one.b.ID)
	log.Info("batch is driven", "program", one.b.Program, "term", one.b.Term)
	for {
		err := one.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			return
		}
		log.Warn("batch waits", "error", err)
		one.progress.detail(err.Error())
		if sleep(ctx, one.d.cfg.Limits.Again) != nil {
			return
		}
	}
}

// once does what is left of the batch, and has its end agreed.
func (one *drive) once(ctx context.Context) error {
	err := one.all(ctx)
	why := ""
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errTime), errors.Is(err, errOutput), errors.Is(err, errEmpty), errors.Is(err, ErrProgram):
		why = err.Error()
	case err != nil:
		return err
	}
	if why != "" && one.plan != nil {
		if err := one.leaveOut(ctx, why); err != nil {
			return err
		}
	}
	end := batches.Ending{ID: one.b.ID, Node: one.d.cfg.Self, Term: one.b.Term, State: batches.Done, Reason: why,
		Summary: one.progress.now().Summary}
	// All shards are done: the files that were found in them are those that are selected.
	end.Summary.Selected = end.Summary.Files + end.Summary.Failed
	switch {
	case why != "":
		end.State = batches.Incomplete
	case end.Summary.Selected == 0:
		end.State, end.Reason = batches.Incomplete, errEmpty.Error()
	case end.Summary.Failed > 0:
		end.State = batches.Incomplete
		end.Reason = fmt.Sprintf("%d of %d files could not be processed", end.Summary.Failed, end.Summary.Selected)
	}
	result, err := one.d.cfg.Catalog.Propose(ctx, batches.End, end, string(one.d.cfg.Self))
	if err != nil {
		return fmt.Errorf("propose the end of the batch: %w", err)
	}
	if result.Refusal != nil {
		return fmt.Errorf("propose the end of the batch: %w", result.Refusal)
	}
	one.d.cfg.Log.Info("batch has ended", "batch", one.b.ID, "state", end.State, "files", end.Summary.Files,
		"failed", end.Summary.Failed, "output", end.Summary.Output)
	return nil
}

// leaveOut names all files as failed that are not in kept results when the batch ends before its time, and counts from
// the start: what was processed in a shard that is not done is not in the result.
func (one *drive) leaveOut(ctx context.Context, why string) error {
	one.progress.begin(one.plan.files, len(one.plan.shards))
	for _, s := range one.plan.shards {
		done, err := one.recall(s)
		if done || err != nil {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			continue
		}
		p, err := one.newPiece(s)
		if err != nil {
			return err
		}
		for name := range p.open {
			p.settle(entry{Name: name, Failed: why})
		}
		if err := p.keep(); err != nil {
			return err
		}
		p.progress.shard()
	}
	return ctx.Err()
}

// all processes the files of all shards whose results are not kept yet.
func (one *drive) all(ctx context.Context) error {
	if _, _, err := one.d.cfg.Programs.Find(one.b.Program, one.b.Parameters); err != nil {
		return err
	}
	if err := one.prepare(ctx); err != nil {
		return err
	}
	if one.plan.files == 0 {
		return errEmpty
	}
	ctx, end, err := one.bounded(ctx)
	if err != nil {
		return err
	}
	defer end()
	for _, shards := range one.plan.groups(one.d.cfg.Limits.Together) {
		if err := one.group(ctx, shards); err != nil {
			return err
		}
	}
	return nil
}

// group processes the files of some shards. Those whose nodes do not answer are waited for together.
func (one *drive) group(ctx context.Context, shards []catalog.Shard) error {
	open, err := pieces(ctx, one, shards, func(s catalog.Shard) (*piece, error) {
		if done, err := one.recall(s); done || err != nil {
			return nil, err
		}
		return one.newPiece(s)
	}, false)
	for patience := time.Now().Add(one.d.cfg.Limits.Patience); err == nil && len(open) > 0; {
		last := time.Now().After(patience)
		if !last {
			one.progress.detail(fmt.Sprintf("files of %d shards wait for nodes that do not answer, or for repair",
				len(open)))
			err = sleep(ctx, one.d.cfg.Limits.Again)
		}
		if err == nil {
			open, err = pieces(ctx, one, open, func(p *piece) (*piece, error) { return p, nil }, last)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// bounded returns a context that ends when the batch has run for as long as it may.
func (one *drive) bounded(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if one.b.Limits.Time == 0 {
		ctx, end := context.WithCancel(ctx)
		return ctx, end, nil
	}
	left := one.b.Limits.Time - one.b.Passed(catalog.At(one.d.cfg.Now()))
	if left <= 0 {
		return ctx, nil, errTime
	}
	ctx, end := context.WithTimeoutCause(ctx, time.Duration(left)*time.Millisecond, errTime)
	return ctx, end, nil
}

// prepare makes the plan and the folder, and begins to count. A plan looks at all files of the archive: it ends with
// ctx.
func (one *drive) prepare(ctx context.Context) (err error) {
	view := func(see func(catalog.View) error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return one.d.cfg.Catalog.View(see)
	}
	if one.plan, err = newPlan(&one.b, view); err != nil {
		return err
	}
	one.progress.begin(one.plan.files, len(one.plan.shards))
	return one.d.cfg.Disk.MkdirAll(one.dir)
}

// recall counts a shard whose results are kept from before. One whose index cannot be read, or whose outputs are not
// all there, is done again.
func (one *drive) recall(s catalog.Shard) (bool, error) {
	var end int64
	index, err := openIndex(one.dir, s)
	if index == nil && err == nil {
		return false, nil
	}
	if err == nil {
		err = index.each(func(e *entry) { end = max(end, e.Offset+e.Length) })
	}
	if info, failed := os.Stat(one.resultsPath(s)); err == nil && end > 0 && (failed != nil || info.Size() < end) {
		err = cmp.Or(failed, io.ErrUnexpectedEOF)
	}
	if err != nil {
		one.d.cfg.Log.Warn("kept results of a batch are not whole, and are made again", "batch", one.b.ID, "shard", s,
			"error", err)
		return false, nil
	}
	if index, err = openIndex(one.dir, s); err == nil {
		err = index.each(one.progress.add)
	}
	if err != nil {
		return false, err
	}
	one.progress.shard()
	return true, nil
}

// pieces processes what from makes of the items, some at a time, and returns those pieces that have files that wait.
// last says that nothing waits any more.
func pieces[T any](ctx context.Context, one *drive, items []T, from func(T) (*piece, error),
	last bool) (open []*piece, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, one.d.cfg.Limits.Shards)
	var under sync.WaitGroup
	var mu sync.Mutex
	for _, item := range items {
		if !enter(ctx, slots) {
			break
		}
		under.Go(func() {
			defer func() { <-slots }()
			p, err := from(item)
			if err == nil && p != nil {
				err = p.work(ctx, last)
			}
			if err != nil {
				cancel(err)
				return
			}
			if p != nil && len(p.open) > 0 {
				mu.Lock()
				open = append(open, p)
				mu.Unlock()
			}
		})
	}
	under.Wait()
	return open, context.Cause(ctx)
}

// work processes what is open of the piece, and keeps the results if nothing is left open.
func (p *piece) work(ctx context.Context, last bool) error {
	err := p.process(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if p.give(last); len(p.open) > 0 {
		return nil
	}
	if err := p.keep(); err != nil {
		return err
	}
	p.progress.shard()
	return nil
}

// name returns what people call a node.
func (one *drive) name(id catalog.NodeID) string {
	name := string(id)
	_ = one.d.cfg.Catalog.View(func(v catalog.View) error {
		m, err := v.Member(id)
		if err == nil {
			name = m.Name
		}
		return err
	})
	return name
}
