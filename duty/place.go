package duty

import (
	"cmp"
	"slices"

	"holdfast/catalog"
)

// MovesAtOnce is how many shards of a replica move at a time.
const MovesAtOnce = 64

// maxAssign bounds the shards of one command.
const maxAssign = 512

// Room is what gossip reports about a node of a replica.
type Room struct {
	Node  catalog.NodeID
	Free  int64 // bytes
	Alive bool
	// Silent nodes were not heard from for so long that their shards are made again on others: see duty.Silent.
	Silent bool
	// Lacking is how many shards the node holds that none of its disks has, nor has room for, as it says itself; Next
	// are those of them that are to be made again on others now.
	Lacking int
	Next    []catalog.Shard
}

// share is one node's part of a replica.
type share struct {
	node    catalog.NodeID
	score   float64
	target  int
	load    int // shards it holds and keeps, or is next for
	takes   bool
	drained bool    // it is to lose its shards: it drains, or is silent
	silent  bool    // nobody can ask it for bytes
	space   float64 // bytes that it can still take, without those of shards that move to it
}

// Place lists the assignments that move the replica's shards to where they belong, with the least movement: first
// shards without a holder, then those of draining nodes, then those of nodes that have more than their share by a
// margin. A node's share follows from its weight times its room, including what it holds. Only living, known nodes
// are given shards. A node that is not heard from keeps its shards, unless it is silent: then those for which others
// have room are made again there, and what is not made yet when it comes back stays its own. So are shards that a node
// has lost with a disk and has no room for. At most max shards move
// at a time, those under way included, and more begin when half of them have ended; and as many of silent nodes, by
// themselves. Shards without a holder do not count towards max, nor, from level 2 on, do shards without files, many of
// which are switched by one command. No assignment has more than 512 shards.
func Place(view catalog.View, replica catalog.ReplicaName, nodes []Room, max int) ([]catalog.Assignment, error) {
	s, err := siteOf(view, replica)
	if err != nil {
		return nil, err
	}
	return s.place(nodes, max), nil
}

// site is what the catalog says of a replica that matters for where its shards belong.
type site struct {
	replica catalog.Replica
	layout  []catalog.Placement
	members []catalog.Member
	bytes   int64  // of its files
	empty   []bool // shards without files
}

func siteOf(view catalog.View, replica catalog.ReplicaName) (s site, err error) {
	if s.replica, err = view.Replica(replica); err != nil {
		return s, err
	}
	if s.layout, err = view.Layout(replica); err != nil {
		return s, err
	}
	if s.members, err = view.Members(); err != nil {
		return s, err
	}
	totals, err := view.Totals(replica)
	if err != nil {
		return s, err
	}
	s.bytes = totals.Bytes
	s.empty, err = withoutFiles(view, replica)
	return s, err
}

// place is Place, of what was read.
func (s *site) place(nodes []Room, max int) []catalog.Assignment {
	p := placing{layout: s.layout, empty: s.empty, given: map[catalog.NodeID][]catalog.Shard{}, most: max, moves: max,
		again: max}
	p.shares = sharesOf(s.replica.Name, s.members, nodes, s.layout, s.bytes)
	p.lacking = lackingIn(s.layout, nodes)
	if !slices.ContainsFunc(p.shares, func(s share) bool { return s.takes }) {
		return nil
	}
	bytes := s.bytes
	if s.replica.Kind == catalog.Checksum {
		bytes = 0 // of the files, which such a replica only has the names of
	}
	p.setSpaces(bytes)
	setTargets(p.shares)
	p.run()
	return p.assignments(s.replica.Name)
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
	// shards that their holder has lost with a disk
	lacking map[catalog.Shard]bool
	shares  []share
	given   map[catalog.NodeID][]catalog.Shard
	most    int     // moves at a time
	moves   int     // that may still begin
	again   int     // moves that may still begin from silent nodes
	bytes   float64 // of a shard that has files, on average
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
		if i >= 0 && nodes[i].Silent && !nodes[i].Alive {
			s.drained, s.silent = true, true
		}
		if i >= 0 && nodes[i].Alive && !m.Draining {
			s.takes = true
			s.space = float64(max(nodes[i].Free, 0)) * roomUsed
			held := float64(bytes) * float64(max(holds-nodes[i].Lacking, 0)) / catalog.Shards
			s.score = float64(cmp.Or(m.Weight, 100)) * (float64(max(nodes[i].Free, 0)) + held)
		}
		shares = append(shares, s)
	}
	slices.SortFunc(shares, func(a, b share) int { return cmp.Compare(a.node, b.node) })
	return shares
}

