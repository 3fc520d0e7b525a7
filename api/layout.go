package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/agree"
	agreed "holdfast/catalog/cluster"
	rights "holdfast/catalog/people"
)

// Layouts foresees what would follow from what is staged.
type Layouts interface {
	// Plan says it by the view, which is this node's, and by what this node hears of the others now.
	Plan(ctx context.Context, v catalog.View) (wire.LayoutPlan, error)
}

// layouts are the operations on staged changes of the layout.
type layouts struct {
	*server
	plans Layouts
}

type nodeStaging struct {
	ByName
	Body wire.NodeStaging
}

type replicaStaging struct {
	ByName
	Body wire.ReplicaChange
}

func (s layouts) routes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/layout", id: "layout-show",
		tag: "layout", summary: "Show the staged changes of the layout, and what would follow from them"},
		func(ctx context.Context, _ *struct{}) (wire.Layout, error) { return s.show(ctx) })
	handle(s.server, api, route{act: rights.ChangeLayout, method: http.MethodPost, path: "/api/v1/layout/apply",
		id: "layout-apply", tag: "layout", once: true, adjust: mayBeStale,
		summary: "Carry out all staged changes, or none of them; needs the right to do each"},
		func(ctx context.Context, in *struct{ Body wire.LayoutApply }) (wire.Layout, error) {
			return s.apply(ctx, in.Body)
		})
	handle(s.server, api, route{act: rights.ChangeLayout, method: http.MethodPost, path: "/api/v1/layout/revert",
		id: "layout-revert", tag: "layout", once: true, adjust: mayBeStale,
		summary: "Discard one of the staged changes, or all"},
		func(ctx context.Context, in *struct{ Body wire.LayoutRevert }) (wire.Layout, error) {
			return s.decided(ctx, agreed.RevertLayout, agreed.RevertChanges{Change: in.Body.Change,
				Version: in.Body.Version, Reason: in.Body.Reason})
		})
	handle(s.server, api, route{act: rights.ChangeLayout, method: http.MethodPut, path: "/api/v1/layout/setting",
		id: "layout-set", tag: "layout", once: true, summary: "Say whether changes of the layout are always staged"},
		func(ctx context.Context, in *struct{ Body wire.LayoutSetting }) (wire.Layout, error) {
			return s.decided(ctx, agreed.StageAlways, agreed.SetStaging{Always: in.Body.Always,
				Reason: in.Body.Reason})
		})
	s.stageRoutes(api)
}

// mayBeStale says that the operation is refused when something else was shown than is there now.
func mayBeStale(op *huma.Operation) { op.Errors = append(op.Errors, http.StatusPreconditionFailed) }

func (s layouts) stageRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.ChangeNode, within: ofNode(s.server,
		func(in *nodeStaging) string { return in.Name }), method: http.MethodPost, path: "/api/v1/nodes/{name}/stage",
		id: "node-stage", tag: "layout", once: true, summary: "Stage a drain of a node, its end, or another weight"},
		func(ctx context.Context, in *nodeStaging) (wire.LayoutChange, error) {
			return s.stageNode(ctx, in.Name, agreed.StageChange{Step: agreed.Step(in.Body.Step),
				Weight: in.Body.Weight, Reason: in.Body.Reason})
		})
	type removal struct {
		ByName
		Body wire.ReasonRequest
	}
	handle(s.server, api, route{act: catalog.RemoveNode, method: http.MethodPost,
		path: "/api/v1/nodes/{name}/stage-removal", id: "node-stage-removal", tag: "layout", once: true,
		summary: "Stage the removal of a drained node"},
		func(ctx context.Context, in *removal) (wire.LayoutChange, error) {
			return s.stageNode(ctx, in.Name, agreed.StageChange{Step: agreed.StepRemove, Reason: in.Body.Reason})
		})
	handle(s.server, api, route{act: catalog.ChangeReplica, method: http.MethodPost,
		path: "/api/v1/replicas/{name}/stage", id: "replica-stage", tag: "layout", once: true,
		summary: "Stage which collections a replica has to hold"},
		func(ctx context.Context, in *replicaStaging) (wire.LayoutChange, error) {
			return s.stage(ctx, agreed.StageChange{Step: agreed.StepCollections,
				Replica: catalog.ReplicaName(in.Name), Reason: in.Body.Reason,
				Collections: kindOf[catalog.CollectionName](in.Body.Collections)})
		})
	handle(s.server, api, route{act: catalog.ChangeReplica, method: http.MethodPatch, path: "/api/v1/replicas/{name}",
		id: "replica-update", tag: "replicas", once: true, summary: "Change which collections a replica has to hold"},
		func(ctx context.Context, in *replicaStaging) (wire.Replica, error) {
			return s.changeReplica(ctx, in.Name, in.Body)
		})
}

// changeReplica changes at once what a replica has to hold.
func (s layouts) changeReplica(ctx context.Context, name string, in wire.ReplicaChange) (wire.Replica, error) {
	if err := s.Catalog.Linear(ctx); err != nil {
		return wire.Replica{}, err
	}
	var want catalog.Replica
	err := s.Catalog.View(func(v catalog.View) (err error) {
		want, err = v.Replica(catalog.ReplicaName(name))
		return err
	})
	if err != nil {
		return wire.Replica{}, fmt.Errorf("replica %s: %w", name, err)
	}
	want.Collections = kindOf[catalog.CollectionName](slices.Compact(slices.Sorted(slices.Values(in.Collections))))
	if err := s.decide(ctx, catalog.SetReplica, want, nil); err != nil {
		return wire.Replica{}, err
	}
	return s.replica(name)
}

