package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/catalog"
)

// goneDisk is a disk that is not there, and for how long this node has missed it while it ran: by its steady clock,
// since one that is set forward would give up every disk that is away just then.
type goneDisk struct {
	Mark    string `json:"mark"`
	Path    string `json:"path"`
	Seconds int64  `json:"seconds"`
	GivenUp bool   `json:"givenUp,omitempty"` // its shards are made again on other disks, as far as these have room
	// ReadOnly: it is there, and takes no writes. Its shards move to other disks then.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Between looks at the disks, and before shards are tried again for which no disk has room. How long a disk is missed
// is written down every goneNote.
const (
	goneLook  = time.Minute
	goneNote  = 10 * time.Minute
	goneAgain = 10 * time.Minute
	// lackingMost is how many shards are offered to other nodes at a time.
	lackingMost = 64
)

// remaking gives up disks that are not there for longer than the grace time: their shards are other disks' then, and
// what the archive counts on there is reported as missing, so that it is copied again. What still lies on the disk is
// looked through when it is back.
type remaking struct {
	*findings
	disks  *Disks
	proved *proved
	grace  time.Duration // 0: no disk is given up unless somebody says so

	looked   time.Time
	trials   time.Time
	begun    bool                     // begin was called
	replaced []string                 // marks of replaced disks: all is told once untold is empty
	missed   map[string]time.Duration // by mark: for how long, if longer than is written down
	untold   map[catalog.Shard]bool   // made again, and what is missing is not reported yet
	asked    map[string]bool          // marks of given-up disks whose shards were looked for since the start
	tried    map[*root]time.Time      // when shards of the disk were given to others
}

func newRemaking(found *findings, disks *Disks, proved *proved) *remaking {
	return &remaking{findings: found, disks: disks, proved: proved, grace: found.cfg.DiskGrace,
		missed: map[string]time.Duration{}, untold: map[catalog.Shard]bool{},
		asked: map[string]bool{}, tried: map[*root]time.Time{}}
}

// run looks at the disks until the context ends.
func (r *remaking) run(ctx context.Context) error {
	if r.sums != nil {
		return nil
	}
	for {
		if err := r.look(); err != nil {
			r.log.Warn("it cannot be written down which disks are missed", "err", err)
		} else if err := r.remake(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("the shards of a disk that is gone could not all be given to other disks", "err", err)
		}
		if err := sleep(ctx, goneLook); err != nil {
			return err
		}
	}
}

// look counts for how long each disk is missed, or takes no writes, and gives up those of which that is too long.
func (r *remaking) look() error {
	now := time.Now()
	passed := min(now.Sub(r.looked), 2*goneLook)
	if r.looked.IsZero() {
		passed = 0
	}
	r.looked = now
	r.tryAll(now)
	asked, fault := r.store.asked.look()
	if fault != nil {
		return nil // which is said elsewhere
	}
	ails := r.ailing(asked)
	for mark, is := range ails {
		was, _ := asked.missed(mark)
		if was.ReadOnly != is.ReadOnly {
			was, r.missed[mark] = goneDisk{}, 0
		}
		r.missed[mark] = max(r.missed[mark], time.Duration(was.Seconds)*time.Second) + passed
		is.Seconds = int64(r.missed[mark] / time.Second)
		is.GivenUp = was.GivenUp || r.grace > 0 && r.missed[mark] >= r.grace
		if ails[mark] = is; is.GivenUp && !was.GivenUp {
			r.log.Error("a disk has been away, or taken no writes, for too long: its shards go to other disks", "disk",
				is.Path, "for", r.missed[mark].Round(time.Second))
		}
	}
	for _, one := range r.store.roots {
		is, still := ails[one.mark]
		one.leaves.Store(is.GivenUp && is.ReadOnly)
		if _, was := r.missed[one.mark]; was && !still {
			delete(r.missed, one.mark)
			delete(r.asked, one.mark)
			r.disks.note(one, lacking{})
		}
	}
	return r.store.asked.change(func(w *wishes) error {
		w.Gone = slices.DeleteFunc(w.Gone, func(g goneDisk) bool { _, still := ails[g.Mark]; return !still })
		for mark, is := range ails {
			g, known := w.missed(mark)
			if !known || is.GivenUp != g.GivenUp || is.ReadOnly != g.ReadOnly ||
				is.Seconds-g.Seconds >= int64(goneNote/time.Second) {
				w.miss(is)
			}
		}
		return nil
	})
}

// gone reports whether the disk is not to be seen where it was mounted. One that is back, and that the node uses from
// its next start, is not gone.
func (r *root) gone() bool {
	mark, err := readMark(r.path)
	return err != nil || mark != r.mark
}

// missed returns what is noted of a disk that is not there.
func (w wishes) missed(mark string) (goneDisk, bool) {
	i := slices.IndexFunc(w.Gone, func(g goneDisk) bool { return g.Mark == mark })
	if i < 0 {
		return goneDisk{}, false
	}
	return w.Gone[i], true
}

func (w *wishes) miss(one goneDisk) {
	w.Gone = slices.DeleteFunc(w.Gone, func(g goneDisk) bool { return g.Mark == one.Mark })
	w.Gone = append(w.Gone, one)
}

// remake gives the shards of given-up disks to others, and reports what is missing there.
func (r *remaking) remake(ctx context.Context) error {
	asked, fault := r.store.asked.look()
	if fault != nil {
		return nil
	}
	r.begin(asked)
	var failed error
	for _, from := range r.store.roots {
		g, ails := asked.missed(from.mark)
		switch {
		case !ails || !g.GivenUp:
			continue
		case g.ReadOnly:
			failed = errors.Join(failed, r.spill(from))
			continue
		case !from.gone():
			continue
		}
		r.recall(from)
		failed = errors.Join(failed, r.give(ctx, from))
	}
	for n := range r.untold {
		if err := r.tell(ctx, n); err != nil {
			return errors.Join(failed, err)
		}
		delete(r.untold, n)
	}
	if failed == nil && len(r.replaced) > 0 {
		if failed = r.store.asked.told(r.replaced); failed == nil {
			r.replaced = nil
		}
	}
	return failed
}

// begin finds, once, the shards of which something may be missing that was not reported before the node's start: those
// of disks that were replaced, and those of which another disk has something left.
func (r *remaking) begin(asked wishes) {
	if r.begun {
		return
	}
	r.begun = true
	for _, n := range r.store.replaced(&r.store.shards) {
		r.untold[n] = true
	}
	for _, l := range r.store.left.list() {
		r.untold[l.shard] = true
	}
	for _, l := range asked.Lost {
		if !l.Told {
			r.replaced = append(r.replaced, l.Mark)
		}
	}
}

// recall finds the shards that were made again in place of those of the disk before the node was started: what is
// missing may not have been reported.
func (r *remaking) recall(from *root) {
	if r.asked[from.mark] {
		return
	}
	r.asked[from.mark] = true
	for n := range catalog.Shard(catalog.Shards) {
		if on := r.store.shards.on(n); on != nil && on != from && on.movedFrom(n) == from.mark {
			r.untold[n] = true
		}
	}
}

// give gives the disk's shards, as far as this node has them for the archive, to other disks of the node.
func (r *remaking) give(ctx context.Context, from *root) error {
	shards, err := r.held(from)
	if err != nil {
		return err
	}
	if len(shards) == 0 {
		r.disks.note(from, lacking{})
		return nil
	}
	if r.disks.lacks(from) && time.Since(r.tried[from]) < goneAgain {
		return nil
	}
	rooms, _, err := r.disks.survey()
	if err != nil {
		return err
	}
	sizes, err := r.disks.bytes()
	if err != nil {
		return err
	}
	if err := r.promise(rooms); err != nil {
		return err
	}
	given, lacks := 0, lacking{}
	var failed error
	for _, n := range shards {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		to := r.place(n, rooms, sizes[n].Bytes)
		if to < 0 {
			lacks.shards++
			if len(lacks.next) < lackingMost {
				if lacks.next, err = r.offered(n, lacks.next); err != nil {
					return err
				}
			}
			continue
		}
		done, err := r.disks.giveTo(n, from, r.store.roots[to])
		if failed = errors.Join(failed, err); !done {
			continue
		}
		r.proved.forget(n)
		rooms[to].room -= sizes[n].Bytes
		r.untold[n] = true
		given++
	}
	r.tried[from] = time.Now()
	if given > 0 {
		r.log.Warn("shards of a disk that is gone are made again on other disks", "disk", from.path, "shards", given,
			"without room", lacks.shards)
	}
	r.disks.note(from, lacks)
	return failed
}

// held returns the disk's shards that this node holds, or is to hold, for the archive. Others wait for the disk.
func (r *remaking) held(from *root) (shards []catalog.Shard, err error) {
	err = r.catalog.View(func(v catalog.View) error {
		layout, err := v.Layout(r.cfg.Replica)
		for n, p := range layout {
			if (p.Holder == r.cfg.Self || p.Next == r.cfg.Self) && r.store.shards.on(catalog.Shard(n)) == from {
				shards = append(shards, catalog.Shard(n))
			}
		}
		return err
	})
	return shards, err
}

// offered adds the shard to those that other nodes may take, if somebody else has good bytes of all of its files: the
// others wait for the disk, and hold up no shard that can be made again.
func (r *remaking) offered(n catalog.Shard, next []catalog.Shard) ([]catalog.Shard, error) {
	if sole, err := soleIn(r.agreed, n, 1); err != nil || sole > 0 {
		return next, err
	}
	return append(next, n), nil
}

// soleIn counts the shard's files of which no other node has good bytes, up to most.
func soleIn(r *agreed, n catalog.Shard, most int) (sole int, err error) {
	for f, err := range r.meant(n, "") {
		if err != nil {
			return sole, err
		}
		elsewhere := false
		err := r.catalog.View(func(v catalog.View) error {
			holders, err := v.CoveringFile(&f)
			elsewhere = slices.ContainsFunc(holders, func(h catalog.Holding) bool { return h.Node != r.cfg.Self })
			return err
		})
		if err != nil {
			return sole, err
		}
		if elsewhere {
			continue
		}
		if sole++; sole >= most {
			break
		}
	}
	return sole, nil
}

// promise takes what is still to come into shards that were given to other disks off the room of these.
func (r *remaking) promise(rooms []diskRoom) error {
	for n := range catalog.Shard(catalog.Shards) {
		on := r.disks.rootOf(n)
		if on < 0 || r.store.roots[on].movedFrom(n) == "" {
			continue
		}
		for f, err := range r.meant(n, "") {
			if err != nil {
				return err
			}
			if c := f.Copy(r.cfg.Replica); !c.Good() || r.untold[n] && !r.store.Has(f.Name) {
				rooms[on].room -= f.Size
			}
		}
	}
	return nil
}

// place returns the number of the disk that the shard is made again on: the one that is left with most room, or the one
// that it had moved away from, if something of it is there still; -1 if none has room.
func (r *remaking) place(n catalog.Shard, rooms []diskRoom, bytes int64) int {
	for _, l := range r.store.left.list() {
		if l.shard == n {
			if i := slices.Index(r.store.roots, l.on); rooms[i].takes {
				return i
			}
			return -1
		}
	}
	best := -1
	for i, d := range rooms {
		if d.takes && !d.draining && d.room >= bytes && (best < 0 || d.after(bytes) < rooms[best].after(bytes)) {
			best = i
		}
	}
	return best
}

// tell reports which files of a shard the archive counts on and are not here.
func (r *remaking) tell(ctx context.Context, n catalog.Shard) error {
	mine := false
	err := r.catalog.View(func(v catalog.View) error {
		p, err := v.Placement(r.cfg.Replica, n)
		mine = p.Holder == r.cfg.Self
		return err
	})
	if err != nil {
		return err
	}
	if mine {
		if _, err := (&comparer{r.findings}).compareShard(ctx, n); err != nil {
			return err
		}
	}
	for f, err := range r.meant(n, "") {
		if err != nil {
			return err
		}
		if !r.store.Has(f.Name) {
			r.store.cfg.Gone(f.Name)
		}
	}
	return nil
}

// giveTo gives a shard to another disk, unless a move of it between disks is just ending.
func (d *Disks) giveTo(n catalog.Shard, from, to *root) (done bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.move != nil && d.move.shard == n {
		return false, nil
	}
	return d.store.left.giveTo(n, from, to)
}

// lacks reports whether there was no room for some shards of the disk.
func (d *Disks) lacks(r *root) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lacking[r].shards > 0
}

// note says on the disk's state for how many of its shards no other disk has room.
func (d *Disks) note(r *root, lacks lacking) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.stuck, r)
	delete(d.lacking, r)
	if lacks.shards > 0 {
		d.stuck[r] = fmt.Sprintf("no other disk has room for %d of its shards", lacks.shards)
		d.lacking[r] = lacks
	}
}
