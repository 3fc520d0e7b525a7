package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// The states of a disk.
const (
	DiskInUse    = "in use"
	DiskDraining = "draining"
	DiskEmptied  = "emptied"
	DiskGone     = "not mounted"
	DiskReadOnly = "read-only"
)

// DiskState is the state of one of this node's disks for files.
type DiskState struct {
	Path   string `json:"path"`
	Total  int64  `json:"total"`
	Room   int64  `json:"room"`   // free beside the reserve
	Shards int    `json:"shards"` // that lie on it
	Bytes  int64  `json:"bytes"`  // of their files, as the catalog has it
	State  string `json:"state"`
	Why    string `json:"why,omitempty"` // what keeps it from being emptied, read or written
}

// DiskTakenAway is the state of a disk that was emptied and is not there, although the settings name it.
const DiskTakenAway = "it was emptied and is not there: take it out of the settings; or mount another there, undrain " +
	"it, and start the node again"

// DiskMove is how far one shard's move from disk to disk is.
type DiskMove struct {
	Shard      catalog.Shard `json:"shard"`
	From       string        `json:"from"`
	To         string        `json:"to"`
	Files      int64         `json:"files"` // copied and read back
	TotalFiles int64         `json:"totalFiles"`
	Bytes      int64         `json:"bytes"` // copied since this try began
	TotalBytes int64         `json:"totalBytes"`
	Began      time.Time     `json:"began"`
}

// DiskReport is the state of this node's disks, and of the moves between them.
type DiskReport struct {
	Disks     []DiskState `json:"disks"`
	Paused    bool        `json:"paused"`
	Balancing bool        `json:"balancing"`
	Moved     int         `json:"moved"` // shards, since the node started
	Move      *DiskMove   `json:"move,omitempty"`
	Fault     string      `json:"fault,omitempty"` // why nothing moves
}

// Answers to wishes about disks.
var (
	// ErrNoDisk reports a path that is not one of the node's disks for files.
	ErrNoDisk = errors.New("not one of the node's folders for files")
	// ErrLastDisk refuses to empty the only disk that is in use.
	ErrLastDisk = errors.New("no other disk is left to take its shards")
)

// errStopped ends a move that an operator does not want now.
var errStopped = errors.New("stopped")

// Pauses between looks, and after something failed.
const (
	diskLook    = time.Minute
	diskPause   = time.Minute
	diskLongest = time.Hour
	shardSoon   = 5 * time.Second // after files came into a shard that was about to move
	giveWay     = 7               // while other copies are made, moves have an eighth of the time
	giveWayMost = time.Minute
)

// Disks moves shards between the disks of one node: off disks that are to be emptied, and from the fullest to the
// emptiest. It is the least urgent of a node's work.
type Disks struct {
	store *Store
	log   *slog.Logger
	limit *limiter
	wake  chan struct{}
	grace time.Duration // for how long a disk may be gone

	standing func(catalog.FileName) (standing, error)
	spare    func(catalog.FileName) bool
	doubt    func(context.Context, catalog.FileName, catalog.Digest)
	bytes    func() ([]catalog.Root, error) // of each shard
	busy     func() bool                    // other copies are made now
	// how many files of the shard nobody else has good bytes of
	sole func(catalog.Shard) (int, error)

	mu     sync.Mutex
	rests  map[*root]restOf
	later  map[catalog.Shard]delay
	clears map[leftover]delay // leftovers that could not be removed, with when to try again
	stuck  map[*root]string   // why a disk is not emptied
	// of disks that are given up: shards for which no disk has room
	lacking map[*root]lacking
	moved   int
	move    *shardMove // under way
	stop    context.CancelCauseFunc
}

// restOf is that nothing is read from a disk or written to it for a while.
type restOf struct {
	delay
	why string
}

// lacking are shards without a disk: how many, and some whose files others have.
type lacking struct {
	shards int
	next   []catalog.Shard
}

func newDisks(r *Replica) *Disks {
	return &Disks{
		store: r.store, log: r.log, limit: r.auditor.pace, wake: make(chan struct{}, 1),
		grace:    r.cfg.DiskGrace,
		standing: standingIn(r), busy: r.puller.pulls.any,
		doubt: func(ctx context.Context, name catalog.FileName, digest catalog.Digest) {
			r.server.proved.drop(name)
			r.doubtful(ctx, corruptFinding(name, digest))
		},
		spare: func(name catalog.FileName) (is bool) {
			err := r.catalog.View(func(v catalog.View) error {
				_, c, err := r.claimOn(v, name)
				is = c == spare
				return err
			})
			return err == nil && is
		},
		bytes: func() (roots []catalog.Root, err error) {
			err = r.catalog.View(func(v catalog.View) error { roots, err = v.Roots(r.cfg.Replica); return err })
			return roots, err
		},
		rests: make(map[*root]restOf), later: make(map[catalog.Shard]delay), clears: make(map[leftover]delay),
		sole:  func(n catalog.Shard) (int, error) { return soleIn(r.agreed, n, math.MaxInt) },
		stuck: make(map[*root]string), lacking: make(map[*root]lacking),
	}
}

// standingIn returns a function that looks up the catalog's view of a file here.
func standingIn(r *Replica) func(catalog.FileName) (standing, error) {
	return func(name catalog.FileName) (st standing, err error) {
		err = r.catalog.View(func(v catalog.View) error {
			f, err := v.File(name)
			if errors.Is(err, catalog.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			p, err := v.Placement(r.cfg.Replica, name.Shard())
			if err != nil {
				return err
			}
			c := f.Copy(r.cfg.Replica)
			st = standing{want: heldAs(f), known: true, counted: f.Removed == 0 && f.Lost == 0 &&
				p.Holder == r.cfg.Self &&
				c != nil && !c.Surplus && c.State == catalog.UploadCompleted}
			return nil
		})
		if err != nil {
			return st, fmt.Errorf("look at %s: %w", name, err)
		}
		return st, nil
	}
}

// any reports whether copies are being made.
func (p *pulls) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.active) > 0
}

