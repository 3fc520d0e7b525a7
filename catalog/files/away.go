package files

import (
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// LevelOfAway is the level of a cluster whose nodes say which of their shards lie on disks that are away.
const LevelOfAway = 5

// Away are the shards of a node that lie on disks which are not there. Their copies count as before, until the disk is
// given up, but nobody can read them.
type Away struct {
	Node   agree.NodeID `json:"node"`
	Shards []byte       `json:"shards,omitempty"` // a bit each, that of shard 0 the lowest of the first byte; or none
	Since  agree.Time   `json:"since,omitzero"`   // when this was said; of the catalog
}

// Has reports whether the shard is one of them.
func (a *Away) Has(n cluster.Shard) bool {
	return int(n)/8 < len(a.Shards) && a.Shards[n/8]>>(n%8)&1 == 1
}

// Add makes the shard one of them.
func (a *Away) Add(n cluster.Shard) {
	if a.Shards == nil {
		a.Shards = make([]byte, cluster.Shards/8)
	}
	a.Shards[n/8] |= 1 << (n % 8)
}

func noteAway(s *state, b *Away) (any, error) {
	if _, err := cluster.Speaker(s.State, b.Node); err != nil {
		return nil, err
	}
	if n := len(b.Shards); n != 0 && n != cluster.Shards/8 {
		return nil, agree.Refuse(agree.Invalid, "%d bytes of shards: want %d", n, cluster.Shards/8)
	}
	if !slices.ContainsFunc(b.Shards, func(bits byte) bool { return bits != 0 }) {
		s.Delete(keyAway(b.Node))
		return nil, nil
	}
	b.Since = s.At
	return nil, s.Set(keyAway(b.Node), b)
}

// DropAway forgets what a node has said of its disks.
func DropAway(s *agree.State, node agree.NodeID) { s.Delete(keyAway(node)) }

// AwayOf returns the shards of the node on disks that are away.
func (v View) AwayOf(node agree.NodeID) (Away, error) {
	a, _, err := agree.Get[Away](v.Reader, keyAway(node))
	return a, err
}

// CopyAway reports whether the copy, which counts as good, lies on a disk of its keeper that is away.
func (v View) CopyAway(f *File, c *Copy) (bool, error) {
	if !c.Good() || c.Surplus {
		return false, nil
	}
	node, err := v.records().keeper(f, c)
	if err != nil || node == "" {
		return false, err
	}
	a, err := v.AwayOf(node)
	return a.Has(f.Name.Shard()), err
}

// awayLooked is how many owed copies are looked at to tell how many copies are away.
const awayLooked = 1000

// CopiesAway returns how many good copies of the replica lie on disks that are away. It is exact unless more than a
// thousand copies in these shards are owed: then some of the owed ones are counted, and never more than are good.
func (v View) CopiesAway(replica cluster.ReplicaName) (int64, error) {
	all, err := agree.List[Away](v.Reader, prefixAway, "", 0)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	r, err := v.Replica(replica)
	if err != nil {
		return 0, err
	}
	layout, err := v.Layout(replica)
	if err != nil {
		return 0, err
	}
	roots, err := v.records().roots(r)
	if err != nil {
		return 0, err
	}
	away := func(n cluster.Shard) bool {
		return slices.ContainsFunc(all, func(a Away) bool { return a.Node == layout[n].Holder && a.Has(n) })
	}
	var copies int64
	for n := range cluster.Shard(cluster.Shards) {
		if roots[n].Files > 0 && away(n) {
			copies += roots[n].Files
		}
	}
	if copies == 0 {
		return 0, nil
	}
	owed, _, err := v.Owed(replica, away, Cursor{}, awayLooked)
	if err != nil {
		return 0, err
	}
	totals, err := v.Totals(replica)
	return max(0, min(copies-int64(len(owed)), totals.Good)), err
}
