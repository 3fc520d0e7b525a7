package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/catalog"
)

// NodeChange is what may be changed of a node; what is not given stays.
type NodeChange struct {
	Weight   *int  `json:"weight,omitempty" minimum:"1" maximum:"10000" doc:"share of its replica's shards; 100 is usual"`
	Draining *bool `json:"draining,omitempty" doc:"true: its shards move to other nodes of its replica"`
}

// Removal takes a node out of the cluster.
type Removal struct {
	Lost   bool   `json:"lost,omitempty" doc:"its bytes are gone for good: do not wait for its shards to move"`
	Reason string `json:"reason" minLength:"1" maxLength:"500"`
	Confirmation
}

func (s *server) nodeRoutes(api huma.API) {
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/nodes", id: "node-list", tag: "nodes",
		summary: "List the nodes"},
		func(ctx context.Context, _ *struct{}) (Page[Node], error) {
			return whole(s.nodes(ctx))
		})
	handle(s, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/nodes/{name}", id: "node-show", tag: "nodes",
		summary: "Show a node, by name or id"},
		func(ctx context.Context, in *ByName) (Node, error) {
			return s.node(ctx, in.Name)
		})
	type change struct {
		ByName
		Body NodeChange
	}
	handle(s, api, route{act: catalog.ChangeNode, within: ofNode(s, func(in *change) string { return in.Name }), method: http.MethodPatch, path: "/api/v1/nodes/{name}", id: "node-update", tag: "nodes",
		summary: "Change a node's weight, or drain it"},
		func(ctx context.Context, in *change) (Node, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return Node{}, err
			}
			asked := catalog.MemberChange{ID: node.ID, Weight: in.Body.Weight, Draining: in.Body.Draining}
			if err := s.propose(ctx, catalog.UpdateMember, asked, nil); err != nil {
				return Node{}, err
			}
			return s.node(ctx, string(node.ID))
		})
	type removal struct {
		ByName
		Body Removal
	}
	register(s, api, route{act: catalog.RemoveNode, method: http.MethodPost, path: "/api/v1/nodes/{name}/remove", id: "node-remove", tag: "nodes", adjust: twice,
		summary: "Remove a node; refused while it holds shards, unless it is lost", status: http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return nil, err
			}
			var standing catalog.Digest // before the effects are looked at: what changes from here on is refused
			err = s.Catalog.View(func(v catalog.View) (err error) { standing, err = catalog.Standing(v, node.ID); return err })
			if err != nil {
				return nil, err
			}
			if node, err = s.node(ctx, string(node.ID)); err != nil {
				return nil, err
			}
			st, err := s.status(ctx)
			if err != nil {
				return nil, err
			}
			which := string(node.ID) + " " + node.Joined.String()
			known, err := knownSecrets(s.Catalog, node.ID)
			if err != nil {
				return nil, err
			}
			effects := append(effectsOfRemoval(st, node, in.Body.Lost), known...)
			if err := confirmed(in.Body.Confirm, "remove node", node.Name, which, effects); err != nil {
				return nil, err
			}
			return nil, s.propose(ctx, catalog.RemoveMember, catalog.MemberRemoval{ID: node.ID, Lost: in.Body.Lost, Reason: in.Body.Reason, Standing: standing}, nil)
		})
}

func (s *server) nodes(ctx context.Context) ([]Node, error) {
	self := s.Self.Status(ctx)
	var nodes []Node
	err := s.Catalog.View(func(v catalog.View) (err error) {
		nodes, err = nodesOf(v, self.Presence)
		return err
	})
	return nodes, err
}

// node finds a node by its name, or by its id or an unambiguous start of at least 4 characters of it.
func (s *server) node(ctx context.Context, name string) (Node, error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return Node{}, err
	}
	var found []Node
	for _, n := range nodes {
		if n.Name == name || string(n.ID) == name {
			return n, nil
		}
		if len(name) >= 4 && len(name) < len(n.ID) && string(n.ID[:len(name)]) == name {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		return Node{}, problem(http.StatusNotFound, CodeNotFound, "no node "+name)
	}
	return found[0], nil
}