// run moves shards until the context ends, one at a time.
func (d *Disks) run(ctx context.Context) error {
	for {
		if again := d.step(ctx); again > 0 {
			timer := time.NewTimer(again)
			select {
			case <-ctx.Done():
			case <-d.wake:
			case <-timer.C:
			}
			timer.Stop()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (d *Disks) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// step does the next due step and returns when to look again; 0: at once.
func (d *Disks) step(ctx context.Context) time.Duration {
	d.clear()
	asked, fault := d.store.asked.look()
	if fault != nil || asked.Paused || len(d.store.roots) < 2 {
		return diskLook
	}
	move, ok, err := d.next()
	if err != nil {
		d.log.Warn("it cannot be found out which shards are to change disks", "err", err)
		return diskLook
	}
	if !ok {
		d.finishDrains(ctx)
		return diskLook
	}
	if !d.begin(ctx, move) {
		return 0
	}
	return shardSoon
}

// begin moves one shard and reports whether that failed.
func (d *Disks) begin(ctx context.Context, move *shardMove) (failed bool) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	move.rest = d.rest
	d.mu.Lock()
	d.move, d.stop = move, stop
	d.mu.Unlock()
	if asked, _ := d.store.asked.look(); asked.Paused { // since it was looked at
		stop(errStopped)
	}
	err := move.run(ctx)
	d.mu.Lock()
	d.move, d.stop = nil, nil
	d.mu.Unlock()
	if err != nil {
		d.failed(ctx, move, err)
		return true
	}
	d.mu.Lock()
	d.moved++
	delete(d.rests, move.from)
	delete(d.rests, move.to)
	delete(d.later, move.shard)
	delete(d.stuck, move.from)
	d.mu.Unlock()
	d.log.Info("a shard has moved to another disk", "shard", move.shard, "from", move.from.path, "to",
		move.to.path, "files", len(move.staged))
	d.clear()
	return false
}

// failed records which disk or shard is to rest after a move that failed. What was copied is kept for the next try,
// unless the disk has no room for it.
func (d *Disks) failed(ctx context.Context, move *shardMove, err error) {
	if ctx.Err() != nil {
		return
	}
	gone := false
	for _, r := range []*root{move.from, move.to} {
		if away := r.mounted(); away != nil {
			d.putOff(r, away)
			gone = true
		}
	}
	switch {
	case gone:
	case errors.Is(err, errTarget):
		if errors.Is(err, disk.ErrFull) { // there may be room for others
			d.putOffShard(move.shard, diskPause, diskLongest)
		} else {
			d.putOff(move.to, err)
		}
		if err := move.discard(); err != nil {
			d.log.Warn("what was copied of a shard that does not move now stays", "folder",
				move.to.moving(move.shard), "err", err)
		}
	case errors.Is(err, errSourceDisk):
		d.putOff(move.from, err)
	case errors.Is(err, errInUse):
		d.putOffShard(move.shard, shardSoon, diskPause)
		return
	default:
		d.putOffShard(move.shard, diskPause, diskLongest)
	}
	d.mu.Lock()
	d.stuck[move.from] = err.Error()
	d.mu.Unlock()
	if errors.Is(err, disk.ErrFull) {
		d.log.Info("a disk has no room for a shard", "shard", move.shard, "to", move.to.path, "err", err)
		return
	}
	d.log.Warn("a shard could not be moved to another disk", "shard", move.shard, "from", move.from.path, "to",
		move.to.path, "err", err)
}

func (d *Disks) putOff(r *root, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.rests[r]
	one.tries++
	one.until, one.why = time.Now().Add(backoff(one.tries, diskPause, diskLongest)), why.Error()
	d.rests[r] = one
}

func (d *Disks) putOffShard(n catalog.Shard, first, most time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.later[n]
	one.tries++
	one.until = time.Now().Add(backoff(one.tries, first, most))
	d.later[n] = one
}

// rest makes way for other copies, after a file that took so long.
func (d *Disks) rest(ctx context.Context, took time.Duration) error {
	if !d.busy() {
		return ctx.Err()
	}
	return sleep(ctx, min(giveWay*took, giveWayMost))
}

// clear removes the remains of shards that have moved.
func (d *Disks) clear() {
	for _, l := range d.store.left.list() {
		d.mu.Lock()
		soon := time.Now().Before(d.clears[l].until)
		d.mu.Unlock()
		if soon || l.on.mounted() != nil || l.on.refuses() != nil || !d.store.shards.there(l.shard) {
			continue
		}
		err := d.store.left.clear(l, d.spare)
		if err == nil {
			err = d.dropParts(l.shard)
		}
		d.mu.Lock()
		if err == nil {
			delete(d.clears, l)
		} else {
			one := d.clears[l]
			one.tries++
			one.until = time.Now().Add(backoff(one.tries, diskPause, diskLongest))
			d.clears[l], d.stuck[l.on] = one, err.Error()
			if !errors.Is(err, errAwaited) {
				d.log.Warn("what a disk has left of a shard that moved away stays for now", "shard", l.shard, "disk",
					l.on.path, "err", err)
			}
		}
		d.mu.Unlock()
	}
}
