package replica

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"holdfast/catalog"
)

// shardsAtOnce bounds how many shards one command concerns; emptyPause is how long the catalog here may take to show
// a switch before it is requested again.
const (
	shardsAtOnce = 512
	emptyPause   = 2 * time.Second
)

// switchEmpty takes over those of the shards that have no files, many to a command, and returns the others. rested is
// when to look again.
func (r *puller) switchEmpty(ctx context.Context, shards []catalog.Shard) (others []catalog.Shard, rested time.Time,
	err error) {
	if len(shards) == 0 {
		return nil, rested, nil
	}
	var empty []catalog.Shard
	err = r.catalog.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if err != nil || cluster.Level < 2 {
			others = shards
			return err
		}
		roots, err := v.Roots(r.cfg.Replica)
		if err != nil {
			return err
		}
		for _, shard := range shards {
			if roots[shard].Files == 0 {
				empty = append(empty, shard)
			} else {
				others = append(others, shard)
			}
		}
		return nil
	})
	if err != nil || len(empty) == 0 {
		return others, rested, err
	}
	if time.Now().Before(r.emptied) {
		return others, r.emptied, nil
	}
	r.emptied = time.Now().Add(emptyPause)
	for some := range slices.Chunk(empty, shardsAtOnce) {
		body := catalog.Switches{Replica: r.cfg.Replica, Node: r.cfg.Self, Shards: some}
		res, err := r.catalog.Propose(ctx, catalog.SwitchShards, body, string(r.cfg.Self))
		switch {
		case err != nil:
			r.log.Warn("shards without files could not be switched", "shards", len(some), "err", err)
		case res.Refusal != nil:
			r.log.Info("switch refused", "shards", len(some), "err", res.Refusal)
		default:
			r.log.Info("shards without files have moved here", "shards", len(some))
		}
	}
	return others, r.emptied, ctx.Err()
}

// leaveShards releases what this node still has of shards that went away, and says of which of them nothing is left.
func (r *releases) leaveShards(ctx context.Context) (again time.Duration, err error) {
	moves, err := r.duties.Moves()
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var gone []catalog.Shard
	failed := together(moves.Out, switchesAtOnce, func(shard catalog.Shard) error {
		left, err := r.leaveShard(ctx, shard)
		mu.Lock()
		defer mu.Unlock()
		if left {
			again = 10 * time.Second
		} else if err == nil {
			gone = append(gone, shard)
		}
		return err
	})
	return again, errors.Join(failed, r.sayLeft(ctx, gone))
}

// sayLeft tells the catalog of shards of which this node has nothing left.
func (r *releases) sayLeft(ctx context.Context, gone []catalog.Shard) error {
	level, err := r.level()
	if err != nil {
		return err
	}
	if level < 2 {
		return together(gone, switchesAtOnce, func(shard catalog.Shard) error {
			body := catalog.Leaving{Node: r.cfg.Self, Replica: r.cfg.Replica, Shard: shard}
			_, err := r.catalog.Propose(ctx, catalog.LeaveShard, body, string(r.cfg.Self))
			return err
		})
	}
	for some := range slices.Chunk(gone, shardsAtOnce) {
		body := catalog.Leavings{Node: r.cfg.Self, Replica: r.cfg.Replica, Shards: some}
		if _, err := r.catalog.Propose(ctx, catalog.LeaveShards, body, string(r.cfg.Self)); err != nil {
			return err
		}
	}
	return nil
}

// leaveShard releases what this node has of a shard and reports whether something of it has to stay yet.
func (r *releases) leaveShard(ctx context.Context, shard catalog.Shard) (left bool, err error) {
	names, err := r.names(shard)
	if err != nil {
		return false, err
	}
	for len(names) > 0 {
		n := min(len(names), catalog.MaxItems)
		some, err := r.release(ctx, names[:n])
		if err != nil {
			return false, err
		}
		left = left || some > 0
		names = names[n:]
	}
	return left, nil
}
