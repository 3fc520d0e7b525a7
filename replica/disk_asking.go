package replica

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"holdfast/catalog"
)

// Drain empties the disk at the path: its shards move to the node's other disks, and it gets no new one. This
// continues until the disk is empty or Undrain is called, over restarts. It returns ErrNoDisk, or ErrLastDisk if no
// other disk is in use.
func (d *Disks) Drain(path string) (DiskReport, error) {
	return d.ask(func(w *wishes) error { return d.noteDrain(w, path) })
}

// Undrain puts the disk at the path into use again, full or emptied, and takes back that it is to be replaced. A disk
// at the place of one that was emptied and taken away is used from the next start.
func (d *Disks) Undrain(path string) (DiskReport, error) {
	return d.ask(func(w *wishes) error { return d.noteUndrain(w, path) })
}

// Pause stops shards from moving between disks until Resume is called, over restarts. What was copied of a shard is
// kept for then.
func (d *Disks) Pause() (DiskReport, error) {
	return d.ask(func(w *wishes) error { w.Paused = true; return nil })
}

// Resume lets shards move between disks again.
func (d *Disks) Resume() (DiskReport, error) {
	return d.ask(func(w *wishes) error { w.Paused = false; return nil })
}

// TakenAway reports whether the path is of the settings, and its disk was emptied and was not there at the start.
func (d *Disks) TakenAway(path string) bool {
	return slices.Contains(d.store.asked.away, filepath.Clean(path))
}

// Takes reports whether new shards may be put on the disk at the path.
func (d *Disks) Takes(path string) bool {
	r := d.rootAt(path)
	return r != nil && !r.draining.Load() && r.mounted() == nil && r.refuses() == nil
}

// Lacking returns how many shards this node holds for the archive whose disk is given up, and for which no other disk
// has room, and at most that many of them whose files others have.
func (d *Disks) Lacking(most int) (shards int, next []catalog.Shard) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.store.roots {
		shards += d.lacking[r].shards
		next = append(next, d.lacking[r].next...)
	}
	return shards, next[:min(len(next), most)]
}

// Mounted answers ErrNotMounted when the disk at the path has gone away since the store was opened.
func (d *Disks) Mounted(path string) error {
	if r := d.rootAt(path); r != nil {
		return r.mounted()
	}
	return nil
}

// ask records a wish, puts it into effect, and returns the state of the disks after it.
func (d *Disks) ask(do func(*wishes) error) (DiskReport, error) {
	if err := d.store.asked.change(do); err != nil {
		return DiskReport{}, err
	}
	asked, _ := d.store.asked.look()
	d.mu.Lock()
	for _, r := range d.store.roots {
		_, drained := asked.drained(r.mark, "")
		if was := r.draining.Swap(drained); was != drained {
			delete(d.stuck, r)
			delete(d.rests, r) // somebody has looked at it
			clear(d.later)
		}
	}
	if m := d.move; m != nil && (asked.Paused || m.to.draining.Load() || !m.from.draining.Load() && !asked.Balancing) {
		d.stop(errStopped)
	}
	d.mu.Unlock()
	d.poke()
	return d.Report()
}

func (d *Disks) noteDrain(w *wishes, path string) error {
	r := d.rootAt(path)
	if r == nil {
		return fmt.Errorf("drain %s: %w", path, ErrNoDisk)
	}
	if _, already := w.drained(r.mark, ""); already {
		return nil
	}
	w.set(drain{Mark: r.mark, Path: r.path})
	for _, other := range d.store.roots {
		if _, drained := w.drained(other.mark, ""); !drained {
			return nil
		}
	}
	return fmt.Errorf("drain %s: %w", path, ErrLastDisk)
}

func (d *Disks) noteUndrain(w *wishes, path string) error {
	r := d.rootAt(path)
	w.Lost = slices.DeleteFunc(w.Lost, func(l lostDisk) bool { return l.Path == filepath.Clean(path) && !l.Told })
	if r != nil {
		w.drop(r.mark)
		return nil
	}
	if !d.TakenAway(path) {
		return fmt.Errorf("undrain %s: %w", path, ErrNoDisk)
	}
	w.Drain = slices.DeleteFunc(w.Drain, func(one drain) bool { return one.Path == filepath.Clean(path) })
	return nil
}

