package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"

	"holdfast/api/wire"
)

// Nodes are the cluster's nodes, each called by its name or id.
type Nodes struct{ c *Client }

// List lists the nodes.
func (n Nodes) List(ctx context.Context) ([]wire.Node, error) {
	return list[wire.Node](ctx, n.c, nil, "nodes")
}

// Show shows a node.
func (n Nodes) Show(ctx context.Context, name string) (wire.Node, error) {
	return get[wire.Node](ctx, n.c, "nodes", name)
}

// Change changes a node's weight or drains it.
func (n Nodes) Change(ctx context.Context, name string, change wire.NodeChange) (wire.Node, error) {
	return send[wire.Node](ctx, n.c, http.MethodPatch, change, "nodes", name)
}

// Remove removes a node.
func (n Nodes) Remove(ctx context.Context, name string, removal wire.Removal) error {
	return n.c.call(ctx, http.MethodPost, removal, nil, nil, "nodes", name, "remove")
}

// SoleFiles yields the files of which no other node has good bytes: they are lost if the node is.
func (n Nodes) SoleFiles(ctx context.Context, name string) iter.Seq2[wire.File, error] {
	return all[wire.File](ctx, n.c, nil, "nodes", name, "sole-files")
}

// LogQuery says which lines of a node's log are asked for; empty fields are ignored.
type LogQuery struct {
	Level string    // debug, info, warn or error: lines of this level and above
	Text  string    // that is in the line; attributes stand there as name=value
	Room  string    // part of the program that wrote the line
	Since time.Time // written then or later
	After string    // Next of an earlier answer: the lines that follow; else the last ones
	Limit int       // 0 leaves that to the node
}

