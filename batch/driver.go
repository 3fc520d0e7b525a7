package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/batches"
)

// driver drives the batches that are this node's.
type driver struct {
	cfg  Config
	work *worker

	mu      sync.Mutex
	driving map[string]*drive
	past    map[string]Progress // of those that were driven, or counted since

	counting sync.Mutex // while kept results are read to count them
}

func newDriver(cfg Config, work *worker) *driver {
	return &driver{cfg: cfg, work: work, driving: map[string]*drive{}, past: map[string]Progress{}}
}

// every is how often a driver looks at the catalog when nothing is said to have changed.
const every = 30 * time.Second

// Run drives this node's batches until ctx ends. changed reports changes of batches and members.
func (d *driver) Run(ctx context.Context, changed <-chan struct{}) error {
	if err := d.cfg.Disk.RemoveAll(d.cfg.Work); err != nil {
		return err
	}
	defer d.stop(func(*drive) bool { return true })
	for {
		again := every
		if err := d.round(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Log.Warn("batches cannot be looked at", "error", err)
			again = d.cfg.Limits.Again
		}
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// round begins to drive what is this node's, and ceases to drive what is not any more.
func (d *driver) round(ctx context.Context) error {
	all, kept, err := d.own()
	if err != nil {
		return err
	}
	running := map[string]uint64{}
	for _, b := range all {
		if b.State == batches.Running {
			running[b.ID] = b.Term
		}
	}
	d.stop(func(one *drive) bool { term, ok := running[one.b.ID]; return !ok || term != one.b.Term })
	for _, b := range all {
		if b.State == batches.Running {
			d.start(ctx, b)
		}
	}
	for _, b := range all {
		if b.State == batches.Stopped && b.Summary == nil && b.Begun != 0 {
			err = errors.Join(err, d.sumUp(ctx, b))
		}
	}
	return errors.Join(err, d.clean(ctx, kept), d.claim(ctx))
}

// sumUp has it agreed what a batch that was stopped has brought: the results that are kept. Those that cannot be read
// are not among them.
func (d *driver) sumUp(ctx context.Context, b batches.Batch) error {
	sum := newTally()
	kept, err := openIndexes(d.folder(b.ID))
	if err == nil {
		for e := range kept.sorted() {
			sum.add(e)
		}
		err = kept.err
	}
	if err != nil && !errors.Is(err, errGone) {
		d.cfg.Log.Warn("results of a batch that was stopped cannot be read", "batch", b.ID, "error", err)
	}
	p, err := newPlan(&b, d.cfg.Catalog.View)
	if err != nil {
		return fmt.Errorf("count the files of batch %s, which was stopped: %w", b.ID, err)
	}
	end := batches.Ending{ID: b.ID, Node: d.cfg.Self, Term: b.Term, State: batches.Stopped, Summary: sum.now().Summary}
	end.Summary.Selected = max(p.files, end.Summary.Files+end.Summary.Failed)
	result, err := d.cfg.Catalog.Propose(ctx, batches.End, end, string(d.cfg.Self))
	if err == nil && result.Refusal != nil {
		err = result.Refusal
	}
	if err != nil {
		return fmt.Errorf("propose the summary of batch %s, which was stopped: %w", b.ID, err)
	}
	return nil
}

// own returns the batches that this node drives, or drove to their end, and their ids.
func (d *driver) own() (out []batches.Batch, ids map[string]bool, err error) {
	ids = map[string]bool{}
	err = d.cfg.Catalog.View(func(v catalog.View) error {
		all, err := catalog.BatchesIn(v).Batches()
		for _, b := range all {
			if b.Node == d.cfg.Self {
				out, ids[b.ID] = append(out, b), true
			}
		}
		return err
	})
	return out, ids, err
}

// start drives a batch in the background, unless it is driven already.
func (d *driver) start(ctx context.Context, b batches.Batch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.driving[b.ID] != nil {
		return
	}
	one := newDrive(d, b)
	d.driving[b.ID] = one
	ctx, one.cancel = context.WithCancel(ctx)
	go func() {
		defer close(one.ended)
		one.run(ctx)
	}()
}

// stop ends the driving of the batches that which selects, and returns when nothing of them runs any more.
func (d *driver) stop(which func(*drive) bool) {
	d.mu.Lock()
	var over []*drive
	for id, one := range d.driving {
		if which(one) {
			over = append(over, one)
			delete(d.driving, id)
		}
	}
	d.mu.Unlock()
	for _, one := range over {
		one.cancel()
		<-one.ended
		d.mu.Lock()
		d.past[one.b.ID] = one.progress.now()
		d.mu.Unlock()
	}
}

// claim takes on batches that nobody drives.
func (d *driver) claim(ctx context.Context) error {
	d.mu.Lock()
	driving := len(d.driving)
	d.mu.Unlock()
	due, err := d.cfg.Duties.Claims(driving)
	if err != nil {
		return err
	}
	for _, h := range due {
		result, err := d.cfg.Catalog.Propose(ctx, batches.Claim, h, string(d.cfg.Self))
		if err != nil {
			return err
		}
		if result.Refusal == nil {
			d.cfg.Log.Info("this node drives a batch that nobody drove", "batch", h.ID)
		}
	}
	return nil
}

func (d *driver) folder(id string) string { return filepath.Join(d.cfg.Dir, id) }

// clean removes the results of batches that are another node's, or are not kept any more. Before anything is removed,
// this node learns what is agreed: one that has just lost its state knows of no batch.
func (d *driver) clean(ctx context.Context, kept map[string]bool) error {
	d.mu.Lock()
	for id := range d.past {
		if !kept[id] {
			delete(d.past, id)
		}
	}
	d.mu.Unlock()
	there, err := os.ReadDir(d.cfg.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	there = slices.DeleteFunc(there, func(e os.DirEntry) bool { return kept[e.Name()] })
	if err != nil || len(there) == 0 {
		return err
	}
	if err := d.cfg.Catalog.Linear(ctx); err != nil {
		return fmt.Errorf("before results are removed: %w", err)
	}
	if _, kept, err = d.own(); err != nil {
		return err
	}
	for _, e := range there {
		if !kept[e.Name()] {
			err = errors.Join(err, d.cfg.Disk.RemoveAll(filepath.Join(d.cfg.Dir, e.Name())))
		}
	}
	return err
}

// Progress returns how far a batch is, and false if this node has never driven it. Of a batch that was paused or
// stopped it returns the last progress. After a restart of the node, files that are still to be processed are not
// counted before the batch goes on.
func (d *driver) Progress(id string) (Progress, bool, error) {
	d.mu.Lock()
	one := d.driving[id]
	past, was := d.past[id]
	d.mu.Unlock()
	switch {
	case one != nil:
		return one.progress.now(), true, nil
	case was:
		return past, true, nil
	}
	if err := agree.CheckName("batch", id); err != nil { // it is the name of a folder
		return Progress{}, false, err
	}
	if !d.counting.TryLock() { // who asks again and again would have them read again and again, side by side
		return Progress{}, false, errCounting
	}
	defer d.counting.Unlock()
	all, err := openIndexes(d.folder(id))
	if errors.Is(err, errGone) {
		return Progress{}, false, nil
	}
	if err != nil {
		return Progress{}, false, err
	}
	sum := newTally()
	sum.begin(0, len(all.all))
	sum.sum.ShardsDone = len(all.all)
	for e := range all.sorted() {
		sum.add(e)
	}
	if all.err == nil {
		d.mu.Lock()
		d.past[id] = sum.now()
		d.mu.Unlock()
	}
	return sum.now(), true, all.err
}

// errCounting says that an answer needs more time.
var errCounting = errors.New("kept results of a batch are being counted; ask again later")
