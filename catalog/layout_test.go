package catalog_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	agreed "holdfast/catalog/cluster"
)

// staged returns a cluster of the highest level with two nodes in north and south, each replica's first with all shards.
func staged(t interface {
	Fatalf(string, ...any)
	Helper()
}) *cluster {
	t.Helper()
	c := emptyCluster(t)
	for _, name := range []string{"south-1", "sums-1", "north-2", "south-2"} {
		c.join(t, name)
	}
	for _, name := range []string{"north-1", "south-1", "sums-1"} {
		c.assignAll(t, name)
	}
	c.raiseTo(t, catalog.Level)
	return c
}

func (c *cluster) joinNow(t interface{ Fatalf(string, ...any) }, name string) {
	m := member(name)
	m.Level = catalog.Level
	token := fmt.Sprintf("token-%s-%d", name, c.index)
	c.must(t, catalog.CreateToken, catalog.JoinToken{ID: token, SecretHash: digest("secret"), Replica: m.Replica, Expires: c.now + 1e6})
	c.must(t, catalog.JoinMember, catalog.Joining{Token: token, Secret: []byte("secret"), Member: m})
}

func (c *cluster) staging(t interface{ Fatalf(string, ...any) }) agreed.Staging {
	all, err := c.view().Staging()
	if err != nil {
		t.Fatalf("read what is staged: %v", err)
	}
	return all
}

func (c *cluster) drains(t interface{ Fatalf(string, ...any) }, name string) bool {
	m, err := c.view().Member(id(name))
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return m.Draining
}

// refuses sends what is to be refused, and changes nothing.
func (c *cluster) refuses(t *testing.T, code catalog.Code, says string, kind catalog.Kind, body any) {
	t.Helper()
	before := c.sum()
	r := c.apply(t, kind, body).Refusal
	if r == nil || r.Code != code || !strings.Contains(r.Message, says) {
		t.Errorf("%s %+v: %+v, want %s: %s", kind, body, r, code, says)
	}
	if c.sum() != before {
		t.Errorf("%s was refused and changed something", kind)
	}
}

func node(step agreed.Step, name string) agreed.StageChange {
	return agreed.StageChange{Step: step, Node: id(name)}
}

// TestStagedChangesWait shows the road: staged, nothing happens, applied with the version that was shown, all happens.
func TestStagedChangesWait(t *testing.T) {
	t.Parallel()
	c := staged(t)
	heavy := agreed.StageChange{Step: agreed.StepWeight, Node: id("south-2"), Weight: 300, Reason: "larger disks"}
	web := agreed.StageChange{Step: agreed.StepCollections, Replica: "south", Collections: []catalog.CollectionName{"web"}}
	for _, one := range []agreed.StageChange{node(agreed.StepDrain, "north-1"), heavy, web} {
		c.must(t, agreed.StageLayout, one)
	}
	shown := c.staging(t)
	if len(shown.Changes) != 3 || shown.Version != 3 || shown.Changes[1].Reason != "larger disks" || shown.Changes[0].By != "test" || shown.Changes[0].At == 0 {
		t.Errorf("%+v", shown)
	}
	if c.drains(t, "north-1") {
		t.Error("what is staged was carried out")
	}
	then, refused, err := catalog.Laid(c.view())
	if m, _ := then.Member(id("north-1")); err != nil || len(refused) > 0 || !m.Draining {
		t.Errorf("as it would be: %+v, refused %+v, %v", m, refused, err)
	}
	c.refuses(t, agree.Stale, "version 3 now, and version 2 was shown", agreed.ApplyLayout, agreed.ApplyChanges{Version: 2})
	c.must(t, agreed.ApplyLayout, agreed.ApplyChanges{Version: 3, Reason: "as planned"})
	south, err := c.view().Replica("south")
	m, errOf := c.view().Member(id("south-2"))
	if err != nil || errOf != nil || !c.drains(t, "north-1") || m.Weight != 300 || !slices.Equal(south.Collections, web.Collections) {
		t.Errorf("applied: %+v, %+v, %v, %v", m, south, err, errOf)
	}
	if all := c.staging(t); len(all.Changes) != 0 || all.Version != 4 || all.Last != 3 {
		t.Errorf("after the apply: %+v", all)
	}
	if e := c.lastEvent(t, string(agreed.ApplyLayout)); e.Detail != "version=3 changes=3 reason=as planned" {
		t.Errorf("%+v", e)
	}
	for _, act := range []catalog.Kind{agreed.StageLayout, catalog.UpdateMember, catalog.SetReplica} {
		c.lastEvent(t, string(act))
	}
	c.refuses(t, agree.Stale, "", agreed.ApplyLayout, agreed.ApplyChanges{Version: 3}) // once only
	c.refuses(t, catalog.Conflict, "nothing is staged", agreed.ApplyLayout, agreed.ApplyChanges{Version: 4})
}