// Log returns lines of a node's log, the oldest first.
func (n Nodes) Log(ctx context.Context, name string, q LogQuery) (wire.NodeLog, error) {
	query := asked(map[string]string{"level": q.Level, "text": q.Text, "room": q.Room, "after": q.After})
	if !q.Since.IsZero() {
		query.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Limit != 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var out wire.NodeLog
	err := n.c.call(ctx, http.MethodGet, nil, &out, query, "nodes", name, "log")
	return out, err
}

// Figures returns a few figures of a node over the last "hour" or "week".
func (n Nodes) Figures(ctx context.Context, name, span string) (wire.NodeFigures, error) {
	var out wire.NodeFigures
	err := n.c.call(ctx, http.MethodGet, nil, &out, asked(map[string]string{"span": span}), "nodes", name, "figures")
	return out, err
}

// SetLogLevel makes a node log more for a time.
func (n Nodes) SetLogLevel(ctx context.Context, name string, request wire.LogLevelRequest) (wire.LogLevel, error) {
	return send[wire.LogLevel](ctx, n.c, http.MethodPut, request, "nodes", name, "log-level")
}

// Replicas are the sets of the archive.
type Replicas struct{ c *Client }

// List lists the replicas.
func (r Replicas) List(ctx context.Context) ([]wire.Replica, error) {
	return list[wire.Replica](ctx, r.c, nil, "replicas")
}

// Show shows a replica.
func (r Replicas) Show(ctx context.Context, name string) (wire.Replica, error) {
	return get[wire.Replica](ctx, r.c, "replicas", name)
}

// Checks shows how a replica's copies are, by the last checks of each kind; it starts none.
func (r Replicas) Checks(ctx context.Context, name string) (wire.ReplicaChecks, error) {
	return get[wire.ReplicaChecks](ctx, r.c, "replicas", name, "checks")
}

// AllChecks shows the same of every replica.
func (r Replicas) AllChecks(ctx context.Context) ([]wire.ReplicaChecks, error) {
	return list[wire.ReplicaChecks](ctx, r.c, nil, "replica-checks")
}

// Add adds a replica.
func (r Replicas) Add(ctx context.Context, in wire.ReplicaRequest) (wire.Replica, error) {
	return post[wire.Replica](ctx, r.c, in, "replicas")
}

// Remove removes a replica that has no nodes and no verified copies.
func (r Replicas) Remove(ctx context.Context, name, reason string) error {
	return r.c.call(ctx, http.MethodPost, wire.ReasonRequest{Reason: reason}, nil, nil, "replicas", name, "remove")
}

// Shards yields a replica's shards in order.
func (r Replicas) Shards(ctx context.Context, name string) iter.Seq2[wire.Shard, error] {
	return all[wire.Shard](ctx, r.c, nil, "replicas", name, "shards")
}

// Collections are what files, jobs and replicas belong to.
type Collections struct{ c *Client }

// List lists the collections.
func (o Collections) List(ctx context.Context) ([]wire.Collection, error) {
	return list[wire.Collection](ctx, o.c, nil, "collections")
}

// Add adds a collection.
func (o Collections) Add(ctx context.Context, name string) (wire.Collection, error) {
	return post[wire.Collection](ctx, o.c, wire.CollectionRequest{Name: name}, "collections")
}

// Remove removes a collection that nothing belongs to.
func (o Collections) Remove(ctx context.Context, name, reason string) error {
	return o.c.call(ctx, http.MethodPost, wire.ReasonRequest{Reason: reason}, nil, nil, "collections", name, "remove")
}

// Disks are the disks for files of the node that is asked.
type Disks struct{ c *Client }

// Show returns the state of the disks.
func (d Disks) Show(ctx context.Context) (wire.Disks, error) {
	return get[wire.Disks](ctx, d.c, "disks")
}

// Wish drains or undrains a disk, or pauses or resumes the moving of shards, and returns the state of the disks.
func (d Disks) Wish(ctx context.Context, wish wire.DiskWish) (wire.Disks, error) {
	return post[wire.Disks](ctx, d.c, wish, "disks", "wish")
}

// Index are the nodes' indexes of captures.
type Index struct{ c *Client }

// Status returns the state of each index.
func (x Index) Status(ctx context.Context) ([]wire.IndexStatus, error) {
	return list[wire.IndexStatus](ctx, x.c, nil, "index")
}

// Rebuild makes a node, or all when it is empty, build its index again from the files. The reason may be empty.
func (x Index) Rebuild(ctx context.Context, node, reason string) error {
	return x.c.call(ctx, http.MethodPost, wire.IndexRebuild{Node: node, Reason: reason}, nil, nil, "index", "rebuild")
}

// Audits are passes over copies, in which each is checked.
type Audits struct{ c *Client }

// List lists the audits, newest first.
func (a Audits) List(ctx context.Context) ([]wire.Audit, error) {
	out := []wire.Audit{}
	for one, err := range a.Find(ctx, "", "") {
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Find yields the audits in the state, and of the replica, newest first. An empty state or replica selects all. Audits
// that only silent nodes know are left out; Page names the silent nodes.
func (a Audits) Find(ctx context.Context, state, replica string) iter.Seq2[wire.Audit, error] {
	return all[wire.Audit](ctx, a.c, asked(map[string]string{"state": state, "replica": replica}), "audits")
}

// Start starts an audit; a request that says nothing asks for one that reads every copy.
func (a Audits) Start(ctx context.Context, in wire.AuditRequest) (wire.Audit, error) {
	return post[wire.Audit](ctx, a.c, in, "audits")
}

// Show shows an audit.
func (a Audits) Show(ctx context.Context, id string) (wire.Audit, error) {
	return get[wire.Audit](ctx, a.c, "audits", id)
}

// Wish pauses an audit, lets it run on, or stops it.
func (a Audits) Wish(ctx context.Context, id string, wish wire.Wish, reason string) (wire.Audit, error) {
	return post[wire.Audit](ctx, a.c, wire.WishBody{Wish: wish, Reason: reason}, "audits", id, "wish")
}
