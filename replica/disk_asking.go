package replica

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"holdfast/catalog"
)

// Disks returns how this node's disks for files stand, and what moves between them.
func (r *Replica) Disks() (DiskReport, error) { return r.disks.report() }

// DrainDisk has the disk at the path emptied: its shards move to the node's other disks, and no new one comes. It
// goes on until the disk is emptied or UndrainDisk is called, over restarts. ErrNoDisk, or ErrLastDisk when no
// other disk is in use.
func (r *Replica) DrainDisk(path string) (DiskReport, error) {
	return r.disks.ask(func(w *wishes) error { return r.disks.drain(w, path) })
}

// UndrainDisk puts the disk at the path into use again, full or emptied. A disk at the place of one that was
// emptied and taken away is used from the next start.
func (r *Replica) UndrainDisk(path string) (DiskReport, error) {
	return r.disks.ask(func(w *wishes) error { return r.disks.undrain(w, path) })
}

// PauseDisks lets no shard move between disks until ResumeDisks is called, over restarts. What was copied of one
// stays for then.
func (r *Replica) PauseDisks() (DiskReport, error) {
	return r.disks.ask(func(w *wishes) error { w.Paused = true; return nil })
}

// ResumeDisks lets shards move between disks again.
func (r *Replica) ResumeDisks() (DiskReport, error) {
	return r.disks.ask(func(w *wishes) error { w.Paused = false; return nil })
}

// ask notes what is asked, has it hold at once, and returns how the disks stand then.
func (d *disks) ask(do func(*wishes) error) (DiskReport, error) {
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
	return d.report()
}

func (d *disks) drain(w *wishes, path string) error {
	r := d.store.rootAt(path)
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

func (d *disks) undrain(w *wishes, path string) error {
	r := d.store.rootAt(path)
	if r != nil {
		w.drop(r.mark)
		return nil
	}
	if !d.store.TakenAway(path) {
		return fmt.Errorf("undrain %s: %w", path, ErrNoDisk)
	}
	w.Drain = slices.DeleteFunc(w.Drain, func(one drain) bool { return one.Path == filepath.Clean(path) })
	return nil
}

// report looks at the disks.
func (d *disks) report() (DiskReport, error) {
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
		if at := d.store.rootOf(n); at >= 0 {
			out.Disks[at].Shards++
			out.Disks[at].Bytes += sizes[n].Bytes
		}
	}
	for _, path := range d.store.away {
		one := DiskState{Path: path, State: DiskGone, Why: DiskTakenAway}
		if _, still := asked.drained("", path); !still {
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

// state returns how one disk stands.
func (d *disks) state(r *root, asked wishes) DiskState {
	one := DiskState{Path: r.path, State: DiskInUse}
	if gone := r.mounted(); gone != nil {
		one.State, one.Why = DiskGone, gone.Error()
		return one
	}
	if note, drained := asked.drained(r.mark, ""); drained {
		one.State = DiskDraining
		if note.Emptied {
			one.State = DiskEmptied
		}
	}
	var err error
	if one.Room, one.Total, err = d.store.rooms(r); err != nil {
		one.Why = err.Error()
		return one
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if rest := d.rests[r]; time.Now().Before(rest.until) {
		one.Why = rest.why
	} else if one.State != DiskEmptied {
		one.Why = d.stuck[r]
	}
	return one
}

// finishDrains notes the disks that are to be emptied and are empty: these may be taken away.
func (d *disks) finishDrains(ctx context.Context) {
	asked, _ := d.store.asked.look()
	for _, r := range d.store.roots {
		note, drained := asked.drained(r.mark, "")
		if !drained || note.Emptied || ctx.Err() != nil {
			continue
		}
		why, err := d.store.emptyRoot(ctx, r)
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
