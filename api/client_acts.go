package api

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/catalog"
)

func get[T any](ctx context.Context, c *Client, segments ...string) (T, error) {
	var out T
	err := c.call(ctx, http.MethodGet, nil, &out, nil, segments...)
	return out, err
}

func post[T any](ctx context.Context, c *Client, in any, segments ...string) (T, error) {
	var out T
	err := c.call(ctx, http.MethodPost, in, &out, nil, segments...)
	return out, err
}

// Status tells how the cluster stands, as the node sees it.
func (c *Client) Status(ctx context.Context) (Status, error) { return get[Status](ctx, c, "status") }

// Config returns the node's effective settings as JSON.
func (c *Client) Config(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "config")
}

// Level shows the cluster's level and what each member supports.
func (c *Client) Level(ctx context.Context) (Level, error) {
	return get[Level](ctx, c, "cluster", "level")
}

// RaiseLevel raises the cluster's level.
func (c *Client) RaiseLevel(ctx context.Context, level int) (Level, error) {
	var out Level
	err := c.call(ctx, http.MethodPut, LevelRequest{Level: level}, &out, nil, "cluster", "level")
	return out, err
}

// Nodes lists the nodes.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	page, err := get[Page[Node]](ctx, c, "nodes")
	return page.Items, err
}

// Node shows a node by name or id.
func (c *Client) Node(ctx context.Context, name string) (Node, error) {
	return get[Node](ctx, c, "nodes", name)
}

// UpdateNode changes a node's weight or drains it.
func (c *Client) UpdateNode(ctx context.Context, name string, change NodeChange) (Node, error) {
	var out Node
	err := c.call(ctx, http.MethodPatch, change, &out, nil, "nodes", name)
	return out, err
}

// RemoveNode removes a node.
func (c *Client) RemoveNode(ctx context.Context, name string, removal Removal) error {
	return c.call(ctx, http.MethodPost, removal, nil, nil, "nodes", name, "remove")
}

// Replicas lists the replicas.
func (c *Client) Replicas(ctx context.Context) ([]Replica, error) {
	page, err := get[Page[Replica]](ctx, c, "replicas")
	return page.Items, err
}

// Replica shows a replica.
func (c *Client) Replica(ctx context.Context, name string) (Replica, error) {
	return get[Replica](ctx, c, "replicas", name)
}

// AddReplica adds a replica.
func (c *Client) AddReplica(ctx context.Context, in ReplicaRequest) (Replica, error) {
	return post[Replica](ctx, c, in, "replicas")
}

// RemoveReplica removes a replica that has no nodes and no verified copies.
func (c *Client) RemoveReplica(ctx context.Context, name catalog.ReplicaName, reason string) error {
	return c.call(ctx, http.MethodPost, ReasonRequest{Reason: reason}, nil, nil, "replicas", string(name), "remove")
}

// RemoveCollection removes a collection that nothing belongs to.
func (c *Client) RemoveCollection(ctx context.Context, name catalog.CollectionName, reason string) error {
	return c.call(ctx, http.MethodPost, ReasonRequest{Reason: reason}, nil, nil, "collections", string(name), "remove")
}

// LoseFile declares that nobody has a file's bytes any more. With a version above 0 it is refused when the file's entry is not
// of that version any more.
func (c *Client) LoseFile(ctx context.Context, name string, version uint64, reason string) error {
	return c.call(ctx, http.MethodPost, LossRequest{ReasonRequest{reason}, version}, nil, nil, "files", name, "lost")
}

// FindFile takes it back that a file is lost.
func (c *Client) FindFile(ctx context.Context, name, reason string) error {
	return c.call(ctx, http.MethodPost, ReasonRequest{Reason: reason}, nil, nil, "files", name, "found")
}

// Collections lists the collections.
func (c *Client) Collections(ctx context.Context) ([]Collection, error) {
	page, err := get[Page[Collection]](ctx, c, "collections")
	return page.Items, err
}

// AddCollection adds a collection.
func (c *Client) AddCollection(ctx context.Context, name catalog.CollectionName) (Collection, error) {
	return post[Collection](ctx, c, CollectionRequest{Name: name}, "collections")
}

// Shards yields a replica's shards in order.
func (c *Client) Shards(ctx context.Context, replica string) iter.Seq2[Shard, error] {
	return all[Shard](ctx, c, nil, "replicas", replica, "shards")
}

// JoinTokens lists the join tokens.
func (c *Client) JoinTokens(ctx context.Context) ([]JoinToken, error) {
	page, err := get[Page[JoinToken]](ctx, c, "join-tokens")
	return page.Items, err
}

// CreateJoinToken makes a join token; its Text is not to be had again.
func (c *Client) CreateJoinToken(ctx context.Context, in JoinTokenRequest) (JoinToken, error) {
	return post[JoinToken](ctx, c, in, "join-tokens")
}

// RevokeJoinToken revokes a join token.
func (c *Client) RevokeJoinToken(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, nil, nil, nil, "join-tokens", id)
}

// AccessTokens lists the access tokens.
func (c *Client) AccessTokens(ctx context.Context) ([]AccessToken, error) {
	page, err := get[Page[AccessToken]](ctx, c, "access-tokens")
	return page.Items, err
}

