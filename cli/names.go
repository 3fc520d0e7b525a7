package cli

import (
	"context"

	"holdfast/api"
	"holdfast/catalog"
)

// Tables show names; ids are for programs, with --json.

// namesOf are the names of nodes by their ids.
func namesOf(nodes []api.Node) map[catalog.NodeID]string {
	names := make(map[catalog.NodeID]string, len(nodes))
	for _, n := range nodes {
		names[n.ID] = n.Name
	}
	return names
}

// nodeNames asks for the names of the nodes.
func nodeNames(ctx context.Context, c *api.Client) (map[catalog.NodeID]string, error) {
	nodes, err := c.Nodes(ctx)
	return namesOf(nodes), err
}

// nameOf is a node's name, or the beginning of its id where it is no member any more.
func nameOf(names map[catalog.NodeID]string, id catalog.NodeID) string {
	if name := names[id]; name != "" || id == "" {
		return name
	}
	return short(id) + " (no member)"
}
