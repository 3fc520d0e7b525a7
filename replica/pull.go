package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// page is how many owed copies are looked at in one go.
const page = 64

// Pauses of one file after a try that failed because of the file, of large files after a full disk, and of a file
// just reported, until this node's own catalog has caught up.
const (
	filePause    = 2 * time.Second
	longestFile  = 10 * time.Minute
	fullPause    = 5 * time.Second // looking whether there is room costs next to nothing
	longestFull  = time.Minute
	settledPause = 2 * time.Second
)

// reportAfter is the number of failed tries in a row after which the catalog is told.
const reportAfter = 3

// pulls is the state of pulling: the files under way, and those put off.
type pulls struct {
	mu     sync.Mutex
	active map[catalog.FileName]*pull
	later  map[catalog.FileName]delay
	wake   chan struct{} // receives when a pull ended without a change of the catalog

	disk func(catalog.Shard) string // that holds a shard; empty when none does yet
	full map[string]fullness        // of disks; of none: for shards that no disk holds yet, when none had room
	room func(catalog.File) bool    // whether the file's disk has room for it by now
}

// fullness is that a disk had no room for a file: files of the smallest such size, and larger ones, rest. When their
// rest is over, each is looked at whether there is room for it by now: a try that is bound to fail would be reported to
// the catalog, and make the file's own pause longer.
type fullness struct {
	delay
	smallest int64
}

// delay is when something may be tried again, and how often it has failed in a row.
type delay struct {
	until time.Time
	tries int
}

// pull is one copy being made, until the catalog has answered its report.
type pull struct {
	file   catalog.File
	moving bool
	began  time.Time
	from   atomic.Pointer[catalog.NodeID]
	done   atomic.Int64
}

// Pull is the progress of one copy.
type Pull struct {
	Name  catalog.FileName `json:"name"`
	Size  int64            `json:"size"`
	Done  int64            `json:"done"`
	From  catalog.NodeID   `json:"from,omitempty"`
	Began time.Time        `json:"began"`
}

func newPulls(disk func(catalog.Shard) string, room func(catalog.File) bool) *pulls {
	return &pulls{disk: disk, room: room, full: make(map[string]fullness), active: make(map[catalog.FileName]*pull),
		later: make(map[catalog.FileName]delay), wake: make(chan struct{}, 1)}
}

// Pulls returns the copies being made, by name.
func (r *puller) Pulls() []Pull {
	r.pulls.mu.Lock()
	defer r.pulls.mu.Unlock()
	var list []Pull
	for name, p := range r.pulls.active {
		q := Pull{Name: name, Size: p.file.Size, Done: p.done.Load(), Began: p.began}
		if from := p.from.Load(); from != nil {
			q.From = *from
		}
		list = append(list, q)
	}
	slices.SortFunc(list, func(a, b Pull) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}

// start takes the file up, unless it is being pulled or put off; then it returns nil.
func (p *pulls) start(f catalog.File, moving bool) *pull {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.isFree(f, now) {
		return nil
	}
	q := &pull{file: f, moving: moving, began: now}
	p.active[f.Name] = q
	return q
}

// end removes the file from the list of files being pulled, and lets the walk begin again.
func (p *pulls) end(name catalog.FileName) {
	p.mu.Lock()
	delete(p.active, name)
	p.mu.Unlock()
	p.poke()
}

// poke makes the owed copies be looked at again.
func (p *pulls) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// free reports whether the file may be taken up now: it is not being pulled and not put off.
func (p *pulls) free(f catalog.File) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isFree(f, time.Now())
}

func (p *pulls) isFree(f catalog.File, now time.Time) bool {
	if p.active[f.Name] != nil || now.Before(p.later[f.Name].until) {
		return false
	}
	if len(p.full) == 0 {
		return true
	}
	on := p.disk(f.Name.Shard())
	full, ok := p.full[on]
	if !ok || f.Size < full.smallest {
		return true
	}
	if now.Before(full.until) {
		return false
	}
	if p.room(f) {
		return true
	}
	full.tries++
	full.until = now.Add(backoff(full.tries, fullPause, longestFull))
	p.full[on] = full
	return false
}

// busy reports whether the file is being pulled.
func (p *pulls) busy(name catalog.FileName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active[name] != nil
}

// putOff lets the file rest after another failed try, and returns the number of tries.
func (p *pulls) putOff(name catalog.FileName) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.later[name]
	d.tries++
	d.until = time.Now().Add(backoff(d.tries, filePause, longestFile))
	p.later[name] = d
	return d.tries
}

// settle lets the file rest until the catalog here shows what was reported.
func (p *pulls) settle(name catalog.FileName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.later[name] = delay{until: time.Now().Add(settledPause)}
}

// fullDisk lets files of that size and larger ones on the same disk rest, after the disk was too full for one. Files
// on other disks continue. The rest grows with each time that it ends in vain; that many files find the disk full at
// once does not make it longer.
func (p *pulls) fullDisk(f catalog.File) {
	disk := p.disk(f.Name.Shard())
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	full := p.full[disk]
	resting := now.Before(full.until)
	if !resting || f.Size < full.smallest {
		full.smallest = f.Size
	}
	if !resting {
		full.tries++
		full.until = now.Add(backoff(full.tries, fullPause, longestFull))
	}
	p.full[disk] = full
}

