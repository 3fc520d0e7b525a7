package node

import (
	"context"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/replica"
)

// straysListed bounds what one node lists.
const straysListed = 1000

// strayReport is what one node has that the archive neither counts on nor asks for: the first files, and how much in all.
type strayReport struct {
	Strays []replica.Stray `json:"strays"`
	Files  int             `json:"files"`
	Bytes  int64           `json:"bytes"`
}

// serveStrays answers another node about the strays here.
func (n *Node) serveStrays(context.Context, catalog.NodeID, struct{}) (strayReport, error) {
	all := n.replica.Strays()
	out := strayReport{Strays: all[:min(len(all), straysListed)], Files: len(all)}
	for _, s := range all {
		out.Bytes += s.Size
	}
	return out, nil
}

// strays finds out for the API what lies on all nodes that the archive neither counts on nor asks for.
type strays struct{ n *Node }

// List asks every member. One that does not answer is in the list with the reason.
func (s strays) List(ctx context.Context) ([]api.NodeStrays, error) {
	members, err := audits(s).members("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	replies := askAll(ctx, s.n, members, straysCall, struct{}{}, func(ctx context.Context) (strayReport, error) {
		return s.n.serveStrays(ctx, s.n.id, struct{}{})
	})
	out := make([]api.NodeStrays, len(members))
	for i, r := range replies {
		one := api.NodeStrays{Node: string(r.To.ID), Name: r.To.Name, Files: r.Answer.Files, Bytes: r.Answer.Bytes, Strays: []api.Stray{}}
		if r.Err != nil {
			one.Unreachable = r.Err.Error()
		}
		for _, s := range r.Answer.Strays {
			one.Strays = append(one.Strays, api.Stray{Name: string(s.Name), Where: s.Where, Path: s.Path, Size: s.Size, State: s.State})
		}
		out[i] = one
	}
	return out, nil
}
