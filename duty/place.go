package duty

import (
	"cmp"
	"slices"

	"holdfast/catalog"
)

// maxAssign bounds the shards of one command.
const maxAssign = 512

// Room is what gossip reports about a node of a replica.
type Room struct {
	Node  catalog.NodeID
	Free  int64 // bytes
	Alive bool
}

// share is one node's part of a replica.
type share struct {
	node    catalog.NodeID
	score   float64
	target  int
	load    int // shards it holds and keeps, or is next for
	takes   bool
	drained bool
}

// Place lists the assignments that move the replica's shards to where they belong, with the least movement: first
// shards without a holder, then those of draining nodes, then those of nodes that have more than their share by a
// margin. A node's share follows from its weight times its room, including what it holds. Only living, known nodes
// are given shards; a node that is not heard from keeps its shards. At most max shards move at a time, those under
// way included, and more begin when half of them have ended. Shards without a holder do not count towards max, nor,
// from level 2 on, do shards without files, many of which are switched by one command. No assignment has more than
// 512 shards.
func Place(view catalog.View, replica catalog.ReplicaName, nodes []Room, max int) ([]catalog.Assignment, error) {
	layout, err := view.Layout(replica)
	if err != nil {
		return nil, err
	}
	members, err := view.Members()
	if err != nil {
		return nil, err
	}
	totals, err := view.Totals(replica)
	if err != nil {
		return nil, err
	}
	p := placing{layout: layout, given: map[catalog.NodeID][]catalog.Shard{}, most: max, moves: max}
	p.shares = sharesOf(replica, members, nodes, layout, totals.Bytes)
	if !slices.ContainsFunc(p.shares, func(s share) bool { return s.takes }) {
		return nil, nil
	}
	if p.empty, err = withoutFiles(view, replica); err != nil {
		return nil, err
	}
	setTargets(p.shares)
	p.run()
	return p.assignments(replica), nil
}

// withoutFiles returns which of the replica's shards have no files; none in a cluster that switches them one by one.
func withoutFiles(view catalog.View, replica catalog.ReplicaName) ([]bool, error) {
	empty := make([]bool, catalog.Shards)
	cluster, err := view.Cluster()
	if err != nil || cluster.Level < 2 {
		return empty, err
	}
	roots, err := view.Roots(replica)
	for i := range roots {
		empty[i] = roots[i].Files == 0
	}
	return empty, err
}

// placing is one run of Place.
type placing struct {
	layout []catalog.Placement
	empty  []bool // shards whose move costs nothing
	shares []share
	given  map[catalog.NodeID][]catalog.Shard
	most   int // moves at a time
	moves  int // that may still begin
}

func sharesOf(replica catalog.ReplicaName, members []catalog.Member, nodes []Room, layout []catalog.Placement,
	bytes int64) []share {
	var shares []share
	for _, m := range members {
		if m.Replica != replica {
			continue
		}
		s := share{node: m.ID, drained: m.Draining}
		holds := 0
		for _, p := range layout {
			if p.Holder == m.ID {
				holds++
			}
			if p.Next == m.ID || p.Holder == m.ID && p.Next == "" {
				s.load++
			}
		}
		i := slices.IndexFunc(nodes, func(n Room) bool { return n.Node == m.ID })
		if i >= 0 && nodes[i].Alive && !m.Draining {
			s.takes = true
			held := float64(bytes) * float64(holds) / catalog.Shards
			s.score = float64(cmp.Or(m.Weight, 100)) * (float64(max(nodes[i].Free, 0)) + held)
		}
		shares = append(shares, s)
	}
	slices.SortFunc(shares, func(a, b share) int { return cmp.Compare(a.node, b.node) })
	return shares
}

