package archive

import (
	"context"

	"holdfast/api"
	"holdfast/catalog"
	"holdfast/node/wire"
	"holdfast/replica"
)

// Strays finds out for the API what lies on all nodes that the archive neither counts on nor asks for, and what they
// have set aside.
type Strays struct{ Cluster }

// List asks every member. One that does not answer is in the list with the reason.
func (s Strays) List(ctx context.Context) ([]api.NodeStrays, error) {
	members, err := s.members("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	own := func(ctx context.Context) (replica.StrayReport, error) { return s.Own.Strays(ctx, s.Self, struct{}{}) }
	replies := wire.AskAll(ctx, s.Ask, s.Self, members, replica.StraysCall, struct{}{}, own)
	out := make([]api.NodeStrays, len(members))
	for i, r := range replies {
		one := api.NodeStrays{Node: string(r.To.ID), Name: r.To.Name, Files: r.Answer.Files, Bytes: r.Answer.Bytes,
			Fault: r.Answer.Fault, Strays: []api.Stray{}}
		if r.Err != nil {
			one.Unreachable = r.Err.Error()
		}
		for _, s := range r.Answer.Strays {
			one.Strays = append(one.Strays, api.Stray{Name: string(s.Name), Where: s.Where, Path: s.Path,
				Size: s.Size, State: s.State})
		}
		out[i] = one
	}
	return out, nil
}

// Adopt has the node take bytes that nobody asks for into the archive.
func (s Strays) Adopt(ctx context.Context, node catalog.NodeID, a api.Adoption, actor string) error {
	r := replica.StrayRequest{Act: "adopt", Adoption: replica.Adoption{Name: a.Name, Collection: a.Collection,
		SHA256: a.SHA256}}
	return s.act(ctx, node, r, actor)
}

// SetAside has the node move bytes that nobody asks for to its quarantine.
func (s Strays) SetAside(ctx context.Context, node catalog.NodeID, name catalog.FileName, reason, actor string) error {
	r := replica.StrayRequest{Act: "set-aside", Adoption: replica.Adoption{Name: name}, Reason: reason}
	return s.act(ctx, node, r, actor)
}

func (s Strays) act(ctx context.Context, node catalog.NodeID, r replica.StrayRequest, actor string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	if node == s.Self {
		_, err = s.Own.Stray(ctx, s.Self, actor, r)
	} else {
		_, err = wire.Ask[struct{}](ctx, s.Ask, node, replica.StrayCall, r)
	}
	return refusedAside(replica.Understood(err))
}
