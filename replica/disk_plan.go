package replica

import (
	"cmp"
	"slices"

	"holdfast/catalog"
)

// When shards move to even out how full a node's disks are. Fullness is the part of a disk that is not free, apart
// from the reserve. Balancing begins when the fullest disk is fuller than the emptiest by startGap, or by
// startGapFull if it is nearly full. It ends when they differ by less than stopGap, or no shard is small enough to
// make them more even. A shard moves only if it does not leave its old disk emptier than its new one. Each move
// therefore brings two disks nearer to each other, and none goes back. A disk of which the archive uses next to
// nothing is left alone: something else fills it.
const (
	startGap     = 0.10
	startGapFull = 0.04
	stopGap      = 0.02
	nearlyFull   = 0.95
	leastUsed    = 0.01
)

// diskRoom is a disk as the plan sees it.
type diskRoom struct {
	total, room int64 // bytes; room is the free space beyond the reserve
	draining    bool
	gives       bool // shards can be read from it now
	takes       bool // shards can be written to it now
}

func (d diskRoom) full() float64 { return d.after(0) }

// after returns how full the disk is with that many bytes more.
func (d diskRoom) after(bytes int64) float64 {
	if d.total <= 0 {
		return 1
	}
	return 1 - float64(max(d.room-bytes, 0))/float64(d.total)
}

// shardOn is a shard as the plan sees it.
type shardOn struct {
	shard catalog.Shard
	disk  int
	bytes int64
}

// plannedMove is what to do next.
type plannedMove struct {
	shardOn
	to int
}

// planDrain returns the next shard to move off a disk that is to be emptied: to the disk that is least full then.
// short reports that there is one, and no disk has room for it.
func planDrain(disks []diskRoom, shards []shardOn) (move plannedMove, ok, short bool) {
	for _, s := range shards {
		if from := disks[s.disk]; !from.draining || !from.gives {
			continue
		}
		best := -1
		for i, d := range disks {
			if i == s.disk || d.draining || !d.takes || d.room < s.bytes {
				continue
			}
			if best < 0 || d.after(s.bytes) < disks[best].after(s.bytes) {
				best = i
			}
		}
		if best >= 0 {
			return plannedMove{s, best}, true, false
		}
		short = true
	}
	return plannedMove{}, false, short
}

// planBalance returns the next shard to move from the fullest disk to the emptiest, and whether balancing continues.
// It chooses the largest of the shards that may move. The same disks and shards give the same move.
func planBalance(disks []diskRoom, shards []shardOn, balancing bool) (move plannedMove, ok, still bool) {
	from, to := -1, -1
	for i, d := range disks {
		if d.draining || d.total <= 0 {
			continue
		}
		if d.gives && (from < 0 || d.full() > disks[from].full()) {
			from = i
		}
		if d.takes && (to < 0 || d.full() < disks[to].full()) {
			to = i
		}
	}
	if from < 0 || to < 0 || from == to {
		return plannedMove{}, false, false
	}
	gap := disks[from].full() - disks[to].full()
	if start := gap > startGap || gap > startGapFull && disks[from].full() > nearlyFull; gap < stopGap ||
		!start && !balancing {
		return plannedMove{}, false, false
	}
	var used int64
	for _, s := range shards {
		if s.disk == from {
			used += s.bytes
		}
	}
	if float64(used) < leastUsed*float64(disks[from].total) {
		return plannedMove{}, false, false
	}
	bySize := slices.Clone(shards)
	slices.SortStableFunc(bySize, func(a, b shardOn) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes),
			cmp.Compare(a.shard, b.shard))
	})
	for _, s := range bySize {
		if s.disk == from && s.bytes > 0 && s.bytes <= disks[to].room &&
			disks[from].after(-s.bytes) >= disks[to].after(s.bytes) {
			return plannedMove{s, to}, true, true
		}
	}
	return plannedMove{}, false, false
}
