package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/membership"
	"holdfast/node/wire"
)

// indexAPI tells how the nodes' indexes stand.
type indexAPI struct{ n *Node }

type indexRequest struct {
	Rebuild bool `json:"rebuild,omitempty"`
}

// Status asks every member.
func (x indexAPI) Status(ctx context.Context) ([]api.IndexStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var out []api.IndexStatus
	for _, r := range x.ask(ctx, x.n.roster.Known().Members, indexRequest{}) {
		one := r.Answer
		one.Node, one.Name = string(r.To.ID), r.To.Name
		if r.Err != nil {
			one.Detail = r.Err.Error()
		}
		out = append(out, one)
	}
	return out, nil
}

func (x indexAPI) ask(ctx context.Context, members []catalog.Member,
	r indexRequest) []wire.Reply[catalog.Member, api.IndexStatus] {
	return askAll(ctx, x.n, members, indexCall, r, func(ctx context.Context) (api.IndexStatus, error) {
		return x.n.serveIndex(ctx, x.n.id, r)
	})
}

// Rebuild makes one node, or all, read their files again.
func (x indexAPI) Rebuild(ctx context.Context, node catalog.NodeID, actor string) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for _, m := range x.n.roster.Known().Members {
		if node != "" && m.ID != node {
			continue
		}
		x.n.log.Info("index is rebuilt", "node", m.Name, "by", actor)
		if err := x.ask(ctx, []catalog.Member{m}, indexRequest{Rebuild: true})[0].Err; err != nil {
			return fmt.Errorf("%w: rebuild the index of %s: %w", api.ErrUnavailable, m.Name, err)
		}
	}
	return nil
}

func (n *Node) serveIndex(_ context.Context, _ catalog.NodeID, r indexRequest) (api.IndexStatus, error) {
	out := api.IndexStatus{Node: string(n.id), Name: n.cfg.Name}
	if n.indexer == nil {
		out.Detail = "a checksum replica holds no captures"
		return out, nil
	}
	if r.Rebuild {
		if err := n.indexer.Rebuild(); err != nil {
			return out, err
		}
	}
	s := n.indexer.Status()
	out.Files, out.Captures, out.Pending, out.Rebuilding = s.Files, s.Captures, int64(s.Waiting), s.Building
	out.Detail = strings.Join(append(some("could not be indexed", s.Failed), some("are damaged and indexed as far as they can be read", s.Damaged)...), "; ")
	return out, nil
}

// invites makes join tokens for the API.
type invites struct {
	member  membership.Member
	propose membership.Propose
}

// Create agrees on a token and returns its text.
func (i invites) Create(ctx context.Context, replica catalog.ReplicaName, lifetime time.Duration, actor string) (string, catalog.JoinToken, error) {
	return i.member.Invite(ctx, i.propose, replica, lifetime, actor)
}

// some says what is wrong with how many files, and names one.
func some(what string, files map[catalog.FileName]string) []string {
	if len(files) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(files)))
	return []string{fmt.Sprintf("%d files %s, among them %s: %s", len(files), what, name, files[name])}
}
