package duty_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/catalog"
	"holdfast/catalog/cluster"
	"holdfast/duty"
)

// pair is who gives and who gets, with the replica.
type pair struct{ replica, from, to string }

// foreseen is what a plan says, by pair: files and bytes.
func (s *script) foreseen(plan duty.LayoutPlan) map[pair][2]int64 {
	out := map[pair][2]int64{}
	for _, c := range plan.Carries {
		out[pair{string(c.Replica), s.named(c.From), s.named(c.To)}] = [2]int64{c.Files, c.Bytes}
	}
	return out
}

func (s *script) named(node catalog.NodeID) string {
	for _, name := range s.names {
		if id(name) == node {
			return name
		}
	}
	return string(node)
}

func (s *script) plan(max, look int) duty.LayoutPlan {
	s.t.Helper()
	plan, err := duty.PlanLayout(s.view(), s.rooms(), max, look, func() error { return nil })
	s.check(err)
	return plan
}

func (s *script) stage(c cluster.StageChange) { s.t.Helper(); s.apply(cluster.StageLayout, c) }

func (s *script) applyStaged() {
	s.t.Helper()
	all, err := s.view().Staging()
	s.check(err)
	s.apply(cluster.ApplyLayout, cluster.ApplyChanges{Version: all.Version})
}

// lead places the replica's shards as the leader does, and switches each when its files are there, until nothing is
// left to do. It returns what was carried, and has the nodes' room follow.
func (s *script) lead(replica catalog.ReplicaName, max int) map[pair][2]int64 {
	s.t.Helper()
	out := map[pair][2]int64{}
	for range 500 {
		due, err := duty.Place(s.view(), replica, s.rooms(), max)
		s.check(err)
		for _, a := range due {
			s.apply(catalog.AssignShards, a)
		}
		layout, err := s.view().Layout(replica)
		s.check(err)
		moved := 0
		for i, p := range layout {
			if p.Next == "" {
				continue
			}
			root, err := s.view().Root(replica, catalog.Shard(i))
			s.check(err)
			if root.Files > 0 {
				k := pair{string(replica), s.named(p.Holder), s.named(p.Next)}
				out[k] = [2]int64{out[k][0] + root.Files, out[k][1] + root.Bytes}
			}
			s.apply(catalog.SwitchShard, catalog.Switch{Replica: replica, Shard: catalog.Shard(i), Node: p.Next, Root: root})
			s.free[s.named(p.Holder)] += root.Bytes
			s.free[s.named(p.Next)] -= root.Bytes
			moved++
		}
		if moved == 0 && len(due) == 0 {
			return out
		}
	}
	s.t.Fatal("the leader comes to no end")
	return nil
}

// town is a cluster of level 5 with files in two replicas that have bytes.
func (s *script) town(files int, nodes ...string) {
	s.t.Helper()
	s.replica("south", map[string]string{"place": "Southport"})
	s.replica("north", map[string]string{"place": "Northtown"})
	for _, name := range nodes {
		s.node(name, map[string]string{"free": "1000000"})
	}
	s.free["south-1"] = 1000000
	s.line("level5")
	s.apply(catalog.SetCollection, catalog.Collection{Name: "radio"})
	for i := range files {
		s.file(catalog.FileName(fmt.Sprintf("f%d", i)), map[string]string{"south": "OK", "north": "OK", "size": fmt.Sprint(50 + 10*(i%7))})
	}
}

// TestShownIsWhatTheLeaderDoes stages changes at random, and compares what is foreseen with what the leader then does.
func TestShownIsWhatTheLeaderDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newScript(t)
		s.town(rapid.IntRange(0, 60).Draw(rt, "files"), "north-1", "north-2")
		s.lead("north", 64)
		max := rapid.SampledFrom([]int{2, 7, 64}).Draw(rt, "moves at a time")
		s.apply(cluster.StageAlways, cluster.SetStaging{Always: true})
		s.node("north-3", map[string]string{"free": fmt.Sprint(rapid.IntRange(100_000, 3_000_000).Draw(rt, "free"))})
		if got := s.lead("north", max); len(got) > 0 {
			rt.Fatalf("before the apply was carried: %+v", got)
		}
		if rapid.Bool().Draw(rt, "drain") {
			s.stage(cluster.StageChange{Step: cluster.StepDrain, Node: id(rapid.SampledFrom([]string{"north-1", "north-2"}).Draw(rt, "node"))})
		}
		if rapid.Bool().Draw(rt, "weight") {
			s.stage(cluster.StageChange{Step: cluster.StepWeight, Node: id("north-2"), Weight: rapid.IntRange(1, 500).Draw(rt, "of")})
		}
		before := fmt.Sprint(s.foreseen(s.plan(max, 1000)))
		plan := s.plan(max, 1000)
		if again := fmt.Sprint(s.foreseen(plan)); again != before {
			rt.Fatalf("foreseen twice: %s, %s", before, again)
		}
		if len(plan.Refused) > 0 || len(plan.Unsettled) > 0 || len(plan.Short) > 0 || plan.Partly {
			rt.Fatalf("%+v", plan)
		}
		s.applyStaged()
		if got := s.lead("north", max); !maps.Equal(got, s.foreseen(plan)) {
			rt.Fatalf("carried %+v, foreseen %+v", got, s.foreseen(plan))
		}
	})
}