// TestStagingIsChecked has what cannot be carried out refused when it is staged, behind what is staged already.
func TestStagingIsChecked(t *testing.T) {
	t.Parallel()
	c := staged(t)
	c.refuses(t, catalog.NotFound, "no member", agreed.StageLayout, node(agreed.StepDrain, "east-1"))
	c.refuses(t, catalog.Unsafe, "only node of replica sums", agreed.StageLayout, node(agreed.StepDrain, "sums-1"))
	c.refuses(t, catalog.Conflict, "not draining", agreed.StageLayout, node(agreed.StepUndrain, "north-1"))
	c.refuses(t, catalog.Unsafe, "holds shards: drain it first", agreed.StageLayout, node(agreed.StepRemove, "north-1"))
	c.refuses(t, catalog.Invalid, "weight", agreed.StageLayout, agreed.StageChange{Step: agreed.StepWeight, Node: id("north-1")})
	c.refuses(t, catalog.Invalid, "no weight", agreed.StageLayout, agreed.StageChange{Step: agreed.StepDrain, Node: id("north-1"), Weight: 5})
	c.refuses(t, catalog.Invalid, "cannot be staged", agreed.StageLayout, agreed.StageChange{Step: "burn", Node: id("north-1")})
	c.refuses(t, catalog.Invalid, "names a node", agreed.StageLayout, agreed.StageChange{Step: agreed.StepDrain, Replica: "north"})
	c.refuses(t, catalog.Invalid, "names a replica", agreed.StageLayout, agreed.StageChange{Step: agreed.StepCollections, Node: id("north-1"), Replica: "north"})
	c.refuses(t, catalog.NotFound, "no replica", agreed.StageLayout, agreed.StageChange{Step: agreed.StepCollections, Replica: "east"})
	c.refuses(t, catalog.NotFound, "no collection", agreed.StageLayout, agreed.StageChange{Step: agreed.StepCollections, Replica: "north", Collections: []catalog.CollectionName{"tv"}})
	c.refuses(t, catalog.Conflict, "just these collections", agreed.StageLayout, agreed.StageChange{Step: agreed.StepCollections, Replica: "north"})

	c.must(t, agreed.StageLayout, node(agreed.StepDrain, "north-1"))
	c.refuses(t, catalog.Conflict, "staged already, as change 1", agreed.StageLayout, node(agreed.StepUndrain, "north-1"))
	c.refuses(t, catalog.Unsafe, "only node of replica north", agreed.StageLayout, node(agreed.StepDrain, "north-2"))
	c.must(t, agreed.StageLayout, node(agreed.StepRemove, "south-2")) // it holds nothing
	c.must(t, agreed.RevertLayout, agreed.RevertChanges{Change: 1})
	c.refuses(t, catalog.NotFound, "no change 1", agreed.RevertLayout, agreed.RevertChanges{Change: 1})
	c.refuses(t, agree.Stale, "", agreed.RevertLayout, agreed.RevertChanges{Version: 1})
	if all := c.staging(t); len(all.Changes) != 1 || all.Changes[0].ID != 2 || all.Version != 3 {
		t.Errorf("%+v", all)
	}
	c.must(t, agreed.RevertLayout, agreed.RevertChanges{})
	c.must(t, agreed.RevertLayout, agreed.RevertChanges{}) // nothing is left
	if all := c.staging(t); len(all.Changes) != 0 || all.Version != 4 {
		t.Errorf("%+v", all)
	}
}

