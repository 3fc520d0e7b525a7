package duty

import (
	"cmp"
	"slices"
	"time"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// aheadMost is how far the stamp of a pass may be ahead of this node's clock: no clock that is trusted is further off.
const aheadMost = catalog.Time(time.Minute / time.Millisecond)

// AuditsDue lists at most n shards with files that node self holds and whose last pass ended longer ago than every:
// shards without a pass first, then the oldest pass. A pass that ends in the future, because a clock was wrong, does
// not count.
func AuditsDue(view catalog.View, self catalog.NodeID, now catalog.Time, every time.Duration,
	n int) ([]catalog.Shard, error) {
	h, err := holderOf(view, self)
	if err != nil {
		return nil, err
	}
	passes, err := view.Passes(h.replica.Name)
	if err != nil {
		return nil, err
	}
	roots, err := view.Roots(h.replica.Name)
	if err != nil {
		return nil, err
	}
	ended := make(map[catalog.Shard]catalog.Time, len(passes))
	for _, p := range passes {
		if p.Node == self && p.Ended <= now+aheadMost { // a new holder looks for itself
			ended[p.Shard] = p.Ended
		}
	}
	var out []catalog.Shard
	for s := range catalog.Shard(catalog.Shards) {
		last, passed := ended[s]
		if h.holds(s) && roots[s].Files > 0 && (!passed || last+catalog.Time(every.Milliseconds()) <= now) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b catalog.Shard) int { return cmp.Compare(ended[a], ended[b]) })
	return out[:min(n, len(out))], nil
}

// drawEvery is how long a draw of who challenges whom holds.
const drawEvery = 30 * catalog.Day

// DrawDue returns the number of the next draw when that is due, else 0. A draw in the future, because a clock was
// wrong, holds no longer than another.
func DrawDue(view catalog.View, now catalog.Time) (uint64, error) {
	cluster, err := view.Cluster()
	if err != nil || cluster.Level < files.LevelOfChallenges {
		return 0, err
	}
	draws, err := view.Draws()
	if last := draws.Last; err != nil || last.Number > 0 && now < last.At+drawEvery && last.At <= now+aheadMost {
		return 0, err
	}
	return draws.Last.Number + 1, nil
}
