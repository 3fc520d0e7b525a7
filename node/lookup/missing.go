package lookup

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

// Lack tells the indexer, until ctx ends, of which shards this node lacks files: queries for them go to nodes that
// have them. It looks again when changed reports a change of owed copies or of the layout. doubtful names the files
// that are here without being vouched for, or that were not there.
func (x *Indexer) Lack(ctx context.Context, cat Catalog, replica catalog.ReplicaName,
	doubtful func() []catalog.FileName, changed <-chan struct{}) error {
	for {
		began := time.Now()
		doubted := doubtful()
		var lacking [catalog.Shards]bool
		err := cat.View(func(v catalog.View) (err error) { lacking, err = Lacking(v, replica, doubted); return err })
		if err != nil {
			return fmt.Errorf("look for lacking copies: %w", err)
		}
		x.setLacking(lacking)
		pause := max(lackPause, 4*time.Since(began))
		var again <-chan time.Time // what becomes of the doubtful ones shows on the disk only
		if len(doubted) > 0 {
			again = time.After(lackAgain)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-again:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Lacking returns the shards in which the replica owes a file, or in which a doubtful file belongs. A file that the
// catalog does not know is ignored.
func Lacking(v catalog.View, replica catalog.ReplicaName,
	doubtful []catalog.FileName) (out [catalog.Shards]bool, err error) {
	if out, err = v.OwedShards(replica); err != nil {
		return out, err
	}
	for _, name := range doubtful {
		if out[name.Shard()] {
			continue
		}
		f, err := v.File(name)
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			return out, err
		}
		if c := f.Copy(replica); f.Removed == 0 && f.Lost == 0 && c != nil && !c.Surplus {
			out[name.Shard()] = true
		}
	}
	return out, nil
}
