package replica

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/catalog"
)

// switchesAtOnce bounds how many shards are switched or left at once: Raft writes together what is proposed together.
const switchesAtOnce = 32

// walkMoving hands out the missing files of the shards that move here, and proposes the switch of each complete
// shard. The catalog does not know what next has: the disk shows it, and the root proves it.
func (r *puller) walkMoving(ctx context.Context, offer func(Fetch) (time.Time, error)) (rested time.Time, err error) {
	moves, err := r.duties.Moves()
	if err != nil {
		return rested, err
	}
	moving, rested, err := r.switchEmpty(ctx, moves.In)
	if err != nil {
		return rested, err
	}
	r.proved.keep(moving)
	type proof struct {
		shard catalog.Shard
		root  catalog.Root
	}
	var proofs []proof
	for _, shard := range moving {
		root, complete, at, err := r.walkShard(shard, offer)
		if err != nil {
			return rested, err
		}
		rested = earlier(rested, at)
		if complete {
			proofs = append(proofs, proof{shard, root})
		}
	}
	var mu sync.Mutex
	err = together(proofs, switchesAtOnce, func(p proof) error {
		at, err := r.switchShard(ctx, p.shard, p.root)
		mu.Lock()
		defer mu.Unlock()
		rested = earlier(rested, at)
		return err
	})
	return rested, err
}

// walkShard compares one shard that moves here with what is on disk, and returns the root of the files when none is
// missing and the bytes of all were read. Files that were here from earlier are handed out to be read, just as
// missing ones are handed out to be fetched: bytes are judged by what they are, not by their line in a manifest. This
// node is the shard's next.
func (r *puller) walkShard(shard catalog.Shard, offer func(Fetch) (time.Time, error)) (root catalog.Root, complete bool,
	rested time.Time, err error) {
	r.leaving.pass(shard)
	held, err := r.list(shard)
	if err != nil {
		return root, false, rested, err
	}
	onDisk := make(map[catalog.FileName]Held, len(held))
	for _, h := range held {
		onDisk[h.Name] = h
	}
	complete = true
	for f, err := range r.meant(shard, "") {
		if err != nil {
			return root, false, rested, err
		}
		h, ok := onDisk[f.Name]
		if ok && h == heldAs(f) && (r.sums != nil || r.proved.has(h)) {
			root = root.Add(catalog.RootOf(h.Name, h.Size, h.SHA256))
			continue
		}
		if ok && h != heldAs(f) && r.sums != nil {
			if err := r.sums.Forget(h.Name); err != nil {
				return root, false, rested, err
			}
		}
		complete = false
		from, err := r.peers.Sources(f)
		if err != nil {
			return root, false, rested, err
		}
		at, err := offer(Fetch{File: f, Sources: from})
		if err != nil {
			return root, false, rested, err
		}
		rested = earlier(rested, at)
	}
	return root, complete, rested, nil
}

// switchShard proves with the root of what is on disk that the shard is complete, so that this node becomes its
// holder. It returns when to try again.
func (r *puller) switchShard(ctx context.Context, shard catalog.Shard, root catalog.Root) (again time.Time, err error) {
	body := catalog.Switch{Replica: r.cfg.Replica, Shard: shard, Node: r.cfg.Self, Root: root}
	res, err := r.catalog.Propose(ctx, catalog.SwitchShard, body, string(r.cfg.Self))
	again = time.Now().Add(10 * time.Second) // by then it shows here
	switch {
	case err != nil:
		r.log.Warn("shard could not be switched", "shard", shard, "err", err)
	case res.Refusal != nil: // files came or went meanwhile
		r.log.Info("switch refused", "shard", shard, "err", res.Refusal)
		again = time.Now().Add(time.Second)
	default:
		r.log.Info("shard has moved here", "shard", shard, "files", root.Files)
	}
	return again, ctx.Err()
}

// list returns what this node holds of the shard.
func (r *holdings) list(shard catalog.Shard) ([]Held, error) {
	if r.sums != nil {
		return r.sums.List(shard)
	}
	return r.store.List(shard)
}

// mend handles what the store found when it was opened: loose files are read again and listed if they are the
// archive's, and missing ones are reported. The catalog here may be behind at first, so mend looks again after each
// change until every file is listed, fetched again or reported.
func (r *mender) mend(ctx context.Context) error {
	if r.sums != nil {
		return nil
	}
	reported := make(map[catalog.FileName]bool)
	return r.eachChange(ctx, nil, func(ctx context.Context) (time.Duration, error) {
		r.mendOnce(ctx, reported)
		for _, names := range [][]catalog.FileName{r.store.Loose(), r.store.Missing()} {
			for _, name := range names {
				if !reported[name] {
					return time.Minute, ctx.Err()
				}
			}
		}
		<-ctx.Done()
		return 0, ctx.Err()
	})
}

// mendOnce looks once at each loose file and each missing file that was not reported, and remembers which it reports.
func (r *mender) mendOnce(ctx context.Context, reported map[catalog.FileName]bool) {
	for _, name := range r.store.Loose() {
		if reported[name] || ctx.Err() != nil {
			continue
		}
		bad, err := r.mendLoose(ctx, name)
		if err != nil && !errors.Is(err, catalog.ErrNotFound) {
			r.log.Warn("loose file", "file", name, "err", err)
		}
		if bad {
			reported[name] = true
		}
	}
	for _, name := range r.store.Missing() {
		if reported[name] || ctx.Err() != nil {
			continue
		}
		told, err := r.doubt(ctx, name, missingFinding(name))
		if err != nil {
			r.log.Warn("missing file", "file", name, "err", err)
		}
		if told {
			reported[name] = true
		}
	}
}

// mendLoose lists a loose file if the catalog says that this node has a verified copy of it, and its bytes are right.
// If they are wrong, it reports that and returns it. Owed files are handled by pulling; other files stay where they
// are.
func (r *mender) mendLoose(ctx context.Context, name catalog.FileName) (reported bool, err error) {
	f, mine, err := r.mine(name)
	if err != nil || !mine {
		return false, err
	}
	p := r.pulls.start(f, false)
	if p == nil {
		return false, nil
	}
	defer r.pulls.end(name)
	err = r.store.Vouch(ctx, heldAs(f))
	if r.store.lost(name, err) {
		return r.doubt(ctx, name, corruptFinding(name, catalog.Digest{}))
	}
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotHere) {
		return false, err
	}
	return r.doubt(ctx, name, missingFinding(name))
}
