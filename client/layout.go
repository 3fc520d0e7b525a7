package client

import (
	"context"
	"net/http"

	"holdfast/api/wire"
)

// Layout is what is staged: changes of the layout that wait for an apply.
type Layout struct{ c *Client }

// Layout returns what there is to do with staged changes of the layout: of how the replicas lie on the nodes.
func (r Replicas) Layout() Layout { return Layout(r) }

// Show shows what is staged, and what would follow from it.
func (l Layout) Show(ctx context.Context) (wire.Layout, error) {
	return get[wire.Layout](ctx, l.c, "layout")
}

// Apply carries out all that is staged, if it is the version that was shown.
func (l Layout) Apply(ctx context.Context, in wire.LayoutApply) (wire.Layout, error) {
	return post[wire.Layout](ctx, l.c, in, "layout", "apply")
}

// Revert discards a staged change, or all.
func (l Layout) Revert(ctx context.Context, in wire.LayoutRevert) (wire.Layout, error) {
	return post[wire.Layout](ctx, l.c, in, "layout", "revert")
}

// Set says whether changes of the layout are always staged.
func (l Layout) Set(ctx context.Context, in wire.LayoutSetting) (wire.Layout, error) {
	return send[wire.Layout](ctx, l.c, http.MethodPut, in, "layout", "setting")
}

// Stage stages a drain of a node, its end, or another weight.
func (n Nodes) Stage(ctx context.Context, name string, in wire.NodeStaging) (wire.LayoutChange, error) {
	return post[wire.LayoutChange](ctx, n.c, in, "nodes", name, "stage")
}

// StageRemoval stages the removal of a drained node.
func (n Nodes) StageRemoval(ctx context.Context, name, reason string) (wire.LayoutChange, error) {
	return post[wire.LayoutChange](ctx, n.c, wire.ReasonRequest{Reason: reason}, "nodes", name, "stage-removal")
}

// Change changes at once which collections a replica has to hold.
func (r Replicas) Change(ctx context.Context, name string, in wire.ReplicaChange) (wire.Replica, error) {
	return send[wire.Replica](ctx, r.c, http.MethodPatch, in, "replicas", name)
}

// Stage stages which collections a replica has to hold.
func (r Replicas) Stage(ctx context.Context, name string, in wire.ReplicaChange) (wire.LayoutChange, error) {
	return post[wire.LayoutChange](ctx, r.c, in, "replicas", name, "stage")
}
