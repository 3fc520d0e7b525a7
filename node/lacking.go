package node

import (
	"context"
	"fmt"
	"time"

	"holdfast/catalog"
)

// lackPause is the least time between two looks at what this node owes.
const lackPause = 200 * time.Millisecond

// lack tells the indexer of which shards this node owes files: queries for them go to nodes that have them.
func (n *Node) lack(ctx context.Context) error {
	name := catalog.ReplicaName(n.cfg.Replica.Name)
	watch := n.raft.Watch(catalog.PrefixOwed(name), catalog.PrefixReplicaLayout(name))
	defer watch.Close()
	for {
		lacking, err := n.owing(name)
		if err != nil {
			return err
		}
		n.indexer.setLacking(lacking)
		for _, wait := range []<-chan struct{}{watch.C, nil} { // a change, then a rest
			var rest <-chan time.Time
			if wait == nil {
				rest = time.After(lackPause)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-wait:
			case <-rest:
			}
		}
	}
}

// owing returns the shards in which the replica owes a file; it looks at one file of each.
func (n *Node) owing(name catalog.ReplicaName) (out [catalog.Shards]bool, err error) {
	err = n.raft.View(func(v catalog.View) error {
		for at := (catalog.Cursor{}); ; {
			files, _, err := v.Owed(name, nil, at, 1)
			if err != nil || len(files) == 0 {
				return err
			}
			shard := files[0].Name.Shard()
			out[shard] = true
			if shard+1 == catalog.Shards {
				return nil
			}
			at = catalog.Cursor{Shard: shard + 1}
		}
	})
	if err != nil {
		return out, fmt.Errorf("look for owed copies: %w", err)
	}
	return out, nil
}
