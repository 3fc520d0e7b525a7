package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

func (s cluster) nodeRoutes(api huma.API) {
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/nodes", id: "node-list",
		tag:     "nodes",
		summary: "List the nodes"},
		func(ctx context.Context, _ *struct{}) (wire.Page[wire.Node], error) {
			return whole(s.nodes(ctx))
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/nodes/{name}",
		id: "node-show", tag: "nodes",
		summary: "Show a node, by name or id"},
		func(ctx context.Context, in *ByName) (wire.Node, error) {
			return s.node(ctx, in.Name)
		})
	type change struct {
		ByName
		Body wire.NodeChange
	}
	handle(s.server, api, route{act: catalog.ChangeNode, within: ofNode(s.server,
		func(in *change) string { return in.Name }), method: http.MethodPatch, path: "/api/v1/nodes/{name}",
		id: "node-update", tag: "nodes",
		summary: "Change a node's weight, or drain it"},
		func(ctx context.Context, in *change) (wire.Node, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return wire.Node{}, err
			}
			asked := catalog.MemberChange{ID: catalog.NodeID(node.ID), Weight: in.Body.Weight,
				Draining: in.Body.Draining}
			if err := s.propose(ctx, catalog.UpdateMember, asked, nil); err != nil {
				return wire.Node{}, err
			}
			return s.node(ctx, node.ID)
		})
	type removal struct {
		ByName
		Body wire.Removal
	}
	register(s.server, api, route{act: catalog.RemoveNode, method: http.MethodPost, path: "/api/v1/nodes/{name}/remove",
		id: "node-remove", tag: "nodes", adjust: twice, limit: soleTime,
		summary: "Remove a node; refused while it holds shards, unless it is lost", status: http.StatusNoContent},
		func(ctx context.Context, in *removal) (*struct{}, error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return nil, err
			}
			id := catalog.NodeID(node.ID)
			var sole int64
			var standing catalog.Digest // before the effects are looked at: what changes from here on is refused
			err = s.Catalog.View(func(v catalog.View) (err error) {
				if standing, err = catalog.Standing(v, id); err != nil {
					return err
				}
				if staging, err := v.Staging(); err != nil {
					return err
				} else if err := staging.AtOnce(); err != nil && !in.Body.Lost {
					return err // before anybody is asked to confirm it
				}
				if c, err := v.Cluster(); err != nil || c.Level < agreed.LevelOfHidden {
					return err
				}
				sole = in.Body.Files
				return nil
			})
			if err != nil {
				return nil, err
			}
			if node, err = s.node(ctx, node.ID); err != nil {
				return nil, err
			}
			st, _, _, err := s.overview(ctx)
			if err != nil {
				return nil, err
			}
			which := node.ID + " " + node.Joined.String()
			known, err := knownSecrets(s.Catalog, id)
			if err != nil {
				return nil, err
			}
			if err := (soles{s.server}).known(ctx, id, &in.Body); err != nil {
				return nil, err
			}
			effects := append(effectsOfRemoval(st, node, in.Body), known...)
			if err := confirmed(in.Body.Confirm, "remove node", node.Name, which, effects); err != nil {
				return nil, err
			}
			return nil, s.propose(ctx, catalog.RemoveMember,
				catalog.MemberRemoval{ID: id, Lost: in.Body.Lost, Reason: in.Body.Reason, Standing: standing,
					Sole: sole}, nil)
		})
	handle(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/nodes/{name}/sole-files",
		id: "node-sole-files", tag: "nodes", limit: soleTime,
		summary: "List the files of which no other node has good bytes, and count them: they are lost if the node is"},
		func(ctx context.Context, in *soleListing) (wire.Page[wire.File], error) {
			node, err := s.node(ctx, in.Name)
			if err != nil {
				return wire.Page[wire.File]{}, err
			}
			return (soles{s.server}).list(ctx, catalog.NodeID(node.ID), in)
		})
}

func (s *server) nodes(ctx context.Context) ([]wire.Node, error) {
	self := s.self.Status(ctx)
	var nodes []wire.Node
	err := s.Catalog.View(func(v catalog.View) (err error) {
		nodes, err = nodesOf(v, self.Presence)
		return err
	})
	return nodes, err
}

// node finds a node by its name, or by its id or an unambiguous start of at least 4 characters of it.
func (s *server) node(ctx context.Context, name string) (wire.Node, error) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		return wire.Node{}, err
	}
	var found []wire.Node
	for _, n := range nodes {
		if n.Name == name || n.ID == name {
			return n, nil
		}
		if len(name) >= 4 && len(name) < len(n.ID) && n.ID[:len(name)] == name {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		return wire.Node{}, problem(http.StatusNotFound, wire.CodeNotFound, "no node "+name)
	}
	return found[0], nil
}
