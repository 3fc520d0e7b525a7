package replica

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"

	"holdfast/catalog"
	"holdfast/internal/disk"
)

// claim returns the root that holds the shard, choosing and making its folder at first use. It sets size bytes aside
// there until release is called, or answers disk.ErrFull. Until then the shard stays on that root.
func (s *Store) claim(n catalog.Shard, size int64) (r *root, release func(), err error) {
	sh := &s.shards[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	best, room := sh.root, int64(0)
	if best != nil && best.absent != nil {
		return nil, nil, best.mounted()
	}
	if best == nil {
		best, room, err = s.choose(n, size)
	} else {
		room, err = s.room(best)
	}
	if err != nil {
		return nil, nil, err
	}
	if size > 0 && room < size {
		return nil, nil, fmt.Errorf("store %d bytes under %s: %w: %d bytes left above the reserve", size, best.path,
			disk.ErrFull, max(room, 0))
	}
	if err := errors.Join(best.mounted(), best.writable()); err != nil {
		return nil, nil, err
	}
	if sh.root == nil {
		if err := s.list.note(n, best); err != nil {
			return nil, nil, err
		}
		if err := s.disk.MkdirAll(filepath.Join(best.path, n.String())); err != nil {
			return nil, nil, err
		}
		sh.root = best
	}
	sh.claims++
	best.mu.Lock()
	best.promised += size
	best.mu.Unlock()
	return best, sync.OnceFunc(func() {
		sh.mu.Lock()
		sh.claims--
		sh.mu.Unlock()
		best.mu.Lock()
		best.promised -= size
		best.mu.Unlock()
	}), nil
}

// hasRoom reports whether there is room for a file of the shard now. A store without disks for files takes none.
func (s *Store) hasRoom(f catalog.File) bool {
	if len(s.roots) == 0 {
		return true
	}
	n := f.Name.Shard()
	sh := &s.shards[n]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	var room int64
	var err error
	if sh.root != nil && (sh.root.absent != nil || sh.root.refuses() != nil) {
		return false
	}
	if sh.root != nil {
		room, err = s.room(sh.root)
	} else {
		_, room, err = s.choose(n, f.Size)
	}
	return err == nil && room >= f.Size
}

// choose returns the root for a new shard and the room it has. Each root gets shards in proportion to the room it has:
// the same shard goes to the same root as long as their rooms stay in proportion. A root without room for size is
// chosen only when none has, and one that is to be emptied never.
func (s *mounts) choose(n catalog.Shard, size int64) (best *root, room int64, err error) {
	highest := math.Inf(-1)
	for _, r := range s.roots {
		if r.draining.Load() || r.absent != nil || r.refuses() != nil {
			continue
		}
		free, err := s.room(r)
		if err != nil {
			return nil, 0, err
		}
		score := math.Inf(-1)
		if free > 0 && free >= size {
			score = float64(free) / -math.Log(draw(n, r))
		}
		if best == nil || score > highest || score == highest && free > room {
			best, room, highest = r, free, score
		}
	}
	if best == nil {
		return nil, 0, errors.New("every disk for files is being emptied, is away, or takes no writes: " +
			"undrain one, or add another")
	}
	return best, room, nil
}

// draw returns a number between 0 and 1 that follows from the shard and the root alone, and is spread evenly.
func draw(n catalog.Shard, r *root) float64 {
	name := r.mark
	if name == "" {
		name = r.path
	}
	sum := sha256.Sum256([]byte(n.String() + " " + name))
	return (float64(binary.BigEndian.Uint64(sum[:8])>>11) + 0.5) / (1 << 53)
}
