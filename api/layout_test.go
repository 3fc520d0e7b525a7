package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/cluster"
)

// layoutPlans foresees only what would be refused.
type layoutPlans struct{}

func (layoutPlans) Plan(_ context.Context, v catalog.View) (wire.LayoutPlan, error) {
	_, refused, err := catalog.Laid(v)
	out := wire.LayoutPlan{Refused: []wire.LayoutRefusal{}, Links: []wire.LayoutLink{}, Short: []wire.LayoutShort{}, Full: []wire.LayoutFull{}, Stuck: []wire.LayoutStuck{}}
	for _, r := range refused {
		out.Refused = append(out.Refused, wire.LayoutRefusal{Change: r.ID, Why: r.Why})
	}
	return out, err
}

// joined adds a second node to the replica north.
func (b *backend) joined(name string) catalog.NodeID {
	b.t.Helper()
	k := bytes.Repeat([]byte{9}, 32)
	secret := []byte("secret")
	b.must(catalog.CreateToken, catalog.JoinToken{ID: "t-" + name, SecretHash: sha256.Sum256([]byte("secret")), Replica: "north", Expires: catalog.At(time.Now().Add(time.Hour))})
	b.must(catalog.JoinMember, catalog.Joining{Token: "t-" + name, Secret: secret,
		Member: catalog.Member{ID: catalog.Fingerprint(k), Name: name, Key: k, Replica: "north", Level: catalog.Level}})
	return catalog.Fingerprint(k)
}

func wants(t *testing.T, err error, code wire.Code, says string) {
	t.Helper()
	var refused *wire.Error
	if !errors.As(err, &refused) || refused.Code != code || !strings.Contains(refused.Detail, says) {
		t.Errorf("%v, want %s: %s", err, code, says)
	}
}