// TestApplyIsAllOrNothing has the second change refused when it is applied: the first is not carried out either.
func TestApplyIsAllOrNothing(t *testing.T) {
	t.Parallel()
	c := staged(t)
	c.must(t, agreed.StageLayout, node(agreed.StepDrain, "south-1"))
	c.must(t, agreed.StageLayout, node(agreed.StepRemove, "north-2"))
	c.must(t, catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: []catalog.Shard{7}, Node: id("north-2")})
	c.refuses(t, catalog.Unsafe, "change 2, remove of node north-2, is refused, and nothing was done: north-2 holds shards", agreed.ApplyLayout,
		agreed.ApplyChanges{Version: 2})
	if c.drains(t, "south-1") {
		t.Error("a part was carried out")
	}
	_, refused, err := catalog.Laid(c.view())
	if err != nil || len(refused) != 1 || refused[0].ID != 2 || !strings.Contains(refused[0].Why, "holds shards") {
		t.Errorf("%+v, %v", refused, err)
	}
	c.must(t, agreed.RevertLayout, agreed.RevertChanges{Change: 2})
	c.must(t, agreed.ApplyLayout, agreed.ApplyChanges{Version: 3})
	if !c.drains(t, "south-1") {
		t.Error("not carried out")
	}
}

// TestNewNodesWait has a node hold nothing before an apply, and nothing else change at once, where changes are always
// staged. Repairs do not wait.
func TestNewNodesWait(t *testing.T) {
	t.Parallel()
	c := staged(t)
	c.must(t, agreed.StageAlways, agreed.SetStaging{Always: true, Reason: "rule of the house"})
	before := c.staging(t).Version
	c.joinNow(t, "north-3")
	all := c.staging(t)
	if !c.drains(t, "north-3") || len(all.Changes) != 1 || !all.Changes[0].Joined || all.Changes[0].Step != agreed.StepUndrain || all.Version == before {
		t.Fatalf("%+v", all)
	}
	assign := catalog.Assignment{Replica: "north", Shards: []catalog.Shard{7}, Node: id("north-3")}
	c.refuses(t, catalog.Conflict, "draining", catalog.AssignShards, assign)
	draining, weight := true, 7
	c.refuses(t, agree.OnlyStaged, "layout apply", catalog.UpdateMember, catalog.MemberChange{ID: id("north-1"), Draining: &draining})
	c.refuses(t, agree.OnlyStaged, "", catalog.UpdateMember, catalog.MemberChange{ID: id("north-1"), Weight: &weight})
	c.refuses(t, agree.OnlyStaged, "", catalog.RemoveMember, catalog.MemberRemoval{ID: id("north-2"), Reason: "x"})
	c.refuses(t, agree.OnlyStaged, "", catalog.SetReplica, catalog.Replica{Name: "south", Kind: catalog.Bitarchive, Place: "Southtown", Collections: []catalog.CollectionName{"web"}})
	body, err := json.Marshal(catalog.MemberChange{ID: id("north-1"), Draining: &draining})
	if err != nil {
		t.Fatal(err)
	}
	c.refuses(t, agree.OnlyStaged, "", agree.Guarded, agree.Guard{Once: strings.Repeat("0", 32), Digest: strings.Repeat("1", 32), Kind: catalog.UpdateMember, Body: body})
	addresses := []string{"a:1"}
	c.must(t, catalog.UpdateMember, catalog.MemberChange{ID: id("north-1"), Addresses: &addresses})
	c.must(t, catalog.SetReplica, catalog.Replica{Name: "east", Kind: catalog.Bitarchive, Place: "East"})                  // it holds nothing yet
	c.must(t, catalog.AssignShards, catalog.Assignment{Replica: "north", Shards: []catalog.Shard{7}, Node: id("north-2")}) // the leader's own
	c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("south-2"), Lost: true, Reason: "burnt"})                 // what is lost is lost
	c.refuses(t, catalog.Unsafe, "only node", agreed.StageLayout, node(agreed.StepDrain, "south-1"))
	c.must(t, agreed.StageLayout, node(agreed.StepDrain, "north-1"))
	c.must(t, agreed.ApplyLayout, agreed.ApplyChanges{Version: c.staging(t).Version})
	if c.drains(t, "north-3") || !c.drains(t, "north-1") {
		t.Error("not applied")
	}
	c.must(t, catalog.AssignShards, assign)

	c.joinNow(t, "north-4")
	c.must(t, agreed.RevertLayout, agreed.RevertChanges{})
	if !c.drains(t, "north-4") {
		t.Error("a node that waits gets shards since its change was reverted")
	}
	c.must(t, agreed.StageLayout, node(agreed.StepUndrain, "north-4"))
	c.must(t, catalog.RemoveMember, catalog.MemberRemoval{ID: id("north-4"), Lost: true})
	if all := c.staging(t); len(all.Changes) != 0 {
		t.Errorf("what is staged outlives its node: %+v", all)
	}
	c.must(t, agreed.StageAlways, agreed.SetStaging{})
	c.joinNow(t, "north-5")
	if c.drains(t, "north-5") || len(c.staging(t).Changes) != 0 {
		t.Error("a node waits though nothing is staged any more")
	}
}

