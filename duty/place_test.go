package duty_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/catalog"
	"holdfast/duty"

	"pgregory.net/rapid"
)

// settle carries out what Place says, switching every moved shard, until it says nothing more. It returns how
// many shards moved.
func (s *script) settle(t *rapid.T, replica catalog.ReplicaName, max int) int {
	moved := 0
	for round := 0; ; round++ {
		assignments, err := duty.Place(s.view(), replica, s.rooms(), max)
		if err != nil || round > 200 {
			t.Fatalf("round %d: %v", round, err)
		}
		if len(assignments) == 0 {
			return moved
		}
		begun := 0
		for _, a := range assignments {
			s.apply(catalog.AssignShards, a)
		}
		layout, err := s.view().Layout(replica)
		s.check(err)
		for i, p := range layout {
			if p.Next != "" {
				s.apply(catalog.SwitchShard, catalog.Switch{Replica: replica, Shard: catalog.Shard(i), Node: p.Next})
				begun++
			}
		}
		if begun > max {
			t.Fatalf("%d shards moved at a time, at most %d", begun, max)
		}
		moved += begun
	}
}

func (s *script) holds(name string) int {
	layout, err := s.view().Layout(replicaOf(name))
	s.check(err)
	n := 0
	for _, p := range layout {
		if p.Holder == id(name) {
			n++
		}
	}
	return n
}

// TestPlaceSettles joins and drains nodes: the shards come to lie by weight and room, a joining node causes no
// other moves than to itself, and a drained one no others than from itself.
func TestPlaceSettles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScript(t)
		s.replica("other", nil)
		s.replica("north", nil)
		n := rapid.IntRange(1, 5).Draw(rt, "nodes")
		sum := 0
		weights := map[string]int{}
		add := func(name string) {
			w := rapid.IntRange(1, 9).Draw(rt, "weight")
			s.node(name, map[string]string{"idle": "", "weight": fmt.Sprint(w), "free": "1000"})
			weights[name] = w
			sum += w
		}
		balanced := func() {
			for name, w := range weights {
				want := catalog.Shards * w / sum
				if got := s.holds(name); got < want-max(5, want/20+1) || got > want+max(5, want/20+1) {
					rt.Fatalf("%s holds %d shards, its share is %d", name, got, want)
				}
			}
		}
		for i := range n {
			add(fmt.Sprintf("north-%d", i))
		}
		if moved := s.settle(rt, "north", 600); moved != 0 {
			rt.Fatalf("%d shards moved at the start", moved)
		}
		balanced()
		add("north-new")
		moved := s.settle(rt, "north", 600)
		balanced()
		if got := s.holds("north-new"); moved != got {
			rt.Fatalf("%d shards moved so that a new node gets %d", moved, got)
		}
		s.apply(catalog.UpdateMember, map[string]any{"id": id("north-0"), "draining": true})
		had := s.holds("north-0")
		sum -= weights["north-0"]
		delete(weights, "north-0")
		if moved := s.settle(rt, "north", 600); moved != had || s.holds("north-0") != 0 {
			rt.Fatalf("%d shards moved off a node that had %d and has %d", moved, had, s.holds("north-0"))
		}
		balanced()
	})
}

// TestWhatCannotBeMadeAgainHoldsUpNothingElse has a silent node whose shards nobody can make again, because nobody else
// has the bytes, and drains another one.
func TestWhatCannotBeMadeAgainHoldsUpNothingElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScript(t)
		s.replica("other", nil)
		s.replica("north", nil)
		for _, name := range []string{"north-0", "north-2", "north-3"} {
			s.node(name, map[string]string{"idle": ""})
		}
		s.settle(rt, "north", 600)
		s.dead["north-0"], s.mute["north-0"] = true, true
		const max = 64
		next := func() (silent, others int) {
			assignments, err := duty.Place(s.view(), "north", s.rooms(), max)
			s.check(err)
			for _, a := range assignments {
				s.apply(catalog.AssignShards, a)
			}
			layout, err := s.view().Layout("north")
			s.check(err)
			for _, p := range layout {
				switch {
				case p.Next == "":
				case p.Holder == id("north-0"):
					silent++
				default:
					others++
				}
			}
			return silent, others
		}
		for range 3 {
			if silent, others := next(); silent != max || others != 0 {
				rt.Fatalf("%d shards of a silent node are made again and %d others move, want %d and 0", silent, others, max)
			}
		}
		s.apply(catalog.UpdateMember, map[string]any{"id": id("north-2"), "draining": true})
		for range 3 {
			if silent, others := next(); silent != max || others != max {
				rt.Fatalf("%d shards of a silent node wait and %d of a draining one move, want %d of each", silent, others, max)
			}
		}
	})
}

// TestShardsOfALostDiskGoToOthers has a node that lost half of its shards with a disk and has no room for them. These go
// to the node that has room; none comes to the node without room, no move is called off, and none is begun twice.
func TestShardsOfALostDiskGoToOthers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScript(t)
		s.replica("other", nil)
		s.replica("north", nil)
		for _, name := range []string{"north-0", "north-2"} {
			s.node(name, map[string]string{"idle": ""})
		}
		s.settle(rt, "north", 600)
		layout, err := s.view().Layout("north")
		s.check(err)
		var lost []catalog.Shard
		for i, p := range layout {
			if p.Holder == id("north-0") && i%2 == 0 {
				lost = append(lost, catalog.Shard(i))
			}
		}
		s.free["north-0"], s.free["north-2"] = 0, 10_000
		most := rapid.IntRange(1, 48).Draw(rt, "named at a time")
		for round := 0; len(lost) > 0; round++ {
			rooms := s.rooms()
			i := slices.IndexFunc(rooms, func(r duty.Room) bool { return r.Node == id("north-0") })
			rooms[i].Lacking, rooms[i].Next = len(lost), lost[:min(len(lost), most)]
			for again := range 2 { // once more before they have moved
				assignments, err := duty.Place(s.view(), "north", rooms, 64)
				s.check(err)
				for _, a := range assignments {
					if a.Node != id("north-2") {
						rt.Fatalf("%d shards go to %s", len(a.Shards), a.Node)
					}
					s.apply(catalog.AssignShards, a)
				}
				if again > 0 && len(assignments) > 0 {
					rt.Fatalf("round %d: told twice: %v", round, assignments)
				}
			}
			for _, shard := range rooms[i].Next {
				p, err := s.view().Placement("north", shard)
				s.check(err)
				if p.Next != id("north-2") {
					rt.Fatalf("shard %s: %+v", shard, p)
				}
				s.apply(catalog.SwitchShard, catalog.Switch{Replica: "north", Shard: shard, Node: p.Next})
			}
			lost = lost[len(rooms[i].Next):]
		}
	})
}
