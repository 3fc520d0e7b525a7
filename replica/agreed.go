package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"holdfast/catalog"
)

// agreed is what the replica's parts know and decide of the catalog.
type agreed struct {
	cfg     Config
	catalog Catalog
	log     *slog.Logger
}

// holdings are what this node has.
type holdings struct {
	store *Store
	sums  *Checksums // of a node of a checksum replica; else nil
}

// lookRest is how many times as long as a look took nothing is looked at again: while the catalog changes all the time,
// looking takes at most an eighth of a processor.
const lookRest = 8

// eachChange calls do at once, then after each change of the catalog, whenever wake receives, and when again
// is over; do returns the pause until it wants to be called in any case (0: never). Changes in quick
// succession are one.
func (r *agreed) eachChange(ctx context.Context, wake <-chan struct{},
	do func(context.Context) (again time.Duration, err error)) error {
	changed, stop := r.catalog.Watch()
	defer stop()
	for {
		began := time.Now()
		again, err := do(ctx)
		if err != nil {
			return err
		}
		if err := sleep(ctx, min(max(lookRest*time.Since(began), 10*time.Millisecond), 5*time.Second)); err != nil {
			return err
		}
		var timeout <-chan time.Time
		var timer *time.Timer
		if again > 0 {
			timer = time.NewTimer(again)
			timeout = timer.C
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-changed:
		case <-wake:
		case <-timeout:
		}
		if timer != nil {
			timer.Stop()
		}
		if err != nil {
			return err
		}
	}
}

// level returns the cluster's level as it shows here.
func (r *agreed) level() (level int, err error) {
	err = r.catalog.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		level = cluster.Level
		return err
	})
	return level, err
}

func (r *agreed) entry(name catalog.FileName) (f catalog.File, err error) {
	err = r.catalog.View(func(v catalog.View) (err error) {
		f, err = v.File(name)
		return err
	})
	return f, err
}

// mine returns the file's entry and whether this node is said to have a good copy of it.
func (r *agreed) mine(name catalog.FileName) (f catalog.File, good bool, err error) {
	err = r.catalog.View(func(v catalog.View) error {
		var err error
		if f, err = v.File(name); err != nil {
			return err
		}
		good, err = r.isGood(v, f)
		return err
	})
	if err != nil {
		return f, false, fmt.Errorf("look at %s: %w", name, err)
	}
	return f, good, nil
}

// isGood reports whether the catalog takes the copy of this node, as the holder of its shard, for a good one.
func (r *agreed) isGood(v catalog.View, f catalog.File) (bool, error) {
	p, err := v.Placement(r.cfg.Replica, f.Name.Shard())
	c := f.Copy(r.cfg.Replica)
	return f.Removed == 0 && c != nil && !c.Surplus && c.Good() && p.Holder == r.cfg.Self, err
}

// meant walks the files of the shard that this replica is meant to hold, by name behind after, in pages of one
// view each.
func (r *agreed) meant(shard catalog.Shard, after catalog.FileName) iter.Seq2[catalog.File, error] {
	return func(yield func(catalog.File, error) bool) {
		for {
			var files []catalog.File
			err := r.catalog.View(func(v catalog.View) (err error) {
				files, err = v.ShardFiles(shard, after, 10*page)
				return err
			})
			if err != nil {
				yield(catalog.File{}, fmt.Errorf("read the files of shard %s: %w", shard, err))
				return
			}
			if len(files) == 0 {
				return
			}
			for _, f := range files {
				if c := f.Copy(r.cfg.Replica); f.Removed != 0 || f.Lost != 0 || c == nil || c.Surplus {
					continue
				}
				if !yield(f, nil) {
					return
				}
			}
			after = files[len(files)-1].Name
		}
	}
}

// isMember reports whether the node is a member, as far as is known here.
func (r *agreed) isMember(node catalog.NodeID) bool {
	return r.catalog.View(func(v catalog.View) error { _, err := v.Member(node); return err }) == nil
}

// proposeItems proposes a command of n items and returns the answer to each. A refusal of the whole is the
// answer to each of them.
func (r *agreed) proposeItems(ctx context.Context, kind catalog.Kind, body any, n int) ([]catalog.ItemResult, error) {
	res, err := r.catalog.Propose(ctx, kind, body, string(r.cfg.Self))
	if err != nil {
		return nil, fmt.Errorf("propose %s: %w", kind, err)
	}
	results := make([]catalog.ItemResult, n)
	if res.Refusal != nil {
		for i := range results {
			results[i].Refusal = res.Refusal
		}
		return results, nil
	}
	var answers []catalog.ItemResult
	if err := json.Unmarshal(res.Value, &answers); err != nil || len(answers) != n {
		return nil, fmt.Errorf("propose %s: %d answers to %d items: %w", kind, len(answers), n, err)
	}
	return answers, nil
}

func (r *agreed) isSmall(shard catalog.Shard) (small bool, err error) {
	err = r.catalog.View(func(v catalog.View) error {
		root, err := v.Root(r.cfg.Replica, shard)
		small = root.Bytes <= smallShard
		return err
	})
	return small, err
}
