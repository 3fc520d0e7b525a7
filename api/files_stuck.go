package api

import (
	"context"
	"slices"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// stuck finds files with copies that cannot be made now: no node that is alive, as this one hears, has good bytes.
type stuck struct {
	view  catalog.View
	alive func(catalog.NodeID) bool
}

// stuckIn returns one that goes by what this node hears of the others now.
func (s *server) stuckIn(ctx context.Context, v catalog.View) stuck {
	heard := s.self.Status(ctx).Presence
	return stuck{v, func(id catalog.NodeID) bool { return heard[id].State == "alive" }}
}

// find says which nodes have the good bytes that a file's owed copies wait for; nil if none of them waits for a node,
// or not one on the replica, if one is named. A replica of checksums needs no bytes once another one has verified them.
func (s stuck) find(f *catalog.File, replica string) (*wire.Stuck, error) {
	if f.RemovedAt() != 0 || f.Lost != 0 {
		return nil, nil
	}
	of := slices.DeleteFunc(slices.Clone(f.Copies), func(c catalog.Copy) bool {
		return c.Surplus || c.State == catalog.UploadCompleted || replica != "" && string(c.Replica) != replica
	})
	if len(of) == 0 {
		return nil, nil
	}
	holdings, err := s.view.CoveringFile(f)
	if err != nil {
		return nil, err
	}
	out, verified := &wire.Stuck{Away: []string{}}, false
	for _, h := range holdings {
		if s.alive(h.Node) {
			return nil, nil
		}
		verified = verified || !h.Source
		m, err := s.view.Member(h.Node)
		if err != nil {
			return nil, err
		}
		out.Away = append(out.Away, m.Name)
	}
	for i := range of {
		r, err := s.view.Replica(of[i].Replica)
		if err != nil {
			return nil, err
		}
		if r.Kind != catalog.Checksum || !verified {
			slices.Sort(out.Away)
			out.Away = slices.Compact(out.Away)
			return out, nil
		}
	}
	return nil, nil
}