// CreateAccessToken makes an access token; its Text is not to be had again.
func (c *Client) CreateAccessToken(ctx context.Context, in AccessTokenRequest) (AccessToken, error) {
	return post[AccessToken](ctx, c, in, "access-tokens")
}

// RevokeAccessToken revokes an access token.
func (c *Client) RevokeAccessToken(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, nil, nil, nil, "access-tokens", id)
}

// Files yields the files whose name has the prefix, by name.
func (c *Client) Files(ctx context.Context, prefix string) iter.Seq2[File, error] {
	return all[File](ctx, c, url.Values{"prefix": {prefix}, "limit": {strconv.Itoa(maxPage)}}, "files")
}

// File shows a file and its copies.
func (c *Client) File(ctx context.Context, name string) (File, error) {
	return get[File](ctx, c, "files", name)
}

// VerifyFile re-reads every copy of a file where it lies.
func (c *Client) VerifyFile(ctx context.Context, name string) ([]Verification, error) {
	page, err := post[Page[Verification]](ctx, c, nil, "files", name, "verify")
	return page.Items, err
}

// RemoveFile makes a file's entry a tombstone.
func (c *Client) RemoveFile(ctx context.Context, name string, removal FileRemoval) error {
	return c.call(ctx, http.MethodPost, removal, nil, nil, "files", name, "remove")
}

// Audits lists the audits, newest first.
func (c *Client) Audits(ctx context.Context) ([]Audit, error) {
	page, err := get[Page[Audit]](ctx, c, "audits")
	return page.Items, err
}

// StartAudit starts an audit of the replica, or of all when it is empty.
func (c *Client) StartAudit(ctx context.Context, replica catalog.ReplicaName) (Audit, error) {
	return post[Audit](ctx, c, AuditRequest{Replica: replica}, "audits")
}

// Audit shows an audit.
func (c *Client) Audit(ctx context.Context, id string) (Audit, error) {
	return get[Audit](ctx, c, "audits", id)
}

// WishAudit pauses an audit, lets it run on, or stops it.
func (c *Client) WishAudit(ctx context.Context, id string, wish catalog.JobWish, reason string) (Audit, error) {
	return post[Audit](ctx, c, bodyOf(wish, reason), "audits", id, "wish")
}

// Jobs yields the jobs, newest first.
func (c *Client) Jobs(ctx context.Context) iter.Seq2[Job, error] {
	return all[Job](ctx, c, nil, "jobs")
}

// CreateJob creates a job and submits it.
func (c *Client) CreateJob(ctx context.Context, in JobRequest) (Job, error) {
	return post[Job](ctx, c, in, "jobs")
}

// Job shows a job, with live progress while it runs.
func (c *Client) Job(ctx context.Context, id uint64) (Job, error) {
	return get[Job](ctx, c, "jobs", strconv.FormatUint(id, 10))
}

// WishJob pauses a job, lets it run on, or stops it.
func (c *Client) WishJob(ctx context.Context, id uint64, wish catalog.JobWish, reason string) (Job, error) {
	return post[Job](ctx, c, bodyOf(wish, reason), "jobs", strconv.FormatUint(id, 10), "wish")
}

// ResubmitJob makes a new job of a failed one.
func (c *Client) ResubmitJob(ctx context.Context, id uint64) (Job, error) {
	return post[Job](ctx, c, nil, "jobs", strconv.FormatUint(id, 10), "resubmit")
}

// RejectJob says that a failed job is not to be tried again.
func (c *Client) RejectJob(ctx context.Context, id uint64) (Job, error) {
	return post[Job](ctx, c, nil, "jobs", strconv.FormatUint(id, 10), "reject")
}

// JobLog writes the last tail lines of a job's crawl.log to w, all of them when tail is 0.
func (c *Client) JobLog(ctx context.Context, id uint64, tail int, w io.Writer) error {
	r, err := c.request(ctx, http.MethodGet, nil, url.Values{"tail": {strconv.Itoa(tail)}}, "jobs", strconv.FormatUint(id, 10), "log")
	if err != nil {
		return err
	}
	answer, err := c.do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(w, answer.Body)
	return err
}

// Indexes tells how the nodes' indexes stand.
func (c *Client) Indexes(ctx context.Context) ([]IndexStatus, error) {
	page, err := get[Page[IndexStatus]](ctx, c, "index")
	return page.Items, err
}

// RebuildIndex builds the index of a node, or of all when it is empty, anew.
func (c *Client) RebuildIndex(ctx context.Context, node string) error {
	return c.call(ctx, http.MethodPost, IndexRebuild{Node: node}, nil, nil, "index", "rebuild")
}

// Trail yields the audit trail, oldest first.
func (c *Client) Trail(ctx context.Context) iter.Seq2[Event, error] {
	return all[Event](ctx, c, url.Values{"limit": {strconv.Itoa(maxPage)}}, "trail")
}

func bodyOf(wish catalog.JobWish, reason string) wishBody {
	if wish == catalog.WishRun {
		return wishBody{Wish: "run", Reason: reason}
	}
	return wishBody{Wish: string(wish), Reason: reason}
}
