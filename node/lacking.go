package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/catalog"
)

// lackPause is the least time between two looks at what this node owes, lackAgain the most while files that lie here
// are not vouched for, or were not there.
const (
	lackPause = 200 * time.Millisecond
	lackAgain = time.Minute
)

// lack tells the indexer of which shards this node lacks files: queries for them go to nodes that have them.
func (n *Node) lack(ctx context.Context) error {
	name := catalog.ReplicaName(n.cfg.Replica.Name)
	watch := n.raft.Watch(catalog.PrefixOwed(name), catalog.PrefixReplicaLayout(name))
	defer watch.Close()
	for {
		doubtful := append(n.store.Missing(), n.store.Loose()...)
		lacking, err := n.lacking(name, doubtful)
		if err != nil {
			return err
		}
		n.indexer.setLacking(lacking)
		var again <-chan time.Time // what becomes of the doubtful ones shows on the disk only
		if len(doubtful) > 0 {
			again = time.After(lackAgain)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-watch.C:
		case <-again:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lackPause):
		}
	}
}

// lacking returns the shards in which the replica owes a file, or of which a doubtful file is meant to be here. A file that
// the catalog does not know is nobody's: its shard is answered as if it were not there.
func (n *Node) lacking(replica catalog.ReplicaName, doubtful []catalog.FileName) (out [catalog.Shards]bool, err error) {
	err = n.raft.View(func(v catalog.View) error {
		if out, err = owing(v, replica); err != nil {
			return err
		}
		for _, name := range doubtful {
			if out[name.Shard()] {
				continue
			}
			f, err := v.File(name)
			if err != nil && !errors.Is(err, catalog.ErrNotFound) {
				return err
			}
			if c := f.Copy(replica); f.Removed == 0 && f.Lost == 0 && c != nil && !c.Surplus {
				out[name.Shard()] = true
			}
		}
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("look for lacking copies: %w", err)
	}
	return out, nil
}

// owing returns the shards in which the replica owes a file; it looks at one file of each.
func owing(v catalog.View, replica catalog.ReplicaName) (out [catalog.Shards]bool, err error) {
	for at := (catalog.Cursor{}); ; {
		files, _, err := v.Owed(replica, nil, at, 1)
		if err != nil || len(files) == 0 {
			return out, err
		}
		shard := files[0].Name.Shard()
		out[shard] = true
		if shard+1 == catalog.Shards {
			return out, nil
		}
		at = catalog.Cursor{Shard: shard + 1}
	}
}

// nobodys says which of the files that lie in the archive's folders without being vouched for the archive does not know.
func nobodys(v catalog.View, loose []catalog.FileName) ([]string, error) {
	var unknown []catalog.FileName
	for _, name := range loose[:min(len(loose), healthPage)] {
		_, err := v.File(name)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			unknown = append(unknown, name)
		case err != nil:
			return nil, err
		}
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("%d files that the archive does not know lie in its folders, among them %s: "+
		"move them away, and put those that belong to it with holdfast file put", len(unknown), unknown[0])}, nil
}