// TestStagedOfWhatIsGone drops what is staged about a replica or a collection with it.
func TestStagedOfWhatIsGone(t *testing.T) {
	t.Parallel()
	c := staged(t)
	c.must(t, catalog.SetCollection, catalog.Collection{Name: "tv"})
	c.must(t, catalog.SetReplica, catalog.Replica{Name: "east", Kind: catalog.Bitarchive, Place: "East"})
	c.must(t, agreed.StageLayout, agreed.StageChange{Step: agreed.StepCollections, Replica: "north", Collections: []catalog.CollectionName{"tv", "web"}})
	c.must(t, agreed.StageLayout, agreed.StageChange{Step: agreed.StepCollections, Replica: "east", Collections: []catalog.CollectionName{"web"}})
	c.must(t, catalog.RemoveCollection, catalog.CollectionRemoval{Collection: "tv", Reason: "x"})
	c.must(t, catalog.RemoveReplica, catalog.ReplicaRemoval{Replica: "east", Reason: "x"})
	if all := c.staging(t); len(all.Changes) != 0 || all.Version != 4 {
		t.Errorf("%+v", all)
	}
}

// TestStagingBelowItsLevel has programs of level 4 know nothing of it, and nodes join as before.
func TestStagingBelowItsLevel(t *testing.T) {
	t.Parallel()
	c := foundCluster(t)
	c.raiseTo(t, agreed.LevelOfStaging-1)
	for kind, body := range map[catalog.Kind]any{agreed.StageLayout: node(agreed.StepDrain, "north-1"), agreed.ApplyLayout: agreed.ApplyChanges{},
		agreed.RevertLayout: agreed.RevertChanges{}, agreed.StageAlways: agreed.SetStaging{Always: true}} {
		c.refuses(t, catalog.Unsupported, "level 4", kind, body)
	}
}

// TestRecoveryLeavesVersionsOut has nothing applied by a version that was shown before the cluster was recovered.
func TestRecoveryLeavesVersionsOut(t *testing.T) {
	t.Parallel()
	c := staged(t)
	c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2})
	first := c.staging(t)
	c.must(t, agreed.StageLayout, node(agreed.StepDrain, "north-1"))
	c.must(t, catalog.RaiseEpoch, catalog.EpochChange{Epoch: 3})
	second := c.staging(t)
	if first.Version < 100_000 || second.Version < first.Version+100_000 || second.Last < first.Last+100_000 || len(second.Changes) != 1 {
		t.Errorf("%+v, then %+v", first, second)
	}
	c.refuses(t, agree.Stale, "", agreed.ApplyLayout, agreed.ApplyChanges{Version: 1})
	c.must(t, agreed.ApplyLayout, agreed.ApplyChanges{Version: second.Version})
}