func (s layouts) stageNode(ctx context.Context, name string, asked agreed.StageChange) (wire.LayoutChange, error) {
	node, err := s.node(ctx, name)
	if err != nil {
		return wire.LayoutChange{}, err
	}
	asked.Node = catalog.NodeID(node.ID)
	return s.stage(ctx, asked)
}

func (s layouts) stage(ctx context.Context, asked agreed.StageChange) (out wire.LayoutChange, err error) {
	var change agreed.Staged
	if err := s.decide(ctx, agreed.StageLayout, asked, &change); err != nil {
		return out, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		out, err = layoutChangeOf(v, &change)
		return err
	})
	return out, err
}

// decided carries out a command about what is staged, and returns what is staged then.
func (s layouts) decided(ctx context.Context, kind catalog.Kind, body any) (wire.Layout, error) {
	if err := s.decide(ctx, kind, body, nil); err != nil {
		return wire.Layout{}, err
	}
	var out wire.Layout
	err := s.Catalog.View(func(v catalog.View) (err error) {
		out, _, err = layoutOf(v)
		return err
	})
	return out, err
}

// show shows what is staged by one look at the catalog, so that the version is that of the plan.
func (s layouts) show(ctx context.Context) (out wire.Layout, err error) {
	var going []string
	err = s.Catalog.View(func(v catalog.View) error {
		if out, going, err = layoutOf(v); err != nil || len(out.Changes) == 0 {
			return err
		}
		plan, err := s.plans.Plan(ctx, v)
		out.Plan = &plan
		return err
	})
	if err != nil || len(going) == 0 {
		return out, err
	}
	st, _, _, err := s.overview(ctx)
	out.Plan.Effects = effectsOfLeaving(st, going)
	return out, err
}

// apply carries out what is staged, for who may do each of it. Removals after which nothing could be decided any more
// are refused: whoever means that removes the node by itself, and confirms it.
func (s layouts) apply(ctx context.Context, in wire.LayoutApply) (wire.Layout, error) {
	if err := s.Catalog.Linear(ctx); err != nil {
		return wire.Layout{}, err
	}
	var going []string
	err := s.Catalog.View(func(v catalog.View) error {
		shown, nodes, err := layoutOf(v)
		if err != nil {
			return err
		}
		if shown.Version != in.Version {
			return agree.Refuse(agree.Stale, "the staged changes are version %d now, and version %d was shown: look "+
				"at them again", shown.Version, in.Version)
		}
		going = nodes
		return catalog.PeopleIn(v).MayApply(callerOf(ctx).Rights)
	})
	if err != nil {
		return wire.Layout{}, err
	}
	if len(going) > 0 {
		st, _, _, err := s.overview(ctx)
		if err != nil {
			return wire.Layout{}, err
		}
		if voters, reached := votersWithout(st.Nodes, going); 2*reached <= voters {
			return wire.Layout{}, agree.Refuse(agree.Unsafe, "of %d voters that would be left, %d are reached: the "+
				"cluster could not decide anything any more. Nothing was done: revert the removal", voters, reached)
		}
	}
	return s.decided(ctx, agreed.ApplyLayout, agreed.ApplyChanges{Version: in.Version, Reason: in.Reason})
}

// layoutOf returns what is staged, and the ids of the nodes that would be removed.
func layoutOf(v catalog.View) (out wire.Layout, going []string, err error) {
	all, err := v.Staging()
	out = wire.Layout{Version: all.Version, Always: all.Always, Changes: []wire.LayoutChange{}}
	for i := range all.Changes {
		if err != nil {
			break
		}
		var one wire.LayoutChange
		one, err = layoutChangeOf(v, &all.Changes[i])
		out.Changes = append(out.Changes, one)
		if all.Changes[i].Step == agreed.StepRemove {
			going = append(going, one.Node)
		}
	}
	return out, going, err
}

func layoutChangeOf(v catalog.View, c *agreed.Staged) (wire.LayoutChange, error) {
	out := wire.LayoutChange{ID: c.ID, Step: string(c.Step), Node: string(c.Node), Weight: c.Weight,
		Replica: string(c.Replica), Collections: kindOf[string](c.Collections), Joined: c.Joined, Reason: c.Reason,
		By: c.By, At: std(c.At)}
	m, err := v.Member(c.Node)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return out, err
	}
	out.NodeName = m.Name
	out.ByName, err = catalog.PeopleIn(v).ActorName(c.By)
	return out, err
}

// votersWithout counts the voters that are left, and those of them that are reached.
func votersWithout(nodes []wire.Node, going []string) (voters, reached int) {
	for _, n := range nodes {
		if slices.Contains(going, n.ID) || !n.Presence.Voter {
			continue
		}
		voters++
		if n.Presence.State == "alive" {
			reached++
		}
	}
	return voters, reached
}

// effectsOfLeaving says what the removal of drained nodes does to the cluster as this node sees it now.
func effectsOfLeaving(st wire.Status, going []string) (out []string) {
	for _, n := range st.Nodes {
		if slices.Contains(going, n.ID) {
			out = append(out, fmt.Sprintf("node %s is no member any more: the others refuse its key, and it stops",
				n.Name))
		}
	}
	voters, reached := votersWithout(st.Nodes, going)
	if 2*reached > voters {
		return append(out, fmt.Sprintf("of %d voters that are left, %d are reached: the cluster can decide", voters,
			reached))
	}
	return append(out, fmt.Sprintf("of %d voters that are left, %d are reached: an apply is refused", voters, reached))
}
