package duty

import (
	"cmp"
	"maps"
	"slices"

	"holdfast/catalog"
	"holdfast/catalog/files"
)

// Carry is what one node makes copies of, from another: shards that move, or files that a replica is to hold from
// now on.
type Carry struct {
	Replica  catalog.ReplicaName
	From, To catalog.NodeID // From is empty if nobody is known to have it; To, if the replica has no node that takes it
	Fill     bool           // of files that the replica did not have to hold
	Shards   int
	Files    int64
	Bytes    int64 // none in a replica of checksums
}

// Short counts the files that would have fewer good copies of their bytes than now, as a replica would not have to hold
// them any more.
type Short struct {
	Replica  catalog.ReplicaName
	Fewer    int64
	OnePlace int64 // those of them that would have no good copy outside one place, and have one now
	None     int64 // those of them that would have no good copy at all
}

// Full is a node that would have to take more than it has room for.
type Full struct {
	Node        catalog.NodeID
	Free, Bytes int64
}

// Stuck is a node that drains, or would, and keeps shards: nobody who is there would take them.
type Stuck struct {
	Node   catalog.NodeID
	Shards int
}

// LayoutPlan says what would follow if the staged changes were carried out.
type LayoutPlan struct {
	Refused []catalog.Unlaid // changes that would be refused; the rest says what would follow without them
	Carries []Carry
	Short   []Short
	Partly  bool // not all files were looked at: there may be more that would be short
	Full    []Full
	Stuck   []Stuck
	// Unsettled are replicas of which it could not be foreseen where their shards would come to lie.
	Unsettled []catalog.ReplicaName
}

// maxRounds bounds the rounds of placing that are foreseen: half of the most moves that are made at a time end in each.
const maxRounds = 2000

// PlanLayout foresees what would follow if all that is staged were carried out now: the leader's own placing, round by
// round, with the room that the nodes have now, until all lies where it belongs. Moves that are under way are left out
// as far as they go on; those that would be made anyway are not. At most max shards of a replica move at a time. Of
// files that would be short of copies it looks at most at look; it calls pace before each few hundred, whose error
// ends it.
func PlanLayout(now catalog.View, nodes []Room, max, look int, pace func() error) (LayoutPlan, error) {
	then, refused, err := catalog.Laid(now)
	if err != nil {
		return LayoutPlan{}, err
	}
	p := &planning{now: now, then: then, rooms: slices.Clone(nodes), pace: pace,
		free: map[catalog.NodeID]int64{}, layouts: map[catalog.ReplicaName][]catalog.Placement{}}
	p.out.Refused = refused
	for _, n := range nodes {
		p.free[n.Node] = n.Free
	}
	if p.replicas, err = now.Replicas(); err != nil {
		return p.out, err
	}
	for i := range p.replicas {
		name := p.replicas[i].Name
		if p.layouts[name], err = now.Layout(name); err != nil {
			return p.out, err
		}
		r, err := then.Replica(name)
		if err != nil {
			return p.out, err
		}
		p.become = append(p.become, r)
	}
	for i := range p.replicas {
		if err := p.replica(&p.replicas[i], max); err != nil {
			return p.out, err
		}
	}
	p.full()
	err = p.short(look)
	return p.out, err
}

// planning is one run of PlanLayout.
type planning struct {
	now, then catalog.View
	replicas  []catalog.Replica // as they are now
	become    []catalog.Replica // the same, as they become
	layouts   map[catalog.ReplicaName][]catalog.Placement
	rooms     []Room                   // as they become
	free      map[catalog.NodeID]int64 // as it is now
	pace      func() error
	out       LayoutPlan
	narrowed  []catalog.Replica // as they become
}

