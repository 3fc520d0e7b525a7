package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/node/config"
	"holdfast/peer"
)

// ErrRunsAlready reports that a cluster of the name in cluster.toml runs already.
var ErrRunsAlready = errors.New("a cluster of that name runs already")

// Neighbours is what the other addresses of cluster.toml answered before a founding.
type Neighbours struct {
	Asked  int      // addresses
	Silent []string // addresses where nothing answered, although a node may be running there
}

// AskNeighbours asks at the other nodes' addresses whether a cluster of the name in cluster.toml runs there. When one
// does, or a node answers that cannot tell, the error is ErrRunsAlready and says what to do instead of founding
// another.
func AskNeighbours(ctx context.Context, cfg config.Config) (Neighbours, error) {
	addresses := Folder{Config: cfg}.otherAddresses()
	out := Neighbours{Asked: len(addresses)}
	if len(addresses) == 0 {
		return out, nil
	}
	found, err := peer.Which(ctx, cfg.File.Cluster, addresses)
	if err != nil {
		return out, fmt.Errorf("ask the other addresses of cluster.toml: %w", err)
	}
	for _, f := range found {
		switch {
		case f.Silent:
			out.Silent = append(out.Silent, f.Address)
		case f.Cluster != "":
			return out, fmt.Errorf("%w: cluster %s (%.8s) at %s. To make %s a member: on a node of that cluster "+
				"run `holdfast node invite --replica %s`, then here `holdfast join`", ErrRunsAlready,
				cfg.File.Cluster, f.Cluster, f.Address, cfg.Name, cfg.Replica.Name)
		case f.Older:
			return out, fmt.Errorf("%w, or may do so: the node at %s has an older program, which does not say "+
				"which cluster it belongs to", ErrRunsAlready, f.Address)
		}
	}
	return out, ctx.Err()
}

// otherAddresses are those at which cluster.toml says that the other nodes are reached.
func (c Folder) otherAddresses() (out []string) {
	for _, name := range c.File.NodeNames() {
		other, err := c.File.Node(name)
		if err != nil || name == c.Name || other.Table.OutOnly {
			continue
		}
		for _, address := range other.Reached() {
			if !strings.HasSuffix(address, ":0") && !slices.Contains(out, address) {
				out = append(out, address)
			}
		}
	}
	return out
}