// TestStagingIsBounded fills the list; a node that joins then waits all the same.
func TestStagingIsBounded(t *testing.T) {
	t.Parallel()
	c := staged(t)
	for i := range agreed.MaxStaged {
		name := fmt.Sprintf("north-x%d", i)
		c.joinNow(t, name)
		c.must(t, agreed.StageLayout, agreed.StageChange{Step: agreed.StepWeight, Node: id(name), Weight: 7, Reason: strings.Repeat("ü", 900)})
	}
	c.refuses(t, catalog.Conflict, "40 changes are staged", agreed.StageLayout, node(agreed.StepDrain, "north-1"))
	c.must(t, agreed.StageAlways, agreed.SetStaging{Always: true})
	c.joinNow(t, "north-new")
	if !c.drains(t, "north-new") {
		t.Error("it does not wait")
	}
	c.must(t, agreed.ApplyLayout, agreed.ApplyChanges{Version: c.staging(t).Version})
}

// TestWhatWaitsIsNotStaged keeps acts that need a second person off the list, and off an apply if the rule came later.
func TestWhatWaitsIsNotStaged(t *testing.T) {
	t.Parallel()
	narrow := agreed.StageChange{Step: agreed.StepCollections, Replica: "south", Collections: []catalog.CollectionName{"web"}}
	c := guarded(t)
	c.refused(catalog.Conflict, anna, agreed.StageLayout, narrow)
	c.does(anna, agreed.StageAlways, agreed.SetStaging{Always: true})
	direct := catalog.Replica{Name: "south", Kind: catalog.Bitarchive, Place: "Southtown", Collections: narrow.Collections}
	c.refused(agree.Unapproved, anna, catalog.SetReplica, direct) // so that it is proposed
	c.does(berta, approvals.Grant, c.propose(anna, catalog.SetReplica, direct))

	later := &town{staged(t), t}
	later.person("anna", admin)
	later.person("berta", admin)
	later.does(anna, agreed.StageLayout, narrow)
	later.does(anna, approvals.Set, approvals.Setting{Acts: approvals.Classes(), Reason: "test"})
	later.refuses(t, catalog.Conflict, "cannot be staged", agreed.ApplyLayout, agreed.ApplyChanges{Version: 1})
	if _, refused, err := catalog.Laid(later.view()); err != nil || len(refused) != 1 {
		t.Errorf("%+v, %v", refused, err)
	}
}

// TestWhoStages asks as the leader does of what members forward: who may do an act may stage it, and who applies has to
// be allowed each.
func TestWhoStages(t *testing.T) {
	t.Parallel()
	c := &town{staged(t), t}
	c.person("anna", admin)
	c.person("otto", catalog.Giving{Role: catalog.RoleOperator})
	c.person("nora", catalog.Giving{Role: catalog.RoleOperator, Place: "Northtown"})
	c.person("clara", curator)
	vouch := func(who string, kind catalog.Kind, body any) bool {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return c.people().Vouch(id("north-1"), &catalog.Command{Version: 1, Kind: kind, Actor: who, Node: id("north-1"), Body: text}, "", c.now) == nil
	}
	all := []string{"person:anna", "person:otto", "person:nora", "person:clara", string(id("north-1"))}
	collections := agreed.StageChange{Step: agreed.StepCollections, Replica: "south"}
	for _, tt := range []struct {
		name string
		kind catalog.Kind
		body any
		may  int // how many of them
	}{
		{"drain at north", agreed.StageLayout, node(agreed.StepDrain, "north-1"), 3},
		{"weight at south", agreed.StageLayout, node(agreed.StepWeight, "south-1"), 2},
		{"of nobody", agreed.StageLayout, node(agreed.StepUndrain, "east-1"), 2},
		{"removal at north", agreed.StageLayout, node(agreed.StepRemove, "north-2"), 1},
		{"collections", agreed.StageLayout, collections, 1},
		{"revert", agreed.RevertLayout, agreed.RevertChanges{}, 2},
		{"setting", agreed.StageAlways, agreed.SetStaging{Always: true}, 2},
		{"apply", agreed.ApplyLayout, agreed.ApplyChanges{}, 2},
	} {
		for i, who := range all {
			if got := vouch(who, tt.kind, tt.body); got != (i < tt.may) {
				t.Errorf("%s by %s: %t", tt.name, who, got)
			}
		}
	}
	c.does(anna, agreed.StageLayout, node(agreed.StepRemove, "north-2"))
	if vouch("person:otto", agreed.ApplyLayout, agreed.ApplyChanges{Version: 1}) || !vouch("person:anna", agreed.ApplyLayout, agreed.ApplyChanges{Version: 1}) {
		t.Error("an operator applies what only an administrator may do")
	}
}