// TestWhatIsUnderWayIsNotShown leaves out a move that goes on, and shows one that it is turned into.
func TestWhatIsUnderWayIsNotShown(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.town(20, "north-1", "north-2", "north-3")
	s.lead("north", 64)
	layout, err := s.view().Layout("north")
	s.check(err)
	shard := catalog.FileName("f0").Shard()
	holder := s.named(layout[shard].Holder)
	to := map[string]string{"north-1": "north-2", "north-2": "north-3", "north-3": "north-1"}[holder]
	s.apply(catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: []catalog.Shard{shard}, Node: id(to)})
	if plan := s.plan(64, 100); len(plan.Carries) > 0 {
		t.Errorf("nothing is staged: %+v", s.foreseen(plan))
	}
	s.stage(cluster.StageChange{Step: cluster.StepDrain, Node: id(holder)})
	root, err := s.view().Roots("north")
	s.check(err)
	files := int64(0)
	for i, p := range layout {
		if s.named(p.Holder) == holder {
			files += root[i].Files
		}
	}
	shown := int64(0)
	for k, v := range s.foreseen(s.plan(64, 100)) {
		if k.from != holder {
			t.Errorf("%+v: %v", k, v)
		}
		shown += v[0]
	}
	if want := files - root[shard].Files; shown != want {
		t.Errorf("%d files are shown, want %d: that one is under way", shown, want)
	}
}

// TestCollectionsAreShown widens one replica and narrows another.
func TestCollectionsAreShown(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.town(30, "north-1")
	s.apply(catalog.SetReplica, catalog.Replica{Name: "third", Kind: catalog.Bitarchive, Place: "Westhaven", Collections: []catalog.CollectionName{"radio"}})
	s.node("third-1", map[string]string{"free": "1000"})
	s.file("owed", map[string]string{"south": "OK"})
	var bytes int64
	for i := range 30 {
		bytes += int64(50 + 10*(i%7))
	}
	s.stage(cluster.StageChange{Step: cluster.StepCollections, Replica: "north", Collections: []catalog.CollectionName{"radio"}})
	plan := s.plan(64, 1000)
	if len(plan.Carries) != 0 || len(plan.Short) != 1 || plan.Short[0] != (duty.Short{Replica: "north", Fewer: 30, OnePlace: 30}) {
		t.Errorf("north is narrowed: %+v", plan)
	}
	if plan := s.plan(64, 10); !plan.Partly || plan.Short[0].Fewer > 10 {
		t.Errorf("a bounded look: %+v", plan)
	}
	s.stage(cluster.StageChange{Step: cluster.StepCollections, Replica: "third"})
	plan = s.plan(64, 1000)
	want := map[pair][2]int64{{"third", "south-1", "third-1"}: {31, bytes + 100}}
	if got := s.foreseen(plan); !maps.Equal(got, want) || !plan.Carries[0].Fill {
		t.Errorf("third is widened: %+v, want %+v", got, want)
	}
	if len(plan.Full) != 1 || plan.Full[0] != (duty.Full{Node: id("third-1"), Free: 1000, Bytes: bytes + 100}) {
		t.Errorf("third has room for 1000 bytes: %+v", plan.Full)
	}
	s.stage(cluster.StageChange{Step: cluster.StepCollections, Replica: "south", Collections: []catalog.CollectionName{"radio"}})
	plan = s.plan(64, 1000)
	if len(plan.Short) != 2 || plan.Short[0] != (duty.Short{Replica: "north", Fewer: 30, None: 30}) || plan.Short[1] != (duty.Short{Replica: "south", Fewer: 31, None: 31}) {
		t.Errorf("nobody is to hold web but third, which has nothing yet: %+v", plan.Short)
	}
	s.dead["south-1"] = true
	if plan := s.plan(64, 1000); plan.Carries[0].From != id("north-1") {
		t.Errorf("south is away: %+v", s.foreseen(plan))
	}
	stop := errors.New("stop")
	if _, err := duty.PlanLayout(s.view(), s.rooms(), 64, 1000, func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// TestADrainThatDoesNotBeginIsShown has nobody there who would take the shards: that nothing is copied is no good news.
func TestADrainThatDoesNotBeginIsShown(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.town(5, "north-1")
	s.node("north-2", map[string]string{"free": "1000000"})
	s.stage(cluster.StageChange{Step: cluster.StepDrain, Node: id("north-1")})
	if plan := s.plan(64, 100); len(plan.Stuck) != 0 || len(plan.Carries) != 1 {
		t.Errorf("%+v", plan)
	}
	s.dead["north-2"] = true
	if plan := s.plan(64, 100); len(plan.Carries) != 0 || len(plan.Stuck) != 1 || plan.Stuck[0] != (duty.Stuck{Node: id("north-1"), Shards: catalog.Shards}) {
		t.Errorf("%+v", plan)
	}
}

// TestWhatIsRefusedIsShown leaves out a change that would be refused now, and says why.
func TestWhatIsRefusedIsShown(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.town(5, "north-1")
	s.node("north-2", map[string]string{"free": "1000000"})
	s.stage(cluster.StageChange{Step: cluster.StepRemove, Node: id("north-2")})
	s.lead("north", 4096)
	plan := s.plan(64, 100)
	if len(plan.Refused) != 1 || plan.Refused[0].ID != 1 || !strings.Contains(plan.Refused[0].Why, "holds shards") || len(plan.Carries) != 0 {
		t.Errorf("%+v", plan)
	}
}
