package lookup

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
	"holdfast/node/wire"
)

// IndexCall is the kind of call by which nodes ask each other about their indexes. It is on the wire and keeps its
// meaning.
const IndexCall = "index"

// Indexes tells how the nodes' indexes stand, and has them built again.
type Indexes struct {
	Self    catalog.NodeID
	Name    string   // of this node
	Own     *Indexer // nil on a node of a checksum replica
	Members func() []catalog.Member
	Ask     wire.Caller // asks other nodes in the name of who asks
	Log     *slog.Logger
}

// indexLimit is how long another node may take to answer.
const indexLimit = 5 * time.Second

// IndexRequest is the request of an IndexCall.
type IndexRequest struct {
	Rebuild bool `json:"rebuild,omitempty"`
}

// Status asks every member.
func (x Indexes) Status(ctx context.Context) ([]api.IndexStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, indexLimit)
	defer cancel()
	var out []api.IndexStatus
	for _, r := range x.askAll(ctx, x.Members(), IndexRequest{}) {
		one := r.Answer
		one.Node, one.Name = string(r.To.ID), r.To.Name
		if r.Err != nil {
			one.Silent, one.Detail = true, r.Err.Error()
		}
		out = append(out, one)
	}
	return out, nil
}

func (x Indexes) askAll(ctx context.Context, members []catalog.Member,
	r IndexRequest) []wire.Reply[catalog.Member, api.IndexStatus] {
	own := func(ctx context.Context) (api.IndexStatus, error) { return x.Serve(ctx, x.Self, r) }
	return wire.AskAll(ctx, x.Ask, x.Self, members, IndexCall, r, own)
}

// Rebuild makes one node, or all, read their files again. The log says who wants that, and why.
func (x Indexes) Rebuild(ctx context.Context, node catalog.NodeID, reason, actor string) error {
	ctx, cancel := context.WithTimeout(ctx, indexLimit)
	defer cancel()
	for _, m := range x.Members() {
		if node != "" && m.ID != node {
			continue
		}
		x.Log.Info("index is rebuilt", "node", m.Name, "by", actor, "reason", reason)
		if err := x.askAll(ctx, []catalog.Member{m}, IndexRequest{Rebuild: true})[0].Err; err != nil {
			return fmt.Errorf("%w: rebuild the index of %s: %w", api.ErrUnavailable, m.Name, err)
		}
	}
	return nil
}

// Serve answers another node about the index here.
func (x Indexes) Serve(_ context.Context, _ catalog.NodeID, r IndexRequest) (api.IndexStatus, error) {
	out := api.IndexStatus{Node: string(x.Self), Name: x.Name}
	if x.Own == nil {
		out.Detail = "a checksum replica holds no captures"
		return out, nil
	}
	if r.Rebuild {
		if err := x.Own.Rebuild(); err != nil {
			return out, err
		}
	}
	s := x.Own.Status()
	out.Files, out.Captures, out.Pending, out.Rebuilding = s.Files, s.Captures, int64(s.Waiting), s.Building
	failed := some("could not be indexed", s.Failed)
	damaged := some("are damaged and indexed as far as they can be read", s.Damaged)
	out.Detail = strings.Join(append(failed, damaged...), "; ")
	return out, nil
}

// some says how many files have a fault, and names one.
func some(what string, files map[catalog.FileName]string) []string {
	if len(files) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(files)))
	return []string{fmt.Sprintf("%d files %s, among them %s: %s", len(files), what, name, files[name])}
}