// roomUsed is the part of a node's room that shards of silent nodes may take: the replica's own new files go on.
const roomUsed = 0.8

// setSpaces says how large a shard is on average, and takes the shards that are under way off the room of the nodes
// that they move to.
func (p *placing) setSpaces(bytes int64) {
	filled := 0
	for i := range p.layout {
		if !p.empty[i] {
			filled++
		}
	}
	p.bytes = float64(bytes) / float64(max(filled, 1))
	for i, at := range p.layout {
		if next := p.share(at.Next); next != nil && !p.empty[i] {
			next.space -= p.bytes
		}
	}
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
			*p.left(i)--
		}
	}
	for _, left := range []*int{&p.moves, &p.again} {
		if *left < p.most/2 {
			*left = 0
		}
	}
	for i, at := range p.layout { // draining nodes, as holders and as next
		from, next := p.share(at.Holder), p.share(at.Next)
		switch {
		case from == nil: // no holder, or a lost one whose shards are being given up
		case next != nil && next.drained && !from.drained:
			p.give(catalog.Shard(i), from) // calls the move off
		case next != nil && next.drained:
			p.give(catalog.Shard(i), p.neediest(""))
		case (from.silent || p.lacking[catalog.Shard(i)]) && at.Next == "":
			p.rebuild(i, from)
		case from.drained && at.Next == "" && p.mayMove(i):
			p.give(catalog.Shard(i), p.neediest(""))
		}
	}
	if !p.uneven() {
		return
	}
	for i, at := range p.layout { // what was begun while a node was away, or drained
		from, next := p.share(at.Holder), p.share(at.Next)
		if from != nil && next != nil && from.takes && from.lacks() && next.takes && next.exceeds() &&
			!p.lacking[catalog.Shard(i)] {
			next.load--
			p.give(catalog.Shard(i), from)
		}
	}
	for i, at := range p.layout {
		from := p.share(at.Holder)
		if from == nil || !from.takes || at.Next != "" || from.load <= from.target || p.lacking[catalog.Shard(i)] {
			continue
		}
		if to := p.neediest(from.node); to != nil && to.load < to.target && p.mayMove(i) {
			from.load--
			p.give(catalog.Shard(i), to)
		}
	}
}

// rebuild gives a shard that its holder cannot be asked for to another node that has room for it, if there is any.
func (p *placing) rebuild(shard int, from *share) {
	if p.empty[shard] {
		if to := p.neediest(from.node); to != nil {
			from.load--
			p.give(catalog.Shard(shard), to)
		}
		return
	}
	to := p.neediest(from.node, func(s *share) bool { return s.space >= p.bytes })
	if to != nil && p.mayMove(shard) {
		to.space -= p.bytes
		from.load--
		p.give(catalog.Shard(shard), to)
	}
}

// lackingIn returns the shards that are to be made again because their holder has lost them with a disk.
func lackingIn(layout []catalog.Placement, nodes []Room) map[catalog.Shard]bool {
	out := map[catalog.Shard]bool{}
	for _, n := range nodes {
		for _, s := range n.Next {
			if int(s) < len(layout) && layout[s].Holder == n.Node {
				out[s] = true
			}
		}
	}
	return out
}

// mayMove reports whether the shard may begin to move, and counts it.
func (p *placing) mayMove(shard int) bool {
	if p.empty[shard] {
		return true
	}
	left := p.left(shard)
	if *left <= 0 {
		return false
	}
	*left--
	return true
}

// left is how many moves may still begin, of those that the shard's is one of. Those from silent nodes, and of lost
// disks, are counted by themselves: what nobody else has cannot be made again until such a node is back, and waits.
func (p *placing) left(shard int) *int {
	if from := p.share(p.layout[shard].Holder); from != nil && (from.silent || p.lacking[catalog.Shard(shard)]) {
		return &p.again
	}
	return &p.moves
}

// uneven reports whether a node's shards differ from its share by more than a margin: below it, nothing moves.
func (p *placing) uneven() bool {
	return slices.ContainsFunc(p.shares, func(s share) bool { return s.takes && (s.exceeds() || s.lacks()) })
}

func (s *share) exceeds() bool { return s.load > s.target+max(4, s.target/20) }
func (s *share) lacks() bool   { return s.load < s.target-max(4, s.target/20) }

// neediest returns the node that lacks most of its share, of those that fit.
func (p *placing) neediest(not catalog.NodeID, fits ...func(*share) bool) *share {
	var best *share
	for i := range p.shares {
		s := &p.shares[i]
		if slices.ContainsFunc(fits, func(fit func(*share) bool) bool { return !fit(s) }) {
			continue
		}
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
