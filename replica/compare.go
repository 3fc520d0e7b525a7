package replica

import (
	"context"
	"time"

	"holdfast/catalog"
)

// comparePause is how long after its findings, or after a failure, a comparison is made again.
const comparePause = 10 * time.Second

// compare compares the copies that the catalog counts for this node with the files here, when the catalog asks for
// it: after the cluster was recovered from a state that may be older than this node's last deletions. Copies that are
// not here are reported as missing. When a complete look finds no counted copy missing, it tells the catalog so.
func (r *comparer) compare(ctx context.Context) error {
	return r.eachChange(ctx, nil, func(ctx context.Context) (time.Duration, error) {
		var epoch uint64
		err := r.catalog.View(func(v catalog.View) (err error) { epoch, err = v.Unproved(r.cfg.Self); return err })
		if err == nil && epoch == 0 {
			return 0, nil
		}
		if err == nil {
			err = r.compareAll(ctx, epoch)
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("what lies here could not be compared with the catalog", "err", err)
		}
		return comparePause, ctx.Err()
	})
}

// compareAll looks at all shards once.
func (r *comparer) compareAll(ctx context.Context, epoch uint64) error {
	var shards []catalog.Shard
	err := r.catalog.View(func(v catalog.View) error {
		layout, err := v.Layout(r.cfg.Replica)
		for n, p := range layout {
			if p.Holder == r.cfg.Self {
				shards = append(shards, catalog.Shard(n))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := r.store.Mounted(); err != nil {
		return err
	}
	missing := 0
	for _, shard := range shards {
		lacks, err := r.compareShard(ctx, shard)
		if err != nil {
			return err
		}
		missing += lacks
	}
	if missing > 0 {
		r.log.Warn("verified copies of the catalog are not here", "files", missing)
		return nil // another look tells whether all of them were reported
	}
	res, err := r.catalog.Propose(ctx, catalog.ProveHolding, catalog.Proof{Node: r.cfg.Self, Epoch: epoch},
		string(r.cfg.Self))
	if err == nil && res.Refusal != nil {
		err = res.Refusal
	}
	if err == nil {
		r.log.Info("what lies here was compared with the catalog", "shards", len(shards), "epoch", epoch)
	}
	return err
}

// compareShard reports the copies that the catalog counts as good copies of this node and that are not here, and
// returns how many there are.
func (r *comparer) compareShard(ctx context.Context, shard catalog.Shard) (missing int, err error) {
	var held map[catalog.FileName]Held
	var findings []catalog.Finding
	for f, err := range r.meant(shard, "") {
		if err != nil {
			return 0, err
		}
		if held == nil { // only of shards that have files
			list, err := r.list(shard)
			if err != nil {
				return 0, err
			}
			held = make(map[catalog.FileName]Held, len(list))
			for _, h := range list {
				held[h.Name] = h
			}
		}
		if c := f.Copy(r.cfg.Replica); !c.Good() {
			continue
		}
		got, here := held[f.Name]
		finding := compare(heldAs(f), got, here)
		if finding == nil {
			continue
		}
		findings = append(findings, *finding)
		if missing++; len(findings) == catalog.MaxItems {
			if _, err := r.report(ctx, findings); err != nil {
				return missing, err
			}
			findings = nil
		}
	}
	if len(findings) == 0 {
		return missing, nil
	}
	_, err = r.report(ctx, findings)
	return missing, err
}