// replica foresees one replica: first its moves, then what it has to hold from now on.
func (p *planning) replica(was *catalog.Replica, max int) error {
	s, err := siteOf(p.then, was.Name)
	if err != nil {
		return err
	}
	roots, err := p.then.Roots(was.Name)
	if err != nil {
		return err
	}
	s.layout = slices.Clone(s.layout)
	carries := map[Carry]*Carry{}
	if !p.settle(&s, roots, max, carries) {
		p.out.Unsettled = append(p.out.Unsettled, was.Name)
	}
	p.stuck(&s)
	gets, loses, err := p.difference(was, &s.replica)
	if err != nil {
		return err
	}
	if len(loses) > 0 && was.Kind == catalog.Bitarchive {
		p.narrowed = append(p.narrowed, s.replica)
	}
	if roots, err = p.now.RootsOf(gets); err != nil {
		return err
	}
	for i := range roots {
		if roots[i].Files > 0 {
			p.carry(carries, &s.replica, Carry{From: p.source(i, &s.replica, gets), To: s.layout[i].Holder, Fill: true},
				roots[i])
		}
	}
	for _, c := range slices.SortedFunc(maps.Values(carries), func(a, b *Carry) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), compareBool(a.Fill, b.Fill))
	}) {
		p.out.Carries = append(p.out.Carries, *c)
	}
	return nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// settle places the site's shards as the leader does, round by round, each shard of a round coming to its end, until
// nothing is left to be placed. It reports whether that came.
func (p *planning) settle(s *site, roots []catalog.Root, max int, carries map[Carry]*Carry) bool {
	going := slices.Clone(s.layout)
	for range maxRounds {
		due := s.place(p.rooms, max)
		for _, a := range due {
			for _, shard := range a.Shards {
				switch at := &s.layout[shard]; at.Holder {
				case "", a.Node:
					*at = catalog.Placement{Holder: a.Node}
				default:
					at.Next = a.Node
				}
			}
		}
		if len(due) == 0 && !slices.ContainsFunc(s.layout, func(at catalog.Placement) bool { return at.Next != "" }) {
			return true
		}
		for i := range s.layout {
			at := &s.layout[i]
			if at.Next == "" {
				continue
			}
			if *at != going[i] && roots[i].Files > 0 {
				p.carry(carries, &s.replica, Carry{From: p.giver(i, at.Holder, &s.replica), To: at.Next}, roots[i])
			}
			if s.replica.Kind == catalog.Bitarchive {
				p.pass(at.Holder, at.Next, roots[i].Bytes)
			}
			*at, going[i] = catalog.Placement{Holder: at.Next}, catalog.Placement{}
		}
	}
	return false
}

// stuck finds nodes that drain and keep shards.
func (p *planning) stuck(s *site) {
	for i := range s.members {
		m := &s.members[i]
		if !m.Draining || m.Replica != s.replica.Name {
			continue
		}
		kept := 0
		for _, at := range s.layout {
			if at.Holder == m.ID {
				kept++
			}
		}
		if kept > 0 {
			p.out.Stuck = append(p.out.Stuck, Stuck{m.ID, kept})
		}
	}
}

// pass counts bytes that a node releases when another has them.
func (p *planning) pass(from, to catalog.NodeID, bytes int64) {
	for i := range p.rooms {
		switch p.rooms[i].Node {
		case from:
			p.rooms[i].Free += bytes
		case to:
			p.rooms[i].Free -= bytes
		}
	}
}

// carry counts a shard's files. A replica of checksums copies no bytes.
func (p *planning) carry(carries map[Carry]*Carry, r *catalog.Replica, c Carry, root catalog.Root) {
	c.Replica = r.Name
	sum := carries[c]
	if sum == nil {
		sum = &c
		carries[c] = sum
	}
	sum.Shards++
	sum.Files += root.Files
	if r.Kind == catalog.Bitarchive {
		sum.Bytes += root.Bytes
	}
	if c.Fill && r.Kind == catalog.Bitarchive {
		p.pass("", c.To, root.Bytes)
	}
}

// giver returns who gives a shard that moves: its holder, or another node that has the bytes while the holder is away.
func (p *planning) giver(shard int, holder catalog.NodeID, r *catalog.Replica) catalog.NodeID {
	if p.alive(holder) {
		return holder
	}
	return p.source(shard, r, r.Collections)
}

