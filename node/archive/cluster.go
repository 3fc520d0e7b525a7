package archive

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"holdfast/catalog"
	"holdfast/node/wire"
	"holdfast/replica"
)

// Catalog is what the archive reads and decides.
type Catalog interface {
	View(func(catalog.View) error) error
	Propose(ctx context.Context, kind catalog.Kind, body any, actor string) (catalog.Result, error)
	// CatchUp waits until View shows what has just been decided, as far as that can be had.
	CatchUp(ctx context.Context)
}

// Cluster is what acts on all nodes need.
type Cluster struct {
	Self    catalog.NodeID
	Catalog Catalog
	Ask     wire.Caller     // asks other nodes in the name of who asks
	Own     replica.Answers // of this node
	Log     *slog.Logger
}

const (
	// askLimit is how long another node may take to answer for its part.
	askLimit = 5 * time.Second

	// actLimit is how long it may take to begin or change what it is asked for, which it first writes to its disk.
	actLimit = 30 * time.Second
)

// members returns the members of the replica, or all.
func (c Cluster) members(name catalog.ReplicaName) (out []catalog.Member, err error) {
	err = c.Catalog.View(func(v catalog.View) error {
		members, err := v.Members()
		for _, m := range members {
			if name == "" || m.Replica == name {
				out = append(out, m)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the member list: %w", err)
	}
	return out, nil
}
