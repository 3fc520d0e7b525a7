package replica

import (
	"math/rand/v2"
	"testing"

	"holdfast/catalog"
)

const gib = 1 << 30

// TestBalancingEnds moves shards as planned, on disks of all sizes and fills, until nothing is to be moved: no
// shard moves twice, each move makes the two disks more even, and what began was worth it.
func TestBalancingEnds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		draw := rand.New(rand.NewPCG(seed, 2))
		disks := make([]diskRoom, 2+draw.IntN(4))
		for i := range disks {
			disks[i] = diskRoom{total: (1 + draw.Int64N(8)) * 1000 * gib, gives: true, takes: true}
			disks[i].room = disks[i].total
		}
		var shards []shardOn
		for n := range catalog.Shard(200) {
			s := shardOn{n, draw.IntN(len(disks)), draw.Int64N(40 * gib)}
			if disks[s.disk].room > s.bytes {
				disks[s.disk].room -= s.bytes
				shards = append(shards, s)
			}
		}
		moved := map[catalog.Shard]int{}
		balancing := false
		for {
			move, ok, still := planBalance(disks, shards, balancing)
			if balancing = still; !ok {
				break
			}
			from, to := &disks[move.disk], &disks[move.to]
			before := from.full() - to.full()
			from.room += move.bytes
			to.room -= move.bytes
			if after := from.full() - to.full(); after < 0 || after >= before {
				t.Fatalf("seed %d: shard %s brings the gap from %.3f to %.3f", seed, move.shard, before, after)
			}
			shards[indexOf(shards, move.shard)].disk = move.to
			if moved[move.shard]++; moved[move.shard] > len(disks) {
				t.Fatalf("seed %d: shard %s moved %d times", seed, move.shard, moved[move.shard])
			}
		}
		if _, again, _ := planBalance(disks, shards, false); again || balancing {
			t.Fatalf("seed %d: it begins again at once", seed)
		}
	}
}

func indexOf(shards []shardOn, n catalog.Shard) int {
	for i, s := range shards {
		if s.shard == n {
			return i
		}
	}
	return -1
}

// TestWhenBalancingBegins draws the line.
func TestWhenBalancingBegins(t *testing.T) {
	t.Parallel()
	of := func(total, used int64) diskRoom {
		return diskRoom{total: total * gib, room: (total - used) * gib, gives: true, takes: true}
	}
	shards := []shardOn{{1, 0, 100 * gib}, {2, 0, 3 * gib}, {3, 0, gib}}
	emptied, away := of(1000, 0), of(1000, 0)
	emptied.draining, away.takes = true, false
	for _, tt := range []struct {
		name      string
		disks     []diskRoom
		balancing bool
		shard     catalog.Shard // 0: none
		to        int
	}{
		{"a new disk", []diskRoom{of(1000, 500), of(1000, 0)}, false, 1, 1},
		{"not worth it", []diskRoom{of(1000, 500), of(1000, 410)}, false, 0, 0},
		{"begun already", []diskRoom{of(1000, 500), of(1000, 410)}, true, 2, 1},
		{"even enough", []diskRoom{of(1000, 500), of(1000, 485)}, true, 0, 0},
		{"nearly full", []diskRoom{of(1000, 970), of(1000, 920)}, false, 2, 1},
		{"the large one would leave it emptier", []diskRoom{of(1000, 160), of(1000, 10)}, false, 2, 1},
		{"by part, not by bytes", []diskRoom{of(1000, 600), of(4000, 1200)}, false, 1, 1},
		{"not to one that is to be emptied", []diskRoom{of(1000, 500), emptied}, false, 0, 0},
		{"not to one that takes nothing", []diskRoom{of(1000, 500), away}, false, 0, 0},
		{"to the emptiest", []diskRoom{of(1000, 500), of(1000, 300), of(1000, 100)}, false, 1, 2},
		{"filled by something else", []diskRoom{of(20000, 15000), of(1000, 0)}, false, 0, 0},
	} {
		move, ok, still := planBalance(tt.disks, shards, tt.balancing)
		if ok != (tt.shard != 0) || still != ok || ok && (move.shard != tt.shard || move.to != tt.to) {
			t.Errorf("%s: %+v, %v, %v", tt.name, move, ok, still)
		}
	}
}

// TestWhereDrainedShardsGo: to the disk that is least full then, if one has room.
func TestWhereDrainedShardsGo(t *testing.T) {
	t.Parallel()
	disks := []diskRoom{
		{total: 1000, room: 500, gives: true, takes: true, draining: true}, {total: 1000, room: 300, gives: true,
			takes: true},
		{total: 10000, room: 900, gives: true, takes: true}, {total: 1000, room: 900},
	}
	if move, ok, _ := planDrain(disks, []shardOn{{1, 1, 50}, {2, 0, 50}}); !ok || move.shard != 2 || move.to != 1 {
		t.Errorf("%+v, %v", move, ok)
	}
	if move, ok, _ := planDrain(disks, []shardOn{{2, 0, 400}}); !ok || move.to != 2 {
		t.Errorf("%+v, %v", move, ok)
	}
	if move, ok, short := planDrain(disks, []shardOn{{2, 0, 2000}}); ok || !short {
		t.Errorf("%+v, %v, %v", move, ok, short)
	}
	if _, ok, short := planDrain(disks, []shardOn{{2, 1, 20}}); ok || short {
		t.Error("a disk that is in use is emptied")
	}
}
