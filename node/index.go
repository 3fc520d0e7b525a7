package node

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/lookup"
	"holdfast/node/wire"
)

// indexes tells the API how the nodes' indexes stand.
type indexes struct {
	self    catalog.NodeID
	name    string          // of this node
	own     *lookup.Indexer // nil on a node of a checksum replica
	members func() []catalog.Member
	ask     wire.Caller // asks other nodes in the name of who asks
	log     *slog.Logger
}

// indexLimit is how long another node may take to answer.
const indexLimit = 5 * time.Second

type indexRequest struct {
	Rebuild bool `json:"rebuild,omitempty"`
}

// Status asks every member.
func (x indexes) Status(ctx context.Context) ([]api.IndexStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, indexLimit)
	defer cancel()
	var out []api.IndexStatus
	for _, r := range x.askAll(ctx, x.members(), indexRequest{}) {
		one := r.Answer
		one.Node, one.Name = string(r.To.ID), r.To.Name
		if r.Err != nil {
			one.Detail = r.Err.Error()
		}
		out = append(out, one)
	}
	return out, nil
}

func (x indexes) askAll(ctx context.Context, members []catalog.Member,
	r indexRequest) []wire.Reply[catalog.Member, api.IndexStatus] {
	own := func(ctx context.Context) (api.IndexStatus, error) { return x.serve(ctx, x.self, r) }
	return wire.AskAll(ctx, x.ask, x.self, members, indexCall, r, own)
}

// Rebuild makes one node, or all, read their files again.
func (x indexes) Rebuild(ctx context.Context, node catalog.NodeID, actor string) error {
	ctx, cancel := context.WithTimeout(ctx, indexLimit)
	defer cancel()
	for _, m := range x.members() {
		if node != "" && m.ID != node {
			continue
		}
		x.log.Info("index is rebuilt", "node", m.Name, "by", actor)
		if err := x.askAll(ctx, []catalog.Member{m}, indexRequest{Rebuild: true})[0].Err; err != nil {
			return fmt.Errorf("%w: rebuild the index of %s: %w", api.ErrUnavailable, m.Name, err)
		}
	}
	return nil
}

// serve answers another node about the index here.
func (x indexes) serve(_ context.Context, _ catalog.NodeID, r indexRequest) (api.IndexStatus, error) {
	out := api.IndexStatus{Node: string(x.self), Name: x.name}
	if x.own == nil {
		out.Detail = "a checksum replica holds no captures"
		return out, nil
	}
	if r.Rebuild {
		if err := x.own.Rebuild(); err != nil {
			return out, err
		}
	}
	s := x.own.Status()
	out.Files, out.Captures, out.Pending, out.Rebuilding = s.Files, s.Captures, int64(s.Waiting), s.Building
	out.Detail = strings.Join(append(some("could not be indexed", s.Failed), some("are damaged and indexed as far as they can be read", s.Damaged)...), "; ")
	return out, nil
}

// some says what is wrong with how many files, and names one.
func some(what string, files map[catalog.FileName]string) []string {
	if len(files) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(files)))
	return []string{fmt.Sprintf("%d files %s, among them %s: %s", len(files), what, name, files[name])}
}