// TestStagingModel stages, reverts and applies at random, and compares with a list and a set of draining nodes.
func TestStagingModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := staged(t)
		var list []agreed.Staged
		draining := map[string]bool{}
		version := uint64(0)
		for range rapid.IntRange(5, 30).Draw(t, "acts") {
			switch rapid.IntRange(0, 4).Draw(t, "act") {
			default:
				name := rapid.SampledFrom([]string{"north-1", "north-2", "south-1", "south-2"}).Draw(t, "node")
				step := rapid.SampledFrom([]agreed.Step{agreed.StepDrain, agreed.StepUndrain}).Draw(t, "step")
				then := maps.Clone(draining)
				taken := false
				for _, s := range list {
					taken = taken || s.Node == id(name)
					for _, n := range []string{"north-1", "north-2", "south-1", "south-2"} {
						if id(n) == s.Node {
							then[n] = s.Step == agreed.StepDrain
						}
					}
				}
				other := name[:6] + map[byte]string{'1': "2", '2': "1"}[name[6]]
				want := !taken && then[name] != (step == agreed.StepDrain) && (step == agreed.StepUndrain || !then[other])
				r := c.apply(t, agreed.StageLayout, node(step, name)).Refusal
				if (r == nil) != want {
					t.Fatalf("%s of %s behind %+v: %v", step, name, list, r)
				}
				if want {
					version++
					list = append(list, agreed.Staged{ID: c.staging(t).Last, Step: step, Node: id(name)})
				}
			case 3:
				if len(list) > 0 {
					i := rapid.IntRange(0, len(list)-1).Draw(t, "change")
					c.must(t, agreed.RevertLayout, agreed.RevertChanges{Change: list[i].ID, Version: version})
					list = slices.Delete(list, i, i+1)
					version++
				}
			case 4:
				shown := version - uint64(rapid.IntRange(0, 1).Draw(t, "behind"))
				before := c.sum()
				r := c.apply(t, agreed.ApplyLayout, agreed.ApplyChanges{Version: shown}).Refusal
				then := maps.Clone(draining)
				fits := shown == version && len(list) > 0
				for _, s := range list { // a change that is behind a reverted one may not fit any more
					for _, n := range []string{"north-1", "north-2", "south-1", "south-2"} {
						if id(n) != s.Node {
							continue
						}
						other := n[:6] + map[byte]string{'1': "2", '2': "1"}[n[6]]
						fits = fits && (s.Step == agreed.StepUndrain || !then[other])
						then[n] = s.Step == agreed.StepDrain
					}
				}
				if (r == nil) != fits || r != nil && c.sum() != before {
					t.Fatalf("apply of %+v at %d of %d: %v", list, shown, version, r)
				}
				if r == nil {
					list, draining = nil, then
					version++
				}
			}
			now := c.staging(t)
			if now.Version != version || len(now.Changes) != len(list) {
				t.Fatalf("%+v, want version %d and %+v", now, version, list)
			}
			for name, on := range draining {
				if c.drains(t, name) != on {
					t.Fatalf("%s drains: %t", name, !on)
				}
			}
		}
	})
}
