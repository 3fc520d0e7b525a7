package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast/api/wire"
)

// Nodes returns what there is to do with nodes.
func (c *Client) Nodes() Nodes { return Nodes{c} }

// Replicas returns what there is to do with replicas and their shards.
func (c *Client) Replicas() Replicas { return Replicas{c} }

// Collections returns what there is to do with collections.
func (c *Client) Collections() Collections { return Collections{c} }

// Disks returns what there is to do with the disks of the node that is asked.
func (c *Client) Disks() Disks { return Disks{c} }

// Index returns what there is to do with the nodes' indexes.
func (c *Client) Index() Index { return Index{c} }

// Files returns what there is to do with the archive's files.
func (c *Client) Files() Files { return Files{c} }

// Audits returns what there is to do with audits.
func (c *Client) Audits() Audits { return Audits{c} }

// Jobs returns what there is to do with jobs and their crawls.
func (c *Client) Jobs() Jobs { return Jobs{c} }

// People returns what there is to do with people.
func (c *Client) People() People { return People{c} }

// Grants returns what there is to do with people's grants.
func (c *Client) Grants() Grants { return Grants{c} }

// Tokens returns what there is to do with access tokens.
func (c *Client) Tokens() Tokens { return Tokens{c} }

// Invites returns what there is to do with join tokens, by which machines become nodes.
func (c *Client) Invites() Invites { return Invites{c} }

// Status returns the state of the cluster, as the node sees it.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	return get[wire.Status](ctx, c, "status")
}

// Alerts returns what a person should know of, as all nodes see it.
func (c *Client) Alerts(ctx context.Context) (wire.Alerts, error) {
	return get[wire.Alerts](ctx, c, "alerts")
}

// Config returns the node's effective settings as JSON.
func (c *Client) Config(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "config")
}

// Level returns the cluster's level and what each member supports.
func (c *Client) Level(ctx context.Context) (wire.Level, error) {
	return get[wire.Level](ctx, c, "cluster", "level")
}

// RaiseLevel raises the cluster's level.
func (c *Client) RaiseLevel(ctx context.Context, level int) (wire.Level, error) {
	return send[wire.Level](ctx, c, http.MethodPut, wire.LevelRequest{Level: level}, "cluster", "level")
}

// Trail is the audit trail of decisions.
type Trail struct{ c *Client }

// Trail returns what concerns the audit trail.
func (c *Client) Trail() Trail { return Trail{c} }

// All yields all events, oldest first.
func (t Trail) All(ctx context.Context) iter.Seq2[wire.Event, error] {
	return t.Find(ctx, EventQuery{})
}

// EventQuery says which events of the audit trail are listed; empty fields are ignored.
type EventQuery struct {
	Newest      bool      // first; else the oldest
	Actor       string    // who did it: an id, or an actor as in events
	Act         string    // such as file.remove
	Subject     string    // what it was done to, or to a part of which
	From, Until time.Time // done at From or later, and before Until
}

// Find yields the events of the audit trail that are asked for.
func (t Trail) Find(ctx context.Context, q EventQuery) iter.Seq2[wire.Event, error] {
	query := q.values()
	if !q.Newest {
		query.Set("limit", strconv.Itoa(wire.MaxPage)) // who reads from the start on wants all
	}
	return all[wire.Event](ctx, t.c, query, "trail")
}

func (q EventQuery) values() url.Values {
	query := asked(map[string]string{"actor": q.Actor, "act": q.Act, "subject": q.Subject})
	between(query, q.From, q.Until)
	if q.Newest {
		query.Set("sort", "newest")
	}
	return query
}
