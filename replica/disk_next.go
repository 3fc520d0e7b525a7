package replica

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/catalog"
)

// next chooses the shard to move next: one whose move was begun, one of a disk that is to be emptied, or one that
// evens out how full the disks are.
func (d *Disks) next() (*shardMove, bool, error) {
	rooms, shards, err := d.survey()
	if err != nil {
		return nil, false, err
	}
	asked, _ := d.store.asked.look()
	if s, to, ok := d.begun(rooms, shards, asked.Balancing); ok {
		return d.moveOf(s, to), true, nil
	}
	move, ok, short := planDrain(rooms, shards)
	if ok {
		return d.moveOf(move.shardOn, move.to), true, nil
	}
	d.noteShort(short, rooms)
	move, ok, still := planBalance(rooms, shards, asked.Balancing)
	if still != asked.Balancing {
		if err := d.store.asked.change(func(w *wishes) error { w.Balancing = still; return nil }); err != nil {
			return nil, false, err
		}
	}
	if !ok {
		return nil, false, nil
	}
	return d.moveOf(move.shardOn, move.to), true, nil
}

// noteShort records that no disk has room for what is still on disks that are to be emptied.
func (d *Disks) noteShort(short bool, rooms []diskRoom) {
	if !short {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range d.store.roots {
		if _, known := d.stuck[r]; rooms[i].draining && !known {
			d.stuck[r] = "no other disk has room for what is left on it, or can be written to"
		}
	}
}

func (d *Disks) moveOf(s shardOn, to int) *shardMove {
	m := &shardMove{Store: d.store, shard: s.shard, from: d.store.roots[s.disk], to: d.store.roots[to], limit: d.limit,
		standing: d.standing, doubt: d.doubt}
	m.progress = DiskMove{Shard: s.shard, From: m.from.path, To: m.to.path, TotalBytes: s.bytes, Began: time.Now()}
	return m
}

// survey looks at the disks, and at the shards that may move now.
func (d *Disks) survey() (rooms []diskRoom, shards []shardOn, err error) {
	now := time.Now()
	for _, r := range d.store.roots {
		one := diskRoom{draining: r.draining.Load() || r.leaves.Load()}
		if r.mounted() == nil {
			if one.room, one.total, err = d.rooms(r); err == nil {
				d.mu.Lock()
				one.gives = !now.Before(d.rests[r].until)
				d.mu.Unlock()
				one.takes = one.gives && r.refuses() == nil
			}
		}
		rooms = append(rooms, one)
	}
	sizes, err := d.bytes()
	if err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range catalog.Shard(catalog.Shards) {
		if at := d.rootOf(n); at >= 0 && !now.Before(d.later[n].until) {
			shards = append(shards, shardOn{n, at, sizes[n].Bytes})
		}
	}
	return rooms, shards, nil
}

// begun returns the first shard whose move was begun and still makes sense. Copies of other shards are removed.
func (d *Disks) begun(rooms []diskRoom, shards []shardOn, balancing bool) (shardOn, int, bool) {
	for to, r := range d.store.roots {
		if !rooms[to].takes {
			continue
		}
		all, err := r.stagings()
		if err != nil {
			continue
		}
		for _, n := range all {
			from := d.rootOf(n)
			if from >= 0 && from != to && !rooms[to].draining && (rooms[from].draining || balancing) {
				if i := slices.IndexFunc(shards, func(s shardOn) bool { return s.shard == n }); i >= 0 &&
					rooms[from].gives {
					return shards[i], to, true
				}
				continue // it rests
			}
			if err := d.store.disk.RemoveAll(r.moving(n)); err != nil {
				d.log.Warn("what was copied of a shard that does not move stays", "folder", r.moving(n), "err", err)
			}
		}
	}
	return shardOn{}, 0, false
}

// rootOf returns the number of the root on which the shard lies, -1 for none.
func (d *Disks) rootOf(n catalog.Shard) int { return slices.Index(d.store.roots, d.store.shards.on(n)) }

// rooms returns the disk's free space beyond the reserve, and its size.
func (d *Disks) rooms(r *root) (room, total int64, err error) {
	_, size, err := d.store.free(r.path)
	if err != nil {
		return 0, 0, err
	}
	room, err = d.store.room(r)
	return max(room, 0), int64(size), err
}

// rootAt returns the root at the path.
func (d *Disks) rootAt(path string) *root {
	for _, r := range d.store.roots {
		if r.path == filepath.Clean(path) {
			return r
		}
	}
	return nil
}

// dropParts removes received parts of a shard's files on the disks that the shard is not on.
func (d *Disks) dropParts(n catalog.Shard) error {
	at := d.store.shards.on(n)
	if at == nil {
		return nil
	}
	for _, r := range d.store.roots {
		if r.incoming == at.incoming {
			continue
		}
		names, err := folderNames(r.incoming)
		if err != nil {
			return err
		}
		for _, text := range names {
			name, ok := strings.CutSuffix(text, partSuffix)
			if ok && catalog.FileName(name).Shard() == n {
				if err := d.store.drop(filepath.Join(r.incoming, text)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