// Report returns the state of this node's disks for files, and of the moves between them.
func (d *Disks) Report() (DiskReport, error) {
	asked, fault := d.store.asked.look()
	sizes, err := d.bytes()
	if err != nil {
		return DiskReport{}, fmt.Errorf("look at the disks: %w", err)
	}
	out := DiskReport{Paused: asked.Paused, Balancing: asked.Balancing}
	if fault != nil {
		out.Fault = fault.Error()
	}
	for _, r := range d.store.roots {
		out.Disks = append(out.Disks, d.state(r, asked))
	}
	for n := range catalog.Shard(catalog.Shards) {
		if at := d.rootOf(n); at >= 0 {
			out.Disks[at].Shards++
			out.Disks[at].Bytes += sizes[n].Bytes
		}
	}
	for _, path := range d.store.asked.away {
		one := DiskState{Path: path, State: DiskGone, Why: DiskTakenAway}
		mark, _ := readMark(path)
		why := asked.unused(path, mark)
		if _, still := asked.drained("", path); why != "" {
			one.Why = why
		} else if !still {
			one.Why = "used from the node's next start"
		}
		out.Disks = append(out.Disks, one)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out.Moved = d.moved
	if d.move != nil {
		p := d.move.Progress()
		out.Move = &p
	}
	return out, nil
}

// state returns the state of one disk.
func (d *Disks) state(r *root, asked wishes) DiskState {
	one := DiskState{Path: r.path, State: DiskInUse}
	if gone := r.mounted(); gone != nil {
		one.State, one.Why = DiskGone, d.whyGone(r, gone, asked)
		if asked.emptied(r.mark) {
			one.State, one.Why = DiskEmptied, ""
		}
		return one
	}
	if note, drained := asked.drained(r.mark, ""); drained {
		one.State = DiskDraining
		if note.Emptied {
			one.State = DiskEmptied
		}
	}
	if asked.isLost(r.mark) {
		one.Why = diskLeaves
	}
	var err error
	if one.Room, one.Total, err = d.rooms(r); err != nil {
		one.Why = err.Error()
		return one
	}
	if why := r.refuses(); why != nil {
		if one.State == DiskInUse {
			one.State = DiskReadOnly
		}
		one.Why = d.whyReadOnly(r, why, asked)
		return one
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if rest := d.rests[r]; time.Now().Before(rest.until) {
		one.Why = rest.why
	} else if one.State != DiskEmptied {
		one.Why = cmp.Or(d.stuck[r], r.faulty())
	}
	return one
}

// whyGone says what becomes of the shards of a disk that is not there.
func (d *Disks) whyGone(r *root, gone error, asked wishes) string {
	d.mu.Lock()
	lacks := d.stuck[r]
	d.mu.Unlock()
	missed, known := asked.missed(r.mark)
	text := gone.Error()
	switch {
	case asked.isLost(r.mark):
		return text + "; " + diskLeaves
	case !known || !missed.GivenUp && d.grace == 0:
	case !missed.GivenUp:
		return fmt.Sprintf("%s; after %v without it, its shards are made again elsewhere", text, d.grace)
	default:
		text += "; it is given up, and its shards are made again elsewhere"
		if lacks != "" {
			text += ": " + lacks
		}
	}
	return text
}

// whyReadOnly says why a disk takes no writes, and what becomes of its shards.
func (d *Disks) whyReadOnly(r *root, why error, asked wishes) string {
	d.mu.Lock()
	stuck := d.stuck[r]
	d.mu.Unlock()
	text := "it takes no writes, and is read as before: " + why.Error()
	missed, known := asked.missed(r.mark)
	switch {
	case stuck != "":
		return text + "; " + stuck
	case r.leaves.Load():
		return text + "; its shards move to other disks"
	case known && !missed.GivenUp && d.grace > 0:
		return fmt.Sprintf("%s; after %v so, its shards move to other disks", text, d.grace)
	}
	return text
}

// finishDrains notes the disks that are to be emptied and are empty: these may be taken away.
func (d *Disks) finishDrains(ctx context.Context) {
	asked, _ := d.store.asked.look()
	for _, r := range d.store.roots {
		note, drained := asked.drained(r.mark, "")
		if !drained || note.Emptied || ctx.Err() != nil {
			continue
		}
		why, err := emptying{d.store, r}.run(ctx)
		if err != nil {
			why = err.Error()
		}
		if why == "" {
			err = d.store.asked.change(func(w *wishes) error {
				if _, still := w.drained(r.mark, ""); still {
					w.set(drain{Mark: r.mark, Path: r.path, Emptied: true})
				}
				return nil
			})
			if err == nil {
				d.log.Info("a disk is emptied and may be taken away", "disk", r.path)
				continue
			}
			why = err.Error()
		}
		d.mu.Lock()
		if d.stuck[r] == "" {
			d.log.Info("a disk is not emptied yet", "disk", r.path, "why", why)
			d.stuck[r] = why
		}
		d.mu.Unlock()
	}
}