// TestLayoutIsStagedShownAndApplied goes the road, with the version that was shown.
func TestLayoutIsStagedShownAndApplied(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	b.joined("north-2")
	c := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	empty, err := c.Replicas().Layout().Show(t.Context())
	if err != nil || empty.Version != 0 || empty.Always || len(empty.Changes) != 0 || empty.Plan != nil {
		t.Fatalf("%+v, %v", empty, err)
	}
	one, err := c.Nodes().Stage(t.Context(), "north-1", wire.NodeStaging{Step: "drain", Reason: "old disks"})
	if err != nil || one.ID != 1 || one.NodeName != "north-1" || one.ByName != "anna" || one.Reason != "old disks" || one.At.IsZero() {
		t.Fatalf("%+v, %v", one, err)
	}
	_, err = c.Nodes().Stage(t.Context(), "nobody", wire.NodeStaging{Step: "drain"})
	wants(t, err, wire.CodeNotFound, "no node nobody")
	_, err = c.Nodes().StageRemoval(t.Context(), "north-1", "it goes")
	if err != nil { // it holds no shards
		t.Fatal(err)
	}
	if _, err = c.Replicas().Stage(t.Context(), "third", wire.ReplicaChange{Collections: []string{"web"}}); err != nil {
		t.Fatal(err)
	}
	shown, err := c.Replicas().Layout().Show(t.Context())
	if err != nil || shown.Version != 3 || len(shown.Changes) != 3 || shown.Plan == nil || shown.Changes[2].Replica != "third" || shown.Changes[2].Collections[0] != "web" {
		t.Fatalf("%+v, %v", shown, err)
	}
	if effects := strings.Join(shown.Plan.Effects, "\n"); !strings.Contains(effects, "node north-1 is no member any more") || !strings.Contains(effects, "an apply is refused") {
		t.Errorf("%s", effects)
	}
	_, err = c.Replicas().Layout().Apply(t.Context(), wire.LayoutApply{Version: 2})
	wants(t, err, wire.CodeStale, "version 3 now, and version 2 was shown")
	_, err = c.Replicas().Layout().Apply(t.Context(), wire.LayoutApply{Version: 3})
	wants(t, err, wire.CodeUnsafe, "could not decide anything any more")
	if _, err = c.Replicas().Layout().Revert(t.Context(), wire.LayoutRevert{Change: 2, Version: 3}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Replicas().Layout().Revert(t.Context(), wire.LayoutRevert{Change: 2})
	wants(t, err, wire.CodeNotFound, "no change 2")
	done, err := c.Replicas().Layout().Apply(t.Context(), wire.LayoutApply{Version: 4, Reason: "as planned"})
	if err != nil || done.Version != 5 || len(done.Changes) != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if n, err := c.Nodes().Show(t.Context(), "north-1"); err != nil || !n.Draining {
		t.Errorf("%+v, %v", n, err)
	}
}

// TestLayoutThatIsAlwaysStaged refuses what is asked for at once, with a code of its own.
func TestLayoutThatIsAlwaysStaged(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	c := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	if r, err := c.Replicas().Change(t.Context(), "north", wire.ReplicaChange{Collections: []string{"web", "web"}}); err != nil || r.Name != "north" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := b.View(func(v catalog.View) error {
		r, err := v.Replica("north")
		if len(r.Collections) != 1 || r.Place != "north" || r.Kind != catalog.Bitarchive {
			t.Errorf("%+v", r)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_, err := c.Replicas().Change(t.Context(), "none", wire.ReplicaChange{Collections: []string{"web"}})
	wants(t, err, wire.CodeNotFound, "replica none")
	if set, err := c.Replicas().Layout().Set(t.Context(), wire.LayoutSetting{Always: true, Reason: "x"}); err != nil || !set.Always {
		t.Fatalf("%+v, %v", set, err)
	}
	node := b.joined("north-2")
	draining := true
	_, err = c.Nodes().Change(t.Context(), "north-1", wire.NodeChange{Draining: &draining})
	wants(t, err, wire.CodeOnlyStaged, "staged first")
	wants(t, c.Nodes().Remove(t.Context(), "north-2", wire.Removal{Reason: "x"}), wire.CodeOnlyStaged, "staged first") // and nobody confirms it
	wants(t, c.Nodes().Remove(t.Context(), "north-2", wire.Removal{Reason: "x", Lost: true}), wire.CodeUnconfirmed, "")
	_, err = c.Replicas().Change(t.Context(), "north", wire.ReplicaChange{})
	wants(t, err, wire.CodeOnlyStaged, "staged first")
	shown, err := c.Replicas().Layout().Show(t.Context())
	if err != nil || len(shown.Changes) != 1 || !shown.Changes[0].Joined || shown.Changes[0].NodeName != "north-2" || shown.Changes[0].Node != string(node) {
		t.Errorf("%+v, %v", shown, err)
	}
}

// TestWhoApplies needs the right to do each of the changes, beside the one to apply.
func TestWhoApplies(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	b.joined("north-2")
	admin := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	operator := open(b.person("otto", catalog.Giving{Role: catalog.RoleOperator}))
	if _, err := operator.Nodes().Stage(t.Context(), "north-1", wire.NodeStaging{Step: "weight", Weight: 50}); err != nil {
		t.Fatal(err)
	}
	_, err := operator.Nodes().StageRemoval(t.Context(), "north-2", "x")
	wants(t, err, wire.CodeForbidden, "admin")
	if _, err := admin.Nodes().StageRemoval(t.Context(), "north-2", "x"); err != nil {
		t.Fatal(err)
	}
	_, err = operator.Replicas().Layout().Apply(t.Context(), wire.LayoutApply{Version: 2})
	if err == nil || !strings.Contains(err.Error(), "change 2, remove") {
		t.Errorf("an operator removes a node: %v", err)
	}
	if _, err := admin.Replicas().Layout().Apply(t.Context(), wire.LayoutApply{Version: 2}); err != nil {
		t.Error(err)
	}
	if nodes, err := admin.Nodes().List(t.Context()); err != nil || len(nodes) != 1 || nodes[0].Weight != 50 {
		t.Errorf("%+v, %v", nodes, err)
	}
	if _, err := operator.Replicas().Layout().Apply(t.Context(), wire.LayoutApply{Version: 3}); err == nil {
		t.Error("nothing was applied as something")
	}
	for _, act := range []catalog.Kind{agreed.StageLayout, agreed.ApplyLayout, catalog.RemoveMember} {
		if text := b.trail(); !strings.Contains(text, string(act)) {
			t.Errorf("%s is not in the trail", act)
		}
	}
}

// trail lists the acts of the trail.
func (b *backend) trail() (out string) {
	b.t.Helper()
	err := b.View(func(v catalog.View) error {
		all, err := v.Trail(0, 1000)
		for _, e := range all {
			out += e.Act + "\n"
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}