// source returns a node of another replica that holds the shard and the collections, all if there are none: rather of
// one that keeps them, and rather one at the same place.
func (p *planning) source(shard int, r *catalog.Replica, collections []catalog.CollectionName) catalog.NodeID {
	var best catalog.NodeID
	most := 0
	for i := range p.replicas {
		other := &p.replicas[i]
		holder := p.layouts[other.Name][shard].Holder
		if other.Name == r.Name || other.Kind != catalog.Bitarchive || !p.alive(holder) ||
			!holdsAll(other, collections) {
			continue
		}
		rank := 1
		if other.Place == r.Place {
			rank++
		}
		if holdsAll(&p.become[i], collections) {
			rank += 2
		}
		if rank > most {
			best, most = holder, rank
		}
	}
	return best
}

func holdsAll(r *catalog.Replica, collections []catalog.CollectionName) bool {
	if len(collections) == 0 {
		return len(r.Collections) == 0
	}
	return !slices.ContainsFunc(collections, func(c catalog.CollectionName) bool { return !r.Holds(c) })
}

func (p *planning) alive(node catalog.NodeID) bool {
	return slices.ContainsFunc(p.rooms, func(n Room) bool { return n.Node == node && n.Alive })
}

// difference returns which collections the replica would get, and lose.
func (p *planning) difference(was, is *catalog.Replica) (gets, loses []catalog.CollectionName, err error) {
	all, err := p.now.Collections()
	for _, c := range all {
		switch held, holds := was.Holds(c.Name), is.Holds(c.Name); {
		case holds && !held:
			gets = append(gets, c.Name)
		case held && !holds:
			loses = append(loses, c.Name)
		}
	}
	return gets, loses, err
}

// full finds nodes that would have to take more than they have room for.
func (p *planning) full() {
	for _, n := range p.rooms {
		if n.Alive && n.Free < 0 {
			p.out.Full = append(p.out.Full, Full{n.Node, p.free[n.Node], p.free[n.Node] - n.Free})
		}
	}
}

// shortPage is how many files are read at once.
const shortPage = 500

// short looks which files would have fewer good copies. Only a replica that loses a collection loses copies: a shard
// that moves stays where it is until its copies are made.
func (p *planning) short(look int) error {
	if len(p.narrowed) == 0 {
		return nil
	}
	places := map[catalog.ReplicaName]string{}
	for i := range p.replicas {
		if p.replicas[i].Kind == catalog.Bitarchive {
			places[p.replicas[i].Name] = p.replicas[i].Place
		}
	}
	p.out.Short = make([]Short, len(p.narrowed))
	for i := range p.narrowed {
		p.out.Short[i].Replica = p.narrowed[i].Name
	}
	for shard := range catalog.Shard(catalog.Shards) {
		for after := catalog.FileName(""); ; {
			if err := p.pace(); err != nil {
				return err
			}
			page, err := p.now.ShardFiles(shard, after, shortPage)
			if err != nil {
				return err
			}
			for i := range page {
				if look--; look < 0 {
					p.out.Partly = true
					return nil
				}
				p.count(&page[i], places)
			}
			if len(page) < shortPage {
				break
			}
			after = page[len(page)-1].Name
		}
	}
	return nil
}

// count counts one file in the replicas that would give it up.
func (p *planning) count(f *files.File, places map[catalog.ReplicaName]string) {
	if f.Removed != 0 {
		return
	}
	before, after := map[string]bool{}, map[string]bool{}
	var losers []int
	for i := range f.Copies {
		c := &f.Copies[i]
		place, bytes := places[c.Replica]
		if !bytes || !c.Good() || c.Surplus {
			continue
		}
		before[place] = true
		loses := slices.IndexFunc(p.narrowed, func(r catalog.Replica) bool {
			return r.Name == c.Replica && !r.Holds(f.Collection)
		})
		if loses < 0 {
			after[place] = true
			continue
		}
		losers = append(losers, loses)
	}
	for _, i := range losers {
		s := &p.out.Short[i]
		s.Fewer++
		switch {
		case len(after) == 0:
			s.None++
		case len(after) == 1 && len(before) > 1:
			s.OnePlace++
		}
	}
}
