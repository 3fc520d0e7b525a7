package batches

import (
	"slices"

	"holdfast/catalog"
	agreed "holdfast/catalog/batches"
	"holdfast/duty"
)

// Nearest puts the holders of files in the order in which they are asked to work.
type Nearest struct {
	Self    catalog.NodeID
	Place   string
	Alive   func() map[catalog.NodeID]bool
	Doubted func(catalog.NodeID) bool // it did not answer lately
}

// Order returns the holders, nearest first: this node, those at the same place, the others, and last those that are
// perhaps not there.
func (n Nearest) Order(all []catalog.Holding) []catalog.Holding {
	alive := n.Alive()
	rank := func(h catalog.Holding) int {
		switch {
		case h.Node == n.Self:
			return 0
		case !alive[h.Node] || n.Doubted(h.Node):
			return 3
		case h.Place == n.Place:
			return 1
		}
		return 2
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b catalog.Holding) int { return rank(a) - rank(b) })
	return out
}

// Claims says which batches this node owes to drive.
type Claims struct {
	Self catalog.NodeID
	View func(func(catalog.View) error) error
}

// Claims returns the batches that duty assigns to this node, which already drives that many.
func (c Claims) Claims(driving int) (out []agreed.Holder, err error) {
	err = c.View(func(v catalog.View) (err error) {
		out, err = duty.BatchClaims(v, c.Self, driving)
		return err
	})
	return out, err
}