// roomAgain ends that rest after there was room for the file.
func (p *pulls) roomAgain(f catalog.File) {
	disk := p.disk(f.Name.Shard())
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.full, "") // a shard without a disk found one, or may by now
	if full, ok := p.full[disk]; ok && f.Size >= full.smallest {
		delete(p.full, disk)
	}
}

// next forgets files that were put off long ago, and returns the time until the first of the others is due; 0: none.
func (p *pulls) next() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var first time.Duration
	sooner := func(t time.Time) {
		if d := t.Sub(now); d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	for name, d := range p.later {
		if now.After(d.until.Add(longestFile)) || d.tries == 0 && now.After(d.until) {
			delete(p.later, name)
			continue
		}
		sooner(d.until)
	}
	for _, full := range p.full {
		sooner(full.until)
	}
	return first
}

// pull looks at the owed copies, again after each change, and keeps the workers busy with them. There is one worker
// more than is set, only for the copies that are needed most: a new file does not wait until a large, less urgent one
// has been copied.
func (r *puller) pull(ctx context.Context) error {
	scout := &scout{puller: r, queue: newQueue(r.pulls.poke)}
	var workers sync.WaitGroup
	for i := range r.cfg.Pulls + 1 {
		workers.Go(func() { r.work(ctx, scout.queue, i == 0) })
	}
	defer workers.Wait()
	return r.eachChange(ctx, r.pulls.wake, func(ctx context.Context) (time.Duration, error) {
		rested, err := scout.look(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Error("what is owed cannot be read", "err", err)
			return time.Minute, nil
		}
		next := r.pulls.next()
		if !rested.IsZero() {
			if d := max(time.Until(rested), time.Millisecond); next == 0 || d < next {
				next = d
			}
		}
		return next, ctx.Err()
	})
}

// task is a pull with the sources to try.
type task struct {
	*pull
	sources []catalog.NodeID
}

// work makes one copy after the other until the context ends.
func (r *puller) work(ctx context.Context, q *queue, only bool) {
	for {
		f, c, err := q.take(ctx, only)
		if err != nil {
			return
		}
		ready, _ := r.sources.order(f.Sources) // in their present order
		if len(ready) == 0 && !r.onDisk(f.File.Name) {
			continue
		}
		if p := r.pulls.start(f.File, c == moving); p != nil {
			r.carry(ctx, task{p, ready})
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// onDisk reports whether there is something under the name that may serve without a source.
func (r *holdings) onDisk(name catalog.FileName) bool {
	return r.sums == nil && r.store.shards.present(name)
}

// carry makes one copy and reports it.
func (r *puller) carry(ctx context.Context, t task) {
	name := t.file.Name
	err := r.owes(t)
	if err == nil {
		r.leaving.pass(name.Shard())
		if r.sums != nil {
			err = r.record(ctx, t)
		} else {
			err = r.copyFile(ctx, t)
		}
	}
	rep := catalog.CopyReport{Name: name}
	switch {
	case ctx.Err() != nil, errors.Is(err, errNotOwed):
		r.pulls.end(name)
		return
	case err == nil:
		r.pulls.roomAgain(t.file)
		rep.State, rep.SHA256 = catalog.UploadCompleted, t.file.SHA256
	case errors.Is(err, ErrBusy):
		r.pulls.end(name)
		return
	case errors.Is(err, ErrNotHere):
		r.pulls.putOff(name)
		r.pulls.end(name)
		return
	default:
		tries := r.pulls.putOff(name)
		if errors.Is(err, disk.ErrFull) {
			r.pulls.fullDisk(t.file)
			tries = reportAfter
		}
		r.log.Warn("copy failed", "file", name, "tries", tries, "err", err)
		if tries < reportAfter {
			r.pulls.end(name)
			return
		}
		rep.State, rep.Reason = catalog.UploadFailed, err.Error()
	}
	if t.moving {
		if err == nil {
			r.proved.add(heldAs(t.file))
		}
		r.pulls.end(name)
		return
	}
	if r.reports.send(ctx, report{rep, func(refusal *catalog.Refusal) { r.settled(rep, refusal) }}) != nil {
		r.pulls.end(name)
	}
}

// settled ends a pull after the catalog has answered its report.
func (r *puller) settled(rep catalog.CopyReport, refusal *catalog.Refusal) {
	if refusal != nil {
		r.log.Info("report refused", "file", rep.Name, "state", rep.State, "err", refusal)
		r.pulls.putOff(rep.Name)
	} else if rep.State == catalog.UploadCompleted {
		r.pulls.settle(rep.Name)
	}
	r.pulls.end(rep.Name)
}

// errNotOwed ends a pull that the catalog no longer asks for.
var errNotOwed = errors.New("the copy is no longer needed")

// owes looks at the catalog once more before work is done.
func (r *puller) owes(t task) error {
	return r.catalog.View(func(v catalog.View) error {
		f, err := v.File(t.file.Name)
		if errors.Is(err, catalog.ErrNotFound) {
			return errNotOwed
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", t.file.Name, err)
		}
		c := f.Copy(r.cfg.Replica)
		if f.Removed != 0 || f.Lost != 0 || c == nil || c.Surplus || !t.moving && c.State == catalog.UploadCompleted {
			return errNotOwed
		}
		p, err := v.Placement(r.cfg.Replica, f.Name.Shard())
		if err != nil {
			return fmt.Errorf("look at %s: %w", t.file.Name, err)
		}
		if p.Holder != r.cfg.Self && p.Next != r.cfg.Self || t.moving && p.Next != r.cfg.Self {
			return errNotOwed
		}
		return nil
	})
}