// setTargets divides the shards that are not kept by nodes not heard from, in proportion to the scores and by
// the largest remainder.
func setTargets(shares []share) {
	free, sum, takers := catalog.Shards, 0.0, 0
	for i := range shares {
		s := &shares[i]
		switch {
		case s.takes:
			sum += s.score
			takers++
		case !s.drained:
			s.target = s.load
			free -= s.load
		}
	}
	left := free
	rest := make([]float64, len(shares))
	for i := range shares {
		s := &shares[i]
		if !s.takes {
			continue
		}
		part := float64(free) / float64(takers)
		if sum > 0 {
			part = float64(free) * s.score / sum
		}
		s.target = int(part)
		rest[i] = part - float64(s.target)
		left -= s.target
	}
	for ; left > 0; left-- {
		best := -1
		for i := range shares {
			if shares[i].takes && (best < 0 || rest[i] > rest[best]) {
				best = i
			}
		}
		shares[best].target++
		rest[best]--
	}
}

func (p *placing) share(node catalog.NodeID) *share {
	i, ok := slices.BinarySearchFunc(p.shares, node,
		func(s share, n catalog.NodeID) int { return cmp.Compare(s.node, n) })
	if !ok {
		return nil
	}
	return &p.shares[i]
}

// run gives out shards in the order of need.
func (p *placing) run() {
	for i, at := range p.layout {
		if at.Holder == "" {
			p.give(catalog.Shard(i), p.neediest(""))
		} else if at.Next != "" && !p.empty[i] {
			p.moves--
		}
	}
	if p.moves < p.most/2 {
		p.moves = 0
	}
	for i, at := range p.layout { // draining nodes, as holders and as next
		from, next := p.share(at.Holder), p.share(at.Next)
		switch {
		case from == nil: // no holder, or a lost one whose shards are being given up
		case next != nil && next.drained && !from.drained:
			p.give(catalog.Shard(i), from) // calls the move off
		case next != nil && next.drained:
			p.give(catalog.Shard(i), p.neediest(""))
		case from.drained && at.Next == "" && p.mayMove(i):
			p.give(catalog.Shard(i), p.neediest(""))
		}
	}
	if !p.uneven() {
		return
	}
	for i, at := range p.layout {
		from := p.share(at.Holder)
		if from == nil || !from.takes || at.Next != "" || from.load <= from.target {
			continue
		}
		if to := p.neediest(from.node); to != nil && to.load < to.target && p.mayMove(i) {
			from.load--
			p.give(catalog.Shard(i), to)
		}
	}
}

// mayMove reports whether the shard may begin to move, and counts it.
func (p *placing) mayMove(shard int) bool {
	if p.empty[shard] {
		return true
	}
	if p.moves <= 0 {
		return false
	}
	p.moves--
	return true
}

// uneven reports whether a node's shards differ from its share by more than a margin: below it, nothing moves.
func (p *placing) uneven() bool {
	return slices.ContainsFunc(p.shares, func(s share) bool {
		margin := max(4, s.target/20)
		return s.takes && (s.load > s.target+margin || s.load < s.target-margin)
	})
}

// neediest returns the node that lacks most of its share.
func (p *placing) neediest(not catalog.NodeID) *share {
	var best *share
	for i := range p.shares {
		s := &p.shares[i]
		if s.takes && s.node != not && (best == nil || s.target-s.load > best.target-best.load) {
			best = s
		}
	}
	return best
}

func (p *placing) give(shard catalog.Shard, to *share) {
	if to == nil {
		return
	}
	to.load++
	p.given[to.node] = append(p.given[to.node], shard)
}

func (p *placing) assignments(replica catalog.ReplicaName) []catalog.Assignment {
	var out []catalog.Assignment
	for _, s := range p.shares {
		for chunk := range slices.Chunk(p.given[s.node], maxAssign) {
			out = append(out, catalog.Assignment{Replica: replica, Shards: chunk, Node: s.node})
		}
	}
	return out
}

// Fill returns the next step of each walk over a replica's files.
func Fill(view catalog.View) ([]catalog.FillStep, error) {
	fills, err := view.Fills()
	var out []catalog.FillStep
	for _, f := range fills {
		out = append(out, catalog.FillStep{Replica: f.Replica, Shard: f.Shard, After: f.After})
	}
	return out, err
}
